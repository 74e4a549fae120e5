// SPDX-License-Identifier: Apache-2.0
// The queues of one egress port: two for each reception port and traffic class, of frames that an ATS scheduler held
// and of others.
//
// A class is served in the order of eligibility times (802.1Q 8.6.8.5), which is that of arrival for a frame without a
// scheduler. Either grows within its queue, so frames of a queue leave in the order they came (pen_queue_lists); among
// the queues the head that is eligible first goes first. For each class this head stands ready as the candidate
// (pen_queue_candidates), so that a frame is selected in the very cycle in which it becomes visible:
//
//   cycle         | n (now == visible) | n+1    | n+2 ...
//   grant_o       | valid, with class  |        |
//   popped_o      |                    | valid  |
//   lists         | idle               | idle   | idle, then its successor becomes the head, and the heads of its class are offered
//
// A new head is offered to its class as candidate in the same way as those found by the lists, and compared with it in the
// cycle after: a frame can be selected two cycles after its enqueue.
//
// A frame that is given up (pen_queue_lifetime) goes the same way through the lists. A frame of another class may be granted
// meanwhile, in the very cycle; its own way then follows, long before the transmitter is ready again. Its class is not
// served until a candidate is chosen.
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
  output logic [CLASSES-1:0] granted_o,  // the same, a bit for each class
  output release_t popped_o,             // valid: the frame granted in the cycle before; pool and length come a cycle later
  output edit_t    popped_edit_o,        // with its length, as the following
  output slot_words_t popped_slot_words_o, // see slot_length_of
  output logic     expired_valid_o,      // popped_o is a frame given up, until expired_ready_i
  output reason_e  expired_reason_o,
  input  logic     expired_ready_i,
  output logic     idle_o                // no frame is queued
);
  localparam int unsigned CELL_W = $clog2(CELLS);
  localparam int unsigned LIST_W = $clog2(PORTS) + 1;  // a list of a class: {reception port, shaped}
  if (PORTS < 2 || PORTS > MAX_PORTS) begin : gen_check_ports
    $fatal(1, "pen_queue: PORTS must be 2 to 8, is %0d (%m)", PORTS);
  end
  if (PORT >= PORTS) begin : gen_check_port
    $fatal(1, "pen_queue: PORT must be below PORTS, is %0d (%m)", PORT);
  end

  typedef logic [CELL_W-1:0] frame_t;
  typedef logic [LIST_W-1:0] list_t;

  logic               lists_idle, settled, unlink;
  list_t              unlink_list, granted_list, check_list, offer_list;
  class_t             unlink_class, scan_class, offer_class;
  frame_t             unlink_frame, granted_frame, check_frame, offer_frame;
  pool_e              pool;
  length_t            length, offer_wire;
  logic               scans, offer;
  cycle_t             offer_visible, cycle_next;
  logic [CLASSES-1:0] valid, ready, fits;
  logic               look, looked;
  class_t             look_class, looked_class;
  logic [7:0]         looked_until;
  length_t            looked_wire;
  logic               may_grant, busy, holds, given_up_unlink;
  logic [CLASSES-1:0] expires;
  class_t             check_class, given_up_class;
  list_t              given_up_list;
  frame_t             given_up_frame;
  logic [CLASSES-1:0] given_up, barred;

  logic               popped_q, read_q;          // granted in the cycle before, two cycles before
  class_t             granted_class;             // of the frame taken out that has yet to go its way
  list_t              granted_list_q;            // a cycle later
  frame_t             granted_frame_q;
  logic               taken_q, follows_q;        // it has not gone its way; not begun
  logic               follows;                   // it begins
  logic [CLASSES-1:0] taken_class_q;             // with taken_q: its class
  logic [CLASSES-1:0] chosen, searched;          // searched: a new candidate is looked for

  pen_queue_lists #(.PORTS(PORTS), .CELLS(CELLS), .PORT(PORT)) u_lists (
    .clk_i,
    .rst_i,
    .init_busy_i,
    .init_index_i,
    .enqueue_i,
    .unlink_i       (unlink),
    .unlink_list_i  (unlink_list),
    .unlink_class_i (unlink_class),
    .unlink_frame_i (unlink_frame),
    .idle_o         (lists_idle),
    .settled_o      (settled),
    .read_i         (popped_q),
    .read_frame_i   (granted_frame),
    .held_i         (holds),
    .held_frame_i   (holds ? given_up_frame : check_frame),
    .pool_o         (pool),
    .length_o       (length),
    .slot_words_o   (popped_slot_words_o),
    .edit_o         (popped_edit_o),
    .cycle_next_i   (cycle_next),
    .scans_o        (scans),
    .scan_class_o   (scan_class),
    .offer_o        (offer),
    .offer_list_o   (offer_list),
    .offer_class_o  (offer_class),
    .offer_visible_o(offer_visible),
    .offer_frame_o  (offer_frame),
    .offer_wire_o   (offer_wire)
  );

  pen_queue_candidates #(.CELL_W(CELL_W), .LIST_W(LIST_W), .LATE(LATE)) u_candidates (
    .clk_i,
    .rst_i,
    .late_cycle_i,
    .cycle_next_o   (cycle_next),
    .open_next_i,
    .guard_next_i,
    .remaining_next_ns_i,
    .after_next_ns_i,
    .enqueues_i     (enqueue_i.destination[PORT]),
    .enqueue_class_i(enqueue_i.traffic_class),
    .scans_i        (scans),
    .scan_class_i   (scan_class),
    .offer_i        (offer),
    .offer_list_i   (offer_list),
    .offer_visible_i(offer_visible),
    .offer_frame_i  (offer_frame),
    .offer_wire_i   (offer_wire),
    .searched_i     (searched),
    .granted_i      (taken_class_q & {CLASSES{popped_q}}),
    .granted_class_i(granted_class),
    .granted_frame_o(granted_frame),
    .granted_list_o (granted_list),
    .expires_i      (expires),
    .check_class_i  (check_class),
    .check_frame_o  (check_frame),
    .check_list_o   (check_list),
    .valid_o        (valid),
    .ready_o        (ready),
    .fits_o         (fits),
    .look_i         (look),
    .look_class_i   (look_class),
    .looked_o       (looked),
    .looked_class_o (looked_class),
    .until_o        (looked_until),
    .looked_wire_o  (looked_wire)
  );

  pen_selection u_selection (
    .clk_i,
    .rst_i,
    .enable_i       (may_grant),
    .round_robin_i,
    .ready_i        (ready & ~barred),
    .fits_i         (fits),
    .credit_i,
    .grant_o,
    .chosen_o       (chosen)
  );

  pen_queue_lifetime #(.CELL_W(CELL_W), .LIST_W(LIST_W)) u_lifetime (
    .clk_i,
    .rst_i,
    .gate_enable_i,
    .largest_window_ns_i,
    .cycle_next_i      (cycle_next[9:0]),
    .look_o            (look),
    .look_class_o      (look_class),
    .looked_i          (looked),
    .looked_class_i    (looked_class),
    .until_i           (looked_until),
    .looked_wire_i     (looked_wire),
    .ready_i           (ready),
    .lists_idle_i      (lists_idle),
    .settled_i         (settled),
    .busy_i            (busy),
    .check_class_o     (check_class),
    .frame_i           (check_frame),
    .list_i            (check_list),
    .popped_i          (popped_q),
    .expires_o         (expires),
    .given_up_o        (given_up),
    .barred_o          (barred),
    .granted_i         (popped_q || read_q),
    .ready_to_release_i(expired_ready_i),
    .holds_o           (holds),
    .valid_o           (expired_valid_o),
    .unlink_o          (given_up_unlink),
    .class_o           (given_up_class),
    .frame_o           (given_up_frame),
    .list_o            (given_up_list),
    .reason_o          (expired_reason_o)
  );

  assign granted_o = chosen & {CLASSES{may_grant}};

  // What is granted goes its way two cycles later, or after the frame that is given up.
  assign follows = follows_q && lists_idle && !holds;
  assign unlink  = given_up_unlink || follows;
  assign {unlink_class, unlink_list, unlink_frame} = holds
      ? {given_up_class, given_up_list, given_up_frame} : {granted_class, granted_list_q, granted_frame_q};

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      popped_q  <= 1'b0;
      read_q    <= 1'b0;
      taken_q   <= 1'b0;
      follows_q <= 1'b0;
    end else begin
      popped_q  <= grant_o;
      read_q    <= popped_q;
      taken_q   <= grant_o || (taken_q && (!settled || popped_q || follows_q));
      follows_q <= popped_q || (follows_q && !follows);
    end
    // None is taken where one may be granted.
    taken_class_q <= granted_o | (settled && !popped_q && !follows_q ? '0 : taken_class_q);
    if (rst_i) taken_class_q <= '0;
    if (popped_q) begin
      granted_list_q  <= granted_list;
      granted_frame_q <= granted_frame;
    end
  end

  assign granted_class = class_of(taken_class_q);

  assign searched  = given_up | taken_class_q;
  assign busy      = popped_q || follows_q;
  assign may_grant = tx_ready_i && !taken_q;

  assign popped_o = '{
    valid: popped_q,
    pool: pool,
    traffic_class: popped_q ? granted_class : given_up_class,
    port: popped_q ? port_t'(granted_list[LIST_W-1:1]) : port_t'(given_up_list[LIST_W-1:1]),
    frame: popped_q ? cell_t'(granted_frame) : cell_t'(given_up_frame),
    length: length
  };

  // While the successor of a frame is looked for, its class counts as waiting.
  assign waiting_o = ready | searched;
  assign idle_o    = lists_idle && !holds && !follows_q && valid == '0 && !offer;

  logic unused;
  assign unused = &{1'b0, offer_class};

`ifdef FORMAL
  // Contract: 1. a frame is selected only while its gate is open, and if it ends, its gap counted, before the gate
  // closes; 2. its class has credit; 3. without round robin it is the highest class of which that can be said; 4. it is not
  // selected before its time (pen_queue_candidates).
  logic [2:0]         f_past_q = '0;  // cycles that have passed, up to three
  logic [CLASSES-1:0] f_fits;
  class_t             f_chosen;
  assign f_fits   = u_candidates.f_fits;
  assign f_chosen = class_of(chosen);

  always_ff @(posedge clk_i) f_past_q <= {f_past_q[1:0], 1'b1};

  always_comb begin
    assume (&f_past_q || rst_i);
    assert (f_past_q[0] || !f_past_q[1]);
    assert (f_past_q[1] || !f_past_q[2]);
    if (&f_past_q && !rst_i) begin
      if (grant_o) assert (tx_ready_i && ready[f_chosen] && f_fits[f_chosen] && credit_i[f_chosen]);
      assert (granted_o == (grant_o ? CLASSES'(1) << f_chosen : '0));
      for (int unsigned k = 0; k < CLASSES; k++)
        if (grant_o && u_selection.member_q == '0 && k > 32'(f_chosen))
          assert (!(ready[k] && f_fits[k] && credit_i[k] && !given_up[k]));
      // What is told a cycle ahead of an offer is true of it.
      assert (u_candidates.offered == (offer ? CLASSES'(1) << offer_class : '0));
      assert (!offer || u_candidates.class_q == offer_class);
      cover (grant_o);
      cover (grant_o && given_up != '0);
    end
  end
`endif
`ifdef FORMAL_HEADS
  // Contract, for any class: 1. what is selected or given up is the head of a list and stays so until it goes its way, so
  // that it is the frame that came first of those in it (pen_queue_lists); 2. a class of which a list is not empty has a
  // candidate, or is being searched for one. As long as a cell does not come back before its frame has gone its way.
  logic               f_past_q = 1'b0;
  class_t             f_class;        // any, as it has no first value
  list_t              f_list;         // so is this
  list_t              f_candidate_list;
  frame_t             f_candidate_frame;
  typedef logic [LIST_W+$bits(class_t)-1:0] f_queue_t;
  f_queue_t           f_candidate, f_any, f_granted, f_given_up, f_offered, f_walking, f_unlink;

  assign {f_candidate_frame, f_candidate_list} = u_candidates.load_q && u_candidates.loaded_class_q == f_class
      ? u_candidates.loaded_q : u_candidates.u_frame.memory[f_class];
  assign f_candidate = {f_candidate_list, f_class};
  assign f_any       = {f_list, f_class};
  assign f_granted   = {granted_list_q, granted_class};
  assign f_given_up  = {given_up_list, given_up_class};
  assign f_offered   = {offer_list, offer_class};
  assign f_unlink    = {unlink_list, unlink_class};
  assign f_walking   = u_lists.walk_q;

  // Each list has frames, and its head is one that has not been taken out: which it is.
  logic               f_candidate_stands, f_granted_stands, f_given_up_stands, f_offered_stands, f_unlink_stands, f_any_filled, f_walking_filled;
  frame_t             f_candidate_head, f_granted_head, f_given_up_head, f_offered_head, f_unlink_head;
  assign f_candidate_stands = u_lists.u_filled.memory[f_candidate] && !(u_lists.f_walks && f_walking == f_candidate);
  assign f_candidate_head = u_lists.u_head.memory[f_candidate][$bits(length_t)+:CELL_W];
  assign f_granted_stands = u_lists.u_filled.memory[f_granted] && !(u_lists.f_walks && f_walking == f_granted);
  assign f_granted_head = u_lists.u_head.memory[f_granted][$bits(length_t)+:CELL_W];
  assign f_given_up_stands = u_lists.u_filled.memory[f_given_up] && !(u_lists.f_walks && f_walking == f_given_up);
  assign f_given_up_head = u_lists.u_head.memory[f_given_up][$bits(length_t)+:CELL_W];
  assign f_offered_stands = u_lists.u_filled.memory[f_offered] && !(u_lists.f_walks && f_walking == f_offered);
  assign f_offered_head = u_lists.u_head.memory[f_offered][$bits(length_t)+:CELL_W];
  assign f_unlink_stands = u_lists.u_filled.memory[f_unlink] && !(u_lists.f_walks && f_walking == f_unlink);
  assign f_unlink_head = u_lists.u_head.memory[f_unlink][$bits(length_t)+:CELL_W];
  assign f_any_filled     = u_lists.u_filled.memory[f_any];
  assign f_walking_filled = u_lists.u_filled.memory[f_walking];

  always_ff @(posedge clk_i) begin
    f_past_q <= 1'b1;
    f_class  <= f_class;
    f_list   <= f_list;
  end

  always_comb begin
    assume (f_past_q != rst_i);
    assume (!init_busy_i);
    // Lists are empty at first: init_busy_i has seen to that.
    if (rst_i) begin
      assume (enqueue_i.destination == '0);
      for (int unsigned q = 0; q < 1 << $bits(f_queue_t); q++) assume (!u_lists.u_filled.memory[q]);
    end
    assume (enqueue_i.port < 3'(PORTS));
    if (f_past_q) begin
      if (popped_q && granted_class == f_class) assert (f_candidate_stands && f_candidate_head == granted_frame);
      if (expires[f_class]) assert (valid[f_class] && f_candidate_stands && f_candidate_head == given_up_frame);
      if (unlink && unlink_class == f_class) begin
        assert (lists_idle && f_unlink_stands && f_unlink_head == unlink_frame);
        assert (!offer || f_offered != f_unlink);
      end
      if (!searched[f_class] && f_any_filled) assert (valid[f_class] || (offer && offer_class == f_class));
      assert (u_candidates.offered == (offer ? CLASSES'(1) << offer_class : '0));
      assert (!offer || u_candidates.class_q == offer_class);
      // What makes it hold. Only a candidate is ready. Who is on its way, and whose class is searched:
      assert (!(popped_q || follows_q) || taken_q);
      assert (!(popped_q && follows_q));
      if (popped_q) assert (valid[granted_class]);
      if (popped_q && granted_class == f_class) assert (!offer || f_offered != f_candidate);
      assert (taken_class_q == (taken_q ? CLASSES'(1) << granted_class : '0));
      assert (!holds || (lists_idle && u_lifetime.given_up_q == CLASSES'(1) << given_up_class));
      assert (!u_lifetime.fresh_q || (holds && !follows_q));
      if (given_up != '0 && !holds) assert (!lists_idle && given_up == CLASSES'(1) << f_walking[$bits(class_t)-1:0]);
      if (taken_q && !popped_q && !follows_q)
        assert (!lists_idle && granted_class == f_walking[$bits(class_t)-1:0] && given_up == '0);
      if (taken_q) assert (!given_up[granted_class]);
      if (!lists_idle) assert (searched[f_walking[$bits(class_t)-1:0]]);
      if (!lists_idle && (popped_q || follows_q)) assert (given_up != '0);
      // Candidate, offer and what waits for its way stand at the heads of different lists.
      if (u_lists.f_walks && f_walking[$bits(class_t)-1:0] == f_class) assert (f_walking_filled);
      if (valid[f_class]) assert (f_candidate_stands && f_candidate_head == f_candidate_frame);
      if (offer && offer_class == f_class) begin
        assert (f_offered_stands && f_offered_head == offer_frame);
        if (valid[f_class] && !searched[f_class]) assert (f_offered != f_candidate);
      end
      if (follows_q && granted_class == f_class) begin
        assert (f_granted_stands && f_granted_head == granted_frame_q);
        assert (!valid[f_class] || f_candidate != f_granted);
        assert (!offer || f_offered != f_granted);
      end
      if (holds && given_up_class == f_class) begin
        assert (f_given_up_stands && f_given_up_head == given_up_frame);
        assert (!valid[f_class] || (f_candidate != f_given_up) == !u_lifetime.fresh_q);
        assert (valid[f_class] || !u_lifetime.fresh_q);
        assert (!offer || f_offered != f_given_up);
      end
      // A class that has been looked through has a candidate.
      if (f_walking[$bits(class_t)-1:0] == f_class && f_any_filled
          && (settled || (u_lists.f_scans && u_lists.walk_q[$bits(class_t)+:LIST_W] > f_list)))
        assert (valid[f_class] || (offer && offer_class == f_class));

      assert (((ready | u_candidates.soon_q | u_candidates.due_q) & ~valid) == '0);
      cover (unlink && unlink_class == f_class && f_any_filled && f_list > unlink_list);
      cover (follows_q && settled && granted_class == f_class && f_any_filled);
    end
  end
`endif
endmodule
