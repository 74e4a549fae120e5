// SPDX-License-Identifier: Apache-2.0
// Free-running time of the switch, and the turn of the ports at the shared units.
module pen_timer
  import pen_pkg::*;
#(
  parameter int unsigned PORTS = 4  // 2 to 8
) (
  input  logic             clk_i,
  input  logic             rst_i,      // time and turn start at zero
  output time_ns_t         time_ns_o,  // a multiple of 8
  output port_t            turn_o,     // 0 to PORTS-1, the next one in each cycle
  output logic [PORTS-1:0] has_turn_o, // the same, a register for each port: much in a port waits for it
  output logic [PORTS-1:0] comes_in_o  // the same, of registers near to what comes in by a port
);
  if (PORTS < 2 || PORTS > MAX_PORTS) begin : gen_check_ports
    $fatal(1, "pen_timer: PORTS must be 2 to %0d, is %0d (%m)", MAX_PORTS, PORTS);
  end

  localparam int unsigned SHIFT = $clog2(CYCLE_NS);
  logic [63-SHIFT:0] cycle_q;
  port_t             turn_q;
  logic [PORTS-1:0]  waits_q;  // the other way round, as synthesis makes one register of two that are alike

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      cycle_q    <= '0;
      turn_q     <= '0;
      has_turn_o <= PORTS'(1);
      waits_q    <= ~PORTS'(1);
    end else begin
      cycle_q    <= cycle_q + 1'b1;
      turn_q     <= turn_q == port_t'(PORTS - 1) ? '0 : turn_q + 1'b1;
      has_turn_o <= {has_turn_o[PORTS-2:0], has_turn_o[PORTS-1]};
      waits_q    <= {waits_q[PORTS-2:0], waits_q[PORTS-1]};
    end
  end

  assign time_ns_o  = {cycle_q, {SHIFT{1'b0}}};
  assign turn_o     = turn_q;
  assign comes_in_o = ~waits_q;
endmodule
