// SPDX-License-Identifier: Apache-2.0
// Simulation: lets the PTP clock go on by many cycles at once. Bound to it, and no part of the hardware.
//
// Every register becomes what it would be after as many cycles without a command, between two edges of the clock.
module pen_ptp_clock_leap
  import pen_pkg::*;
#(
  parameter int unsigned LEAD_NS = 32,
  parameter int unsigned PPS_HIGH_NS = 100_000_000
) (
  input logic [39:0] increment_q,
  input logic [63:0] left_q,
  input logic [31:0] rate_q,
  input logic [31:0] part_q,
  input logic        backward_q,
  input logic        part_backward_q,
  input logic [40:0] advance_q,
  input logic [31:0] fraction_b_q,
  input logic [31:0] fraction_b_d,
  input logic        carry_d,
  input logic [29:0] ns_q,
  input logic [63:0] gate_q,
  input logic [63:0] gate_d
);
  localparam int unsigned SECOND_NS = 1_000_000_000;
  localparam logic [40:0] FASTEST = (41'(CYCLE_NS) << 32) + 41'h1FFF_FFFF;  // an advance of 1.5 % more

  // What the first parts of the slew come to.
  function automatic logic [63:0] parts(input logic [40:0] cycles);
    logic [72:0] most;
    most = 73'(cycles) * 73'(rate_q);
    return most < 73'(left_q) ? most[63:0] : left_q;
  endfunction

  // Stage C after so many cycles, 3 or more. It has not yet had the part that is in part_q, nor the one in advance_q.
  function automatic logic [95:0] stage_c_after(input logic [39:0] cycles);
    logic [63:0] parts_0;
    parts_0 = parts(41'(cycles) - 41'd3);
    return {gate_d, fraction_b_q} + run(cycles) + 96'(advance_q) - 96'(increment_q)
      + (backward_q ? -96'(parts_0) : 96'(parts_0));
  endfunction

  function automatic logic [95:0] run(input logic [39:0] cycles);
    return 96'(cycles - 40'd1) * 96'(increment_q) + (part_backward_q ? -96'(part_q) : 96'(part_q));
  endfunction

  // By 4 cycles or more, as the time that is shown is that of stage C in the cycle before.
  task automatic leap(input logic [39:0] cycles);
    logic [63:0] parts_1, parts_2, parts_3, ahead, shown;
    logic [95:0] stage_b, stage_c, previous;
    logic [29:0] ns;
    logic [8:0]  whole;
    parts_1  = parts(41'(cycles) - 41'd2);
    parts_2  = parts(41'(cycles) - 41'd1);
    parts_3  = parts(41'(cycles));
    stage_b  = {gate_d + 64'(advance_q[40:32]) + 64'(carry_d), fraction_b_d} + run(cycles)
      + (backward_q ? -96'(parts_1) : 96'(parts_1));
    stage_c  = stage_c_after(cycles);
    previous = stage_c_after(cycles - 40'd1);
    whole    = 9'(stage_b[95:32] - stage_c[95:32]);
    ahead    = stage_c[95:32] - 64'(LEAD_NS);
    shown    = previous[95:32] - 64'(LEAD_NS);
    ns       = 30'(ahead % 64'(SECOND_NS));

    pen_ptp_clock.left_q          <= left_q - parts_3;
    pen_ptp_clock.part_q          <= 32'(parts_3 - parts_2);
    pen_ptp_clock.part_backward_q <= backward_q;
    pen_ptp_clock.advance_q       <= 41'(increment_q) + 41'(backward_q ? parts_1 - parts_2 : parts_2 - parts_1);
    pen_ptp_clock.ns_b_q          <= 31'(ns) + 31'(whole);
    pen_ptp_clock.whole_b_q       <= whole;
    pen_ptp_clock.carry_b_q       <= 1'b0;
    pen_ptp_clock.fraction_b_q    <= stage_b[31:0];
    pen_ptp_clock.fraction_q      <= stage_c[31:0];
    pen_ptp_clock.ns_q            <= ns;
    pen_ptp_clock.seconds_q       <= 34'(ahead / 64'(SECOND_NS));
    pen_ptp_clock.gate_q          <= stage_c[95:32];
    pen_ptp_clock.time_o          <= '{
      seconds: 48'(shown / 64'(SECOND_NS)), ns: 30'(shown % 64'(SECOND_NS)), fraction: previous[31:0]
    };
    pen_ptp_clock.pps_o           <= 30'(shown % 64'(SECOND_NS)) < 30'(PPS_HIGH_NS);
    pen_ptp_clock.slewing_o       <= parts_2 != left_q;
    pen_ptp_clock.stepped_next_o  <= 1'b0;
  endtask

  // Cycles that certainly pass before pps_o has an edge or gate time has come to that: near enough for a clock that is
  // right to 1.5 %.
  function automatic logic [60:0] quiet_cycles(input time_ns_t gate_wake_ns);
    logic [63:0] ahead, edge_ns;
    edge_ns = (ns_q < 30'(PPS_HIGH_NS) ? 64'(PPS_HIGH_NS) : 64'(SECOND_NS)) - 64'(ns_q);
    ahead   = gate_wake_ns > gate_q ? gate_wake_ns - gate_q : '0;
    if (edge_ns < ahead) ahead = edge_ns;
    if (advance_q <= FASTEST) return 61'((ahead - (ahead >> 6)) >> 3);
    return 61'(ahead >> 9);
  endfunction
endmodule

bind pen_ptp_clock pen_ptp_clock_leap #(.LEAD_NS(LEAD_NS), .PPS_HIGH_NS(PPS_HIGH_NS)) u_leap (.*);
