// SPDX-License-Identifier: Apache-2.0
// What the units of pen_gate_config agree upon: the steps in which a commit is worked on, and the words that are kept.
package pen_gate_pkg;
  localparam logic [31:0] LEAD_NS = 32'd32768;   // longer than any frame

  // From a commit until its change is pending: a list takes at most 43 cycles for each entry and 400 more, of up to 9 ns.
  function automatic logic [31:0] prepare_ns(input int unsigned entries);
    return entries <= 128 ? 32'd65536 : 32'(512 * entries);
  endfunction

  // A step takes one cycle, or as many as its last word says: SUM eight (see pen_gate_adder), CLASS eight, one for each
  // traffic class.
  typedef enum logic [5:0] {
    IDLE, LOOK, SEND,
    CHECK, CHECKED, SECONDS, ENTRY, ENTRY_LOAD, ENTRY_CHECK,
    CANCEL, CANCELLED, KEEP_LIST,
    EARLIEST, STAY, PAST, AGE, BASE, DIVIDE_LOAD, DIVIDE, DIVIDE_END, BACK, FORTH, KEEP_TIME,
    LENGTH, CUT_READ, CUT_LOAD, CUT_SUBTRACT, CUT, CUT_CLASS, CUT_WRITE,
    END_CLASS, INITIAL_CLASS, WRITE_INITIAL, LARGEST_CLASS, WRITE_LARGEST,
    COPY_CLASS, OPEN_READ, OPEN_LOAD, OPEN_WRITE, OPEN_CLASS,
    LAST, LAST_FIRST, LAST_START, LAST_BEGIN, PROLONG, ACTS, LATE, LATE_FIRST, LAST_BACK, LAST_LENGTH,
    WAIT, CLOCK_NEXT
  } gate_step_e;
  localparam int unsigned GATE_STEPS = 32'(CLOCK_NEXT) + 1;

  // The step that is taken: a wire for each, so that no unit decodes what concerns others.
  typedef logic [GATE_STEPS-1:0] gate_step_t;

  function automatic gate_step_t at(input gate_step_e step);
    return gate_step_t'(1) << step;
  endfunction

  // What the shared steps are taken for: a list that was committed, the last cycle before its change, or the new start
  // of a list that ran when the clock was stepped.
  typedef enum logic [1:0] {FOR_CHANGE, FOR_LAST, FOR_CLOCK} gate_purpose_e;

  // Times are two words, the low one first. CYCLE to LAST_CYCLE are kept for each port.
  typedef enum logic [3:0] {
    NOTHING,                                     // zero
    AHEAD,                                       // a constant
    NOW, VALUE, ACC,
    REST,                                        // this and the next two are one word
    CYCLE, EXTENSION,
    FIRST,                                       // AdminBaseTime
    CHANGE, CHANGE_NEW, START, LAST_CYCLE
  } gate_word_e;

  // The times that a port may wait to be told.
  localparam logic [1:0] TIME_CHANGE = 2'd0;     // ConfigChangeTime
  localparam logic [1:0] TIME_START = 2'd1;      // after a step of the clock: where the list in force begins anew
  localparam logic [1:0] TIME_LAST = 2'd2;       // where the last cycle before the change begins

  // An entry as software writes it, and one of a list that has been cut to its cycle.
  typedef struct packed {
    logic [1:0]  operation;
    logic [7:0]  states;
    logic [31:0] interval_ns;
  } gate_staged_t;
  typedef struct packed {
    logic        last;
    logic [7:0]  states;
    logic [31:0] interval_ns;
  } gate_kept_t;

endpackage
