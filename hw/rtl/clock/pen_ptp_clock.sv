// SPDX-License-Identifier: Apache-2.0
// PTP hardware clock: TAI time as seconds, nanoseconds and a fraction, and the same as linear gate time.
//
// In each cycle the time T advances by the increment and by a part of a slew, if one is running. The gate time leads
// it by whole nanoseconds, as what is decided on it acts some cycles later. A command is taken in cycle c and acts in
// cycle e = c + 41, as a whole:
//
//     cycle             c        ..   e-1        e            e+1
//     command_valid_i   1             1          1
//     command_ready_o   0             0          1            0
//     set                                        T = value    T = value + increment
//     step                            T          T + increment + offset
//     slew, increment                            T            T + new increment + first part
//     stepped_next_o                  set or step
//
// Gate time goes out a cycle early, as it has a long way to units that have it in a register first.
//
// Set and step end a slew. A command that is refused changes nothing but error_o. Each stage below has one addition:
//
//     stage A: increment and part of the slew ─► stage B: fraction, nanoseconds ─► stage C: seconds, gate time ─► T
//
// The nanoseconds of stage B may be a second too high; stage C, and stage B itself in the next cycle, take it off.
module pen_ptp_clock
  import pen_pkg::*;
#(
  parameter int unsigned LEAD_CYCLES = 4,           // of the gate time, counted as cycles of 8 ns
  parameter int unsigned PPS_HIGH_NS = 100_000_000  // how long pps_o is high at the start of a second
) (
  input  logic         clk_i,
  input  logic         rst_i,
  input  logic         command_valid_i,   // with its data until command_ready_o
  input  ptp_command_e command_i,
  input  logic [79:0]  command_data_i,
  output logic         command_ready_o,
  output ptp_error_e   error_o,           // of the last command
  output logic         slewing_o,
  output logic [39:0]  increment_o,       // nanoseconds per cycle, 32 bits of fraction
  output ptp_time_t    time_o,
  output logic [63:0]  gate_time_next_o,  // in the next cycle: nanoseconds, LEAD_CYCLES ahead
  output logic         stepped_next_o,    // that is the first one after a set or a step
  output logic         pps_o,
  output logic         idle_o             // no command is under way
);
  if (PPS_HIGH_NS < 1 || PPS_HIGH_NS > 999_999_999) begin : gen_check_pps
    $fatal(1, "pen_ptp_clock: PPS_HIGH_NS must be 1 to 999999999, is %0d (%m)", PPS_HIGH_NS);
  end

  localparam int unsigned SECOND_NS = 1_000_000_000;
  localparam int unsigned LEAD_NS = LEAD_CYCLES * CYCLE_NS;
  localparam int unsigned SECONDS_W = 34;                    // 2^63 ns are less
  localparam logic [40:0] INCREMENT = 41'(CYCLE_NS) << 32;   // after reset

  // The second is a multiple of 2^9 ns, so taking one off changes the upper bits only. An advance fits the lower ones.
  localparam int unsigned LOW_W = 9;
  localparam logic [21:0] SECOND_HIGH = 22'(SECOND_NS >> LOW_W);

  // ---- Commands: the cycle of each step, counted from the one in which the command is taken -----------------------
  localparam logic [5:0] MULTIPLY = 6'd2;      // 30 cycles: seconds times 10^9, one bit after the other
  localparam logic [5:0] ADD_NS = 6'd32;
  localparam logic [5:0] TAKE_LEAD = 6'd33;
  localparam logic [5:0] CHECK = 6'd34;
  localparam logic [5:0] ADD_LEAD = 6'd35;
  localparam logic [5:0] LOAD_SLEW = 6'd36;
  localparam logic [5:0] LOAD_INCREMENT = 6'd37;
  localparam logic [5:0] ACT_B = 6'd38;
  localparam logic [5:0] ACT_T = 6'd40;
  localparam logic [5:0] ANSWER = 6'd41;

  logic [5:0]           count_q;                // zero: no command under way
  logic                 is_set_q, is_step_q, is_slew_q, is_increment_q, moves;  // as the command said a cycle before
  logic [29:0]          data_ns;
  logic [47:0]          data_seconds;
  logic                 beyond_q, seconds_beyond_q;  // the linear time; the seconds alone
  ptp_error_e           wrong, wrong_q, error_q;  // wrong: but for the sum of a step or a set
  logic                 beyond, accepted;       // from ADD_LEAD on
  logic [39:0]          increment_q;
  logic [63:0]          gate_q;

  always_ff @(posedge clk_i) begin
    is_set_q       <= command_i == PTP_SET;
    is_step_q      <= command_i == PTP_STEP;
    is_slew_q      <= command_i == PTP_SLEW;
    is_increment_q <= command_i == PTP_INCREMENT;
  end
  assign moves        = is_set_q || is_step_q;
  assign data_ns      = command_data_i[29:0];
  assign data_seconds = command_data_i[79:32];

  always_comb begin
    wrong = PTP_ERROR_NONE;
    if (moves) begin
      if (command_data_i[31:LOW_W] >= 23'(SECOND_HIGH)) wrong = PTP_ERROR_NANOSECONDS;
    end else if (is_slew_q) begin
      if (command_data_i[63:32] == '0 && command_data_i[31:0] != '0) wrong = PTP_ERROR_RATE;
    end else if (is_increment_q) begin
      if (command_data_i[39:32] == '0) wrong = PTP_ERROR_INCREMENT;
    end else begin
      wrong = PTP_ERROR_COMMAND;
    end
  end
  always_ff @(posedge clk_i) wrong_q <= wrong;   // the command stands long before it is asked for

  assign beyond   = moves && (beyond_q || seconds_beyond_q);
  assign accepted = wrong_q == PTP_ERROR_NONE && !beyond;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      count_q <= '0;
      error_q <= PTP_ERROR_NONE;
    end else begin
      if (count_q == ANSWER) count_q <= '0;
      else if (count_q != '0 || command_valid_i) count_q <= count_q + 1'b1;
      if (count_q == ACT_T) error_q <= beyond && wrong_q == PTP_ERROR_NONE ? PTP_ERROR_BEYOND : wrong_q;
    end
  end

  assign command_ready_o = count_q == ANSWER;
  assign error_o         = error_q;
  assign idle_o          = count_q == '0 && !command_valid_i;

  // The value or offset as linear time: what stage C adds to its gate time.
  logic [29:0] factor_q;                       // bits of 10^9 yet to come
  logic        multiply_q, add_ns_q, take_lead_q, add_gate_q, add_lead_q;  // what count_q says, not decoded in its cycle
  logic [63:0] linear_q, linear_sum, addend;

  always_ff @(posedge clk_i) begin
    multiply_q  <= count_q >= MULTIPLY - 6'd1 && count_q < ADD_NS - 6'd1;
    add_ns_q    <= count_q == ADD_NS - 6'd1;
    take_lead_q <= count_q == TAKE_LEAD - 6'd1 && is_step_q;
    add_gate_q  <= count_q == CHECK - 6'd1 && is_step_q;
    add_lead_q  <= count_q == ADD_LEAD - 6'd1;
    if (rst_i) {multiply_q, add_ns_q, take_lead_q, add_gate_q, add_lead_q} <= '0;
  end

  always_comb begin
    // One of them at most. The check is made with the time itself, not with what leads it.
    addend = (multiply_q && factor_q[29] ? {{30{is_step_q && data_seconds[33]}}, data_seconds[33:0]} : '0)
             | (add_ns_q ? 64'(data_ns) : '0)
             | (take_lead_q ? -64'(LEAD_NS) : '0)
             | (add_gate_q ? gate_q : '0)
             | (add_lead_q ? 64'(LEAD_NS) + (is_step_q ? 64'(increment_q[39:32]) : '0) : '0);
    linear_sum = (multiply_q ? {linear_q[62:0], 1'b0} : linear_q) + addend;
  end

  always_ff @(posedge clk_i) begin
    if (count_q < MULTIPLY) begin
      linear_q <= '0;
      factor_q <= 30'(SECOND_NS);
    end else begin
      if (count_q < CHECK || count_q == ADD_LEAD) linear_q <= linear_sum;
      factor_q <= {factor_q[28:0], 1'b0};
    end
    if (count_q == CHECK) beyond_q <= linear_sum[63];
    seconds_beyond_q <= is_set_q ? data_seconds[47:34] != '0 : data_seconds[47:33] != '0 && data_seconds[47:33] != '1;
  end

  // And as seconds and nanoseconds. A step takes the whole nanoseconds of its cycle with it.
  logic [29:0]          command_ns_q;
  logic [21:0]          command_less_q;        // the upper bits of command_ns_q, less a second
  logic                 command_over_q;
  logic [SECONDS_W-1:0] command_seconds_q;

  always_ff @(posedge clk_i) begin
    command_less_q <= {1'b0, command_ns_q[29:LOW_W]} - SECOND_HIGH;
    if (count_q < MULTIPLY) begin
      command_ns_q   <= data_ns + (is_step_q ? 30'(increment_q[39:32]) : '0);
      command_over_q <= 1'b0;
    end else if (count_q == ADD_NS && !command_less_q[21]) begin
      command_ns_q[29:LOW_W] <= command_less_q[20:0];
      command_over_q         <= 1'b1;
    end
    command_seconds_q <= data_seconds[SECONDS_W-1:0] + SECONDS_W'(command_over_q);
  end

  // ---- Slew, increment, and stage A: what is added ------------------------------------------------------------------
  logic [63:0] left_q, left_less;              // of the slew, in units of 2^-32 ns
  logic [31:0] rate_q, part, part_q;
  logic        backward_q, part_backward_q;
  logic [40:0] advance_q, advance_d;

  assign left_less = left_q - 64'(rate_q);

  // A carry or borrow goes into the lowest bit of the one addition: a synthesizer would take two.
  logic unused_advance, unused_ns, unused_seconds, unused_gate;
  assign {advance_d, unused_advance} = {1'b0, increment_q, 1'b1} + {41'(part_q) ^ {41{part_backward_q}}, part_backward_q};
  assign part      = left_less[63] ? left_q[31:0] : rate_q;

  // ---- Stages B and C -----------------------------------------------------------------------------------------------
  logic                 act_b_q, act_c_q, zero_b_q, zero_c_q;   // in ACT_B and the cycle after; zero: it is set, not stepped
  logic                 over;                                // the nanoseconds of stage B are a second too high
  logic [30:0]          ns_b_q, ns_b_d, operand;
  logic [31:0]          fraction_b_q, fraction_b_d, fraction_q;
  logic                 carry_d, carry_b_q;
  logic [8:0]           whole_b_q;                           // what stage B added
  logic [29:0]          ns_d, ns_q;
  logic [SECONDS_W-1:0] seconds_d, seconds_q;
  logic [63:0]          gate_d;

  always_ff @(posedge clk_i) begin
    act_b_q  <= count_q == ACT_B - 6'd1 && moves && accepted;
    zero_b_q <= count_q == ACT_B - 6'd1 && is_set_q && accepted;
    act_c_q  <= act_b_q;
    zero_c_q <= zero_b_q;
    if (rst_i) {act_b_q, zero_b_q, act_c_q, zero_c_q} <= '0;
  end
  assign over   = ns_b_q[30:LOW_W] >= SECOND_HIGH;

  always_comb begin
    {carry_d, fraction_b_d} = 33'(fraction_b_q) + 33'(advance_q[31:0]);
    operand = {over ? -SECOND_HIGH : 22'd0, advance_q[40:32]};
    if (act_b_q) begin
      operand = {over && !is_set_q ? command_less_q : {1'b0, command_ns_q[29:LOW_W]}, command_ns_q[LOW_W-1:0]};
    end
    if (zero_b_q) {carry_d, fraction_b_d} = '0;
    {ns_b_d, unused_ns} = {zero_b_q ? 31'd0 : ns_b_q, 1'b1} + {operand, carry_d};
  end

  always_comb begin
    ns_d      = {ns_b_q[29:LOW_W] - (over ? SECOND_HIGH[20:0] : 21'd0), ns_b_q[LOW_W-1:0]};
    {seconds_d, unused_seconds} = {zero_c_q ? SECONDS_W'(0) : seconds_q, 1'b1} + {act_c_q ? command_seconds_q : SECONDS_W'(0), over};
    {gate_d, unused_gate}       = {zero_c_q ? 64'd0 : gate_q, 1'b1} + {act_c_q ? linear_q : 64'(whole_b_q), carry_b_q};
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      increment_q     <= INCREMENT[39:0];
      advance_q       <= INCREMENT;
      left_q          <= '0;
      part_q          <= '0;
      part_backward_q <= 1'b0;
      ns_b_q          <= 31'(2 * CYCLE_NS);                  // a cycle ahead of stage C, as that is of T
      whole_b_q       <= 9'(CYCLE_NS);
      carry_b_q       <= 1'b0;
      fraction_b_q    <= '0;
      fraction_q      <= '0;
      ns_q            <= 30'(CYCLE_NS);
      seconds_q       <= '0;
      gate_q          <= 64'(LEAD_NS + CYCLE_NS);
      stepped_next_o  <= 1'b0;
      time_o          <= '0;
      pps_o           <= 1'b0;
      slewing_o       <= 1'b0;
    end else begin
      left_q          <= left_less[63] ? '0 : left_less;
      part_q          <= part;
      part_backward_q <= backward_q;
      advance_q       <= advance_d;
      if (count_q == ADD_LEAD && moves && accepted) left_q <= '0;
      if (count_q == LOAD_SLEW && is_slew_q && accepted) begin
        left_q     <= {command_data_i[31] ? -command_data_i[31:0] : command_data_i[31:0], 32'd0};
        rate_q     <= command_data_i[63:32];
        backward_q <= command_data_i[31];
      end
      if (count_q == LOAD_INCREMENT && is_increment_q && accepted) increment_q <= command_data_i[39:0];
      ns_b_q          <= ns_b_d;
      whole_b_q       <= advance_q[40:32];
      carry_b_q       <= carry_d;
      fraction_b_q    <= fraction_b_d;
      fraction_q      <= fraction_b_q;
      ns_q            <= ns_d;
      seconds_q       <= seconds_d;
      gate_q          <= gate_d;
      stepped_next_o  <= act_c_q;
      time_o          <= '{seconds: 48'(seconds_q), ns: ns_q, fraction: fraction_q};
      pps_o           <= ns_q < 30'(PPS_HIGH_NS);
      slewing_o       <= left_q != '0;
    end
  end

  logic unused;
  assign unused = &{1'b0, unused_advance, unused_ns, unused_seconds, unused_gate};

  assign increment_o      = increment_q;
  assign gate_time_next_o = gate_q;

`ifdef FORMAL
  // Contract: 1. the nanoseconds stay below a second; 2. in each cycle gate time, nanoseconds and
  // fraction advance by what stage A gave, and the seconds count what is taken off the nanoseconds; 3. only a set or a
  // step moves them otherwise, in its cycle, all together; 4. a slew adds exactly its amount, and no more than its rate
  // in a cycle.
  logic        f_past_q = 1'b0;
  logic [40:0] f_advance_q;
  logic [63:0] f_sum_q, f_amount_q;           // of the slew: so far, and in all
  logic        f_moves;

  assign f_moves = moves && accepted;

  always_ff @(posedge clk_i) begin
    f_past_q    <= 1'b1;
    f_advance_q <= advance_q;
    f_sum_q     <= f_sum_q + 64'(part);
    if (count_q == ADD_LEAD && f_moves) f_amount_q <= f_sum_q + 64'(part);
    if (count_q == LOAD_SLEW && is_slew_q && accepted) begin
      f_sum_q    <= '0;
      f_amount_q <= 64'(command_data_i[31] ? -command_data_i[31:0] : command_data_i[31:0]) << 32;
    end
    if (rst_i) begin
      f_advance_q <= INCREMENT;
      f_sum_q     <= '0;
      f_amount_q  <= '0;
    end
  end

  always_comb begin
    if (!f_past_q) assume (rst_i);
    else begin
      // The contract.
      assert (ns_q < 30'(SECOND_NS));
      if (!act_c_q) assert (gate_d == gate_q + 64'(whole_b_q) + 64'(carry_b_q));
      assert (31'(ns_d) + (over ? 31'(SECOND_NS) : '0) == ns_b_q);
      assert (seconds_d == (zero_c_q ? '0 : seconds_q) + (act_c_q ? command_seconds_q : '0) + SECONDS_W'(over));
      assert (left_q == f_amount_q - f_sum_q);
      assert (part <= rate_q && (part != '0 || left_q == '0));
      // What makes it hold: stage B is a cycle ahead.
      assert (whole_b_q == f_advance_q[40:32]);
      if (!zero_c_q) assert ({10'(whole_b_q) + 10'(carry_b_q), fraction_b_q} == 42'(fraction_q) + 42'(f_advance_q));
      if (act_c_q) assert (ns_b_q == (is_set_q ? '0 : 31'(ns_q) + 31'(carry_b_q)) + 31'(command_ns_q));
      else assert (ns_b_q == 31'(ns_q) + 31'(whole_b_q) + 31'(carry_b_q));
      if (act_c_q && !is_set_q) assert (gate_d == gate_q + linear_q + 64'(carry_b_q));
      if (zero_c_q) assert (gate_d == linear_q && !carry_b_q && fraction_b_q == '0);
      // The slew has ended before the time moves.
      assert (increment_q[39:32] != '0);
      assert (left_q == '0 || (rate_q != '0 && left_q <= 64'h8000_0000_0000_0000));
      assert (advance_q[40:32] <= 9'd256);
      if (f_moves && count_q > ADD_LEAD) assert (left_q == '0);
      if (f_moves && count_q > LOAD_SLEW) assert (part_q == '0);
      if (f_moves && count_q > LOAD_INCREMENT) assert (advance_q == 41'(increment_q));
      if (f_moves && count_q > ACT_B) assert (f_advance_q == 41'(increment_q));
      // Commands step by step.
      assert (count_q <= ANSWER);
      assert (act_b_q == (count_q == ACT_B && f_moves) && zero_b_q == (act_b_q && is_set_q));
      assert (act_c_q == (count_q == ACT_B + 6'd1 && f_moves) && zero_c_q == (act_c_q && is_set_q));
      assert (multiply_q == (count_q >= MULTIPLY && count_q < ADD_NS) && add_ns_q == (count_q == ADD_NS));
      assert (take_lead_q == (count_q == TAKE_LEAD && is_step_q) && add_gate_q == (count_q == CHECK && is_step_q));
      assert (add_lead_q == (count_q == ADD_LEAD));
      if (count_q != '0) begin
        assert (command_valid_i && is_set_q == (command_i == PTP_SET) && is_step_q == (command_i == PTP_STEP));
        assert (is_slew_q == (command_i == PTP_SLEW) && is_increment_q == (command_i == PTP_INCREMENT));
      end
      if (moves && command_data_i[31:LOW_W] < 23'(SECOND_HIGH)) begin
        if (count_q >= MULTIPLY && count_q <= ADD_NS)
          assert (command_ns_q == data_ns + (is_step_q ? 30'(increment_q[39:32]) : '0) && !command_over_q);
        if (count_q > MULTIPLY && count_q <= ADD_NS)
          assert (command_less_q == {1'b0, command_ns_q[29:LOW_W]} - SECOND_HIGH);
        if (count_q > ADD_NS) begin
          assert (command_ns_q < 30'(SECOND_NS));
          assert (command_over_q == (31'(data_ns) + (is_step_q ? 31'(increment_q[39:32]) : '0) >= 31'(SECOND_NS)));
          assert (command_ns_q == data_ns + (is_step_q ? 30'(increment_q[39:32]) : '0)
            - (command_over_q ? 30'(SECOND_NS) : '0));
        end
        if (count_q > TAKE_LEAD) begin
          assert (command_less_q == {1'b0, command_ns_q[29:LOW_W]} - SECOND_HIGH);
          assert (command_seconds_q == SECONDS_W'(data_seconds) + SECONDS_W'(command_over_q));
        end
      end
    end
  end

  // The command stands still until it is answered.
  always_ff @(posedge clk_i) begin
    if (f_past_q && !$past(rst_i)) begin
      if ($past(command_valid_i && !command_ready_o)) begin
        assume (command_valid_i && command_i == $past(command_i) && command_data_i == $past(command_data_i));
      end
      if (!$past(act_c_q)) assert (!stepped_next_o);
      cover (count_q == ANSWER && is_increment_q && error_q == PTP_ERROR_NONE);
    end
  end
`endif
endmodule
