// SPDX-License-Identifier: Apache-2.0
// What the primitives of the ECP5 do that the boards use, for simulation and lint. Only the parameters and ports that
// are used.
/* verilator lint_off DECLFILENAME */
/* verilator lint_off MULTITOP */

// The delay makes up for that of the clock tree, which this simulation does not have.
module DELAYG #(
  parameter string DEL_MODE = "USER_DEFINED"
) (
  input  logic A,
  output logic Z
);
  if (DEL_MODE != "SCLK_CENTERED") $fatal(1, "DELAYG: no model of DEL_MODE %s (%m)", DEL_MODE);
  assign Z = A;
endmodule

module IDDRX1F (
  input  logic D,
  input  logic SCLK,
  input  logic RST,
  output logic Q0,
  output logic Q1
);
  logic rise_q, fall_q;
  always_ff @(posedge SCLK) rise_q <= D && !RST;
  always_ff @(negedge SCLK) fall_q <= D && !RST;
  always_ff @(posedge SCLK) begin
    Q0 <= rise_q;
    Q1 <= fall_q;
  end
endmodule

module ODDRX1F (
  input  logic D0,
  input  logic D1,
  input  logic SCLK,
  input  logic RST,
  output logic Q
);
  logic rise_q, wait_q, fall_q;
  always_ff @(posedge SCLK) begin
    rise_q <= D0 && !RST;
    wait_q <= D1 && !RST;
  end
  always_ff @(negedge SCLK) fall_q <= wait_q;
  assign Q = SCLK ? rise_q : fall_q;
endmodule

// An oscillator of its own, CLKFB_DIV / CLKI_DIV times as fast as the input, which locks after some cycles; not where the
// device would not: its oscillator runs at 400 to 800 MHz, its phase detector at 10 to 400 MHz. Attributes no simulator sees:
// `penstock hw bitstream` looks at them in the netlist.
/* verilator lint_off UNUSEDPARAM */
/* verilator lint_off UNUSEDSIGNAL */
/* verilator lint_off BLKSEQ */
/* verilator lint_off PROCASSINIT */
module EHXPLLL #(
  parameter int unsigned CLKI_DIV      = 1,
  parameter int unsigned CLKFB_DIV     = 1,
  parameter int unsigned CLKOP_DIV     = 8,
  parameter int unsigned CLKOP_CPHASE  = 0,
  parameter int unsigned CLKOP_FPHASE  = 0,
  parameter string       CLKOP_ENABLE  = "ENABLED",
  parameter string       FEEDBK_PATH   = "CLKOP",
  parameter string       OUTDIVIDER_MUXA = "DIVA",
  parameter string       OUTDIVIDER_MUXB = "DIVB",
  parameter string       OUTDIVIDER_MUXC = "DIVC",
  parameter string       OUTDIVIDER_MUXD = "DIVD",
  parameter string       PLLRST_ENA    = "DISABLED",
  parameter string       INTFB_WAKE    = "DISABLED",
  parameter string       STDBY_ENABLE  = "DISABLED",
  parameter string       DPHASE_SOURCE = "DISABLED"
) (
  input  logic CLKI,
  input  logic CLKFB,
  input  logic PHASESEL1,
  input  logic PHASESEL0,
  input  logic PHASEDIR,
  input  logic PHASESTEP,
  input  logic PHASELOADREG,
  input  logic STDBY,
  input  logic PLLWAKESYNC,
  input  logic RST,
  input  logic ENCLKOP,
  input  logic ENCLKOS,
  input  logic ENCLKOS2,
  input  logic ENCLKOS3,
  output logic CLKOP,
  output logic CLKOS,
  output logic CLKOS2,
  output logic CLKOS3,
  output logic LOCK,
  output logic INTLOCK,
  output logic REFCLK,
  output logic CLKINTFB
);
  localparam int unsigned LOCK_EDGES = 16;

  if (CLKOP_ENABLE != "ENABLED" || FEEDBK_PATH != "CLKOP")
    $fatal(1, "EHXPLLL: the model has the output CLKOP only, fed back (%m)");
  if (OUTDIVIDER_MUXA != "DIVA" || CLKOP_DIV < 1 || CLKOP_DIV > 128 || CLKOP_CPHASE > 127 || CLKOP_FPHASE > 7)
    $fatal(1, "EHXPLLL: CLKOP is that of its divider, of 1 to 128, its phases are 0 to 127 and 0 to 7 (%m)");

  int unsigned edges = 0;
  realtime     last  = 0;
  realtime     half  = 0;  // period of the output
  real         detector_mhz = 0;
  real         oscillator_mhz = 0;

  always @(posedge CLKI) begin
    half  = ($realtime - last) * CLKI_DIV / CLKFB_DIV / 2;
    detector_mhz   = 1000.0 / (($realtime - last) / 1ns) / CLKI_DIV;
    oscillator_mhz = detector_mhz * CLKFB_DIV * CLKOP_DIV;
    last  = $realtime;
    edges = edges + 1;
  end

  initial begin
    CLKOP = 1'b0;
    LOCK  = 1'b0;
    wait (edges == LOCK_EDGES / 2);
    if (detector_mhz < 10 || detector_mhz > 400) $fatal(1, "EHXPLLL: phase detector at %f MHz (%m)", detector_mhz);
    if (oscillator_mhz < 400 || oscillator_mhz > 800) $fatal(1, "EHXPLLL: oscillator at %f MHz (%m)", oscillator_mhz);
    forever begin
      #(half) CLKOP = !CLKOP;
      LOCK = edges >= LOCK_EDGES;
    end
  end

  assign {CLKOS, CLKOS2, CLKOS3, INTLOCK, REFCLK, CLKINTFB} = '0;
endmodule
