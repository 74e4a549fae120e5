// SPDX-License-Identifier: Apache-2.0
// Free-running time of the switch, and the turn of the ports at the shared units.
//
// While the switch is idle, a simulation may skip cycles in which nothing would happen: time goes on by `skip_cycles_i`
// cycles beside the one that passes. With a multiple of PORTS, the turns fall where they would have fallen.
module pen_timer
  import pen_pkg::*;
#(
  parameter int unsigned PORTS = 4  // 2 to 8
) (
  input  logic        clk_i,
  input  logic        rst_i,          // time and turn start at zero
  input  logic        skip_valid_i,
  input  logic [39:0] skip_cycles_i,
  output time_ns_t    time_ns_o,      // a multiple of 8
  output port_t       turn_o          // 0 to PORTS-1, the next one in each cycle
);
  if (PORTS < 2 || PORTS > MAX_PORTS) begin : gen_check_ports
    $fatal(1, "pen_timer: PORTS must be 2 to %0d, is %0d (%m)", MAX_PORTS, PORTS);
  end

  localparam int unsigned SHIFT = $clog2(CYCLE_NS);
  logic [63-SHIFT:0] cycle_q;
  logic [63-SHIFT:0] skipped;
  port_t             turn_q;

`ifdef SYNTHESIS
  assign skipped = '0;
`else
  assign skipped = (64 - SHIFT)'(skip_valid_i ? skip_cycles_i : 40'd0);
`endif

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      cycle_q <= '0;
      turn_q  <= '0;
    end else begin
      cycle_q <= cycle_q + skipped + 1'b1;
      turn_q  <= turn_q == port_t'(PORTS - 1) ? '0 : turn_q + 1'b1;
    end
  end

  assign time_ns_o = {cycle_q, {SHIFT{1'b0}}};
  assign turn_o    = turn_q;
endmodule
