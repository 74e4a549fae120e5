// SPDX-License-Identifier: Apache-2.0
// Frames of transmit queues that wait for their launch time, of each queue sorted by it. Twin: engine/shaper/src/launch.rs.
//
//   cycle     | x-1  | x        | x+1      | x+2                   x: a frame is taken or refused
//   state_q   | JUDGE | INSERT  |          |                   judged by the gate time of two cycles before INSERT
//   answer_o  |      | valid    |          |
//   due_d     |      |          | compared |
//   release_o |      |          |          | at the earliest
//
// Each queue has the slots of its frames in the order of their times, of equal times in that of their coming, and the first
// time in a register, which is compared in every cycle. One frame is released in a cycle, of the highest queue first. The
// next one of its queue follows four cycles later or more; the line is not free that soon.
//
// A frame whose launch time has passed is late: it is refused or goes at once. So is one refused whose time is too far
// ahead, as it would keep a slot for so long. A queue whose launch times are switched off gives what it has at once.
module pen_launch
  import pen_pkg::*;
#(
  parameter int unsigned QUEUES  = 4,
  parameter int unsigned SLOTS   = 4,
  parameter int unsigned LEAD_NS = 72,          // gate time reaches a frame's time by so much earlier
  parameter int unsigned SENT_CYCLES = 5        // from a release to sent_i, if nothing holds the frame up
) (
  input  logic              clk_i,
  input  logic              rst_i,
  input  logic [63:0]       gate_time_i,
  input  logic [QUEUES-1:0] enable_i,
  input  logic [QUEUES-1:0] drop_i,             // late frames are refused
  input  logic [31:0]       horizon_ns_i,       // frames are refused whose time is further ahead
  // A frame, held until answer_o
  input  logic              offer_i,
  input  logic [$clog2(QUEUES > 1 ? QUEUES : 2)-1:0] offer_queue_i,
  input  logic [$clog2(SLOTS)-1:0] offer_slot_i,
  input  length_t           offer_length_i,
  input  logic [63:0]       offer_time_i,       // ns of the PTP clock
  output logic              answer_o,
  output logic              taken_o,            // with answer_o; else one of the two below
  output logic              dropped_o,
  output logic              beyond_o,
  // One whose time has come
  output logic              release_o,
  output logic [$clog2(QUEUES > 1 ? QUEUES : 2)-1:0] release_queue_o,
  output logic [$clog2(SLOTS)-1:0] release_slot_o,
  output length_t           release_length_o,
  // What became of it: a frame has been selected, or given up
  input  logic              sent_i,
  input  logic              expired_i,
  input  logic [$clog2(QUEUES > 1 ? QUEUES : 2)-1:0] sent_queue_i,
  input  logic [$clog2(SLOTS)-1:0] sent_slot_i,
  output logic              late_o,             // with sent_i: it leaves more than a cycle after its launch time
  output logic              idle_o              // no frame is held
);
  localparam int unsigned PLACES = QUEUES > 1 ? QUEUES : 2;
  localparam int unsigned QUEUE_W = $clog2(PLACES);
  localparam int unsigned SLOT_W = $clog2(SLOTS);
  localparam int unsigned NEAR_NS = 8;
  localparam int unsigned LATE_NS = 16;         // read two cycles before, and released two cycles later at the soonest

  typedef logic [QUEUE_W-1:0] queue_t;
  typedef logic [SLOT_W-1:0]  slot_t;
  typedef logic [SLOT_W:0]    count_t;
  typedef struct packed {
    logic   valid;
    queue_t of_queue;
    slot_t  slot;
  } frame_t;

  typedef enum logic [2:0] {IDLE, PLACE, SUBTRACT, COMPARE, JUDGE, INSERT} state_e;
  state_e                        state_q;
  logic [63:0]                   launch_q;      // of the frame that is offered, as gate time has it
  count_t                        at_q;          // its place
  logic   [SLOTS-1:0]            here_q, behind_q;  // in INSERT: that place, and those behind it
  logic   [QUEUES-1:0]           of_queue_q;    // its queue
  logic                          drops_q;       // which refuses late frames
  logic [64:0]                   ahead, ahead_q;
  slot_t  [QUEUES-1:0][SLOTS-1:0] order_q;      // the first one in 0
  count_t [QUEUES-1:0]           count_q;
  logic   [QUEUES-1:0]           head_valid_q, loaded_q, due_q, near_q;
  logic   [QUEUES-1:0][63:0]     head_q;
  logic   [QUEUES-1:0][SLOTS-1:0] timed_q;      // released for their time, and not yet sent
  frame_t                        released;      // on time
  frame_t [SENT_CYCLES-1:0]      released_q;    // the one of that many cycles ago, and one more
  logic                          load_q, hit, late_q, beyond_q, insert;
  queue_t                        load_queue_q;  // the first time of that queue is read
  logic [63:0]                   read_time, read_time_q;

  // ---- What is held --------------------------------------------------------------------------------------------------
  pen_lutram_1r1w #(.WIDTH(64), .DEPTH(PLACES * SLOTS)) u_times (
    .clk_i,
    .write_i     (insert),
    .write_addr_i({offer_queue_i, offer_slot_i}),
    .write_data_i(launch_q),
    .read_addr_i (load_q ? {load_queue_q, order_q[load_queue_q][0]} : {offer_queue_i, order_q[offer_queue_i][at_q[SLOT_W-1:0]]}),
    .read_data_o (read_time)
  );
  pen_lutram_1r1w #(.WIDTH($bits(length_t)), .DEPTH(PLACES * SLOTS)) u_lengths (
    .clk_i,
    .write_i     (insert),
    .write_addr_i({offer_queue_i, offer_slot_i}),
    .write_data_i(offer_length_i),
    .read_addr_i ({release_queue_o, release_slot_o}),
    .read_data_o (release_length_o)
  );

  // ---- Coming --------------------------------------------------------------------------------------------------------
  assign hit       = (due_q & of_queue_q) != '0;  // places change before or with the next cycles
  assign answer_o  = state_q == INSERT && !hit && !load_q;
  assign beyond_o  = answer_o && beyond_q;
  assign dropped_o = answer_o && late_q && drops_q && !beyond_q;
  assign taken_o   = answer_o && !beyond_o && !dropped_o;
  assign insert    = taken_o;
  assign ahead     = {1'b0, launch_q} - {1'b0, state_q == SUBTRACT ? read_time_q : gate_time_i};

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      IDLE: begin
        at_q     <= '0;
        launch_q <= offer_time_i < 64'(LEAD_NS) ? '0 : offer_time_i - 64'(LEAD_NS);
        if (offer_i) state_q <= PLACE;
      end
      PLACE: if (!load_q) state_q <= SUBTRACT;
      SUBTRACT: state_q <= COMPARE;
      COMPARE: begin
        at_q    <= at_q + 1'b1;
        state_q <= PLACE;
        if (at_q == count_q[offer_queue_i] || ahead_q[64]) begin
          at_q    <= at_q;
          state_q <= JUDGE;
        end
      end
      JUDGE: state_q <= INSERT;
      INSERT: if (!load_q) state_q <= IDLE;
      default: state_q <= IDLE;
    endcase
    for (int unsigned i = 0; i < SLOTS; i++) begin
      here_q[i]   <= i == 32'(at_q);
      behind_q[i] <= i > 32'(at_q);
    end
    for (int unsigned k = 0; k < QUEUES; k++) of_queue_q[k] <= offer_queue_i == queue_t'(k);
    drops_q <= (drop_i & of_queue_q) != '0;
    read_time_q <= read_time;
    ahead_q  <= ahead;
    late_q   <= ahead_q[64] || ahead_q[63:0] < 64'(LATE_NS);
    beyond_q <= !ahead_q[64] && ahead_q[63:0] > 64'(horizon_ns_i);
    if (hit && state_q != IDLE) begin
      state_q <= PLACE;
      at_q    <= '0;
    end
    if (rst_i) state_q <= IDLE;
  end

  // ---- Going ---------------------------------------------------------------------------------------------------------
  always_comb begin
    release_queue_o = '0;
    for (int unsigned k = 0; k < QUEUES; k++) if (due_q[k]) release_queue_o = queue_t'(k);
    release_slot_o = order_q[release_queue_o][0];
  end
  assign release_o = due_q != '0;

  always_ff @(posedge clk_i) begin
    load_q       <= release_o && count_q[release_queue_o] != count_t'(1) && !rst_i;
    load_queue_q <= release_queue_o;
  end

  for (genvar k = 0; k < QUEUES; k++) begin : gen_queue
    logic        comes, comes_first, goes;
    logic [64:0] passed;
    assign comes       = insert && of_queue_q[k];
    assign comes_first = comes && here_q[0];
    assign goes        = release_o && release_queue_o == queue_t'(k);
    assign passed      = {1'b0, gate_time_i} - {1'b0, head_q[k]};

    always_ff @(posedge clk_i) begin
      due_q[k]  <= head_valid_q[k] && !goes && !comes_first && (!passed[64] || !enable_i[k]);
      near_q[k] <= passed <= 65'(NEAR_NS);
      loaded_q[k] <= load_q && load_queue_q == queue_t'(k);
      if (loaded_q[k] || comes_first) begin
        head_valid_q[k] <= 1'b1;
        head_q[k]       <= loaded_q[k] ? read_time_q : launch_q;
      end
      if (goes) begin
        head_valid_q[k] <= 1'b0;
        count_q[k]      <= count_q[k] - 1'b1;
        for (int unsigned i = 0; i + 1 < SLOTS; i++) order_q[k][i] <= order_q[k][i+1];
      end
      if (comes) begin
        count_q[k] <= count_q[k] + 1'b1;
        for (int unsigned i = 0; i < SLOTS; i++) begin
          if (here_q[i]) order_q[k][i] <= offer_slot_i;
          else if (behind_q[i]) order_q[k][i] <= order_q[k][i == 0 ? 0 : i-1];
        end
      end
      if (rst_i) begin
        due_q[k]        <= 1'b0;
        loaded_q[k]     <= 1'b0;
        head_valid_q[k] <= 1'b0;
        count_q[k]      <= '0;
      end
    end
  end

  // ---- What became of them: on time is what is selected in the very cycle in which it can be ------------------------------
  assign late_o = sent_i && timed_q[sent_queue_i][sent_slot_i]
                  && released_q[SENT_CYCLES-1] != frame_t'({1'b1, sent_queue_i, sent_slot_i});
  assign released = '{valid: release_o && near_q[release_queue_o], of_queue: release_queue_o, slot: release_slot_o};

  always_ff @(posedge clk_i) begin
    released_q <= {released_q[SENT_CYCLES-2:0], released};
    if (sent_i || expired_i) timed_q[sent_queue_i][sent_slot_i] <= 1'b0;
    if (release_o) timed_q[release_queue_o][release_slot_o] <= enable_i[release_queue_o];
    if (rst_i) timed_q <= '0;
  end

  always_comb begin
    idle_o = state_q == IDLE;
    for (int unsigned k = 0; k < QUEUES; k++) if (count_q[k] != '0) idle_o = 1'b0;
  end

`ifdef FORMAL
  // Contract, for any queue, whatever the clock does: 1. what is released is held, was taken once, and has the earliest time
  // of all that is held; 2. it is not released before its time, as long as launch times are enabled; 3. what is held stays
  // until it is released, and the first one's time is compared, or is being read for that; 4. of what is offered one thing
  // becomes. As long as an offer stands until its answer, and its slot is free.
  queue_t             f_queue_q;              // any, as it has no first value
  logic               f_past_q = 1'b0, f_offered_q, f_answered_q, f_enabled_q;
  queue_t             f_offer_queue_q;
  slot_t              f_offer_slot_q;
  length_t            f_offer_length_q;
  logic [63:0]        f_offer_time_q, f_gate_time_q;
  logic [SLOTS-1:0]   f_held_q;               // of the queue
  count_t             f_count, f_held;
  slot_t  [SLOTS-1:0] f_order;
  logic [SLOTS-1:0][63:0] f_time;             // of its slots
  logic               f_of_offer, f_loads;

  assign f_count    = count_q[f_queue_q];
  assign f_order    = order_q[f_queue_q];
  assign f_of_offer = offer_queue_i == f_queue_q;
  assign f_loads    = load_q && load_queue_q == f_queue_q;
  for (genvar s = 0; s < SLOTS; s++) begin : gen_time
    assign f_time[s] = u_times.memory[{f_queue_q, slot_t'(s)}];
  end

  always_comb begin
    f_held = '0;
    for (int unsigned s = 0; s < SLOTS; s++) f_held += count_t'(f_held_q[s]);
  end

  always_ff @(posedge clk_i) begin
    f_past_q         <= 1'b1;
    f_queue_q        <= f_queue_q;
    f_offered_q      <= offer_i && !answer_o;
    f_answered_q     <= answer_o;
    f_offer_queue_q  <= offer_queue_i;
    f_offer_slot_q   <= offer_slot_i;
    f_offer_length_q <= offer_length_i;
    f_offer_time_q   <= offer_time_i;
    f_gate_time_q    <= gate_time_i;
    f_enabled_q      <= enable_i[f_queue_q];
    if (release_o && release_queue_o == f_queue_q) f_held_q[release_slot_o] <= 1'b0;
    if (taken_o && f_of_offer) f_held_q[offer_slot_i] <= 1'b1;
    if (rst_i) begin
      f_held_q    <= '0;
      f_offered_q <= 1'b0;
      f_answered_q <= 1'b0;
    end
  end

  always_comb begin
    if (!f_past_q) assume (rst_i);
    else if (!rst_i) begin
      // What it asks of its surroundings.
      assume (32'(offer_queue_i) < QUEUES && 32'(f_queue_q) < QUEUES);
      if (f_offered_q) begin
        assume (offer_i && offer_queue_i == f_offer_queue_q && offer_slot_i == f_offer_slot_q);
        assume (offer_length_i == f_offer_length_q && offer_time_i == f_offer_time_q);
      end
      if (f_answered_q) assume (!offer_i);
      if (offer_i && f_of_offer) assume (!f_held_q[offer_slot_i]);
      // The contract.
      if (release_o && release_queue_o == f_queue_q) begin
        assert (f_held_q[release_slot_o]);
        for (int unsigned s = 0; s < SLOTS; s++) if (f_held_q[s]) assert (f_time[release_slot_o] <= f_time[s]);
        if (f_enabled_q) assert (f_time[release_slot_o] <= f_gate_time_q);
      end
      assert (f_held == f_count);
      assert ((f_count != '0) == (head_valid_q[f_queue_q] || f_loads || loaded_q[f_queue_q]));
      assert (3'(taken_o) + 3'(dropped_o) + 3'(beyond_o) == 3'(answer_o));
      // What makes it hold.
      assert (state_q <= INSERT);
      assert (f_offered_q || state_q == IDLE);
      if (state_q != IDLE)
        for (int unsigned k = 0; k < QUEUES; k++) assert (of_queue_q[k] == (offer_queue_i == queue_t'(k)));
      if (state_q == INSERT) for (int unsigned i = 0; i < SLOTS; i++)
        assert (here_q[i] == (i == 32'(at_q)) && behind_q[i] == (i > 32'(at_q)));
      if (due_q[f_queue_q]) assert (head_valid_q[f_queue_q] && (head_q[f_queue_q] <= f_gate_time_q || !f_enabled_q));
      assert (!(f_loads && loaded_q[f_queue_q]));
      if (loaded_q[f_queue_q]) assert (read_time_q == f_time[f_order[0]]);
      if (f_of_offer && !(state_q inside {IDLE, PLACE})) assert (!f_loads && !loaded_q[f_queue_q]);
      if (head_valid_q[f_queue_q]) assert (!f_loads && !loaded_q[f_queue_q] && head_q[f_queue_q] == f_time[f_order[0]]);
      for (int unsigned i = 0; i < SLOTS; i++) begin
        if (i < 32'(f_count)) assert (f_held_q[f_order[i]]);
        for (int unsigned j = i + 1; j < SLOTS; j++) begin
          if (j < 32'(f_count)) assert (f_order[i] != f_order[j] && f_time[f_order[i]] <= f_time[f_order[j]]);
        end
        // The place that was found: behind all that is not later.
        if (f_of_offer && state_q != IDLE && i < 32'(at_q)) assert (f_time[f_order[i]] <= launch_q);
        if (f_of_offer && state_q == SUBTRACT && i == 32'(at_q) && i < 32'(f_count))
          assert (read_time_q == f_time[f_order[i]]);
        if (f_of_offer && state_q == COMPARE && i == 32'(at_q) && i < 32'(f_count))
          assert (ahead_q[64] == (f_time[f_order[i]] > launch_q));
        if (f_of_offer && state_q inside {JUDGE, INSERT} && i == 32'(at_q) && i < 32'(f_count))
          assert (f_time[f_order[i]] > launch_q);
      end
      if (f_of_offer && state_q != IDLE) assert (at_q <= f_count);
      cover (taken_o && f_of_offer && at_q == '0 && f_count == count_t'(SLOTS - 1));
      cover (release_o && release_queue_o == f_queue_q && f_enabled_q && near_q[f_queue_q] && f_count == count_t'(2));
      cover (hit && f_of_offer && state_q == INSERT);
      cover (dropped_o);
      cover (beyond_o);
      cover (late_o);
    end
  end
`endif
endmodule
