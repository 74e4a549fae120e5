// SPDX-License-Identifier: Apache-2.0
// Input pins that carry one bit at each edge of the clock. Both bits come out together, with a rising edge.
//
// The pins change between the edges, so the clock at its pin is centred on the data. SCLK_CENTERED delays the data by as
// much as the clock needs from its pin to the registers.
module pen_ddr_in #(
  parameter int unsigned WIDTH = 1
) (
  input  logic             clk_i,
  input  logic [WIDTH-1:0] pin_i,
  output logic [WIDTH-1:0] rise_o,  // of a rising edge
  output logic [WIDTH-1:0] fall_o   // of the falling edge after it
);
  logic [WIDTH-1:0] delayed;

  for (genvar i = 0; i < WIDTH; i++) begin : gen_pin
    DELAYG #(.DEL_MODE("SCLK_CENTERED")) u_delay (.A(pin_i[i]), .Z(delayed[i]));
    IDDRX1F u_ddr (.D(delayed[i]), .SCLK(clk_i), .RST(1'b0), .Q0(rise_o[i]), .Q1(fall_o[i]));
  end
endmodule
