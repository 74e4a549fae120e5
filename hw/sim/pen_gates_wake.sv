// SPDX-License-Identifier: Apache-2.0
// Simulation: until when the gates of a port need no cycle. Bound to them, and no part of the hardware.
module pen_gates_wake
  import pen_pkg::*;
(
  input logic                   idle_i,        // no list runs or is to begin
  input logic                   ready_i,       // what follows the entry is known, and its end is not near
  input time_ns_t               gate_time_i,
  input logic [GATE_TIME_W-1:0] to_end_i       // of the entry
);
  // Some cycles before the end, so that all is as if time had not leapt.
  localparam time_ns_t MARGIN_NS = 64'd512;
  time_ns_t wake_ns;  // of gate time
  always_comb begin
    wake_ns = gate_time_i;
    if (idle_i) wake_ns = '1;
    else if (ready_i && to_end_i[GATE_TIME_W-1:15] != '0) begin
      wake_ns = gate_time_i + {{(64 - GATE_TIME_W) {to_end_i[GATE_TIME_W-1]}}, to_end_i} - MARGIN_NS;
    end
  end
endmodule

bind pen_gates pen_gates_wake u_wake (
  .idle_i     (stage_q == IDLE),
  .ready_i    (settled_q[1] && !near_q && stage_q == READY && !redo_q),
  .gate_time_i(gate_time_next_i),
  .to_end_i   (end_q - gate_time_next_i[GATE_TIME_W-1:0])
);
