// SPDX-License-Identifier: Apache-2.0
// The one adder of pen_gate_config: sums and differences of times, word by word, the remainder of a division, and what
// is left of a cycle while a list is cut to it.
//
// What each step adds stands in the table below. A sum of 64 bits takes eight cycles:
//
//   count_i          | 0    | 1    | 2    | 3      | 4       | 5      | 6       | 7
//   address of words | a lo | b lo | a hi | b hi   |
//   word_i           |      | a lo | b lo | a hi   | b hi
//   b_q              |             | a lo | b lo   | a hi    | b hi
//   a_q              |                    | a lo            | a hi
//   sum_q            |                             | lo               | hi
//   tested           |                             | lo               | hi      | decision
//   written          |                                       | lo               | hi
//
// The remainder is found by adding the divisor to a partial one below zero and subtracting it from others, one bit of
// the dividend in each cycle. In a cut, `a_q` is what is left of the cycle and `b_q` the entry's interval.
module pen_gate_adder
  import pen_pkg::*, pen_gate_pkg::*;
#(
  parameter int unsigned ENTRIES = 128
) (
  input  logic          clk_i,
  input  gate_step_t    step_i,
  input  gate_purpose_e purpose_i,
  input  logic          again_i,               // a pending change is worked out anew after a step of the clock
  input  logic          prolong_i,             // LAST_LENGTH: the last cycle is prolonged
  input  logic [1:0]    look_time_i,           // SEND: which time of the port
  input  logic [5:0]    count_i,               // cycles in this step
  // The words that are read and written.
  output logic          is_sum_o,              // this step is a sum of 64 bits
  output gate_word_e    operand_a_o,
  output gate_word_e    operand_b_o,
  output gate_word_e    target_o,
  input  logic [31:0]   word_i,
  // Entries of a list.
  input  logic          from_staged_i,
  input  logic [31:0]   staged_interval_ns_i,
  input  logic [31:0]   kept_interval_ns_i,
  input  logic          ends_list_i,
  input  logic          is_last_index_i,
  output logic          is_cut_last_o,         // CUT: this entry takes all that is left of the cycle
  output logic [32:0]   interval_ns_o,         // of the entry
  // Results.
  output logic [33:0]   sum_o,
  output gate_time_t    operand_a_value_o,     // of the sum: from its count 4 on
  output logic          is_negative_o,         // these of the sum: at its last cycle
  output logic          is_not_positive_o,
  output logic          is_below_64_o,
  output logic          is_near_o,             // a difference below 2^34
  output logic          remainder_is_zero_o,   // at the end of DIVIDE_END
  output logic          remainder_is_below_64_o
);
  localparam logic [31:0] PREPARE_NS = prepare_ns(ENTRIES);
  localparam logic [31:0] AGAIN_NS = 32'(MAX_PORTS) * PREPARE_NS; // for the changes of all ports after a step

  logic [2:0]  phase;
  logic        subtract;
  logic [33:0] a_q, sum_q, sum;
  logic [32:0] b_q;
  logic        carry_in, unused_carry;
  logic        low_zero_q, low_small_q, high_zero_q, negative_q, near_q;
  logic [31:0] ahead_ns, word_q;
  logic [3:0]  word_high_q;

  assign phase = count_i[2:0];

  // --- what each step adds -------------------------------------------------------------------------------------------
  always_comb begin
    operand_a_o = NOTHING;
    operand_b_o = NOTHING;
    target_o    = NOTHING;
    is_sum_o    = 1'b1;
    subtract    = 1'b1;
    unique case (1'b1)
      step_i[SEND]: begin
        unique case (look_time_i)
          TIME_CHANGE: operand_a_o = CHANGE;
          TIME_START:  operand_a_o = START;
          default:     operand_a_o = LAST_CYCLE;
        endcase
        operand_b_o = VALUE;
      end
      step_i[EARLIEST], step_i[ACTS]: begin
        operand_a_o = NOW;
        operand_b_o = AHEAD;
        target_o    = VALUE;
        subtract    = 1'b0;
      end
      step_i[STAY]: begin
        operand_a_o = VALUE;
        operand_b_o = CHANGE;
      end
      step_i[PAST]: begin
        operand_a_o = VALUE;
        operand_b_o = FIRST;
        target_o    = ACC;
      end
      step_i[AGE]: begin
        operand_a_o = NOW;
        operand_b_o = FIRST;
      end
      step_i[BASE]: begin
        operand_a_o = FIRST;
        target_o    = VALUE;
        subtract    = 1'b0;
      end
      step_i[BACK]: begin
        operand_a_o = VALUE;
        operand_b_o = REST;
        target_o    = VALUE;
      end
      step_i[FORTH]: begin
        operand_a_o = VALUE;
        operand_b_o = CYCLE;
        target_o    = VALUE;
        subtract    = 1'b0;
      end
      step_i[KEEP_TIME]: begin
        operand_a_o = VALUE;
        target_o    = purpose_i == FOR_CLOCK ? START : CHANGE_NEW;
        subtract    = 1'b0;
      end
      step_i[LAST_FIRST]: begin
        operand_a_o = CHANGE;
        operand_b_o = START;
      end
      step_i[LAST_START]: begin
        operand_a_o = CHANGE;
        operand_b_o = FIRST;
        target_o    = ACC;
      end
      step_i[LAST_BEGIN]: begin
        operand_a_o = CHANGE;
        operand_b_o = REST;
        target_o    = LAST_CYCLE;
      end
      step_i[PROLONG]: begin
        operand_a_o = EXTENSION;
        operand_b_o = REST;
      end
      step_i[LATE]: begin
        operand_a_o = VALUE;
        operand_b_o = LAST_CYCLE;
      end
      step_i[LATE_FIRST]: begin
        operand_a_o = LAST_CYCLE;
        operand_b_o = START;
      end
      step_i[LAST_BACK]: begin
        operand_a_o = LAST_CYCLE;
        operand_b_o = CYCLE;
        target_o    = LAST_CYCLE;
      end
      step_i[LAST_LENGTH]: begin
        operand_a_o = prolong_i ? CYCLE : NOTHING;
        operand_b_o = REST;
        subtract    = 1'b0;
      end
      step_i[DIVIDE]: begin
        is_sum_o = 1'b0;
        subtract = !a_q[33];
      end
      step_i[DIVIDE_END]: begin
        is_sum_o = 1'b0;
        subtract = count_i[1:0] == '0 && !a_q[33];
      end
      default: is_sum_o = 1'b0;
    endcase
  end

  always_comb begin
    if (step_i[ACTS]) ahead_ns = again_i ? AGAIN_NS : PREPARE_NS;
    else ahead_ns = again_i ? AGAIN_NS + LEAD_NS : PREPARE_NS + LEAD_NS;
    if (purpose_i == FOR_CLOCK) ahead_ns = LEAD_NS;
  end

  // --- b_q and a_q ---------------------------------------------------------------------------------------------------
  logic        b_load, b_clear;
  logic [1:0]  b_from;
  logic [32:0] b_next;

  // What is added to what stands in registers too: a sum holds still from its first cycle on, and loads nothing in that.
  typedef struct packed {
    logic is_zero;                               // or a constant: no word of it is read
    logic is_short;                              // one word
  } operand_kind_t;
  operand_kind_t a_kind_q, b_kind_q, loaded;
  logic          is_sum_q, adds_ahead_q, is_ahead;

  function automatic operand_kind_t kind_of(input gate_word_e operand);
    return '{is_zero: operand inside {NOTHING, AHEAD}, is_short: operand inside {REST, CYCLE, EXTENSION}};
  endfunction

  always_ff @(posedge clk_i) begin
    is_sum_q     <= is_sum_o;
    adds_ahead_q <= operand_b_o == AHEAD;
    a_kind_q     <= kind_of(operand_a_o);
    b_kind_q     <= kind_of(operand_b_o);
  end
  assign loaded = phase[0] ? a_kind_q : b_kind_q;

  always_comb begin
    b_load   = 1'b1;
    b_clear  = 1'b0;
    b_from   = 2'd0;
    is_ahead = adds_ahead_q && phase == 3'd2;
    unique case (1'b1)
      step_i[ENTRY_LOAD]: b_from = 2'd1;
      step_i[CUT_LOAD]: b_from = from_staged_i ? 2'd1 : 2'd2;
      step_i[CUT]: begin
        b_from = 2'd3;
        b_load = is_cut_last_o;
      end
      step_i[OPEN_LOAD]: b_from = is_last_index_i ? 2'd3 : 2'd2;
      step_i[DIVIDE_LOAD]: b_load = phase[1:0] == 2'd1;
      step_i[LENGTH]: ;
      default: begin
        b_load  = is_sum_q && phase != 3'd5;
        b_clear = is_sum_q && phase != '0 && (loaded.is_zero || (loaded.is_short && phase inside {3'd3, 3'd4}));
      end
    endcase
    unique case (b_from)
      2'd0: b_next = {1'b0, word_i};
      2'd1: b_next = {1'b0, staged_interval_ns_i};
      2'd2: b_next = {1'b0, kept_interval_ns_i};
      default: b_next = a_q[32:0];
    endcase
  end

  logic        a_load;
  logic [1:0]  a_from;
  logic [33:0] a_next;

  always_comb begin
    a_load = 1'b1;
    a_from = 2'd0;
    unique case (1'b1)
      step_i[DIVIDE]: a_from = 2'd1;
      step_i[DIVIDE_END]: begin
        a_from = 2'd2;
        a_load = phase[0];
      end
      step_i[CUT]: begin
        a_from = 2'd2;
        a_load = !is_cut_last_o;
      end
      step_i[LAST_LENGTH]: a_from = {phase[2], 1'b0};
      step_i[LENGTH]: ;
      default: a_load = is_sum_o && !phase[0];
    endcase
    unique case (a_from)
      2'd0: a_next = {1'b0, b_q};
      2'd1: a_next = {sum[32:0], word_q[5'd31-count_i[4:0]]};
      default: a_next = sum_q;
    endcase
  end

  // --- the sum, and what is known of it --------------------------------------------------------------------------------
  assign carry_in = subtract ^ (is_sum_o && phase[1:0] == 2'd1 && sum_q[32]);
  assign {sum, unused_carry} = {a_q, 1'b1} + {subtract ? ~{1'b0, b_q} : {1'b0, b_q}, carry_in};

  always_ff @(posedge clk_i) begin
    if (b_load) b_q <= b_next;
    if (b_clear) b_q <= is_ahead ? 33'(ahead_ns) : '0;

    if (a_load) a_q <= a_next;
    if (step_i[DIVIDE_LOAD]) a_q <= '0;

    if ((is_sum_o && phase inside {3'd3, 3'd5}) || step_i[CUT_SUBTRACT]) sum_q <= sum;
    if (step_i[DIVIDE_END] && (phase[1:0] == 2'd0 || (phase[1:0] == 2'd2 && negative_q))) sum_q <= sum;

    if ((is_sum_o && phase == 3'd1) || (step_i[DIVIDE_LOAD] && phase[1]) || (step_i[DIVIDE] && count_i == 6'd31)) begin
      word_q <= word_i;
    end
    if (is_sum_o && phase == 3'd3) word_high_q <= word_i[3:0];

    if ((is_sum_o && phase == 3'd4) || step_i[DIVIDE_END]) begin
      low_zero_q  <= sum_q[5:0] == '0;
      low_small_q <= sum_q[31:6] == '0;
    end
    high_zero_q <= sum_q[31:0] == '0;
    near_q      <= sum_q[31] || sum_q[30:2] == '0;
    negative_q  <= step_i[DIVIDE_END] ? sum_q[33] : sum_q[31];
  end

  assign is_cut_last_o           = ends_list_i || sum_q[33] || sum_q[32:6] == '0;
  assign interval_ns_o           = b_q;
  assign sum_o                   = sum_q;
  assign operand_a_value_o       = {word_high_q, word_q};
  assign is_negative_o           = negative_q;
  assign is_not_positive_o       = negative_q || (high_zero_q && low_small_q && low_zero_q);
  assign is_below_64_o           = negative_q || (high_zero_q && low_small_q);
  assign is_near_o               = near_q;
  assign remainder_is_zero_o     = low_small_q && low_zero_q;
  assign remainder_is_below_64_o = low_small_q;

  logic unused;
  assign unused = &{1'b0, step_i};
endmodule
