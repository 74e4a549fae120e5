// SPDX-License-Identifier: Apache-2.0
// A clock that rests while nothing behind it would change.
//
//   clk_i      ____/~~~~\____/~~~~\____/~~~~\____/~~~~\____
//   active_i   _______/~~~~~~~~~\__________________________
//   clk_o      ______________/~~~~\____/~~~~\______________    with HOLD = 1
//
// `active_i` says that the edge at the end of this cycle may change something; HOLD more edges follow. It is taken while
// the clock is low, so the clock has no glitch. What is behind the gate must do the same as if it never rested: an FPGA,
// where a gate costs a clock buffer, has none (SYNTHESIS).
module pen_clock_gate #(
  parameter int unsigned HOLD = 32  // edges after the last active cycle; as long as any setting is on its way
) (
  input  logic clk_i,
  input  logic active_i,            // high in reset, which is synchronous
  output logic clk_o
);
  if (HOLD < 1) $fatal(1, "pen_clock_gate: HOLD must be 1 or more, is %0d (%m)", HOLD);
`ifdef SYNTHESIS
  assign clk_o = clk_i;

  logic unused;
  assign unused = active_i;
`else
  localparam int unsigned COUNT_W = $clog2(HOLD + 1);
  logic [COUNT_W-1:0] count_q;
  logic               enable;

  always_ff @(posedge clk_i) begin
    if (active_i) count_q <= COUNT_W'(HOLD);
    else if (count_q != '0) count_q <= count_q - 1'b1;
  end

  always_latch if (!clk_i) enable = active_i || count_q != '0;

  assign clk_o = clk_i && enable;
`endif
endmodule
