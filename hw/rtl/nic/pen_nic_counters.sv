// SPDX-License-Identifier: Apache-2.0
// Counts what became of every frame, received and sent, by queue.
//
// Events wait in a register each until their slot comes. What a received frame is lost by can come every third cycle and
// has every other slot; all others come once per frame, at least 60 cycles apart.
module pen_nic_counters
  import pen_pkg::*, pen_config_pkg::*, pen_nic_map_pkg::*;
(
  input  logic           clk_i,
  input  logic           rst_i,
  input  logic           init_busy_i,
  input  init_index_t    init_index_i,
  // One cycle each
  input  logic           lost_i,          // a received frame
  input  logic [3:0]     lost_why_i,      // number of the counter
  input  logic           no_buffer_i,
  input  logic           received_i,
  input  logic [3:0]     received_queue_i,
  input  length_t        received_bytes_i,
  input  logic           refused_i,       // a frame of the host that is none
  input  logic           given_up_i,      // one that was not sent in the end
  input  logic           sent_i,
  input  logic [3:0]     sent_queue_i,
  input  length_t        sent_bytes_i,
  input  logic           late_i,          // after its launch time, of sent_queue_i too
  input  logic           dropped_i,       // not sent, as its launch time had passed
  input  logic           beyond_i,        // or was too far ahead
  input  logic           residence_i,     // or would have waited for its eligibility time for too long
  input  logic [3:0]     fetched_queue_i, // of any of these
  // Registers
  input  config_access_t access_i,
  output logic           answer_o,
  output logic [31:0]    answer_data_o
);
  // Of the whole port, lost_why_i among them, and by queue.
  localparam logic [3:0] GROUP_PORT = 4'd0, GROUP_RECEIVED = 4'd1, GROUP_SENT = 4'd2, GROUP_RECEIVED_BYTES = 4'd3,
                         GROUP_SENT_BYTES = 4'd4, GROUP_LATE = 4'd5, GROUP_DROPPED = 4'd6, GROUP_BEYOND = 4'd7,
                         GROUP_RESIDENCE = 4'd8;
  localparam logic [3:0] COUNTER_NO_BUFFER = 4'd0, COUNTER_REFUSED = 4'd1, COUNTER_GIVEN_UP = 4'd2;
  localparam int unsigned ENTRIES = 256;
  localparam int unsigned ADD_W = $bits(length_t);
  localparam int unsigned OTHERS = 11;

  typedef logic [$clog2(ENTRIES)-1:0] index_t;
  typedef struct packed {
    logic             valid;
    index_t           index;
    logic [ADD_W-1:0] add;
  } event_t;

  event_t             lost_q, chosen;
  event_t [OTHERS-1:0] others, others_q;
  logic               of_others_q;                     // whose slot it is
  logic [3:0]         slot_q;
  event_t             add_q;

  always_comb begin
    others[0] = '{valid: no_buffer_i, index: {GROUP_PORT, COUNTER_NO_BUFFER}, add: 1};
    others[1] = '{valid: refused_i, index: {GROUP_PORT, COUNTER_REFUSED}, add: 1};
    others[2] = '{valid: given_up_i, index: {GROUP_PORT, COUNTER_GIVEN_UP}, add: 1};
    others[3] = '{valid: received_i, index: {GROUP_RECEIVED, received_queue_i}, add: 1};
    others[4] = '{valid: received_i, index: {GROUP_RECEIVED_BYTES, received_queue_i}, add: received_bytes_i};
    others[5] = '{valid: sent_i, index: {GROUP_SENT, sent_queue_i}, add: 1};
    others[6] = '{valid: sent_i, index: {GROUP_SENT_BYTES, sent_queue_i}, add: sent_bytes_i};
    others[7] = '{valid: late_i, index: {GROUP_LATE, sent_queue_i}, add: 1};
    others[8] = '{valid: dropped_i, index: {GROUP_DROPPED, fetched_queue_i}, add: 1};
    others[9] = '{valid: beyond_i, index: {GROUP_BEYOND, fetched_queue_i}, add: 1};
    others[10] = '{valid: residence_i, index: {GROUP_RESIDENCE, fetched_queue_i}, add: 1};
  end
  assign chosen = of_others_q ? others_q[slot_q] : lost_q;

  always_ff @(posedge clk_i) begin
    add_q       <= chosen;
    of_others_q <= !of_others_q;
    if (of_others_q) slot_q <= slot_q == 4'(OTHERS - 1) ? '0 : slot_q + 1'b1;
    if (!of_others_q) lost_q.valid <= 1'b0;
    if (lost_i) lost_q <= '{valid: 1'b1, index: {GROUP_PORT, lost_why_i}, add: 1};
    for (int unsigned k = 0; k < OTHERS; k++) begin
      if (of_others_q && slot_q == 4'(k)) others_q[k].valid <= 1'b0;
      if (others[k].valid) others_q[k] <= others[k];
    end
    if (rst_i || init_busy_i) begin
      of_others_q  <= 1'b0;
      slot_q       <= '0;
      lost_q.valid <= 1'b0;
      add_q.valid  <= 1'b0;
      for (int unsigned k = 0; k < OTHERS; k++) others_q[k].valid <= 1'b0;
    end
  end

  // ---- Reading: of the counters by queue the low half first, which holds the high half
  typedef enum logic [1:0] {IDLE, ASK, WAIT, ANSWER} state_e;
  state_e      state_q;
  logic        asked, high_q, pair_q, read_ready, read_valid, carry;
  index_t      index_q, carry_index;
  logic [63:0] value;
  logic [31:0] data_q, latched_q;

  assign asked = (access_i.read || access_i.write) && access_i.address[15:10] == REG_COUNTERS[15:10];

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      IDLE: if (asked) begin
        state_q <= ASK;
        // 16 words of single counters and 16 of frames received; then pairs of words.
        pair_q  <= access_i.address[9:7] != '0;
        high_q  <= access_i.address[9:7] != '0 && access_i.address[2];
        index_q <= access_i.address[9:7] == '0 ? {3'b0, access_i.address[6:2]}
                                               : {4'(access_i.address[9:7]) + 4'd1, access_i.address[6:3]};
      end
      ASK: if (read_ready) state_q <= WAIT;
      WAIT: state_q <= ANSWER;
      ANSWER: state_q <= IDLE;
    endcase
    if (read_valid) begin
      data_q <= high_q ? latched_q : value[31:0];
      if (pair_q && !high_q) latched_q <= value[63:32];
    end
    if (rst_i) state_q <= IDLE;
  end
  assign answer_o      = state_q == ANSWER;
  assign answer_data_o = data_q;

  pen_counter_bank #(.WIDTH(64), .DEPTH(ENTRIES), .ADD_W(ADD_W)) u_bank (
    .clk_i,
    .rst_i,
    .clear_i      (init_busy_i && 32'(init_index_i) < ENTRIES),
    .clear_index_i(init_index_i[$clog2(ENTRIES)-1:0]),
    .add_valid_i  (add_q.valid),
    .add_index_i  (add_q.index),
    .add_i        (add_q.add),
    .read_i       (state_q == ASK),
    .read_ready_o (read_ready),
    .read_index_i (index_q),
    .read_valid_o (read_valid),
    .read_data_o  (value),
    .carry_o      (carry),
    .carry_index_o(carry_index)
  );

  logic unused;
  assign unused = &{1'b0, access_i, carry, carry_index};
endmodule
