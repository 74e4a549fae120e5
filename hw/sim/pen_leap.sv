// SPDX-License-Identifier: Apache-2.0
// Simulation: lets time leap while the switch is idle. Bound to it, and no part of the hardware.
//
// Between two edges of the clock, the driver sets `cycles`, and time goes on by as many as `go` rises; then it falls.
//
//   clk_i      __/~~\__/~~\________________/~~\__
//   go         ________________/~~\______________
//   time_ns_o  n    | n+1 | n+2   | n+2+cycles | ...
//
// Nothing may be inside (`idle_o`), and time may not leap beyond `wake_cycle`, the next at which something happens by
// itself: the sweep of the forwarding database, an edge of pps_o, the end of a gate list's entry, a change of lists.
module pen_leap
  import pen_pkg::*;
#(
  parameter int unsigned PORTS = 4
) (
  input logic [60:0] cycle_i,
  input logic        aging_i,             // the forwarding database is swept
  input logic [60:0] next_sweep_i         // in this cycle
);
  logic        go /*verilator public_flat_rw*/;
  logic [39:0] cycles /*verilator public_flat_rw*/;      // a multiple of PORTS, so that the turns fall where they would
  logic [60:0] wake_cycle /*verilator public_flat_rd*/;

  always @(posedge go) begin
    pen_switch.u_timer.cycle_q <= pen_switch.u_timer.cycle_q + 61'(cycles);
    pen_switch.u_clock.u_clock.u_leap.leap(cycles);
  end

  time_ns_t [PORTS:0] gate_wake_ns;
  time_ns_t           first_gate_ns;
  for (genvar p = 0; p < PORTS; p++) begin : gen_gate
    assign gate_wake_ns[p] = pen_switch.gen_gates[p].u_gates.u_wake.wake_ns;
  end
  assign gate_wake_ns[PORTS] = pen_switch.u_gate_config.u_sequence.u_wake.wake_ns;

  always_comb begin
    first_gate_ns = '1;
    for (int unsigned n = 0; n <= PORTS; n++) if (gate_wake_ns[n] < first_gate_ns) first_gate_ns = gate_wake_ns[n];
    wake_cycle = cycle_i + pen_switch.u_clock.u_clock.u_leap.quiet_cycles(first_gate_ns);
    if (aging_i && next_sweep_i < wake_cycle) wake_cycle = next_sweep_i;
  end
endmodule

bind pen_switch pen_leap #(.PORTS(PORTS)) u_leap (
  .cycle_i     (time_ns[63:3]),
  .aging_i     (u_ingress.u_fdb.aging_period_ms_i != '0),
  .next_sweep_i(u_ingress.u_fdb.before_ns_q[63:3])
);
