// SPDX-License-Identifier: Apache-2.0
// Brings a reset into another clock domain: asserted at once, even while that clock stands still, and released in step
// with it, after at least two of its edges. The only flip-flops of the design with an asynchronous input.
module pen_reset_sync (
  input  logic clk_i,
  input  logic rst_i,  // active high, from a flip-flop of any clock or one pin: never from logic, which may glitch
  output logic rst_o   // active high, synchronous to clk_i
);
  (* ASYNC_REG = "TRUE" *) logic [2:0] stage_q;

  always_ff @(posedge clk_i or posedge rst_i) begin
    if (rst_i) stage_q <= '1;
    else stage_q <= {stage_q[1:0], 1'b0};
  end

  assign rst_o = stage_q[2];
endmodule
