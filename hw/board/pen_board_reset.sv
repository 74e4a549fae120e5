// SPDX-License-Identifier: Apache-2.0
// Resets of a board: of the core while its clock is not sound or the button is held, of the PHYs somewhat longer.
//
// The core may start first: its receive side waits by itself for the clocks that the PHYs send.
module pen_board_reset #(
  parameter int unsigned PHY_RESET_CYCLES = 2_500_000  // of clk_i; 20 ms at 125 MHz
) (
  input  logic clk_i,
  input  logic locked_i,   // of no clock: clk_i is sound
  input  logic button_ni,  // of no clock
  output logic rst_o,
  output logic phy_rst_no
);
  if (PHY_RESET_CYCLES < 1) $fatal(1, "pen_board_reset: PHY_RESET_CYCLES must be 1 or more (%m)");

  localparam int unsigned COUNT_W = $clog2(PHY_RESET_CYCLES + 1);

  logic [COUNT_W-1:0] left_q;

  // Each by itself: logic of two signals may glitch, which an asynchronous reset takes for a reset.
  logic unlocked, pressed;

  pen_reset_sync u_unlocked (.clk_i, .rst_i(!locked_i), .rst_o(unlocked));
  pen_reset_sync u_pressed (.clk_i, .rst_i(!button_ni), .rst_o(pressed));

  always_ff @(posedge clk_i) begin
    rst_o <= unlocked || pressed;
    if (rst_o) left_q <= COUNT_W'(PHY_RESET_CYCLES);
    else if (left_q != '0) left_q <= left_q - 1'b1;
    phy_rst_no <= !rst_o && left_q == '0;
  end
endmodule
