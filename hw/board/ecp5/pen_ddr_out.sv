// SPDX-License-Identifier: Apache-2.0
// Output pins that carry one bit while the clock is high and one while it is low.
module pen_ddr_out #(
  parameter int unsigned WIDTH = 1
) (
  input  logic             clk_i,
  input  logic [WIDTH-1:0] rise_i,  // goes out first
  input  logic [WIDTH-1:0] fall_i,
  output logic [WIDTH-1:0] pin_o
);
  for (genvar i = 0; i < WIDTH; i++) begin : gen_pin
    ODDRX1F u_ddr (.D0(rise_i[i]), .D1(fall_i[i]), .SCLK(clk_i), .RST(1'b0), .Q(pin_o[i]));
  end
endmodule
