// SPDX-License-Identifier: Apache-2.0
// Simulation: until when the work on gate lists needs no cycle. Bound to its sequence, and no part of the hardware.
module pen_gate_sequence_wake
  import pen_pkg::*;
#(
  parameter int unsigned WAIT_W = 24
) (
  input logic              busy_i,
  input logic              waits_i,       // a change is pending
  input logic              is_wait_i,     // a change is worked out and waits for its time
  input time_ns_t          gate_time_i,
  input logic [WAIT_W-1:0] since_i        // that time
);
  localparam logic [WAIT_W-1:0] MARGIN_NS = WAIT_W'(4096);
  logic [WAIT_W-1:0] to_since;
  time_ns_t          wake_ns;             // of gate time
  assign to_since = since_i - gate_time_i[WAIT_W-1:0];
  always_comb begin
    wake_ns = '1;
    if (waits_i) wake_ns = gate_time_i + (64'd1 << 33);
    if (busy_i) wake_ns = gate_time_i;
    if (is_wait_i && !to_since[WAIT_W-1] && to_since > MARGIN_NS) wake_ns = gate_time_i + 64'(to_since - MARGIN_NS);
  end
endmodule

bind pen_gate_sequence pen_gate_sequence_wake #(.WAIT_W(WAIT_W)) u_wake (
  .busy_i   (busy_o || status_i || step_q[SEND] || (step_q[LOOK] && look_hit_i)),
  .waits_i,
  .is_wait_i(step_q[WAIT]),
  .gate_time_i,
  .since_i  (since_q)
);
