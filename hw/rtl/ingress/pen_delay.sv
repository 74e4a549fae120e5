// SPDX-License-Identifier: Apache-2.0
// Carries a word past a pipeline: out again CYCLES later. Each register takes a word only when one comes, so no synthesizer
// makes a shift register of LUTs of them: these cost more than flip-flops, of which every LUT has one beside it.
module pen_delay #(
  parameter int unsigned WIDTH = 8,
  parameter int unsigned CYCLES = 4  // 2 or more
) (
  input  logic             clk_i,
  input  logic             rst_i,
  input  logic             valid_i,
  input  logic [WIDTH-1:0] data_i,
  output logic             valid_o,
  output logic [WIDTH-1:0] data_o   // holds until the next word
);
  if (CYCLES < 2) begin : gen_check
    $fatal(1, "pen_delay: CYCLES must be 2 or more, is %0d (%m)", CYCLES);
  end

  logic [CYCLES-1:0]            valid_q;  // bit i: a word entered i+1 cycles ago
  logic [CYCLES-1:0][WIDTH-1:0] data_q;

  always_ff @(posedge clk_i) begin
    valid_q <= rst_i ? '0 : {valid_q[CYCLES-2:0], valid_i};
    if (valid_i) data_q[0] <= data_i;
    for (int unsigned i = 1; i < CYCLES; i++) if (valid_q[i-1]) data_q[i] <= data_q[i-1];
  end

  assign valid_o = valid_q[CYCLES-1];
  assign data_o  = data_q[CYCLES-1];
endmodule
