// SPDX-License-Identifier: Apache-2.0
// Lets a test bench ask for leaps of the PTP clock.
module pen_ptp_clock_leap_tb;
  logic        go;
  logic [39:0] cycles;
  logic [63:0] gate_wake_ns;
  logic [60:0] quiet_cycles;
  always @(posedge go) pen_ptp_clock.u_leap.leap(cycles);
  assign quiet_cycles = pen_ptp_clock.u_leap.quiet_cycles(gate_wake_ns);
endmodule

bind pen_ptp_clock pen_ptp_clock_leap_tb u_drive ();
