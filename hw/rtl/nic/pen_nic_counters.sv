// SPDX-License-Identifier: Apache-2.0
// Counters of what became of every frame, of the port and by queue.
module pen_nic_counters
  import pen_pkg::*, pen_config_pkg::*, pen_nic_pkg::*, pen_nic_map_pkg::*;
(
  input  logic           clk_i,
  input  logic           rst_i,
  input  logic           init_busy_i,
  input  init_index_t    init_index_i,
  input  logic           event_valid_i,
  input  nic_event_t     event_i,
  // Registers
  input  config_access_t access_i,
  output logic           answer_o,
  output logic [31:0]    answer_data_o
);
  // ---- Reading: of the counters by queue the low half first, which holds the high half
  typedef enum logic [1:0] {IDLE, ASK, WAIT, ANSWER} state_e;
  state_e       state_q;
  logic         asked, high_q, pair_q, read_ready, read_valid, carry;
  nic_counter_t index_q, carry_index;
  logic [63:0]  value;
  logic [31:0]  data_q, latched_q;

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

  pen_counter_bank #(.WIDTH(64), .DEPTH(NIC_COUNTERS), .ADD_W($bits(length_t))) u_bank (
    .clk_i,
    .rst_i,
    .clear_i      (init_busy_i && 32'(init_index_i) < NIC_COUNTERS),
    .clear_index_i(init_index_i[$clog2(NIC_COUNTERS)-1:0]),
    .add_valid_i  (event_valid_i),
    .add_index_i  (event_i.index),
    .add_i        (event_i.add),
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
