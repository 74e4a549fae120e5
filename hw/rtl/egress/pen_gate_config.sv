// SPDX-License-Identifier: Apache-2.0
// Takes gate lists for all ports (802.1Q 8.6.9.3): stages, checks and compiles them, and says when they begin.
//
// A commit is worked on in this order; nothing of the port changes before the whole list has been found good:
//
//   check      the settings, then every entry
//   withdraw   a change that is still ahead, unless it is about to act: then the commit waits until it has
//   time       ConfigChangeTime: the base time, or the first start of a cycle that leaves PREPARE_NS and LEAD_NS
//   forward    cut or prolong the list to its cycle; per class, how long the gate is open from the start of the cycle,
//              and the largest window
//   backward   per entry and class, how long the gate stays open beyond the entry; written to the port's memory
//   last       if a list is running, its last cycle is compiled once more by the same two passes: cut at the time of
//              the change or prolonged to it, and followed by the new list
//   wait       until PREPARE_NS after the commit, less two microseconds in which the port is told: then the change is
//              pending, and ends of cycles from PREPARE_NS after the commit on are decided knowing it
//
// How long a gate stays open across the end of a cycle is thus known from memory, and the gates only play lists.
// Classes are worked on one after the other, so that a list of 1024 entries costs time and not area. For the same
// reason times stand in a memory of 32-bit words, and one adder of a word takes them up one after the other.
//
// Commands with times that are more than 2^34 ns ahead are kept here until they are nearer, so that the gates need not
// compare 64 bits. When the clock is stepped, each running list is told its new start first of all; then changes that
// were pending are worked out anew.
module pen_gate_config
  import pen_pkg::*;
