// SPDX-License-Identifier: Apache-2.0
// The candidate of each class: of the heads of its lists the one that is eligible first, and whether it may go.
//
// A head that is offered, which is known a cycle ahead, is compared with its class's candidate in that cycle, and is
// selected in the next one at the earliest: in the very cycle in which it becomes visible. Whether a candidate ends, its gap counted, before its gate
// closes is found for all of them, and for the one being offered, in the cycle before, from what the gates will be.
//
// Between offers the classes are looked at in turn: for their age if somebody asks, else for whether their candidates
// become ready soon. That of either is noted a cycle later; a candidate that has gone by then is not valid any more.
module pen_queue_candidates
  import pen_pkg::*;
#(
  parameter int unsigned CELL_W = 10,
  parameter int unsigned LIST_W = 3,
  parameter int unsigned LATE   = 0                   // by so many cycles the count of cycles comes late
) (
  input  logic                  clk_i,
  input  logic                  rst_i,
  input  cycle_t                late_cycle_i,         // what the count of cycles was LATE cycles ago
  output cycle_t                cycle_next_o,         // what it is in the next cycle
  // What the gates are in the next cycle
  input  logic [CLASSES-1:0]    open_next_i,
  input  logic                  guard_next_i,         // gates will close: a frame has to end before its own does
  input  logic [15:0]           remaining_next_ns_i,  // until the end of this entry of the gate list
  input  window_t [CLASSES-1:0] after_next_ns_i,      // beyond it, the gate stays open for so long
  // A head of a list: that there may be one in the next cycle, and of which class; then the head. Where none could come,
  // the count of cycles and the last list stand in its place, for the age of the candidate looked at.
  input  logic                  enqueues_i,           // known last, and goes first
  input  class_t                enqueue_class_i,
  input  logic                  scans_i,
  input  class_t                scan_class_i,
  input  logic                  offer_i,
  input  logic [LIST_W-1:0]     offer_list_i,         // of equal times the lower list goes first
  input  cycle_t                offer_visible_i,
  input  logic [CELL_W-1:0]     offer_frame_i,
  input  length_t               offer_wire_i,
  input  logic [CLASSES-1:0]    searched_i,           // their heads are being offered: what is ready can yet be replaced
  // Taken out: selected or given up, in the cycle before
  input  logic [CLASSES-1:0]    granted_i,            // one bit at most
  input  class_t                granted_class_i,      // the same
  output logic [CELL_W-1:0]     granted_frame_o,
  output logic [LIST_W-1:0]     granted_list_o,
  input  logic [CLASSES-1:0]    expires_i,            // one bit at most
  input  class_t                check_class_i,        // whose candidate may be given up next
  output logic [CELL_W-1:0]     check_frame_o,
  output logic [LIST_W-1:0]     check_list_o,
  // For selection
  output logic [CLASSES-1:0]    valid_o,
  output logic [CLASSES-1:0]    ready_o,              // the candidate is visible
  output logic [CLASSES-1:0]    fits_o,
  // For age
  input  logic                  look_i,               // at this class in the next cycle
  input  class_t                look_class_i,
  output logic                  looked_o,             // no offer could come
  output class_t                looked_class_o,
  output logic [7:0]            until_o,              // in 2^20 cycles, when the candidate becomes visible
  output length_t               looked_wire_o
);
  localparam int unsigned SOON_W = 6;                 // in 2^SOON_W cycles every class is looked at between all offers

  typedef struct packed {
    cycle_t            visible;
    logic [LIST_W-1:0] list;                          // of equal times the lower port goes first, then what is not shaped
  } order_t;
  typedef struct packed {
    order_t            order;
    length_t           wire_bytes;
  } candidate_t;

  cycle_t             next_q, ahead_q;                // the count of cycles of the next two cycles
  logic [CLASSES-1:0] valid_q, ready_q, due_q;        // due: ready in the next cycle
  logic [CLASSES-1:0] place_q;                        // where in memory it stands, of two places of its class
  logic [CLASSES-1:0] soon_q;                         // becomes ready within 2^SOON_W cycles, if it is not yet
  logic [CLASSES-1:0][SOON_W-1:0] visible_low_q;
  logic [CLASSES-1:0] fits_q;
  length_t            wire_q[CLASSES];
  class_t             class_d, class_q;               // of the offer if there may be one, else of the candidate looked at
  logic [CLASSES-1:0] may_offer_q, offered;           // the class may have an offer; it has one
  logic               offer_ready, offer_soon, offer_due, offer_earlier, offer_fits, load;
  candidate_t         offer, stored, candidate_q;
  order_t             order_difference;
  logic               class_stays;                    // what is offered now is compared with what may be offered next
  cycle_t             offer_lead;

  always_ff @(posedge clk_i) begin
    ahead_q <= late_cycle_i + cycle_t'(LATE + 3);
    next_q  <= ahead_q;
  end
  assign cycle_next_o = next_q;

  // Two times that have passed, or two that have not, are near enough to each other for a comparison modulo 2^28. The
  // difference is one less.
  assign offer            = '{order: '{visible: offer_visible_i, list: offer_list_i}, wire_bytes: offer_wire_i};
  assign offer_lead       = offer_visible_i - ahead_q;
  assign offer_ready      = offer_lead[$high(cycle_t)];
  assign offer_soon       = offer_lead[$high(cycle_t):SOON_W] == '0;
  assign offer_due        = offer_soon && offer_lead[SOON_W-1:0] == '0;
  assign order_difference = ~(offer.order - candidate_q.order);
  assign offer_earlier    = offer_ready != (ready_q[class_q] || due_q[class_q])
      ? offer_ready : !order_difference.visible[$high(cycle_t)];

  // A candidate that is ready may be selected in this cycle and stays, but not while the class looks for a new one, and one
  // that was taken out goes.
  logic [CLASSES-1:0] loaded, fills, replaces;        // of each class by itself, as offer_earlier comes last
  assign offered  = may_offer_q & {CLASSES{offer_i}};
  assign fills    = offered & ~(valid_q & ~granted_i & ~expires_i);
  assign replaces = offered & (~ready_q | searched_i);
  assign loaded   = fills | (replaces & {CLASSES{offer_earlier}});
  assign load     = fills != '0 || (replaces != '0 && offer_earlier);

  // How many bytes may pass while the gate stays open. A byte takes 8 ns; what is left of the last one is of no use.
  // Any frame passes in 2^FAR_W ns, and in the largest window.
  localparam int unsigned FAR_W = $bits(window_t);
  logic                           far;
  logic [CLASSES-1:0][FAR_W:0]    open_ns;
  logic [CLASSES-1:0][FAR_W-3:0]  open_bytes;
  assign far = remaining_next_ns_i[15:FAR_W] != '0 || !guard_next_i;
  always_comb begin
    for (int unsigned k = 0; k < CLASSES; k++) begin
      open_ns[k]    = {1'b0, remaining_next_ns_i[FAR_W-1:0]} + {1'b0, after_next_ns_i[k]};
      open_bytes[k] = open_ns[k][FAR_W:3];
    end
  end

  // How far an offer reaches beyond the entry's end, which may be negative, is found while its class is chosen.
  logic signed [FAR_W+1:0] offer_beyond_ns;
  logic signed [FAR_W+2:0] offer_left_ns;
  assign offer_beyond_ns = $signed({2'b00, offer_wire_i, 3'b000}) - $signed({2'b00, remaining_next_ns_i[FAR_W-1:0]});
  assign offer_left_ns   = $signed({3'b000, after_next_ns_i[class_q]}) - (FAR_W + 3)'(offer_beyond_ns);
  assign offer_fits      = open_next_i[class_q] && (far || !offer_left_ns[FAR_W+2]);

  class_t turn_d, turn_q, soon_class_q;
  class_t other_class;                                // but for an enqueue
  logic   place_d;                                    // of the candidate of class_d
  logic   may_come, may_come_q, look_age_q, becomes_soon_q;
  assign turn_d = turn_q + class_t'(!may_come_q && !look_age_q);

  // The place of an enqueue's class is looked up beside the choice.
  assign may_come    = enqueues_i || scans_i;
  assign other_class = scans_i ? scan_class_i : look_i ? look_class_i : turn_d;
  assign class_d     = enqueues_i ? enqueue_class_i : other_class;
  assign place_d     = enqueues_i ? place_q[enqueue_class_i] : place_q[other_class];
  assign class_stays = offer_i && class_d == class_q;

  always_ff @(posedge clk_i) begin
    turn_q     <= rst_i ? '0 : turn_d;
    may_come_q <= may_come;
    look_age_q <= look_i;
    class_q    <= class_d;
    // The candidate of the class, read a cycle ahead.
    if (!class_stays || load) candidate_q <= class_stays ? offer : stored;
    may_offer_q <= enqueues_i ? CLASSES'(1) << enqueue_class_i : CLASSES'(1) << scan_class_i;
    if (rst_i) becomes_soon_q <= 1'b0;
    else if (offer_i) becomes_soon_q <= load && offer_soon;
    else becomes_soon_q <= !may_come_q && order_difference.visible[$high(cycle_t):SOON_W] == '0;
    soon_class_q <= class_q;
  end

  assign looked_o       = look_age_q && !may_come_q;
  assign looked_class_o = class_q;
  assign until_o        = order_difference.visible[27:20];
  assign looked_wire_o  = candidate_q.wire_bytes;

  for (genvar k = 0; k < CLASSES; k++) begin : gen_candidate
    logic soon, stays;
    assign soon  = soon_q[k] || (becomes_soon_q && soon_class_q == class_t'(k) && valid_q[k]);
    assign stays = !granted_i[k] && !expires_i[k];

    // Without a choice between loads and other changes, which is as late as they are.
    always_ff @(posedge clk_i) begin
      place_q[k] <= !rst_i && (place_q[k] ^ loaded[k]);
      valid_q[k] <= !rst_i && (loaded[k] || (stays && valid_q[k]));
      ready_q[k] <= !rst_i && ((loaded[k] && offer_ready) || (!loaded[k] && stays && (ready_q[k] || due_q[k])));
      soon_q[k]  <= !rst_i && !loaded[k] && stays && soon;
      due_q[k]   <= !rst_i && ((loaded[k] && offer_due)
                               || (!loaded[k] && stays && soon && visible_low_q[k] == ahead_q[SOON_W-1:0]));
      fits_q[k]  <= open_next_i[k] && (far || {1'b0, wire_q[k]} <= open_bytes[k]);
      if (loaded[k]) begin
        fits_q[k]        <= offer_fits;
        wire_q[k]        <= offer_wire_i;
        visible_low_q[k] <= offer_visible_i[SOON_W-1:0];
      end
    end
  end

  assign valid_o = valid_q;
  assign ready_o = ready_q;
  assign fits_o  = fits_q;

  // For the one that is compared. An offer is written beside its class's candidate, before it is known which of the two
  // stays.
  pen_lutram_1r1w #(.WIDTH($bits(candidate_t)), .DEPTH(2 * CLASSES)) u_candidates (
    .clk_i,
    .write_i     (offer_i),
    .write_addr_i({class_q, !place_q[class_q]}),
    .write_data_i(offer),
    .read_addr_i ({class_d, place_d}),
    .read_data_o (stored)
  );

  // For the one that was selected and the one that may be given up. None is so before the second cycle after its offer, and
  // so there is time to write what stays only.
  typedef struct packed {
    logic [CELL_W-1:0] frame;
    logic [LIST_W-1:0] list;
  } waiting_t;
  waiting_t loaded_q;
  class_t   loaded_class_q;
  logic     load_q;

  always_ff @(posedge clk_i) begin
    load_q         <= load && !rst_i;
    loaded_class_q <= class_q;
    loaded_q       <= '{frame: offer_frame_i, list: offer_list_i};
  end

  pen_lutram_nr1w #(.WIDTH($bits(waiting_t)), .DEPTH(CLASSES)) u_frame (
    .clk_i,
    .write_i     (load_q),
    .write_addr_i(loaded_class_q),
    .write_data_i(loaded_q),
    .read_addr_i ({check_class_i, granted_class_i}),
    .read_data_o ({check_frame_o, check_list_o, granted_frame_o, granted_list_o})
  );

  logic unused;
  assign unused = &{1'b0, order_difference, open_ns};

`ifdef FORMAL
  // Contract, as long as no time lies half a wrap or more ahead when it is offered: 1. a class is ready only if its
  // candidate is visible; 2. fits_o says whether the gate is open and stays so until the candidate has ended, its gap
  // counted.
  logic [CLASSES-1:0]    f_open_q;
  logic                  f_guard_q;
  logic [2:0]            f_past_q = '0;          // cycles that have passed, up to three
  logic [15:0]           f_remaining_q;
  window_t [CLASSES-1:0] f_after_q;
  logic [CLASSES-1:0]    f_fits;
  localparam logic signed [28:0] F_LONG_AGO = 29'sh17FF_FFFF;  // half a wrap, and a cycle
  class_t                f_class;                // any, as it has no first value
  cycle_t                f_now, f_now_q;
  logic signed [28:0]    f_wait_q, f_offer_wait; // until the candidate of that class is visible
  cycle_t                f_visible;

  assign f_visible = u_candidates.memory[{f_class, place_q[f_class]}][$bits(length_t)+LIST_W+:$bits(cycle_t)];

  assign f_now = late_cycle_i + cycle_t'(LATE);
  assign f_offer_wait = 29'($signed(cycle_t'(offer_visible_i - f_now)));
  always_ff @(posedge clk_i) begin
    f_class <= f_class;
    f_now_q <= f_now + 1'b1;
    if (rst_i) f_wait_q <= '0;
    else if (load && class_q == f_class) f_wait_q <= f_offer_wait - 29'sd1;
    else if (f_wait_q > F_LONG_AGO) f_wait_q <= f_wait_q - 29'sd1;
  end

  always_ff @(posedge clk_i) begin
    f_past_q      <= {f_past_q[1:0], 1'b1};
    f_open_q      <= open_next_i;
    f_guard_q     <= guard_next_i;
    f_remaining_q <= remaining_next_ns_i;
    f_after_q     <= after_next_ns_i;
  end

  always_comb begin
    assume (&f_past_q || rst_i);
    assume (!f_past_q[0] || f_now == f_now_q);
    assert (f_past_q[0] || !f_past_q[1]);
    assert (f_past_q[1] || !f_past_q[2]);
    assert (!f_past_q[0] || ahead_q == f_now + 28'd2);
    assert (!f_past_q[1] || next_q == f_now + 28'd1);
    assert (!f_past_q[2] || may_come_q || offer_visible_i == f_now);
    for (int unsigned k = 0; k < CLASSES; k++) begin
      assume (17'(remaining_next_ns_i) + 17'(after_next_ns_i[k]) < 17'h10000);
      f_fits[k] = f_open_q[k] && (!f_guard_q
          || 17'(wire_q[k]) * 17'd8 <= 17'(f_remaining_q) + 17'(f_after_q[k]));
    end
    if (&f_past_q && !rst_i) begin
      assert (!valid_q[class_q] || candidate_q == u_candidates.memory[{class_q, place_q[class_q]}]);
      for (int unsigned k = 0; k < CLASSES; k++) begin
        assert (!ready_q[k] || valid_q[k]);
        assert (!(soon_q[k] || due_q[k]) || valid_q[k]);
        assert (!valid_q[k] || fits_o[k] == f_fits[k]);
      end
      assert (f_wait_q >= F_LONG_AGO && f_wait_q < 29'sh0800_0000);
      assert (!valid_q[f_class] || f_wait_q == F_LONG_AGO || f_visible - f_now == f_wait_q[27:0]);
      assert (!valid_q[f_class] || visible_low_q[f_class] == f_visible[SOON_W-1:0]);
      assert (!soon_q[f_class] || (valid_q[f_class] && f_wait_q <= 29'sd1 + (29'sd1 << SOON_W)));
      assert (!becomes_soon_q || soon_class_q != f_class || !valid_q[f_class] || f_wait_q <= (29'sd1 << SOON_W));
      assert (!due_q[f_class] || f_wait_q <= 29'sd1);
      assert (!ready_o[f_class] || f_wait_q <= 0);
      cover (ready_o[f_class] && fits_o[f_class] && f_guard_q && f_wait_q < 0);
      cover ((granted_i & ready_o) != '0 && soon_q != '0);
    end
  end
`endif
endmodule
