// SPDX-License-Identifier: Apache-2.0
// The settings that come with a gate list: takes them with its commit, checks them, and turns AdminBaseTime, which is
// seconds and nanoseconds, into nanoseconds of 64 bits.
//
// The product by 10^9 is summed serially in the step SECONDS, which takes 50 cycles: one bit of the seconds in each, the
// sum moving one place to the right every time. Its low 48 bits end in `seconds_low_q`, the others in `seconds_sum_q`.
module pen_gate_settings
  import pen_pkg::*, pen_gate_pkg::*;
#(
  parameter int unsigned ENTRIES = 128
) (
  input  logic        clk_i,
  input  logic        take_i,                    // a commit is accepted
  input  logic [47:0] base_seconds_i,
  input  logic [29:0] base_nanoseconds_i,
  input  logic [31:0] cycle_time_ns_i,
  input  logic [31:0] extension_ns_i,
  input  logic [15:0] length_i,
  input  gate_step_t  step_i,
  input  logic [5:0]  count_i,                   // cycles in this step
  output logic [15:0] length_o,
  output gate_error_e error_o,                   // two cycles after take_i
  output logic        beyond_clock_o,            // at the end of SECONDS: the base time has more than 63 bits
  output logic [31:0] setting_o                  // by count_i: 1 and 2 the base time, 3 the cycle time, 4 the extension
);
  localparam logic [29:0] SECOND_NS = 30'd1_000_000_000;

  logic [47:0] base_seconds_q, seconds_low_q;
  logic [29:0] base_nanoseconds_q, seconds_sum_q;
  logic [31:0] cycle_time_ns_q, extension_ns_q;
  logic [30:0] seconds_sum, seconds_add;
  logic        second_q;                         // the bit of the seconds that is added in this cycle

  always_comb begin
    seconds_add = second_q ? 31'(SECOND_NS) : '0;
    if (count_i == '0) seconds_add = {base_nanoseconds_q, 1'b0};
    seconds_sum = 31'(seconds_sum_q) + seconds_add;
  end

  always_ff @(posedge clk_i) begin
    if (take_i) begin
      base_seconds_q     <= base_seconds_i;
      base_nanoseconds_q <= base_nanoseconds_i;
      cycle_time_ns_q    <= cycle_time_ns_i;
      extension_ns_q     <= extension_ns_i;
      length_o           <= length_i;
    end

    second_q <= base_seconds_q[count_i];

    error_o <= GATE_ERROR_NONE;
    if (length_o == '0) error_o <= GATE_ERROR_NO_ENTRIES;
    else if (length_o > 16'(ENTRIES)) error_o <= GATE_ERROR_TOO_MANY_ENTRIES;
    else if (cycle_time_ns_q < 32'(GATE_MIN_INTERVAL_NS)) error_o <= GATE_ERROR_CYCLE_TIME;
    else if (base_nanoseconds_q >= SECOND_NS) error_o <= GATE_ERROR_BASE_TIME;

    if (step_i[SECONDS] && count_i != 6'd49) begin
      seconds_sum_q <= seconds_sum[30:1];
      seconds_low_q <= {seconds_sum[0], seconds_low_q[47:1]};
    end
    if (step_i[CHECK]) seconds_sum_q <= '0;
  end

  assign beyond_clock_o = seconds_sum_q[29:15] != '0;

  always_comb begin
    unique case (count_i[1:0])
      2'd1: setting_o = seconds_low_q[31:0];
      2'd2: setting_o = {1'b0, seconds_sum_q[14:0], seconds_low_q[47:32]};
      2'd3: setting_o = cycle_time_ns_q;
      default: setting_o = extension_ns_q;
    endcase
  end

  logic unused;
  assign unused = &{1'b0, step_i};
endmodule
