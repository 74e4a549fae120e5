// SPDX-License-Identifier: Apache-2.0
// Answers reads of what gates and shapers do, port by port; a write sets an observed value to zero.
//
// One unit serves all ports: words of a class are asked of the port, the rest of what works on the gate lists.
module pen_port_status
  import pen_pkg::*;
#(
  parameter int unsigned PORTS = 4
) (
  input  logic                   clk_i,
  input  logic                   rst_i,
  input  logic                   request_i,      // one cycle; the next after the answer
  input  logic                   write_i,        // with request_i
  input  logic [8:0]             addr_i,         // {port, word} as in hw/regs/pen_switch.rdl; held until the answer
  output logic                   ack_o,
  output logic [31:0]            data_o,
  // The ports
  output logic [PORTS-1:0]       overruns_read_o, // held until overruns_ack_i
  output logic [PORTS-1:0]       credit_read_o,   // held until credit_ack_i
  output logic                   clear_o,
  output logic [1:0]             credit_which_o,  // 0 now, 1 highest, 2 lowest
  output class_t                 class_o,
  input  logic                   overruns_ack_i,
  input  logic [15:0]            overruns_data_i, // zero without overruns_ack_i
  input  logic                   credit_ack_i,
  input  logic [31:0]            credit_data_i,   // zero without credit_ack_i
  // The gate lists
  output logic                   gate_read_o,    // held until gate_ready_i
  output port_t                  gate_port_o,
  output gate_status_e           gate_which_o,
  input  logic                   gate_ready_i,
  input  logic [63:0]            gate_value_i,
  input  logic [15:0]            gate_errors_i,
  input  logic [3:0]             gate_error_i,
  input  logic [PORTS-1:0][7:0]  gate_open_i,
  input  logic [PORTS-1:0]       gate_running_i,
  input  logic [PORTS-1:0]       gate_pending_i,
  input  logic                   gate_busy_i
);
  typedef enum logic [1:0] {IDLE, ASK, ANSWER} state_e;
  state_e      state_q;
  logic        write_q, of_class, of_credit, absent, high, answered;
  logic [5:0]  word;
  logic [31:0] data, high_q, class_data;
  logic [10:0] gates;

  assign word     = addr_i[5:0];
  assign absent   = 4'(addr_i[8:6]) >= 4'(PORTS) || word >= 6'h28;
  assign of_class = word[5:3] != '0;             // overruns, credit, highest, lowest: eight words each
  assign high     = word == 6'h03 || word == 6'h05;

  assign of_credit   = word[5:4] != '0;

  assign credit_which_o = 2'(word[5:3] - 3'd2);
  assign class_o        = word[2:0];
  assign clear_o        = write_q;
  assign gate_port_o    = addr_i[8:6];
  assign gate_read_o    = state_q == ASK && !of_class;

  always_comb begin
    unique case (word[2:1])
      2'd1:    gate_which_o = GATE_STATUS_CHANGE_TIME;
      2'd2:    gate_which_o = GATE_STATUS_BASE_TIME;
      default: gate_which_o = GATE_STATUS_CYCLE;
    endcase
  end

  always_comb begin
    class_data = credit_data_i | 32'(overruns_data_i);
    gates      = '0;
    for (int unsigned p = 0; p < PORTS; p++) begin
      overruns_read_o[p] = state_q == ASK && of_class && !of_credit && addr_i[8:6] == port_t'(p);
      credit_read_o[p]   = state_q == ASK && of_credit && addr_i[8:6] == port_t'(p);
      if (addr_i[8:6] == port_t'(p)) gates = {gate_busy_i, gate_pending_i[p], gate_running_i[p], gate_open_i[p]};
    end
  end

  assign answered = of_class ? credit_ack_i || overruns_ack_i : gate_ready_i;

  always_comb begin
    unique case (word[2:0])
      3'h0: data = 32'(gates);
      3'h1: data = 32'({gate_error_i, gate_errors_i});
      3'h7: data = gate_value_i[63:32];
      default: data = gate_value_i[31:0];
    endcase
    if (of_class) data = class_data;
  end

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      IDLE: if (request_i) state_q <= absent || high || (write_i && !of_class) ? ANSWER : ASK;
      ASK: if (answered) state_q <= ANSWER;
      ANSWER: state_q <= IDLE;
      default: state_q <= IDLE;
    endcase
    if (state_q == IDLE) begin
      write_q <= write_i;
      data_o  <= absent ? '0 : high_q;
    end
    if (state_q == ASK && answered) begin
      data_o <= data;
      if (!of_class && word[2:1] inside {2'd1, 2'd2}) high_q <= gate_value_i[63:32];
    end
    if (rst_i) state_q <= IDLE;
  end

  assign ack_o = state_q == ANSWER;
endmodule
