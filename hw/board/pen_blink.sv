// SPDX-License-Identifier: Apache-2.0
// Makes short events visible: the lamp is on for 2^BITS - 1 cycles after each.
module pen_blink #(
  parameter int unsigned BITS = 23
) (
  input  logic clk_i,
  input  logic rst_i,
  input  logic event_i,
  output logic lamp_o
);
  logic [BITS-1:0] left_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) left_q <= '0;
    else if (event_i) left_q <= '1;
    else if (lamp_o) left_q <= left_q - 1'b1;
  end

  assign lamp_o = left_q != '0;
endmodule
