// SPDX-License-Identifier: Apache-2.0
// The queues of one egress port: two for each reception port and traffic class, of frames that an ATS scheduler held
// and of others, linked lists of frames in memory.
//
// A class is served in the order of eligibility times (802.1Q 8.6.8.5), which is that of arrival for a frame without a
// scheduler. Either grows within its queue, so frames of a queue leave in the order they came; among the queues the head
// that is eligible first goes first. For each class this head stands ready as the candidate, so that a frame is selected
// in the very cycle in which it becomes visible:
//
//   cycle         | n (now == visible) | n+1                        | n+2, without enqueue   ...
//   grant_o       | valid, with frame  |                            |
//   popped_o      |                    | valid, with length         |
//   state         | IDLE               | UNLINK: is it the last?    | NEXT, INFO, HEAD: its successor is the head;
//                                                                     SCAN: a candidate is chosen, a queue a cycle
//
// An enqueue always goes first: the states that use the same memories wait for it, and so no case of both at once is
// left. A new head is offered to its class as candidate in the same way as those found by SCAN, and compared with it
// in the cycle after: a frame can be selected two cycles after its enqueue.
//
// A candidate may be selected if it ends, its gap counted, before its gate closes. Whether it does is found for all
// candidates, and for the one being offered, in the cycle before, from what the gates will be.
//
// A frame that is still there a second after it became visible is given up (802.1Q 6.5.6), long before its time
// would be misread modulo 2^28 cycles; one that is longer than any time its gate stays open, when it is looked at. It
// goes the same way (EXPIRE, then UNLINK and on). A frame of another class may be granted meanwhile, in the very cycle;
// its own way then follows, long before the transmitter is ready again. Its class is not served until a candidate is chosen.
module pen_queue
  import pen_pkg::*;