#(
  parameter int unsigned PORTS   = 4,
  parameter int unsigned ENTRIES = 128  // of a list; a power of two, 8 to 1024
) (
  input  logic             clk_i,
  input  logic             rst_i,
  input  time_ns_t         gate_time_i,
  input  logic             stepped_i,
  // The staged list; it holds still while a commit is worked on.
  input  logic             write_i,
  input  logic [15:0]      write_index_i,
  input  logic [41:0]      write_entry_i,             // {operation, states, interval_ns}
  output logic             write_ready_o,
  // The settings that go with it, taken with the commit.
  input  logic [47:0]      admin_base_seconds_i,
  input  logic [29:0]      admin_base_nanoseconds_i,
  input  logic [31:0]      admin_cycle_time_ns_i,
  input  logic [31:0]      admin_extension_ns_i,      // CycleTimeExtension
  input  logic [15:0]      admin_length_i,            // ControlListLength
  input  logic             commit_i,                  // held until commit_ready_o
  input  port_t            commit_port_i,
  output logic             commit_ready_o,
  // To the gates of all ports.
  output gate_config_t     config_o,
  input  logic [PORTS-1:0] changed_i,
  input  logic [PORTS-1:0] locked_i,
  // State.
  output logic             busy_o,
  output logic [PORTS-1:0] running_o,                 // a list is in force
  output logic [PORTS-1:0] pending_o,                 // ConfigPending
  input  logic             status_i,                  // held until status_ready_o, which answers for status_port_i
  input  port_t            status_port_i,
  input  gate_status_e     status_which_i,
  output logic             status_ready_o,
  output logic [63:0]      status_value_o,
  output logic [15:0]      status_errors_o,           // ConfigChangeError
  output gate_error_e      status_error_o,            // the last one
  output time_ns_t         wake_ns_o                  // simulation: nothing happens by itself before this gate time
);
  localparam int unsigned INDEX_W = $clog2(ENTRIES);
  localparam int unsigned PORT_W = $clog2(PORTS);
  // A list takes at most 43 cycles for each entry and 400 more, of up to 9 ns.
  localparam logic [31:0] PREPARE_NS = ENTRIES <= 128 ? 32'd65536 : 32'(512 * ENTRIES);
  localparam logic [31:0] LEAD_NS = 32'd32768;                    // longer than any frame
  localparam logic [31:0] AGAIN_NS = 32'(MAX_PORTS) * PREPARE_NS; // for the changes of all ports after a step
  localparam int unsigned WAIT_W = 24;                            // for times up to AGAIN_NS ahead or behind
  localparam logic [29:0] SECOND_NS = 30'd1_000_000_000;
  localparam window_t     HORIZON = '1;
  if (PORTS < 2 || PORTS > MAX_PORTS) begin : gen_check_ports
    $fatal(1, "pen_gate_config: PORTS must be 2 to %0d, is %0d (%m)", MAX_PORTS, PORTS);
  end
  if (ENTRIES < 8 || ENTRIES > 1024 || 1 << INDEX_W != ENTRIES) begin : gen_check_entries
    $fatal(1, "pen_gate_config: ENTRIES must be a power of two from 8 to 1024, is %0d (%m)", ENTRIES);
  end

  typedef logic [INDEX_W-1:0] index_t;
  typedef logic [PORT_W-1:0]  place_t;
  typedef struct packed {
    logic [1:0]  operation;
    logic [7:0]  states;
    logic [31:0] interval_ns;
  } staged_t;
  typedef struct packed {
    logic        last;
    logic [7:0]  states;
    logic [31:0] interval_ns;
  } kept_t;

  typedef enum logic [5:0] {
    IDLE, LOOK, SEND,
    CHECK, CHECKED, SECONDS, ENTRY, ENTRY_LOAD, ENTRY_CHECK,
    CANCEL, CANCELLED, KEEP_LIST,
    EARLIEST, STAY, PAST, BASE, DIVIDE_LOAD, DIVIDE, DIVIDE_END, BACK, FORTH, KEEP_TIME,
    LENGTH, CUT_READ, CUT_LOAD, CUT_SUBTRACT, CUT, CUT_CLASS, CUT_WRITE,
    END_CLASS, INITIAL_CLASS, WRITE_INITIAL, LARGEST_CLASS, WRITE_LARGEST,
    COPY_CLASS, OPEN_READ, OPEN_LOAD, OPEN_WRITE, OPEN_CLASS,
    LAST, LAST_FIRST, LAST_START, LAST_BEGIN, PROLONG, ACTS, LATE, LATE_FIRST, LAST_BACK, LAST_LENGTH,
    WAIT, STEP_NEXT
  } state_e;

  // What the shared steps are taken for.
  typedef enum logic [1:0] {FOR_CHANGE, FOR_LAST, FOR_STEP} purpose_e;

  localparam logic [1:0] TIME_CHANGE = 2'd0;     // ConfigChangeTime
  localparam logic [1:0] TIME_START = 2'd1;      // after a step: where the list in force begins anew
  localparam logic [1:0] TIME_LAST = 2'd2;       // where the last cycle before the change begins

  state_e           state_q;
  purpose_e         purpose_q;
  place_t           port_q;
  logic             again_q;                     // a pending change is worked out anew after a step
  logic [PORTS-1:0] bank_q, started_q, pending_q, again_of_q, running_q, slot_q;
  logic [PORTS-1:0] send_new_q, send_start_q, send_last_q, short_q;
  logic             looked_q, redo_q;
  logic [47:0]      admin_seconds_q;
  logic [29:0]      admin_nanoseconds_q;
  logic [31:0]      admin_cycle_q, admin_extension_q;
  logic [15:0]      admin_length_q;
  place_t           redo_port_q;
  logic [PORT_W+1:0] look_q;
  logic             past_q, prolong_q, hold_new_q;
  logic [5:0]       count_q;
  logic [2:0]       phase;
  index_t           index_q, last_index_q;
  logic             last_q, entry_last_q, hold_q;
  logic [7:0]       states_q, whole_q;
  window_t [7:0]    run_q, initial_q, largest_q;
  logic             new_bank;
  logic             old_bank;

  assign new_bank = !bank_q[port_q];
  assign old_bank = bank_q[port_q];
  assign phase    = count_q[2:0];

  // --- lists -------------------------------------------------------------------------------------------------------
  staged_t staged;
  kept_t   kept, kept_new;
  logic    kept_bank;

  assign write_ready_o = state_q inside {IDLE, LOOK, SEND} && !redo_q && !commit_i;

  pen_ram_1r1w #(.WIDTH($bits(staged_t)), .DEPTH(ENTRIES), .READ_OLD(0)) u_staged (
    .clk_i,
    .write_i     (write_i && write_ready_o && write_index_i < 16'(ENTRIES)),
    .write_addr_i(write_index_i[INDEX_W-1:0]),
    .write_data_i(write_entry_i),
    .read_i      (state_q == ENTRY || state_q == CUT_READ),
    .read_addr_i (index_q),
    .read_data_o (staged)
  );

  // The lists of all ports, up to the entry that is the last of their cycle, which takes what is left of it.
  assign kept_bank = purpose_q == FOR_LAST ? old_bank : new_bank;
  assign kept_new  = '{last: last_q, states: staged.states, interval_ns: staged.interval_ns};

  pen_ram_1r1w #(.WIDTH($bits(kept_t)), .DEPTH(PORTS * 2 * ENTRIES), .READ_OLD(0)) u_kept (
    .clk_i,
    .write_i     (state_q == CUT_WRITE && purpose_q == FOR_CHANGE && !again_q),
    .write_addr_i(($clog2(PORTS * 2 * ENTRIES))'({port_q, kept_bank, index_q})),
    .write_data_i(kept_new),
    .read_i      (state_q == CUT_READ || state_q == OPEN_READ),
    .read_addr_i (($clog2(PORTS * 2 * ENTRIES))'({port_q, kept_bank, index_q})),
    .read_data_o (kept)
  );

  // --- words: times and settings -------------------------------------------------------------------------------------
  // Times are two words, the low one first. Those of a port, for the port that is worked on, and others:
  typedef enum logic [3:0] {
    NOTHING,                                     // zero
    AHEAD,                                       // a constant
    NOW, VALUE, ACC,
    REST,                                        // this and the next two are one word
    CYCLE, EXTENSION,
    FIRST,                                       // AdminBaseTime
    CHANGE, CHANGE_NEW, START, LAST_CYCLE
  } operand_e;

  localparam int unsigned WORD_W = PORT_W + 5;
  typedef logic [WORD_W-1:0] word_t;

  function automatic word_t word(input place_t port, input operand_e operand, input logic high, input logic bank,
                                 input logic slot);
    unique case (operand)
      NOW:        return word_t'({1'b1, place_t'(0), 3'd0, high});
      VALUE:      return word_t'({1'b1, place_t'(0), 3'd1, high});
      ACC:        return word_t'({1'b1, place_t'(0), 3'd2, high});
      REST:       return word_t'({1'b1, place_t'(0), 3'd3, 1'b0});
      CYCLE:      return word_t'({1'b0, port, 1'b0, bank, 2'b10});
      EXTENSION:  return word_t'({1'b0, port, 1'b0, bank, 2'b11});
      CHANGE:     return word_t'({1'b0, port, 2'b10, slot, high});
      CHANGE_NEW: return word_t'({1'b0, port, 2'b10, !slot, high});
      START:      return word_t'({1'b0, port, 3'b110, high});
      LAST_CYCLE: return word_t'({1'b0, port, 3'b111, high});
      default:    return word_t'({1'b0, port, 1'b0, bank, 1'b0, high});
    endcase
  endfunction

  logic        word_write, word_write_q, word_read;
  word_t       word_write_addr, word_write_addr_q, word_read_addr;
  logic [31:0] word_write_data, word_write_data_q, word_data;

  pen_ram_1r1w #(.WIDTH(32), .DEPTH(2**(PORT_W + 4) + 8), .READ_OLD(0)) u_words (
    .clk_i,
    .write_i     (word_write_q),
    .write_addr_i(word_write_addr_q),
    .write_data_i(word_write_data_q),
    .read_i      (word_read),
    .read_addr_i (word_read_addr),
    .read_data_o (word_data)
  );

  // --- arithmetic: one adder, word by word -----------------------------------------------------------------------------
  // A step of 64 bits takes eight cycles:
  //
  //   phase            | 0    | 1    | 2    | 3      | 4       | 5      | 6       | 7
  //   word_read_addr   | a lo | b lo | a hi | b hi   |
  //   word_data        |      | a lo | b lo | a hi   | b hi
  //   b_q              |             | a lo | b lo   | a hi    | b hi
  //   a_q              |                    | a lo            | a hi
  //   sum_q            |                             | lo               | hi
  //   tested           |                             | lo               | hi      | decision
  //   written          |                                       | lo               | hi
  operand_e    operand_a, operand_b, target;
  logic        is_step, subtract, of_b;
  logic [33:0] a_q, sum_q, sum;
  logic [32:0] b_q;
  logic        carry_in, unused_carry;
  logic        low_zero_q, low_small_q, high_zero_q, negative_q, near_q;
  logic        not_positive, zero;
  logic [31:0] ahead_ns, word_q;
  logic [3:0]  word_high_q;

  always_comb begin
    operand_a = NOTHING;
    operand_b = NOTHING;
    target    = NOTHING;
    is_step   = 1'b1;
    subtract  = 1'b1;
    unique case (state_q)
      SEND: begin
        unique case (look_q[1:0])
          TIME_CHANGE: operand_a = CHANGE;
          TIME_START:  operand_a = START;
          default:     operand_a = LAST_CYCLE;
        endcase
        operand_b = VALUE;
      end
      EARLIEST, ACTS: begin
        operand_a = NOW;
        operand_b = AHEAD;
        target    = VALUE;
        subtract  = 1'b0;
      end
      STAY: begin
        operand_a = VALUE;
        operand_b = CHANGE;
      end
      PAST: begin
        operand_a = VALUE;
        operand_b = FIRST;
        target    = ACC;
      end
      BASE: begin
        operand_a = FIRST;
        target    = VALUE;
        subtract  = 1'b0;
      end
      BACK: begin
        operand_a = VALUE;
        operand_b = REST;
        target    = VALUE;
      end
      FORTH: begin
        operand_a = VALUE;
        operand_b = CYCLE;
        target    = VALUE;
        subtract  = 1'b0;
      end
      KEEP_TIME: begin
        operand_a = VALUE;
        target    = purpose_q == FOR_STEP ? START : CHANGE_NEW;
        subtract  = 1'b0;
      end
      LAST_FIRST: begin
        operand_a = CHANGE;
        operand_b = START;
      end
      LAST_START: begin
        operand_a = CHANGE;
        operand_b = FIRST;
        target    = ACC;
      end
      LAST_BEGIN: begin
        operand_a = CHANGE;
        operand_b = REST;
        target    = LAST_CYCLE;
      end
      PROLONG: begin
        operand_a = EXTENSION;
        operand_b = REST;
      end
      LATE: begin
        operand_a = VALUE;
        operand_b = LAST_CYCLE;
      end
      LATE_FIRST: begin
        operand_a = LAST_CYCLE;
        operand_b = START;
      end
      LAST_BACK: begin
        operand_a = LAST_CYCLE;
        operand_b = CYCLE;
        target    = LAST_CYCLE;
      end
      LAST_LENGTH: begin
        operand_a = prolong_q ? CYCLE : NOTHING;
        operand_b = REST;
        subtract  = 1'b0;
      end
      DIVIDE: begin
        is_step  = 1'b0;
        subtract = !a_q[33];
      end
      DIVIDE_END: begin
        is_step  = 1'b0;
        subtract = count_q[1:0] == '0 && !a_q[33];
      end
      default: is_step = 1'b0;
    endcase
  end

  always_comb begin
    if (state_q == ACTS) ahead_ns = again_q ? AGAIN_NS : PREPARE_NS;
    else ahead_ns = again_q ? AGAIN_NS + LEAD_NS : PREPARE_NS + LEAD_NS;
    if (purpose_q == FOR_STEP) ahead_ns = LEAD_NS;
  end

  // Words are read for a step, before a division, for the length of a cycle, or else for the status.
  place_t      place;
  logic        list_bank, status_read_q;
  logic [1:0]  status_next_q;
  operand_e    status_operand;

  assign place     = state_q == SEND ? look_q[PORT_W+1:2] : port_q;
  assign list_bank = purpose_q == FOR_CHANGE ? new_bank : old_bank;

  always_comb begin
    unique case (status_which_i)
      GATE_STATUS_CHANGE_TIME: status_operand = CHANGE;
      GATE_STATUS_BASE_TIME:   status_operand = FIRST;
      default:                 status_operand = status_next_q[0] ? EXTENSION : CYCLE;
    endcase
  end

  logic     is_divide_load, word_of_status;
  operand_e read_operand;
  assign is_divide_load = state_q == DIVIDE_LOAD;
  assign word_of_status = status_i && !status_next_q[1] && !(is_step && !phase[2])
                          && !(state_q inside {DIVIDE_LOAD, DIVIDE, LENGTH});

  always_comb begin
    read_operand = phase[0] ? operand_b : operand_a;
    if (state_q == LENGTH || (is_divide_load && phase[1:0] == 2'd0)) read_operand = CYCLE;
    else if (is_divide_load) read_operand = ACC;
    word_read_addr = word(place, read_operand, is_divide_load ? phase[0] : phase[1], list_bank, slot_q[place]);
    word_read      = is_divide_load || state_q == LENGTH || is_step;
    if (word_of_status) begin
      word_read      = 1'b1;
      word_read_addr = word(place_t'(status_port_i), status_operand, status_next_q[0],
                            bank_q[place_t'(status_port_i)], slot_q[place_t'(status_port_i)]);
    end
  end

  // The sum of the base time in nanoseconds: per bit of the seconds, one place to the right.
  logic [47:0] seconds_low_q;
  logic [29:0] seconds_sum_q;
  logic [30:0] seconds_sum, seconds_add;

  always_comb begin
    seconds_add = admin_seconds_q[6'(count_q - 6'd1)] ? 31'(SECOND_NS) : '0;
    if (count_q == '0) seconds_add = {admin_nanoseconds_q, 1'b0};
    seconds_sum = 31'(seconds_sum_q) + seconds_add;
  end

  always_ff @(posedge clk_i) begin
    if (state_q == SECONDS && count_q != 6'd49) begin
      seconds_sum_q <= seconds_sum[30:1];
      seconds_low_q <= {seconds_sum[0], seconds_low_q[47:1]};
    end
    if (state_q == CHECK) seconds_sum_q <= '0;
  end

  // What is written. The gate time is written in two cycles: as VALUE for SEND, as NOW for all else.
  logic        snap, snapped_q, keeps_setting;
  logic [31:0] snap_high_q, setting;
  operand_e    write_operand;
  logic        write_high;

  assign keeps_setting = state_q == KEEP_LIST && !again_q && phase inside {[3'd1 : 3'd4]};

  always_comb begin
    unique case (phase[1:0])
      2'd1: setting = seconds_low_q[31:0];
      2'd2: setting = {1'b0, seconds_sum_q[14:0], seconds_low_q[47:32]};
      2'd3: setting = admin_cycle_q;
      default: setting = admin_extension_q;
    endcase
    unique case ({snap || snapped_q, snap || keeps_setting})
      2'b11: word_write_data = gate_time_i[31:0];
      2'b10: word_write_data = snap_high_q;
      2'b01: word_write_data = setting;
      default: word_write_data = sum_q[31:0];
    endcase
  end

  always_comb begin
    word_write    = is_step && target != NOTHING && (phase == 3'd4 || phase == 3'd6);
    write_operand = target;
    write_high    = phase[1];
    if (state_q == DIVIDE_END) begin
      word_write    = phase == 3'd3;
      write_operand = REST;
    end
    if (state_q == KEEP_LIST) begin
      word_write    = keeps_setting;
      write_operand = phase == 3'd3 ? CYCLE : phase == 3'd4 ? EXTENSION : FIRST;
    end
    if (snap || snapped_q) begin
      word_write    = 1'b1;
      write_operand = state_q inside {LOOK, SEND} && !stepped_i ? VALUE : NOW;
      write_high    = !snap;
    end
    word_write_addr = word(place, write_operand, write_high, list_bank, slot_q[place]);
  end

  always_ff @(posedge clk_i) begin
    snapped_q         <= snap && !rst_i;
    snap_high_q       <= gate_time_i[63:32];
    word_write_q      <= word_write && !rst_i;
    word_write_addr_q <= word_write_addr;
    word_write_data_q <= word_write_data;
  end

  // b_q and a_q.
  assign of_b     = !phase[0];
  assign carry_in = subtract ^ (is_step && phase[1:0] == 2'd1 && sum_q[32]);
  assign {sum, unused_carry} = {a_q, 1'b1} + {subtract ? ~{1'b0, b_q} : {1'b0, b_q}, carry_in};

  operand_e loaded;
  assign loaded = of_b ? operand_b : operand_a;

  logic from_staged, entry_last, is_last_index, is_cut_last;

  assign from_staged   = purpose_q == FOR_CHANGE && !again_q;
  assign entry_last    = from_staged ? 16'(index_q) + 16'd1 == admin_length_q : kept.last;
  assign is_last_index = index_q == last_index_q;
  assign is_cut_last   = entry_last_q || sum_q[33] || sum_q[32:6] == '0;

  logic        b_load, b_clear, is_ahead;
  logic [1:0]  b_from;
  logic [32:0] b_next;

  always_comb begin
    b_load   = 1'b1;
    b_clear  = 1'b0;
    b_from   = 2'd0;
    is_ahead = loaded == AHEAD && phase == 3'd2;
    unique case (state_q)
      ENTRY_LOAD: b_from = 2'd1;
      CUT_LOAD: b_from = from_staged ? 2'd1 : 2'd2;
      CUT: begin
        b_from = 2'd3;
        b_load = is_cut_last;
      end
      OPEN_LOAD: b_from = is_last_index ? 2'd3 : 2'd2;
      DIVIDE_LOAD: b_load = phase[1:0] == 2'd1;
      LENGTH: ;
      default: begin
        b_load  = is_step && phase != 3'd5;
        b_clear = is_step && (loaded inside {NOTHING, AHEAD}
                              || (phase inside {3'd3, 3'd4} && loaded inside {REST, CYCLE, EXTENSION}));
      end
    endcase
    unique case (b_from)
      2'd0: b_next = {1'b0, word_data};
      2'd1: b_next = {1'b0, staged.interval_ns};
      2'd2: b_next = {1'b0, kept.interval_ns};
      default: b_next = a_q[32:0];
    endcase
  end

  logic        a_load;
  logic [1:0]  a_from;
  logic [33:0] a_next;

  always_comb begin
    a_load = 1'b1;
    a_from = 2'd0;
    unique case (state_q)
      DIVIDE: a_from = 2'd1;
      DIVIDE_END: begin
        a_from = 2'd2;
        a_load = phase[0];
      end
      CUT: begin
        a_from = 2'd2;
        a_load = !is_cut_last;
      end
      LAST_LENGTH: a_from = {phase[2], 1'b0};
      LENGTH: ;
      default: a_load = is_step && !phase[0];
    endcase
    unique case (a_from)
      2'd0: a_next = {1'b0, b_q};
      2'd1: a_next = {sum[32:0], word_q[5'd31-count_q[4:0]]};
      default: a_next = sum_q;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (b_load) b_q <= b_next;
    if (b_clear) b_q <= is_ahead ? 33'(ahead_ns) : '0;

    if (a_load) a_q <= a_next;
    if (is_divide_load) a_q <= '0;

    if ((is_step && phase inside {3'd3, 3'd5}) || state_q == CUT_SUBTRACT) sum_q <= sum;
    if (state_q == DIVIDE_END && (phase[1:0] == 2'd0 || (phase[1:0] == 2'd2 && negative_q))) sum_q <= sum;

    if ((is_step && phase == 3'd1) || (is_divide_load && phase[1]) || (state_q == DIVIDE && count_q == 6'd31)) begin
      word_q <= word_data;
    end
    if (is_step && phase == 3'd3) word_high_q <= word_data[3:0];

    if ((is_step && phase == 3'd4) || state_q == DIVIDE_END) begin
      low_zero_q  <= sum_q[5:0] == '0;
      low_small_q <= sum_q[31:6] == '0;
    end
    high_zero_q <= sum_q[31:0] == '0;
    near_q      <= sum_q[31] || sum_q[30:2] == '0;
    negative_q  <= state_q == DIVIDE_END ? sum_q[33] : sum_q[31];
  end

  assign zero         = high_zero_q && low_small_q && low_zero_q;
  assign not_positive = negative_q || zero;

  // --- windows -------------------------------------------------------------------------------------------------------
  function automatic window_t add(input window_t window, input logic [32:0] ns);
    logic [15:0] sum_ns;
    sum_ns = {1'b0, window} + {1'b0, ns[14:0]};
    return ns[32:15] != '0 || sum_ns[15] ? HORIZON : sum_ns[14:0];
  endfunction

  window_t run_next, largest_with, candidate_q;

  always_comb begin
    run_next = add(run_q[0], state_q == END_CLASS ? 33'(initial_q[0]) : b_q);
    if (state_q != END_CLASS && !states_q[0]) run_next = '0;
    largest_with = candidate_q > largest_q[0] ? candidate_q : largest_q[0];
  end

  // --- errors --------------------------------------------------------------------------------------------------------
  gate_error_e              error, error_found_q, settings_error_q;
  place_t                   error_port_q;
  logic                     refused;
  logic [PORTS-1:0][15:0]   errors_q;
  gate_error_e [PORTS-1:0]  error_q;

  always_ff @(posedge clk_i) begin
    settings_error_q <= GATE_ERROR_NONE;
    if (admin_length_q == '0) settings_error_q <= GATE_ERROR_NO_ENTRIES;
    else if (admin_length_q > 16'(ENTRIES)) settings_error_q <= GATE_ERROR_TOO_MANY_ENTRIES;
    else if (admin_cycle_q < 32'(GATE_MIN_INTERVAL_NS)) settings_error_q <= GATE_ERROR_CYCLE_TIME;
    else if (admin_nanoseconds_q >= SECOND_NS) settings_error_q <= GATE_ERROR_BASE_TIME;
  end

  always_comb begin
    error = GATE_ERROR_NONE;
    unique case (state_q)
      CHECKED: error = settings_error_q;
      SECONDS: if (count_q == 6'd49 && seconds_sum_q[29:15] != '0) error = GATE_ERROR_BASE_TIME;
      ENTRY_CHECK: begin
        if (b_q[31:6] == '0) error = GATE_ERROR_INTERVAL;
        else if (hold_q) error = GATE_ERROR_OPERATION;
      end
      KEEP_TIME: begin
        if (phase == '1 && purpose_q == FOR_CHANGE && !again_q && past_q && running_q[port_q]) begin
          error = GATE_ERROR_BASE_TIME_PAST;
        end
      end
      default: ;
    endcase
  end

  assign refused = error != GATE_ERROR_NONE && state_q != KEEP_TIME;

  // --- the steps -----------------------------------------------------------------------------------------------------
  logic send, more_again;
  logic look_hit;
  logic [WAIT_W-1:0] since_q, to_since_q;

  always_comb begin
    unique case (look_q[1:0])
      TIME_CHANGE: look_hit = send_new_q[look_q[PORT_W+1:2]];
      TIME_START:  look_hit = send_start_q[look_q[PORT_W+1:2]];
      TIME_LAST:   look_hit = send_last_q[look_q[PORT_W+1:2]];
      default:     look_hit = 1'b0;
    endcase
  end

  always_comb begin
    more_again = 1'b0;
    for (int unsigned p = 0; p < PORTS; p++) if (again_q && again_of_q[p] && port_q != place_t'(p)) more_again = 1'b1;
  end

  assign send           = state_q == SEND && phase == '1 && near_q && !stepped_i;
  assign commit_ready_o = state_q == IDLE && looked_q && again_of_q == '0 && !redo_q && commit_i && !stepped_i;
  assign snap           = stepped_i || (state_q == IDLE && again_of_q == '0 && (redo_q || commit_i))
                          || (state_q == LOOK && look_hit) || (state_q == CANCELLED && !pending_q[port_q]);

  // Per class, one after the other: how long the gate is open from here on, at the start of the cycle, at most, and
  // whether it has been open since that start. Apart from the steps, so that a shift costs no multiplexer. The largest is
  // found one cycle later.
  logic    run_shift, candidate_shift_q, largest_shift, initial_shift;
  window_t run_in, largest_in, initial_in;

  assign run_shift     = initial_shift || state_q inside {LARGEST_CLASS, OPEN_CLASS};
  assign largest_shift = candidate_shift_q || state_q == LARGEST_CLASS;
  assign initial_shift = state_q inside {CUT_CLASS, END_CLASS, INITIAL_CLASS, COPY_CLASS};

  always_comb begin
    run_in     = run_next;
    largest_in = largest_with;
    initial_in = initial_q[0];
    unique case (state_q)
      CUT_CLASS: if (whole_q[0] && (states_q[0] || index_q == '0)) initial_in = run_next;
      END_CLASS: begin
        run_in = run_q[0];
        if (whole_q[0]) initial_in = HORIZON;
      end
      LARGEST_CLASS: begin
        run_in     = largest_q[0];
        largest_in = largest_q[0];
      end
      INITIAL_CLASS, COPY_CLASS: run_in = initial_q[0];
      default: ;
    endcase
  end

  always_ff @(posedge clk_i) begin
    candidate_shift_q <= state_q inside {CUT_CLASS, END_CLASS};
    candidate_q       <= state_q == END_CLASS && whole_q[0] ? HORIZON : run_next;
    if (run_shift) run_q <= {run_in, run_q[7:1]};
    if (largest_shift) largest_q <= {largest_in, largest_q[7:1]};
    if (initial_shift) initial_q <= {initial_in, initial_q[7:1]};
    if (state_q inside {CUT_CLASS, END_CLASS}) begin
      whole_q <= {whole_q[0] && (states_q[0] || state_q == END_CLASS), whole_q[7:1]};
    end
    if (state_q == KEEP_LIST) begin
      run_q     <= '0;
      largest_q <= '0;
      whole_q   <= '1;
    end
  end

  always_ff @(posedge clk_i) begin
    to_since_q <= since_q - gate_time_i[WAIT_W-1:0];
    count_q    <= count_q + 1'b1;
    unique case (state_q)
      // Times that have come near are looked for, one after the other.
      IDLE: begin
        hold_new_q <= 1'b0;
        index_q    <= '0;
        count_q    <= '0;
        past_q     <= 1'b0;
        purpose_q  <= FOR_CHANGE;
        again_q    <= 1'b0;
        if (looked_q && again_of_q != '0) begin
          again_q <= 1'b1;
          for (int unsigned p = 0; p < PORTS; p++) if (again_of_q[p]) port_q <= place_t'(p);
          state_q <= KEEP_LIST;
        end else if (looked_q && (redo_q || commit_i)) begin
          port_q  <= redo_q ? redo_port_q : place_t'(commit_port_i);
          redo_q  <= 1'b0;
          state_q <= CHECK;
          if (!redo_q) begin
            admin_seconds_q     <= admin_base_seconds_i;
            admin_nanoseconds_q <= admin_base_nanoseconds_i;
            admin_cycle_q       <= admin_cycle_time_ns_i;
            admin_extension_q   <= admin_extension_ns_i;
            admin_length_q      <= admin_length_i;
          end
        end else if ((send_new_q | send_start_q | send_last_q) != '0 || !looked_q) begin
          state_q <= LOOK;
        end
      end
      LOOK: begin
        count_q <= '0;
        state_q <= look_hit ? SEND : IDLE;
        if (!look_hit) look_q <= look_q + 1'b1;
        if (look_q == '1) looked_q <= 1'b1;
      end
      SEND: if (phase == '1) begin
        if (near_q) begin
          unique case (look_q[1:0])
            TIME_CHANGE: send_new_q[look_q[PORT_W+1:2]]   <= 1'b0;
            TIME_START:  send_start_q[look_q[PORT_W+1:2]] <= 1'b0;
            default:     send_last_q[look_q[PORT_W+1:2]]  <= 1'b0;
          endcase
        end
        look_q  <= look_q + 1'b1;
        state_q <= IDLE;
      end

      CHECK: state_q <= CHECKED;
      CHECKED: begin
        count_q <= '0;
        state_q <= SECONDS;
      end
      SECONDS: if (count_q == 6'd49) state_q <= ENTRY;
      ENTRY: state_q <= ENTRY_LOAD;
      ENTRY_LOAD: begin
        hold_q  <= staged.operation == 2'd3;
        state_q <= ENTRY_CHECK;
      end
      ENTRY_CHECK: begin
        index_q <= index_q + 1'b1;
        state_q <= ENTRY;
        if (entry_last) begin
          count_q <= '0;
          state_q <= pending_q[port_q] ? CANCEL : KEEP_LIST;
        end
      end

      CANCEL: begin
        count_q <= '0;
        state_q <= CANCELLED;
      end
      CANCELLED: begin
        count_q <= 6'd1;
        if (!pending_q[port_q]) begin
          count_q <= '0;
          state_q <= KEEP_LIST;
        end else if (count_q != '0 && !locked_i[port_q] && !changed_i[port_q]) begin
          pending_q[port_q]   <= 1'b0;
          send_new_q[port_q]  <= 1'b0;
          send_last_q[port_q] <= 1'b0;
          count_q             <= '0;
          state_q             <= KEEP_LIST;
        end
      end

      KEEP_LIST: begin
        index_q <= '0;
        if (phase == '1) state_q <= EARLIEST;
      end

      EARLIEST: if (phase == '1) state_q <= purpose_q == FOR_CHANGE && again_q ? STAY : PAST;
      STAY: if (phase == '1) begin
        count_q <= '0;
        state_q <= not_positive ? LENGTH : PAST;
      end
      PAST: if (phase == '1) begin
        past_q  <= !negative_q;
        count_q <= '0;
        state_q <= negative_q ? BASE : DIVIDE_LOAD;
      end
      BASE: if (phase == '1) state_q <= KEEP_TIME;
      // The remainder, by adding the divisor to a partial one below zero and subtracting it from others.
      DIVIDE_LOAD: if (phase[1]) begin
        count_q <= '0;
        state_q <= DIVIDE;
      end
      DIVIDE: if (count_q == '1) state_q <= DIVIDE_END;
      DIVIDE_END: if (phase[2]) begin
        count_q   <= '0;
        prolong_q <= low_small_q;
        state_q   <= low_small_q && low_zero_q ? KEEP_TIME : BACK;
        if (purpose_q == FOR_LAST) state_q <= LAST_BEGIN;
      end
      BACK: if (phase == '1) state_q <= FORTH;
      FORTH: if (phase == '1) state_q <= KEEP_TIME;
      KEEP_TIME: if (phase == '1) begin
        count_q <= '0;
        if (purpose_q == FOR_STEP) begin
          started_q[port_q]    <= 1'b1;
          send_start_q[port_q] <= 1'b1;
          port_q               <= port_q + 1'b1;
          state_q              <= port_q == place_t'(PORTS - 1) ? IDLE : STEP_NEXT;
        end else begin
          slot_q[port_q] <= !slot_q[port_q];
          state_q        <= LENGTH;
        end
      end

      // a_q: what is left of the cycle; b_q: the entry's interval.
      LENGTH: if (phase[1]) state_q <= CUT_READ;
      CUT_READ: state_q <= CUT_LOAD;
      CUT_LOAD: begin
        states_q     <= from_staged ? staged.states : kept.states;
        entry_last_q <= entry_last;
        state_q      <= CUT_SUBTRACT;
      end
      CUT_SUBTRACT: state_q <= CUT;
      CUT: begin
        count_q <= '0;
        last_q  <= is_cut_last;
        state_q <= purpose_q == FOR_CHANGE ? CUT_CLASS : CUT_WRITE;
      end
      CUT_CLASS: begin
        states_q  <= {states_q[0], states_q[7:1]};
        if (phase == '1) state_q <= CUT_WRITE;
      end
      CUT_WRITE: begin
        count_q      <= '0;
        last_index_q <= index_q;
        if (!last_q) index_q <= index_q + 1'b1;
        state_q <= CUT_READ;
        if (last_q) state_q <= purpose_q == FOR_CHANGE ? END_CLASS : COPY_CLASS;
      end
      // The window that ends the cycle goes on with the one that begins it.
      END_CLASS: if (phase == '1) state_q <= INITIAL_CLASS;
      INITIAL_CLASS: if (phase == '1) state_q <= WRITE_INITIAL;
      WRITE_INITIAL: begin
        count_q <= '0;
        state_q <= LARGEST_CLASS;
      end
      LARGEST_CLASS: if (phase == '1) state_q <= WRITE_LARGEST;
      WRITE_LARGEST: begin
        count_q <= '0;
        state_q <= COPY_CLASS;
      end

      // What follows the list: its own start, or that of the new one.
      COPY_CLASS: begin
        index_q <= last_index_q;
        if (phase == '1) state_q <= OPEN_READ;
      end
      OPEN_READ: state_q <= OPEN_LOAD;
      OPEN_LOAD: begin
        last_q   <= is_last_index;
        states_q <= kept.states;
        state_q  <= OPEN_WRITE;
      end
      OPEN_WRITE: begin
        count_q <= '0;
        state_q <= OPEN_CLASS;
      end
      OPEN_CLASS: begin
        states_q <= {states_q[0], states_q[7:1]};
        if (phase == '1) begin
          count_q <= '0;
          index_q <= index_q - 1'b1;
          state_q <= index_q != '0 ? OPEN_READ : purpose_q == FOR_LAST ? WAIT : LAST;
        end
      end

      LAST: begin
        count_q   <= '0;
        purpose_q <= FOR_LAST;
        state_q   <= LAST_START;
        if (!running_q[port_q]) begin
          hold_new_q <= 1'b1;
          state_q    <= ACTS;
        end else if (started_q[port_q]) state_q <= LAST_FIRST;
      end
      LAST_FIRST: if (phase == '1) begin
        state_q <= LAST_START;
        if (negative_q || (high_zero_q && low_small_q)) begin
          hold_new_q <= 1'b1;
          state_q    <= ACTS;
        end
      end
      LAST_START: if (phase == '1) begin
        count_q <= '0;
        state_q <= DIVIDE_LOAD;
      end
      // The start of the cycle in which the change falls; REST: how far into it.
      LAST_BEGIN: if (phase == '1) state_q <= PROLONG;
      PROLONG: if (phase == '1) begin
        prolong_q <= prolong_q || !negative_q;
        state_q   <= ACTS;
      end
      // VALUE: when it is decided.
      ACTS: begin
        if (phase == 3'd4) since_q <= sum_q[WAIT_W-1:0];
        if (phase == '1) state_q <= hold_new_q ? WAIT : LATE;
      end
      LATE: if (phase == '1) begin
        prolong_q <= prolong_q && not_positive;
        state_q   <= started_q[port_q] ? LATE_FIRST : prolong_q && not_positive ? LAST_BACK : LAST_LENGTH;
      end
      LATE_FIRST: if (phase == '1) begin
        prolong_q <= prolong_q && !not_positive;
        state_q   <= prolong_q && !not_positive ? LAST_BACK : LAST_LENGTH;
      end
      LAST_BACK: if (phase == '1) state_q <= LAST_LENGTH;
      LAST_LENGTH: begin
        index_q <= '0;
        if (phase[2]) begin
          short_q[port_q] <= sum_q[32:15] == '0;
          state_q         <= CUT_READ;
        end
      end

      WAIT: begin
        count_q <= 6'd1;
        // After a step the changes of all ports are worked out before any is told.
        look_q <= {port_q, hold_new_q ? TIME_CHANGE : TIME_LAST};
        if ((count_q[0] && (to_since_q[WAIT_W-1] || to_since_q[WAIT_W-2:11] == '0)) || more_again) begin
          pending_q[port_q]   <= 1'b1;
          again_of_q[port_q]  <= 1'b0;
          send_new_q[port_q]  <= hold_new_q;
          send_last_q[port_q] <= !hold_new_q;
          if (hold_new_q) send_start_q[port_q] <= 1'b0;
          state_q             <= more_again ? IDLE : LOOK;
        end
      end

      STEP_NEXT: begin
        count_q <= '0;
        state_q <= EARLIEST;
        if (!running_q[port_q]) begin
          port_q <= port_q + 1'b1;
          state_q <= port_q == place_t'(PORTS - 1) ? IDLE : STEP_NEXT;
        end
      end
      default: state_q <= IDLE;
    endcase

    for (int unsigned p = 0; p < PORTS; p++) begin
      if (changed_i[p]) begin
        bank_q[p]     <= !bank_q[p];
        running_q[p]  <= 1'b1;
        pending_q[p]  <= 1'b0;
        started_q[p]  <= 1'b0;
        again_of_q[p] <= 1'b0;
      end
    end

    if (refused) state_q <= IDLE;

    if (stepped_i) begin
      // What was under way is begun anew once the running lists know their start.
      redo_q <= redo_q;
      if (!(state_q inside {IDLE, LOOK, SEND, STEP_NEXT}) && purpose_q != FOR_STEP && !again_q
          && !refused) begin
        redo_q      <= 1'b1;
        redo_port_q <= port_q;
      end
      state_q      <= STEP_NEXT;
      purpose_q    <= FOR_STEP;
      again_q      <= 1'b0;
      port_q       <= '0;
      looked_q     <= 1'b0;
      look_q       <= '0;
      again_of_q   <= (again_of_q | pending_q) & ~changed_i;
      send_new_q   <= '0;
      send_start_q <= '0;
      send_last_q  <= '0;
    end

    if (rst_i) begin
      state_q      <= IDLE;
      bank_q       <= '1;
      slot_q       <= '0;
      purpose_q    <= FOR_CHANGE;
      running_q    <= '0;
      pending_q    <= '0;
      started_q    <= '0;
      again_of_q   <= '0;
      send_new_q   <= '0;
      send_start_q <= '0;
      send_last_q  <= '0;
      looked_q     <= 1'b1;
      look_q       <= '0;
      redo_q       <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    error_found_q <= error;
    error_port_q  <= port_q;
    if (error_found_q != GATE_ERROR_NONE) begin
      error_q[error_port_q] <= error_found_q;
      if (errors_q[error_port_q] != '1) errors_q[error_port_q] <= errors_q[error_port_q] + 1'b1;
    end
    if (rst_i) begin
      errors_q      <= '0;
      error_q       <= '0;
      error_found_q <= GATE_ERROR_NONE;
    end
  end

  // --- to the gates --------------------------------------------------------------------------------------------------
  always_comb begin
    config_o                    = '0;
    config_o.port               = port_t'(port_q);
    config_o.time_ns            = {word_high_q, word_q};
    config_o.bank               = purpose_q == FOR_LAST ? GATE_BANK_LAST_CYCLE : {1'b0, new_bank};
    config_o.index              = 10'(index_q);
    config_o.entry.after_ns     = run_q;
    config_o.entry.interval_ns  = b_q;
    config_o.entry.states       = states_q;
    config_o.entry.last         = last_q;
    config_o.write              = state_q inside {OPEN_WRITE, WRITE_INITIAL, WRITE_LARGEST};
    if (state_q inside {WRITE_INITIAL, WRITE_LARGEST}) begin
      config_o.bank  = GATE_BANK_WINDOWS;
      config_o.index = {8'b0, state_q == WRITE_LARGEST, new_bank};
    end
    if (state_q == CANCEL) config_o.command = GATE_COMMAND_CANCEL;
    if (send) begin
      config_o.is_short = short_q[look_q[PORT_W+1:2]];
      config_o.port = port_t'(look_q[PORT_W+1:2]);
      unique case (look_q[1:0])
        TIME_CHANGE: config_o.command = GATE_COMMAND_HOLD_NEW;
        TIME_START:  config_o.command = GATE_COMMAND_HOLD;
        default:     config_o.command = GATE_COMMAND_CHANGE;
      endcase
    end
  end

  // --- state ---------------------------------------------------------------------------------------------------------
  // The two words of a status are read between the steps, anew if one of a port changes meanwhile.
  logic        status_read_high_q;
  logic [63:0] status_q;

  always_ff @(posedge clk_i) begin
    status_read_q      <= word_of_status;
    status_read_high_q <= status_next_q[0];
    if (word_of_status || status_next_q == 2'd2) status_next_q <= status_next_q + 1'b1;
    if (status_read_q && !status_read_high_q) status_q[31:0] <= word_data;
    if (status_read_q && status_read_high_q) status_q[63:32] <= word_data;
    if (!status_i || status_next_q == 2'd3 || changed_i != '0 || (word_write_q && !word_write_addr_q[WORD_W-1])) begin
      status_next_q <= '0;
      status_read_q <= 1'b0;
    end
    if (rst_i) begin
      status_next_q <= '0;
      status_read_q <= 1'b0;
    end
  end

  assign busy_o          = !(state_q inside {IDLE, LOOK, SEND}) || redo_q || !looked_q || again_of_q != '0;
  assign running_o       = running_q;
  assign pending_o       = pending_q;
  assign status_ready_o  = status_i && status_next_q == 2'd3;
  assign status_value_o  = status_q;
  assign status_errors_o = errors_q[place_t'(status_port_i)];
  assign status_error_o  = error_q[place_t'(status_port_i)];

`ifdef SYNTHESIS
  assign wake_ns_o = '1;
`else
  logic [WAIT_W-1:0] to_since;
  assign to_since = since_q - gate_time_i[WAIT_W-1:0];
  always_comb begin
    wake_ns_o = '1;
    if ((send_new_q | send_start_q | send_last_q) != '0) wake_ns_o = gate_time_i + (64'd1 << 33);
    if (busy_o || status_i || state_q == SEND || (state_q == LOOK && look_hit)) wake_ns_o = gate_time_i;
    if (state_q == WAIT && !to_since[WAIT_W-1] && to_since > WAIT_W'(4096)) begin
      wake_ns_o = gate_time_i + 64'(to_since) - 64'd4096;
    end
  end
`endif

`ifdef FORMAL
  // Contract: a commit is all or nothing. 1. Nothing is written to a port's gates, and nothing told to them, for a list
  // of which not every entry was found good; a list that is refused leaves the port as it was. 2. No port is told of a
  // change before every entry of its new list has been written. Port and entry are arbitrary.
  logic   f_past_q = 1'b0;
  logic   f_good_q, f_seen_q, f_written_q, f_mine, f_change;
  place_t f_port;   // never written
  index_t f_index;  // never written
  index_t f_last_q;

  assign f_mine   = port_q == f_port;
  assign f_change = purpose_q == FOR_CHANGE;

  always_ff @(posedge clk_i) begin
    f_past_q <= 1'b1;
    f_port   <= f_port;
    f_index  <= f_index;
    if (state_q == IDLE || state_q == CHECK) begin
      f_good_q <= 1'b0;
      f_seen_q <= 1'b0;
    end
    if (state_q == IDLE && looked_q && again_of_q != '0) f_good_q <= 1'b1;
    if (state_q == ENTRY_CHECK && !refused) begin
      if (index_q == f_index) f_seen_q <= 1'b1;
      if (entry_last) f_good_q <= 1'b1;
    end
    if (state_q == KEEP_LIST && f_mine) f_written_q <= 1'b0;
    if (state_q == OPEN_WRITE && f_change && f_mine && index_q == f_index) f_written_q <= 1'b1;
    if (state_q == OPEN_READ && f_change && f_mine) f_last_q <= last_index_q;
  end

  always_comb begin
    assume (rst_i == !f_past_q);
    // The gates change only when they have been told to.
    if (changed_i[f_port]) begin
      assume (pending_q[f_port] && !again_of_q[f_port] && !send_new_q[f_port] && !send_last_q[f_port]);
      assume (!f_mine || state_q inside {IDLE, LOOK, SEND, CHECK, CHECKED, SECONDS, ENTRY, ENTRY_LOAD, ENTRY_CHECK,
                                         CANCEL, CANCELLED, STEP_NEXT} || purpose_q == FOR_STEP);
    end
    assume (status_port_i < 3'(PORTS) && commit_port_i < 3'(PORTS));
    if (f_past_q) begin
      // 1.
      if (config_o.write || state_q == CANCEL) assert (f_good_q);
      if (f_good_q && !again_q && purpose_q != FOR_STEP && !(state_q inside {IDLE, LOOK, SEND})) begin
        assert (f_seen_q || 16'(f_index) >= admin_length_q);
      end
      if (refused) assert (!config_o.write && config_o.command == GATE_COMMAND_NONE);
      // 2.
      if (config_o.port == port_t'(f_port)
          && config_o.command inside {GATE_COMMAND_CHANGE, GATE_COMMAND_HOLD_NEW}) begin
        assert (f_written_q || f_index > f_last_q);
      end

      // What holds in between, so that the proof goes by induction.
      if (send_new_q[f_port] || send_last_q[f_port]) assert (pending_q[f_port] && (f_written_q || f_index > f_last_q));
      assert (purpose_q <= FOR_STEP);
      if (state_q == STEP_NEXT) assert (purpose_q == FOR_STEP);
      if (again_of_q[f_port]) assert (!send_new_q[f_port] && !send_last_q[f_port]);
      if (state_q inside {CHECK, CHECKED, SECONDS, ENTRY, ENTRY_LOAD, ENTRY_CHECK}) begin
        assert (!again_q && f_change && !f_good_q);
        assert (state_q inside {ENTRY, ENTRY_LOAD, ENTRY_CHECK} || (index_q == '0 && !f_seen_q));
        assert (f_seen_q || index_q <= f_index);
        if (!(state_q inside {CHECK, CHECKED})) assert (admin_length_q != '0 && admin_length_q <= 16'(ENTRIES));
        if (!(state_q inside {CHECK, CHECKED})) assert (16'(index_q) < admin_length_q);
        if (state_q == CHECKED && !refused) assert (admin_length_q != '0 && admin_length_q <= 16'(ENTRIES));
      end else if (!(state_q inside {IDLE, LOOK, SEND, STEP_NEXT}) && purpose_q != FOR_STEP) begin
        assert (f_good_q);
        if (state_q inside {CANCEL, CANCELLED}) assert (!again_q && f_change);
        else if (f_mine) assert (!send_new_q[f_port] && !send_last_q[f_port]);
      end
      if (state_q == COPY_CLASS && count_q[2:0] != '0) assert (index_q == last_index_q);
      if (f_mine && f_change) begin
        if (state_q inside {OPEN_READ, OPEN_LOAD, OPEN_WRITE}) begin
          assert (f_written_q || index_q >= f_index || f_index > last_index_q);
        end
        if (state_q == OPEN_CLASS) assert (f_written_q || index_q > f_index || f_index > last_index_q);
        if (state_q inside {OPEN_LOAD, OPEN_WRITE, OPEN_CLASS}) assert (f_last_q == last_index_q);
      end
      if (f_mine && (state_q inside {LAST, WAIT} || purpose_q == FOR_LAST)
          && !(state_q inside {IDLE, LOOK, SEND, STEP_NEXT})) begin
        assert (f_written_q || f_index > f_last_q);
      end
      if (state_q inside {LAST_FIRST, LAST_START, LAST_BEGIN, PROLONG, ACTS, LATE, LATE_FIRST, LAST_BACK, LAST_LENGTH,
                          WAIT}) begin
        assert (purpose_q == FOR_LAST);
      end
      if (state_q inside {CANCEL, CANCELLED, KEEP_LIST, CUT_CLASS, END_CLASS, LARGEST_CLASS, WRITE_LARGEST,
                          INITIAL_CLASS, WRITE_INITIAL, STAY, LENGTH, LAST}) begin
        assert (f_change);
      end
      if (purpose_q == FOR_STEP) begin
        assert (state_q inside {IDLE, STEP_NEXT, EARLIEST, PAST, BASE, DIVIDE_LOAD, DIVIDE, DIVIDE_END, BACK, FORTH,
                                KEEP_TIME});
      end
      if (state_q inside {EARLIEST, PAST, BASE, BACK, FORTH, KEEP_TIME}) assert (purpose_q != FOR_LAST);
      if (state_q == SEND) assert (look_q[1:0] != 2'd3);
      if (state_q == SEND && look_q[PORT_W+1:2] == f_port) begin
        if (look_q[1:0] == TIME_CHANGE) assert (send_new_q[f_port]);
        if (look_q[1:0] == TIME_LAST) assert (send_last_q[f_port]);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (f_past_q && $past(f_past_q) && $past(refused) && !$past(stepped_i) && $past(changed_i) == '0) begin
      assert (pending_q == $past(pending_q) && running_q == $past(running_q) && bank_q == $past(bank_q));
      assert (send_new_q == $past(send_new_q) && send_last_q == $past(send_last_q));
    end
    cover (f_past_q && $past(refused) && state_q == IDLE);
  end
`endif

  logic unused;
  assign unused = &{1'b0, status_port_i, commit_port_i, write_index_i};
endmodule
