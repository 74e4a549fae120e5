// SPDX-License-Identifier: Apache-2.0
// 125 MHz from an oscillator of 100 MHz. The oscillator inside the PLL runs at 625 MHz, of allowed 400 to 800.
module pen_pll_100_125 (
  input  logic clk_i,    // 100 MHz
  output logic clk_o,    // 125 MHz
  output logic locked_o  // of no clock
);
  EHXPLLL #(
    .CLKI_DIV     (4),
    .CLKFB_DIV    (5),
    .CLKOP_DIV    (5),
    .CLKOP_CPHASE (2),
    .CLKOP_ENABLE ("ENABLED"),
    .FEEDBK_PATH  ("CLKOP")
  ) u_pll (
    .CLKI        (clk_i),
    .CLKFB       (clk_o),
    .PHASESEL1   (1'b0),
    .PHASESEL0   (1'b0),
    .PHASEDIR    (1'b1),
    .PHASESTEP   (1'b1),
    .PHASELOADREG(1'b1),
    .STDBY       (1'b0),
    .PLLWAKESYNC (1'b0),
    .RST         (1'b0),
    .ENCLKOP     (1'b0),
    .ENCLKOS     (1'b0),
    .ENCLKOS2    (1'b0),
    .ENCLKOS3    (1'b0),
    .CLKOP       (clk_o),
    /* verilator lint_off PINCONNECTEMPTY */
    .CLKOS       (),
    .CLKOS2      (),
    .CLKOS3      (),
    .INTLOCK     (),
    .REFCLK      (),
    .CLKINTFB    (),
    /* verilator lint_on PINCONNECTEMPTY */
    .LOCK        (locked_o)
  );
endmodule