#(
  parameter int unsigned PORTS = 4,
  parameter int unsigned CELLS = 1024,
  parameter int unsigned PORT  = 0,      // this egress port
  parameter int unsigned LATE  = 0       // by so many cycles the count of cycles comes late
) (
  input  logic     clk_i,
  input  logic     rst_i,
  input  logic        init_busy_i,       // each index in turn: all queues become empty
  input  init_index_t init_index_i,
  input  cycle_t   late_cycle_i,         // what the count of cycles was LATE cycles ago
  input  enqueue_t enqueue_i,
  input  logic     tx_ready_i,           // a frame may be selected in this cycle
  // What the gates are in the next cycle
  input  logic [CLASSES-1:0]    open_next_i,
  input  logic                  guard_next_i,         // gates will close: a frame has to end before its own does
  input  logic [15:0]           remaining_next_ns_i,  // until the end of this entry of the gate list
  input  window_t [CLASSES-1:0] after_next_ns_i,      // beyond it, the gate stays open for so long
  input  logic                  gate_enable_i,
  input  window_t [CLASSES-1:0] largest_window_ns_i,  // counts where gates are enabled
  input  logic [CLASSES-1:0]    credit_i,             // the class may send as far as its credit goes
  input  logic [CLASSES-1:0]    round_robin_i,        // these classes take turns
  output logic [CLASSES-1:0]    waiting_o,            // the class may have a frame that only gates and credit hold back
  output logic     grant_o,
  output class_t   grant_class_o,        // with grant_o
  output cell_t    grant_frame_o,        // with grant_o
  output release_t popped_o,             // valid: the frame granted in the cycle before
  output logic     expired_valid_o,      // popped_o is a frame given up, until expired_ready_i
  output reason_e  expired_reason_o,
  input  logic     expired_ready_i,
  output logic     idle_o                // no frame is queued
);
  localparam int unsigned CELL_W = $clog2(CELLS);
  localparam int unsigned PORT_W = $clog2(PORTS);
  localparam int unsigned QUEUES = 2 * CLASSES << PORT_W;
  localparam logic [7:0]  LIFETIME = 8'd120;     // in 2^20 cycles: 1.007 s
  localparam int unsigned SOON_W = 6;            // in 2^SOON_W cycles every class is looked at between all offers
  if (PORTS < 2 || PORTS > MAX_PORTS) begin : gen_check_ports
    $fatal(1, "pen_queue: PORTS must be 2 to 8, is %0d (%m)", PORTS);
  end
  if (PORT >= PORTS) begin : gen_check_port
    $fatal(1, "pen_queue: PORT must be below PORTS, is %0d (%m)", PORT);
  end

  typedef logic [CELL_W-1:0] frame_t;
  typedef logic [PORT_W-1:0] reception_t;
  typedef struct packed {
    reception_t port;
    logic       shaped;
  } list_t;
  typedef struct packed {
    list_t  list;
    class_t traffic_class;
  } queue_t;
  typedef struct packed {
    cycle_t  visible;
    pool_e   pool;
    length_t length;
  } info_t;
  localparam length_t OVERHEAD_BYTES = 20;       // preamble, delimiter and gap
  typedef struct packed {
    cycle_t  visible;
    frame_t  frame;
    length_t on_wire;                            // its length with all that it takes on the wire
  } head_t;
  typedef struct packed {
    cycle_t visible;
    list_t  list;                                // of equal times the lower port goes first, then what is not shaped
  } order_t;

  typedef enum logic [2:0] {IDLE, EXPIRE, UNLINK, NEXT, INFO, HEAD, SCAN, SETTLE} state_e;
  state_e             state_d, state_q;
  class_t             class_q;                   // of the frame that goes its way
  list_t              list_q, scan_q;
  frame_t             frame_q;
  logic               popped_q;                  // granted in the cycle before
  class_t             granted_class_q;           // of the frame granted last
  list_t              granted_list_q;
  frame_t             granted_frame_q;
  logic               taken_q, follows_q;        // it has not gone its way; not begun, another one is on its own
  logic [CLASSES-1:0] given_up_q;                // class of a frame given up that goes its way

  logic               enqueue, empty;
  queue_t             queue;                     // the one that is looked at in this cycle
  logic               filled, emptied;
  frame_t             tail, next_frame;
  head_t              head, head_update;
  logic               head_write;
  info_t              info;
  logic               info_read, link_read;
  frame_t             info_addr;

  cycle_t             now_q, next_q, ahead_q;    // the count of cycles, now and of the next two cycles
  logic [CLASSES-1:0] valid_q, ready_q, due_q;   // candidates; due: ready in the next cycle
  logic [CLASSES-1:0] soon_q;                    // becomes ready within 2^SOON_W cycles, if it is not yet
  logic [CLASSES-1:0][SOON_W-1:0] visible_low_q;
  logic [CLASSES-1:0] fits_q;
  length_t            wire_q[CLASSES];
  logic               offer_q, offer_ready, offer_soon, offer_earlier, offer_fits, load;
  queue_t             offer_queue_q;
  class_t             offer_class;
  order_t             offer_order, candidate_order, compared_order, order_difference;
  cycle_t             offer_lead;

  class_t             select_class, pop_class;
  logic               expire, check_q, never_fits_q;
  length_t            candidate_wire;
  class_t             check_class_q;
  logic [7:0]         until_q;                   // in 2^20 cycles, when the candidate becomes visible
  frame_t             pop_frame;
  list_t              pop_list;

  // --- lists -----------------------------------------------------------------------------------------------------
  assign enqueue = enqueue_i.destination[PORT];
  always_comb begin
    if (init_busy_i) queue = init_index_i[$bits(queue_t)-1:0];
    else if (enqueue) queue = {enqueue_i.port[PORT_W-1:0], enqueue_i.shaped, enqueue_i.traffic_class};
    else if (state_q == SCAN) queue = {scan_q, class_q};
    else queue = {list_q, class_q};
  end
  assign empty   = !filled;
  assign emptied = state_q == UNLINK && tail == frame_q;

  pen_lutram_1r1w #(.WIDTH(1), .DEPTH(QUEUES)) u_filled (
    .clk_i,
    .write_i     (init_busy_i || enqueue || emptied),
    .write_addr_i(queue),
    .write_data_i(enqueue && !init_busy_i),
    .read_addr_i (queue),
    .read_data_o (filled)
  );

  assign head_write  = (enqueue && empty) || (!enqueue && state_q == HEAD);
  assign head_update = '{
    visible: enqueue ? enqueue_i.visible : info.visible,
    frame:   enqueue ? enqueue_i.frame[CELL_W-1:0] : frame_q,
    on_wire: OVERHEAD_BYTES + (enqueue ? enqueue_i.length : info.length)
  };

  pen_lutram_1r1w #(.WIDTH($bits(head_t)), .DEPTH(QUEUES)) u_head (
    .clk_i,
    .write_i     (head_write),
    .write_addr_i(queue),
    .write_data_i(head_update),
    .read_addr_i (offer_queue_q),
    .read_data_o (head)
  );

  pen_lutram_1r1w #(.WIDTH(CELL_W), .DEPTH(QUEUES)) u_tail (
    .clk_i,
    .write_i     (enqueue),
    .write_addr_i(queue),
    .write_data_i(enqueue_i.frame[CELL_W-1:0]),
    .read_addr_i (queue),
    .read_data_o (tail)
  );

  // An enqueue holds off the read.
  pen_ram_1r1w #(.WIDTH(CELL_W), .DEPTH(CELLS), .READ_OLD(0)) u_link (
    .clk_i,
    .write_i     (enqueue && !empty),
    .write_addr_i(tail),
    .write_data_i(enqueue_i.frame[CELL_W-1:0]),
    .read_i      (link_read),
    .read_addr_i (frame_q),
    .read_data_o (next_frame)
  );

  // A grant reads first: what it takes the place of is read again.
  assign info_read = grant_o || expire || state_q == INFO || state_q == EXPIRE;
  assign info_addr = grant_o || expire ? pop_frame : frame_q;

  // A frame is looked at only after its enqueue.
  pen_ram_1r1w #(.WIDTH($bits(info_t)), .DEPTH(CELLS), .READ_OLD(0)) u_info (
    .clk_i,
    .write_i     (enqueue),
    .write_addr_i(enqueue_i.frame[CELL_W-1:0]),
    .write_data_i({enqueue_i.visible, enqueue_i.pool[PORT], enqueue_i.length}),
    .read_i      (info_read),
    .read_addr_i (info_addr),
    .read_data_o (info)
  );

  // --- candidates ------------------------------------------------------------------------------------------------
  // Time leaps only while nothing is queued: then it matters not that these lag behind for some cycles.
  always_ff @(posedge clk_i) begin
    ahead_q <= late_cycle_i + cycle_t'(LATE + 3);
    next_q  <= ahead_q;
    now_q   <= next_q;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) offer_q <= 1'b0;
    else offer_q <= enqueue ? empty : state_q == SCAN && !empty;
    offer_queue_q <= queue;
  end

  // What is offered stands at the head of its queue.
  assign offer_class = offer_queue_q.traffic_class;
  assign offer_order = '{visible: head.visible, list: offer_queue_q.list};

  // Two times that have passed, or two that have not, are near enough to each other for a comparison modulo 2^28. The
  // candidate is compared with what is offered, or with the time to see how old it is; the difference is one less.
  assign offer_lead       = offer_order.visible - ahead_q;
  assign offer_ready      = offer_lead[$high(cycle_t)];
  assign offer_soon       = offer_lead[$high(cycle_t):SOON_W] == '0;
  assign compared_order   = offer_q ? offer_order : {now_q, candidate_order.list};
  assign order_difference = candidate_order + ~compared_order;
  assign offer_earlier    = offer_ready != (ready_q[offer_class] || due_q[offer_class])
      ? offer_ready : !order_difference.visible[$high(cycle_t)];

  // A candidate that is ready may be selected in this cycle and stays, but not while the class looks for a new one.
  assign load = offer_q && (!valid_q[offer_class]
      || (offer_earlier && (!ready_q[offer_class] || (state_q != IDLE && class_q == offer_class))));

  // How many bytes may pass while the gate stays open. A byte takes 8 ns; what is left of the last one is of no use.
  // Any frame passes in 2^FAR_W ns.
  localparam int unsigned FAR_W = 14;
  logic [CLASSES-1:0]             far;
  logic [CLASSES-1:0][FAR_W:0]    open_ns;
  logic [CLASSES-1:0][FAR_W-3:0]  open_bytes;
  always_comb begin
    for (int unsigned k = 0; k < CLASSES; k++) begin
      far[k]        = remaining_next_ns_i[15:FAR_W] != '0 || after_next_ns_i[k][FAR_W] || !guard_next_i;
      open_ns[k]    = {1'b0, remaining_next_ns_i[FAR_W-1:0]} + {1'b0, after_next_ns_i[k][FAR_W-1:0]};
      open_bytes[k] = open_ns[k][FAR_W:3];
    end
  end
  assign offer_fits = open_next_i[offer_class]
      && (far[offer_class] || {1'b0, head.on_wire} <= open_bytes[offer_class]);

  // Between offers the classes are looked at in turn: once in a while for their age, else for whether their candidates
  // become ready soon. That of either is noted a cycle later; a candidate that has gone by then is not valid any more.
  class_t compare_class, turn_d, turn_q, look_class_q, soon_class_q;
  logic   check_next, look_age_q, becomes_soon_q;
  assign check_next    = next_q[6:0] == '0;
  assign compare_class = offer_q ? offer_class : look_class_q;
  assign turn_d        = turn_q + class_t'(!offer_q && !look_age_q);

  always_ff @(posedge clk_i) begin
    turn_q       <= rst_i ? '0 : turn_d;
    look_age_q   <= check_next;
    look_class_q <= check_next ? next_q[9:7] : turn_d;
    if (rst_i) becomes_soon_q <= 1'b0;
    else if (offer_q) becomes_soon_q <= load && offer_soon;
    else becomes_soon_q <= order_difference.visible[$high(cycle_t):SOON_W] == '0;
    soon_class_q <= compare_class;
  end

  for (genvar k = 0; k < CLASSES; k++) begin : gen_candidate
    logic soon;
    assign soon = soon_q[k] || (becomes_soon_q && soon_class_q == class_t'(k) && valid_q[k]);

    always_ff @(posedge clk_i) begin
      fits_q[k] <= open_next_i[k] && (far[k] || {1'b0, wire_q[k]} <= open_bytes[k]);
      if (load && offer_class == class_t'(k)) begin
        fits_q[k]    <= offer_fits;
        wire_q[k]    <= head.on_wire;
        visible_low_q[k] <= offer_order.visible[SOON_W-1:0];
      end
      if (rst_i) begin
        valid_q[k] <= 1'b0;
        ready_q[k] <= 1'b0;
        soon_q[k]  <= 1'b0;
        due_q[k]   <= 1'b0;
      end else if (load && offer_class == class_t'(k)) begin
        valid_q[k] <= 1'b1;
        ready_q[k] <= offer_ready;
        soon_q[k]  <= 1'b0;
        due_q[k]   <= offer_soon && offer_lead[SOON_W-1:0] == '0;
      end else if ((grant_o || expire) && pop_class == class_t'(k)) begin
        valid_q[k] <= 1'b0;
        ready_q[k] <= 1'b0;
        soon_q[k]  <= 1'b0;
        due_q[k]   <= 1'b0;
      end else begin
        soon_q[k] <= soon;
        due_q[k]  <= soon && visible_low_q[k] == ahead_q[SOON_W-1:0];
        if (due_q[k]) ready_q[k] <= 1'b1;
      end
    end
  end

  // What the candidates are, for the one that is compared and for the one that is popped.
  pen_lutram_1r1w #(.WIDTH($bits(order_t) + $bits(length_t)), .DEPTH(CLASSES)) u_order (
    .clk_i,
    .write_i     (load),
    .write_addr_i(offer_class),
    .write_data_i({offer_order, head.on_wire}),
    .read_addr_i (compare_class),
    .read_data_o ({candidate_order, candidate_wire})
  );

  // The frame that is selected or given up: which of them comes last.
  pen_lutram_1r1w #(.WIDTH(CELL_W + $bits(list_t)), .DEPTH(CLASSES)) u_candidate (
    .clk_i,
    .write_i     (load),
    .write_addr_i(offer_class),
    .write_data_i({head.frame, offer_order.list}),
    .read_addr_i (pop_class),
    .read_data_o ({pop_frame, pop_list})
  );

  // --- selection and expiry --------------------------------------------------------------------------------------
  pen_selection u_selection (
    .clk_i,
    .rst_i,
    .enable_i(tx_ready_i && !taken_q),
    .round_robin_i,
    .ready_i (ready_q & ~given_up_q),
    .fits_i  (fits_q),
    .credit_i,
    .grant_o,
    .class_o (select_class)
  );

  // Each class is looked at once in 1024 cycles.
  assign expire        = check_q && (never_fits_q || ~until_q >= LIFETIME) && ready_q[check_class_q]
      && state_q == IDLE && !follows_q && !grant_o;
  assign pop_class     = grant_o ? select_class : check_class_q;
  assign grant_class_o = select_class;
  assign grant_frame_o = cell_t'(pop_frame);

  always_ff @(posedge clk_i) begin
    if (rst_i) check_q <= 1'b0;
    else check_q <= look_age_q && ready_q[compare_class] && !offer_q && state_q == IDLE;
    check_class_q <= compare_class;
    if (look_age_q) begin
      until_q      <= order_difference.visible[27:20];
      never_fits_q <= gate_enable_i && {1'b0, candidate_wire} > largest_window_ns_i[compare_class][14:3];
    end
    if (expire) expired_reason_o <= never_fits_q ? REASON_MAX_SDU : REASON_LIFETIME;
  end

  // --- what follows a pop ----------------------------------------------------------------------------------------
  always_comb begin
    state_d   = state_q;
    link_read = 1'b0;
    unique case (state_q)
      IDLE: begin
        if (grant_o || follows_q) state_d = UNLINK;
        else if (expire) state_d = EXPIRE;
      end
      EXPIRE: if (expired_valid_o && expired_ready_i) state_d = UNLINK;
      UNLINK: begin
        link_read = !enqueue;
        if (!enqueue) state_d = tail == frame_q ? SCAN : NEXT;
      end
      NEXT: state_d = INFO;
      INFO: if (!grant_o) state_d = HEAD;
      HEAD: begin
        if (!enqueue) state_d = SCAN;
        else if (grant_o) state_d = INFO;
      end
      SCAN: if (!enqueue && scan_q == list_t'(2 * PORTS - 1)) state_d = SETTLE;
      SETTLE: state_d = IDLE;  // the last offer is compared
      default: state_d = IDLE;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q    <= IDLE;
      popped_q   <= 1'b0;
      taken_q    <= 1'b0;
      follows_q  <= 1'b0;
      given_up_q <= '0;
    end else begin
      state_q   <= state_d;
      popped_q  <= grant_o;
      taken_q   <= grant_o || (taken_q && (state_q != SETTLE || follows_q));
      follows_q <= state_q != IDLE && (grant_o || follows_q);
      if (expire) given_up_q <= CLASSES'(1) << check_class_q;
      else if (state_q == SETTLE) given_up_q <= '0;
    end
    if (grant_o) begin
      granted_class_q <= pop_class;
      granted_list_q  <= pop_list;
      granted_frame_q <= pop_frame;
    end
    if (state_q == IDLE) begin
      class_q <= follows_q ? granted_class_q : pop_class;
      list_q  <= follows_q ? granted_list_q : pop_list;
      frame_q <= follows_q ? granted_frame_q : pop_frame;
    end
    if (state_q == NEXT) frame_q <= next_frame;
    if (state_q != SCAN) scan_q <= '0;
    else if (!enqueue) scan_q <= scan_q + 1'b1;
  end

  assign popped_o = '{
    valid: popped_q,
    pool: info.pool,
    traffic_class: popped_q ? granted_class_q : class_q,
    port: popped_q ? port_t'(granted_list_q.port) : port_t'(list_q.port),
    frame: popped_q ? cell_t'(granted_frame_q) : cell_t'(frame_q),
    length: info.length
  };
  always_comb begin
    waiting_o = ready_q;
    if (state_q != IDLE) waiting_o[class_q] = 1'b1;
    if (taken_q) waiting_o[granted_class_q] = 1'b1;
  end

  assign expired_valid_o = state_q == EXPIRE && !popped_q;
  assign idle_o          = state_q == IDLE && !follows_q && valid_q == '0 && !offer_q;

  logic unused;
  assign unused = &{1'b0, init_index_i, enqueue_i, order_difference, open_ns};

`ifdef FORMAL
  // Contract: 1. a frame is selected only while its gate is open, and if it ends, its gap counted, before the gate
  // closes; 2. its class has credit; 3. without round robin it is the highest class of which that can be said; 4. it is not selected before
  // its time, as long as no time lies half a wrap or more ahead when it is offered.
  logic [CLASSES-1:0]    f_open_q;
  logic                  f_guard_q;
  logic [2:0]            f_past_q = '0;          // cycles that have passed, up to three
  logic [15:0]           f_remaining_q;
  window_t [CLASSES-1:0] f_after_q;
  logic [CLASSES-1:0]    f_fits;
  localparam logic signed [28:0] F_LONG_AGO = 29'sh17FF_FFFF;  // half a wrap, and a cycle
  class_t                f_class;                // any, as it has no first value
  cycle_t                f_now, f_now_q;
  logic signed [28:0]    f_wait_q, f_offer_wait; // until the candidate of that class is eligible
  cycle_t                f_visible;

  assign f_visible = u_order.memory[f_class][$bits(length_t)+$bits(list_t)+:$bits(cycle_t)];

  assign f_now = late_cycle_i + cycle_t'(LATE);
  assign f_offer_wait = 29'($signed(cycle_t'(offer_order.visible - f_now)));
  always_ff @(posedge clk_i) begin
    f_class <= f_class;
    f_now_q <= f_now + 1'b1;
    if (rst_i) f_wait_q <= '0;
    else if (load && offer_class == f_class) f_wait_q <= f_offer_wait - 29'sd1;
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
    assert (!f_past_q[2] || now_q == f_now);
    for (int unsigned k = 0; k < CLASSES; k++) begin
      assume (17'(remaining_next_ns_i) + 17'(after_next_ns_i[k]) < 17'h10000);
      f_fits[k] = f_open_q[k] && (!f_guard_q
          || 17'(wire_q[k]) * 17'd8 <= 17'(f_remaining_q) + 17'(f_after_q[k]));
    end
    if (&f_past_q && !rst_i) begin
      for (int unsigned k = 0; k < CLASSES; k++) begin
        assert (!ready_q[k] || valid_q[k]);
        assert (!(soon_q[k] || due_q[k]) || valid_q[k]);
        assert (!valid_q[k] || fits_q[k] == f_fits[k]);
        if (grant_o && &u_selection.first_q && k > 32'(grant_class_o))
          assert (!(ready_q[k] && f_fits[k] && credit_i[k] && !given_up_q[k]));
      end
      if (grant_o) begin
        assert (tx_ready_i && ready_q[grant_class_o] && f_fits[grant_class_o] && credit_i[grant_class_o]);
        assert (grant_class_o != f_class || f_wait_q <= 0);
      end
      assert (f_wait_q >= F_LONG_AGO && f_wait_q < 29'sh0800_0000);
      assert (!valid_q[f_class] || f_wait_q == F_LONG_AGO
          || f_visible - f_now == f_wait_q[27:0]);
      assert (!valid_q[f_class] || visible_low_q[f_class] == f_visible[SOON_W-1:0]);
      assert (!soon_q[f_class] || (valid_q[f_class] && f_wait_q <= 29'sd1 + (29'sd1 << SOON_W)));
      assert (!becomes_soon_q || soon_class_q != f_class || !valid_q[f_class] || f_wait_q <= (29'sd1 << SOON_W));
      assert (!due_q[f_class] || f_wait_q <= 29'sd1);
      assert (!ready_q[f_class] || f_wait_q <= 0);
      cover (grant_o);
    end
  end
`endif
endmodule
