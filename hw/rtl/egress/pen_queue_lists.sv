// SPDX-License-Identifier: Apache-2.0
// The lists of frames that wait at one egress port: two for each reception port and class, of shaped frames and others.
//
// A list is in memory: its head with what decides about it, its tail, and a link from each frame to the next. What comes
// to the head of a list is offered. A frame that was taken out goes its way through the memories afterwards:
//
//   cycle    | n         | n+1                   | n+2                     | n+3, without enqueue   ...
//   unlink_i | 1         |                       |                         |
//   state    | IDLE      | LAST: is it the last? | UNLINK: the list is     | NEXT, INFO, TAKE, HEAD: its successor is the head;
//            |           |                       | empty or goes on        | SCAN: the heads of its class are offered, a list a
//            |           |                       |                         | cycle; SETTLE
//
// An enqueue always goes first: the states that use the same memories wait for it, and so no case of both at once is left.
module pen_queue_lists
  import pen_pkg::*;
#(
  parameter int unsigned PORTS   = 4,
  parameter int unsigned CELLS   = 1024,
  parameter int unsigned PORT    = 0,                // this egress port
  parameter int unsigned CLASS_W = $bits(class_t),
  localparam int unsigned CELL_W = $clog2(CELLS),
  localparam int unsigned LIST_W = $clog2(PORTS) + 1 // a list of a class: {reception port, shaped}
) (
  input  logic               clk_i,
  input  logic               rst_i,
  input  logic               init_busy_i,            // each index in turn: all lists become empty
  input  init_index_t        init_index_i,
  input  enqueue_t           enqueue_i,
  input  logic               unlink_i,               // while idle_o: what was the head of a list, and was offered
  input  logic [LIST_W-1:0]  unlink_list_i,
  input  logic [CLASS_W-1:0] unlink_class_i,
  input  logic [CELL_W-1:0]  unlink_frame_i,
  output logic               idle_o,
  output logic               settled_o,              // all heads of the class have been offered but the last, which is now
  input  logic               read_i,                 // what is known of a frame; it goes first, and comes late
  input  logic [CELL_W-1:0]  read_frame_i,
  input  logic               held_i,                 // the same, of a frame that waits
  input  logic [CELL_W-1:0]  held_frame_i,           // while idle_o it is read in any case
  output pool_e              pool_o,                 // in the cycle after
  output length_t            length_o,
  output slot_words_t        slot_words_o,           // of its length as it has the wire; what is left of it, length and edit say
  output edit_t              edit_o,
  input  cycle_t             cycle_next_i,           // the count of cycles in the next cycle
  output logic               scans_o,                // there may be an offer in the next cycle, as with an enqueue, which goes first
  output logic [CLASS_W-1:0] scan_class_o,           // with scans_o: of this class
  output logic               offer_o,                // stands at the head of its list
  output logic [LIST_W-1:0]  offer_list_o,           // all ones where none could come, and as visible the count of cycles
  output logic [CLASS_W-1:0] offer_class_o,
  output cycle_t             offer_visible_o,
  output logic [CELL_W-1:0]  offer_frame_o,
  output length_t            offer_wire_o            // its length with all that it takes on the wire
);
  localparam length_t OVERHEAD_BYTES = 20;           // preamble, delimiter and gap

  typedef logic [CELL_W-1:0] frame_t;
  typedef struct packed {
    logic [LIST_W-1:0]  list;
    logic [CLASS_W-1:0] traffic_class;
  } queue_t;
  localparam int unsigned QUEUES = 1 << $bits(queue_t);
  typedef struct packed {
    cycle_t      visible;
    pool_e       pool;
    length_t     length;
    slot_words_t slot_words;
    edit_t       edit;
  } info_t;
  typedef struct packed {
    cycle_t  visible;
    frame_t  frame;
    length_t on_wire;
  } head_t;

  typedef enum logic [3:0] {IDLE, LAST, UNLINK, NEXT, INFO, TAKE, HEAD, SCAN, SETTLE} state_e;
  state_e            state_d, state_q;
  queue_t            walk_q;                         // of the frame that goes its way; in SCAN, each of its class
  frame_t            frame_q;
  logic              last_q;                         // no other frame is in its list
  queue_t            offer_queue_q;

  logic   enqueue, filled, walk_filled, emptied, head_write, link_read, begins_scan;
  queue_t enqueue_to, queue;                         // queue: whose head may change
  frame_t tail, walk_tail, next_frame, reread;
  head_t  head_update, scanned, offer_q;
  info_t  info, taken_q;                             // taken: of the frame that becomes a head
  length_t enqueue_slot, taken_slot;

  assign enqueue = enqueue_i.destination[PORT];
  assign enqueue_to = {enqueue_i.port[LIST_W-2:0], enqueue_i.shaped, enqueue_i.traffic_class[CLASS_W-1:0]};
  assign queue      = enqueue ? enqueue_to : walk_q;
  assign emptied    = !enqueue && state_q == UNLINK && last_q;

  // Where an enqueue goes to, and what is walked through.
  pen_lutram_nr1w #(.WIDTH(1), .DEPTH(QUEUES)) u_filled (
    .clk_i,
    .write_i     (init_busy_i || enqueue || emptied),
    .write_addr_i(init_busy_i ? queue_t'(init_index_i) : queue),
    .write_data_i(enqueue && !init_busy_i),
    .read_addr_i ({walk_q, enqueue_to}),
    .read_data_o ({walk_filled, filled})
  );
  pen_lutram_nr1w #(.WIDTH(CELL_W), .DEPTH(QUEUES)) u_tail (
    .clk_i,
    .write_i     (enqueue),
    .write_addr_i(enqueue_to),
    .write_data_i(enqueue_i.frame[CELL_W-1:0]),
    .read_addr_i ({walk_q, enqueue_to}),
    .read_data_o ({walk_tail, tail})
  );

  assign head_write  = (enqueue && !filled) || (!enqueue && state_q == HEAD);
  assign head_update = '{
    visible: enqueue ? enqueue_i.visible : taken_q.visible,
    frame:   enqueue ? enqueue_i.frame[CELL_W-1:0] : frame_q,
    on_wire: OVERHEAD_BYTES + (enqueue ? enqueue_slot : taken_slot)
  };

  pen_lutram_1r1w #(.WIDTH($bits(head_t)), .DEPTH(QUEUES)) u_head (
    .clk_i,
    .write_i     (head_write),
    .write_addr_i(queue),
    .write_data_i(head_update),
    .read_addr_i (walk_q),
    .read_data_o (scanned)
  );

  // An enqueue holds off the read.
  pen_ram_1r1w #(.WIDTH(CELL_W), .DEPTH(CELLS), .READ_OLD(0)) u_link (
    .clk_i,
    .write_i     (enqueue && filled),
    .write_addr_i(tail),
    .write_data_i(enqueue_i.frame[CELL_W-1:0]),
    .read_i      (link_read),
    .read_addr_i (frame_q),
    .read_data_o (next_frame)
  );

  // A frame is looked at only after its enqueue. Its 54 bits take one block RAM and a half; 55 would take two.
  pen_ram_1r1w #(.WIDTH($bits(info_t)), .DEPTH(CELLS), .READ_OLD(0)) u_info (
    .clk_i,
    .write_i     (enqueue),
    .write_addr_i(enqueue_i.frame[CELL_W-1:0]),
    .write_data_i({
      enqueue_i.visible, enqueue_i.pool[PORT], enqueue_i.length, enqueue_slot[$high(length_t):2], enqueue_i.edit[PORT]
    }),
    .read_i      (read_i || held_i || state_q == IDLE || state_q == INFO),
    .read_addr_i (read_i ? read_frame_i : reread),
    .read_data_o (info)
  );

  assign reread   = held_i || state_q == IDLE ? held_frame_i : frame_q;
  assign pool_o   = info.pool;
  assign length_o = info.length;
  assign slot_words_o = info.slot_words;
  assign edit_o   = info.edit;
  assign enqueue_slot = enqueue_i.slot[PORT];
  assign taken_slot   = slot_length_of(taken_q.slot_words, taken_q.length, taken_q.edit, PORTS);

  assign begins_scan = !enqueue && (state_q == HEAD || (state_q == UNLINK && last_q));

  always_comb begin
    state_d   = state_q;
    link_read = 1'b0;
    unique case (state_q)
      IDLE: if (unlink_i) state_d = LAST;
      LAST: state_d = UNLINK;
      UNLINK: begin
        link_read = !enqueue;
        if (!enqueue) state_d = NEXT;
      end
      NEXT: state_d = INFO;
      INFO: if (!read_i && !held_i) state_d = TAKE;
      TAKE: state_d = HEAD;
      HEAD: ;
      SCAN: if (!enqueue && walk_q.list == LIST_W'(2 * PORTS - 1)) state_d = SETTLE;
      SETTLE: state_d = IDLE;
      default: state_d = IDLE;
    endcase
    if (begins_scan) state_d = SCAN;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= IDLE;
    else state_q <= state_d;
    if (state_q == IDLE) begin
      walk_q  <= {unlink_list_i, unlink_class_i};
      frame_q <= unlink_frame_i;
    end
    if (state_q == LAST) last_q <= walk_tail == frame_q;
    if (enqueue && enqueue_to == walk_q) last_q <= 1'b0;
    if (state_q == NEXT) frame_q <= next_frame;
    if (state_q == TAKE) taken_q <= info;
    if (begins_scan) walk_q.list <= '0;
    else if (state_q == SCAN && !enqueue) walk_q.list <= walk_q.list + 1'b1;
  end

  assign idle_o    = state_q == IDLE;
  assign settled_o = state_q == SETTLE;

  assign scans_o      = state_q == SCAN;
  assign scan_class_o = walk_q.traffic_class;

  always_ff @(posedge clk_i) begin
    offer_o       <= !rst_i && (enqueue ? !filled : state_q == SCAN && walk_filled);
    offer_queue_q <= queue;
    offer_q       <= enqueue ? head_update : scanned;
    if (!enqueue && !scans_o) begin
      offer_queue_q.list <= '1;
      offer_q.visible    <= cycle_next_i;
    end
  end

  assign offer_list_o    = offer_queue_q.list;
  assign offer_class_o   = offer_queue_q.traffic_class;
  assign offer_visible_o = offer_q.visible;
  assign offer_frame_o   = offer_q.frame;
  assign offer_wire_o    = offer_q.on_wire;

  logic unused;
  assign unused = &{1'b0, init_index_i, enqueue_i, taken_q};

`ifdef FORMAL_HEADS
  logic f_walks, f_scans;                            // walks: the head of that list is a frame that was taken out
  assign f_walks = state_q inside {LAST, UNLINK, NEXT, INFO, TAKE, HEAD};
  assign f_scans = state_q == SCAN;
`endif
`ifdef FORMAL_LISTS
  // Contract, for any list: 1. nothing is lost, doubled or reordered: what is offered of it is always the frame that came
  // first of those that came and have not been taken out; 2. all heads of a class are offered after a frame was taken
  // out; 3. what is read of a frame is what came with it. As long as only frames are taken out that stand at the head of a
  // list and are not just being offered, which pen_queue proves, and no frame comes again before it was taken out and has
  // gone its way.
  logic               f_past_q = 1'b0;
  queue_t             f_queue;                       // any, as it has no first value
  frame_t             f_frame;                       // so is this
  logic [CELL_W:0]    f_count_q;                     // frames of the list, and which
  frame_t             f_frames_q[CELLS];
  logic [CELLS-1:0]   f_inside_q;                    // frames that are in a list, and in which
  queue_t             f_list_q[CELLS];
  info_t              f_info_q;                      // what came with f_frame
  length_t            f_slot_q;                      // and its length as it has the wire
  logic               f_read_q;
  logic               f_comes, f_goes, f_unread, f_walks, f_offered;
  queue_t             f_unlink;
  logic               f_seen_q;                      // the list was offered since a frame of its class was taken out

  assign f_unlink = {unlink_list_i, unlink_class_i};
  assign f_offered = offer_o && offer_queue_q == f_queue;
  assign f_comes  = enqueue && enqueue_to == f_queue;
  assign f_goes   = unlink_i && idle_o && f_unlink == f_queue;
  // The frame taken out has a successor that is not yet the head of its list.
  assign f_unread = state_q inside {LAST, UNLINK};
  assign f_walks  = state_q inside {LAST, UNLINK, NEXT, INFO, TAKE, HEAD};

  always_ff @(posedge clk_i) begin
    f_past_q <= 1'b1;
    f_queue  <= f_queue;
    f_frame  <= f_frame;
    f_seen_q <= !idle_o && (f_seen_q || f_offered);
    f_read_q <= (read_i ? read_frame_i == f_frame : (held_i || idle_o) && held_frame_i == f_frame) && f_inside_q[f_frame];
    if (enqueue && enqueue_i.frame[CELL_W-1:0] == f_frame) begin
      f_info_q <= {
        enqueue_i.visible, enqueue_i.pool[PORT], enqueue_i.length, enqueue_slot[$high(length_t):2], enqueue_i.edit[PORT]
      };
      f_slot_q <= enqueue_slot;
    end
    if (unlink_i && idle_o) f_inside_q[unlink_frame_i] <= 1'b0;
    if (enqueue) begin
      f_inside_q[enqueue_i.frame[CELL_W-1:0]] <= 1'b1;
      f_list_q[enqueue_i.frame[CELL_W-1:0]]   <= enqueue_to;
    end
    for (int unsigned n = 0; n < CELLS; n++) if (f_goes && n + 1 < CELLS) f_frames_q[n] <= f_frames_q[n+1];
    if (f_comes) f_frames_q[CELL_W'(f_count_q - (CELL_W + 1)'(f_goes))] <= enqueue_i.frame[CELL_W-1:0];
    f_count_q <= f_count_q + (CELL_W + 1)'(f_comes) - (CELL_W + 1)'(f_goes);
    if (rst_i) begin
      f_count_q  <= '0;
      f_inside_q <= '0;
      f_read_q   <= 1'b0;
    end
  end

  always_comb begin
    assume (f_past_q || rst_i);
    assume (!f_past_q || !rst_i);
    assume (!rst_i || !(enqueue || unlink_i));
    assume (!init_busy_i);
    // Lists are empty at first: init_busy_i has seen to that.
    if (!f_past_q) for (int unsigned q = 0; q < QUEUES; q++) assume (!u_filled.memory[q]);
    if (f_past_q) begin
      if (enqueue) begin
        assume (enqueue_i.port < 3'(PORTS));
        assume (enqueue_i.slot[PORT] == slot_length(enqueue_i.length, enqueue_i.edit[PORT], PORTS));
        assume (!f_inside_q[enqueue_i.frame[CELL_W-1:0]]);
        assume (!f_unread || enqueue_i.frame[CELL_W-1:0] != frame_q);
      end
      if (unlink_i) begin
        assume (idle_o && u_filled.memory[f_unlink]);
        assume (u_head.memory[f_unlink][$bits(length_t)+:CELL_W] == unlink_frame_i);
        assume (!offer_o || offer_queue_q != f_unlink);
        // What this proof says of each list, it may take of all others.
        if (!f_goes) assume (f_inside_q[unlink_frame_i] && f_list_q[unlink_frame_i] == f_unlink);
      end
    end
    if (f_past_q && !rst_i) begin
      // The contract.
      if (f_offered) assert (f_count_q != '0 && offer_frame_o == f_frames_q[0]);
      if (f_read_q) assert (pool_o == f_info_q.pool && length_o == f_info_q.length && slot_words_o == f_slot_q[$high(length_t):2]);
      if (f_offered && offer_frame_o == f_frame)
        assert (offer_visible_o == f_info_q.visible && offer_wire_o == f_slot_q + OVERHEAD_BYTES);
      if (settled_o || (state_q == SCAN && walk_q.list > f_queue.list)) begin
        if (walk_q.traffic_class == f_queue.traffic_class && f_count_q != '0) assert (f_seen_q || f_offered);
      end
      // What makes it hold: frames of the list are linked, from its head to its tail.
      if (f_offered) assert (offer_q == u_head.memory[f_queue]);
      assert (f_count_q <= (CELL_W + 1)'(CELLS));
      for (int unsigned n = 0; n < CELLS; n++) begin
        if (n < 32'(f_count_q)) begin
          assert (f_inside_q[f_frames_q[n]] && f_list_q[f_frames_q[n]] == f_queue);
          for (int unsigned m = 0; m < n; m++) assert (f_frames_q[m] != f_frames_q[n]);
          if (n + 1 < 32'(f_count_q)) assert (u_link.memory[f_frames_q[n]] == f_frames_q[n+1]);
          if (n + 1 == 32'(f_count_q)) assert (u_tail.memory[f_queue] == f_frames_q[n]);
        end
      end
      if (f_count_q != '0) begin
        assert (u_filled.memory[f_queue]);
        if (!(f_walks && walk_q == f_queue)) begin
          assert (u_head.memory[f_queue][$bits(length_t)+:CELL_W] == f_frames_q[0]);
          if (f_frames_q[0] == f_frame)
            assert (u_head.memory[f_queue] == {f_info_q.visible, f_frame, length_t'(f_slot_q + OVERHEAD_BYTES)});
        end
      end
      // Each other list ends with one of its own frames, or with the one that is being taken out.
      for (int unsigned q = 0; q < QUEUES; q++) begin
        if (u_filled.memory[q] && !(f_unread && walk_q == queue_t'(q) && u_tail.memory[q] == frame_q))
          assert (f_inside_q[u_tail.memory[q]] && f_list_q[u_tail.memory[q]] == queue_t'(q));
      end
      if (f_inside_q[f_frame]) begin
        assert (u_info.memory[f_frame] == f_info_q);
        assert (f_slot_q == slot_length(f_info_q.length, f_info_q.edit, PORTS));
        assert (f_info_q.slot_words == f_slot_q[$high(length_t):2]);
      end
      // On its way.
      if (walk_q == f_queue) begin
        if (f_unread) begin
          assert (u_filled.memory[f_queue]);
          if (f_count_q == '0) assert (u_tail.memory[f_queue] == frame_q);
          else assert (u_link.memory[frame_q] == f_frames_q[0]);
        end
        if (state_q inside {NEXT, INFO, TAKE, HEAD}) assert (f_count_q != '0);
        if (state_q == NEXT) assert (next_frame == f_frames_q[0]);
        if (state_q inside {INFO, TAKE, HEAD}) assert (frame_q == f_frames_q[0]);
        if (state_q == TAKE && frame_q == f_frame) assert (info == f_info_q);
        if (state_q == HEAD && frame_q == f_frame) assert (taken_q == f_info_q);
      end
      if (f_unread) assert (!f_inside_q[frame_q]);
      if (state_q == UNLINK) assert (last_q == (u_tail.memory[walk_q] == frame_q));
      if (f_count_q == '0 && !(f_unread && walk_q == f_queue)) assert (!u_filled.memory[f_queue]);
      cover (f_offered && f_count_q == 3 && state_q == SCAN);
      cover (settled_o && f_read_q && f_count_q == 2);
    end
  end
`endif
endmodule
