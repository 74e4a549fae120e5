// SPDX-License-Identifier: Apache-2.0
// 125 MHz from an oscillator of 100 MHz. The oscillator inside the PLL runs at 625 MHz, of allowed 400 to 800, its phase
// detector at 25 MHz, of allowed 10 to 400. Without the attributes, of its charge pump and loop filter, the PLL does not lock;
// they are no parameters, and ecppll writes the same for every frequency.
module pen_pll_100_125 (
  input  logic clk_i,    // 100 MHz
  output logic clk_o,    // 125 MHz
  output logic locked_o  // of no clock
);
  (* FREQUENCY_PIN_CLKI = "100", FREQUENCY_PIN_CLKOP = "125" *)
  (* ICP_CURRENT = "12", LPF_RESISTOR = "8", MFG_ENABLE_FILTEROPAMP = "1", MFG_GMCREF_SEL = "2" *)
  EHXPLLL #(
    .CLKI_DIV       (4),
    .CLKFB_DIV      (5),
    .CLKOP_DIV      (5),
    .CLKOP_CPHASE   (2),
    .CLKOP_FPHASE   (0),
    .CLKOP_ENABLE   ("ENABLED"),
    .FEEDBK_PATH    ("CLKOP"),
    .OUTDIVIDER_MUXA("DIVA"),
    .OUTDIVIDER_MUXB("DIVB"),
    .OUTDIVIDER_MUXC("DIVC"),
    .OUTDIVIDER_MUXD("DIVD"),
    .PLLRST_ENA     ("DISABLED"),
    .INTFB_WAKE     ("DISABLED"),
    .STDBY_ENABLE   ("DISABLED"),
    .DPHASE_SOURCE  ("DISABLED")
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
