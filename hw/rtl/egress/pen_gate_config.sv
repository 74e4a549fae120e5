// SPDX-License-Identifier: Apache-2.0
// Takes gate lists for all ports (802.1Q 8.6.9.3): stages, checks and compiles them, and says when they begin.
//
// A commit is worked on in this order; nothing of the port changes before the whole list has been found good:
//
//   check      the settings, then every entry
//   withdraw   a change that is still ahead, unless it is about to act: then the commit waits until it has
//   forward    cut or prolong the list to its cycle; per class, how long the gate is open from the start of the cycle,
//              and the largest window
//   time       ConfigChangeTime: the base time, or the first start of a cycle that leaves PREPARE_NS and LEAD_NS
//   backward   per entry and class, how long the gate stays open beyond the entry; written to the port's memory
//   last       if a list is running, its last cycle is compiled once more by the same two passes: cut at the time of
//              the change or prolonged to it, and followed by the new list
//   wait       until PREPARE_NS after the commit, less two microseconds in which the port is told: then the change is
//              pending, and ends of cycles from PREPARE_NS after the commit on are decided knowing it
//
// How long a gate stays open across the end of a cycle is thus known from memory, and the gates only play lists.
// Classes are worked on one after the other, so that a list of 1024 entries costs time and not area.
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
  output logic             status_ready_o,
  output time_ns_t         status_change_time_ns_o,   // ConfigChangeTime
  output time_ns_t         status_base_time_ns_o,     // of the list in force
  output logic [31:0]      status_cycle_time_ns_o,
  output logic [31:0]      status_extension_ns_o,
  output logic [15:0]      status_errors_o,           // ConfigChangeError
  output gate_error_e      status_error_o,            // the last one
  output time_ns_t         wake_ns_o                  // simulation: nothing happens by itself before this gate time
);
  localparam int unsigned INDEX_W = $clog2(ENTRIES);
  localparam int unsigned PORT_W = $clog2(PORTS);
  localparam logic [31:0] PREPARE_NS = ENTRIES <= 128 ? 32'd65536 : 32'(512 * ENTRIES);
  localparam logic [31:0] LEAD_NS = 32'd32768;                    // longer than any frame
  localparam logic [31:0] AGAIN_NS = 32'(MAX_PORTS) * PREPARE_NS; // for the changes of all ports after a step
  localparam logic [33:0] MIN_NS = 34'(GATE_MIN_INTERVAL_NS);
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
  typedef struct packed {
    time_ns_t    base_ns;
    logic [31:0] cycle_ns;
    logic [31:0] extension_ns;
  } list_t;

  typedef enum logic [5:0] {
    IDLE, LOOK, SEND,
    CHECK, SECONDS, NANOSECONDS, ENTRY, ENTRY_CHECK,
    CANCEL, CANCELLED, KEEP_LIST,
    CUT_READ, CUT, CUT_CLASS, CUT_WRITE, END_CLASS, LARGEST_CLASS, WRITE_LARGEST, INITIAL_CLASS, WRITE_INITIAL,
    EARLIEST, STAY, PAST, DIVIDE, BACK, FORTH, KEEP_TIME,
    COPY_CLASS, OPEN_READ, OPEN_LOAD, OPEN_WRITE, OPEN_CLASS,
    LAST, LAST_FIRST, LAST_START, ACTS, LATE, LATE_FIRST, LAST_LENGTH, LAST_KEEP,
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
  logic [PORTS-1:0] bank_q, started_q, pending_q, again_of_q, running_q;
  logic [PORTS-1:0] send_new_q, send_start_q, send_last_q, short_q;
  logic             looked_q, redo_q;
  logic [47:0]      admin_seconds_q;
  logic [29:0]      admin_nanoseconds_q;
  logic [31:0]      admin_cycle_q, admin_extension_q;
  logic [15:0]      admin_length_q;
  place_t           redo_port_q;
  logic [PORT_W+1:0] look_q;
  time_ns_t         now_q, acc_q, value_q;
  logic             beyond_q, past_q, prolong_q, late_q, hold_new_q;
  logic [5:0]       count_q;
  index_t           index_q, last_index_q;
  logic [32:0]      last_interval_q, cycle_q, interval_q, rest_q;
  logic signed [33:0] left_q;
  logic             last_q;
  logic [7:0]       states_q, whole_q;
  window_t [7:0]    run_q, initial_q, largest_q;
  logic             new_bank;
  logic             old_bank;

  assign new_bank = !bank_q[port_q];
  assign old_bank = bank_q[port_q];

  // --- memories ----------------------------------------------------------------------------------------------------
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

  // The lists of all ports as they were cut to their cycle.
  assign kept_bank = purpose_q == FOR_LAST ? old_bank : new_bank;
  assign kept_new  = '{last: last_q, states: states_q, interval_ns: interval_q[31:0]};

  pen_ram_1r1w #(.WIDTH($bits(kept_t)), .DEPTH(PORTS * 2 * ENTRIES), .READ_OLD(0)) u_kept (
    .clk_i,
    .write_i     (state_q == CUT_WRITE && purpose_q == FOR_CHANGE),
    .write_addr_i(($clog2(PORTS * 2 * ENTRIES))'({port_q, kept_bank, index_q})),
    .write_data_i(kept_new),
    .read_i      (state_q == CUT_READ || state_q == OPEN_READ),
    .read_addr_i (($clog2(PORTS * 2 * ENTRIES))'({port_q, kept_bank, index_q})),
    .read_data_o (kept)
  );

  // Registers of the ports, read by the steps below, or else for the status.
  logic        table_busy, list_bank;
  place_t      table_port;
  logic [1:0]  time_which;
  list_t       list, list_new;
  time_ns_t    time_ns;

  always_comb begin
    table_busy = 1'b1;
    table_port = port_q;
    list_bank  = purpose_q == FOR_CHANGE ? new_bank : old_bank;
    time_which = TIME_CHANGE;
    unique case (state_q)
      LOOK: begin
        table_port = look_q[PORT_W+1:2];
        time_which = look_q[1:0];
      end
      KEEP_LIST, EARLIEST, STAY, PAST, BACK, LAST_START: ;
      LAST_FIRST, LATE_FIRST: time_which = TIME_START;
      default: begin
        table_busy = 1'b0;
        table_port = place_t'(status_port_i);
        list_bank  = bank_q[place_t'(status_port_i)];
      end
    endcase
  end

  assign list_new = '{base_ns: acc_q, cycle_ns: admin_cycle_q, extension_ns: admin_extension_q};

  pen_lutram_1r1w #(.WIDTH($bits(list_t)), .DEPTH(PORTS * 2)) u_list (
    .clk_i,
    .write_i     (state_q == KEEP_LIST && !again_q),
    .write_addr_i({port_q, new_bank}),
    .write_data_i(list_new),
    .read_addr_i ({table_port, list_bank}),
    .read_data_o (list)
  );

  pen_lutram_1r1w #(.WIDTH(64), .DEPTH(PORTS * 4)) u_time (
    .clk_i,
    .write_i     (state_q == KEEP_TIME || state_q == LAST_KEEP),
    .write_addr_i({port_q, state_q == LAST_KEEP ? TIME_LAST : purpose_q == FOR_STEP ? TIME_START : TIME_CHANGE}),
    .write_data_i(state_q == LAST_KEEP ? acc_q : value_q),
    .read_addr_i ({table_port, time_which}),
    .read_data_o (time_ns)
  );

  // --- 64 bit arithmetic: one adder ----------------------------------------------------------------------------------
  time_ns_t operand_a, operand_b, result;
  logic     subtract;
  logic [31:0] ahead_ns;

  always_comb begin
    if (state_q == ACTS) ahead_ns = again_q ? AGAIN_NS : PREPARE_NS;
    else ahead_ns = again_q ? AGAIN_NS + LEAD_NS : PREPARE_NS + LEAD_NS;
    if (purpose_q == FOR_STEP) ahead_ns = LEAD_NS;
  end

  always_comb begin
    operand_a = value_q;
    operand_b = '0;
    subtract  = 1'b1;
    unique case (state_q)
      SECONDS: begin
        operand_a = {acc_q[62:0], 1'b0};
        operand_b = admin_seconds_q[6'd47-count_q] ? 64'(SECOND_NS) : '0;
        subtract  = 1'b0;
      end
      NANOSECONDS: begin
        operand_a = acc_q;
        operand_b = 64'(admin_nanoseconds_q);
        subtract  = 1'b0;
      end
      EARLIEST: begin
        operand_a = now_q;
        operand_b = 64'(ahead_ns);
        subtract  = 1'b0;
      end
      STAY, LAST_FIRST: operand_b = time_ns;
      PAST, LAST_START: operand_b = list.base_ns;
      BACK: operand_b = 64'(rest_q);
      FORTH: begin
        operand_b = 64'(cycle_q);
        subtract  = 1'b0;
      end
      ACTS: begin
        operand_a = now_q;
        operand_b = 64'(ahead_ns);
        subtract  = 1'b0;
      end
      LATE: operand_b = acc_q;
      LATE_FIRST: begin
        operand_a = acc_q;
        operand_b = time_ns;
      end
      LAST_LENGTH: begin
        operand_a = acc_q;
        operand_b = 64'(cycle_q);
      end
      WAIT: operand_b = gate_time_i;
      SEND: begin
        operand_a = acc_q;
        operand_b = gate_time_i;
      end
      default: ;
    endcase
  end

  assign result = operand_a + (subtract ? ~operand_b : operand_b) + time_ns_t'(subtract);

  // --- cut and windows -----------------------------------------------------------------------------------------------
  logic signed [33:0] rest_of_cycle;
  logic [33:0]        divide_next;
  logic               from_staged;
  logic [31:0]        entry_interval;
  logic [7:0]         entry_states;
  logic               entry_last;

  assign from_staged    = purpose_q == FOR_CHANGE && !again_q;
  assign entry_interval = from_staged ? staged.interval_ns : kept.interval_ns;
  assign entry_states   = from_staged ? staged.states : kept.states;
  assign entry_last     = from_staged ? 16'(index_q) + 16'd1 == admin_length_q : kept.last;
  assign rest_of_cycle  = left_q - $signed({2'b0, entry_interval});
  assign divide_next    = {rest_q, acc_q[63]} - {1'b0, cycle_q};

  function automatic window_t add(input window_t window, input logic [32:0] ns);
    logic [15:0] sum;
    sum = {1'b0, window} + {1'b0, ns[14:0]};
    return ns[32:15] != '0 || sum[15] ? HORIZON : sum[14:0];
  endfunction

  window_t run_next, largest_with;

  always_comb begin
    run_next = add(run_q[0], state_q == END_CLASS ? 33'(initial_q[0]) : interval_q);
    if (state_q != END_CLASS && !states_q[0]) run_next = '0;
    largest_with = run_next > largest_q[0] ? run_next : largest_q[0];
  end

  // --- errors --------------------------------------------------------------------------------------------------------
  gate_error_e              error;
  logic                     refused;
  logic [PORTS-1:0][15:0]   errors_q;
  gate_error_e [PORTS-1:0]  error_q;

  always_comb begin
    error = GATE_ERROR_NONE;
    unique case (state_q)
      CHECK: begin
        if (admin_length_q == '0) error = GATE_ERROR_NO_ENTRIES;
        else if (admin_length_q > 16'(ENTRIES)) error = GATE_ERROR_TOO_MANY_ENTRIES;
        else if (admin_cycle_q < 32'(GATE_MIN_INTERVAL_NS)) error = GATE_ERROR_CYCLE_TIME;
        else if (admin_nanoseconds_q >= SECOND_NS) error = GATE_ERROR_BASE_TIME;
      end
      NANOSECONDS: if (beyond_q || acc_q[63] || result[63]) error = GATE_ERROR_BASE_TIME;
      ENTRY_CHECK: begin
        if (staged.interval_ns < 32'(GATE_MIN_INTERVAL_NS)) error = GATE_ERROR_INTERVAL;
        else if (staged.operation == 2'd3) error = GATE_ERROR_OPERATION;
      end
      KEEP_TIME: begin
        if (purpose_q == FOR_CHANGE && !again_q && past_q && running_q[port_q]) error = GATE_ERROR_BASE_TIME_PAST;
      end
      default: ;
    endcase
  end

  assign refused = error != GATE_ERROR_NONE && state_q != KEEP_TIME;

  // --- the steps -----------------------------------------------------------------------------------------------------
  logic near, send, more_again;
  logic look_hit;

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

  assign near           = result[63] || result[62:34] == '0;
  assign send           = state_q == SEND && near && !stepped_i;
  assign commit_ready_o = state_q == IDLE && looked_q && again_of_q == '0 && !redo_q && commit_i && !stepped_i;

  // Per class, one after the other: how long the gate is open from here on, at the start of the cycle, at most, and
  // whether it has been open since that start. Apart from the steps, so that a shift costs no multiplexer.
  logic    run_shift, largest_shift, initial_shift;
  window_t run_in, largest_in, initial_in;

  assign run_shift     = initial_shift || state_q inside {LARGEST_CLASS, OPEN_CLASS};
  assign largest_shift = state_q inside {CUT_CLASS, END_CLASS, LARGEST_CLASS};
  assign initial_shift = state_q inside {CUT_CLASS, END_CLASS, INITIAL_CLASS, COPY_CLASS};

  always_comb begin
    run_in     = run_next;
    largest_in = largest_with;
    initial_in = initial_q[0];
    unique case (state_q)
      CUT_CLASS: if (whole_q[0] && (states_q[0] || index_q == '0)) initial_in = run_next;
      END_CLASS: begin
        run_in = run_q[0];
        if (whole_q[0]) begin
          initial_in = HORIZON;
          largest_in = HORIZON;
        end
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
    unique case (state_q)
      // Times that have come near are looked for, one after the other.
      IDLE: begin
        hold_new_q <= 1'b0;
        index_q    <= '0;
        count_q    <= '0;
        acc_q      <= '0;
        beyond_q   <= 1'b0;
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
          now_q   <= gate_time_i;
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
        acc_q   <= time_ns;
        state_q <= look_hit ? SEND : IDLE;
        if (!look_hit) look_q <= look_q + 1'b1;
        if (look_q == '1) looked_q <= 1'b1;
      end
      SEND: begin
        if (near) begin
          unique case (look_q[1:0])
            TIME_CHANGE: send_new_q[look_q[PORT_W+1:2]]   <= 1'b0;
            TIME_START:  send_start_q[look_q[PORT_W+1:2]] <= 1'b0;
            default:     send_last_q[look_q[PORT_W+1:2]]  <= 1'b0;
          endcase
        end
        look_q  <= look_q + 1'b1;
        state_q <= IDLE;
      end

      CHECK: state_q <= SECONDS;
      SECONDS: begin
        acc_q     <= result;
        beyond_q  <= beyond_q || acc_q[63:62] != '0;
        count_q   <= count_q + 1'b1;
        if (count_q == 6'd47) state_q <= NANOSECONDS;
      end
      NANOSECONDS: begin
        acc_q   <= result;
        state_q <= ENTRY;
      end
      ENTRY: state_q <= ENTRY_CHECK;
      ENTRY_CHECK: begin
        index_q <= index_q + 1'b1;
        state_q <= ENTRY;
        if (entry_last) begin
          count_q <= '0;
          state_q <= pending_q[port_q] ? CANCEL : KEEP_LIST;
        end
      end

      CANCEL: state_q <= CANCELLED;
      CANCELLED: begin
        count_q <= 6'd1;
        if (!pending_q[port_q]) begin
          now_q   <= gate_time_i;
          state_q <= KEEP_LIST;
        end else if (count_q != '0 && !locked_i[port_q] && !changed_i[port_q]) begin
          pending_q[port_q]   <= 1'b0;
          send_new_q[port_q]  <= 1'b0;
          send_last_q[port_q] <= 1'b0;
          state_q             <= KEEP_LIST;
        end
      end

      KEEP_LIST: begin
        index_q   <= '0;
        left_q    <= $signed({2'b0, again_q ? list.cycle_ns : admin_cycle_q});
        state_q   <= CUT_READ;
      end

      CUT_READ: begin
        count_q <= '0;
        state_q <= CUT;
      end
      CUT: begin
        last_q     <= entry_last || rest_of_cycle < $signed(MIN_NS);
        interval_q <= entry_last || rest_of_cycle < $signed(MIN_NS) ? left_q[32:0] : {1'b0, entry_interval};
        left_q     <= rest_of_cycle;
        states_q   <= entry_states;
        state_q    <= purpose_q == FOR_CHANGE ? CUT_CLASS : CUT_WRITE;
      end
      CUT_CLASS: begin
        count_q   <= count_q + 1'b1;
        states_q  <= {states_q[0], states_q[7:1]};
        if (count_q[2:0] == '1) state_q <= CUT_WRITE;
      end
      CUT_WRITE: begin
        count_q         <= '0;
        last_index_q    <= index_q;
        last_interval_q <= interval_q;
        if (!last_q) index_q <= index_q + 1'b1;
        state_q <= CUT_READ;
        if (last_q) state_q <= purpose_q == FOR_CHANGE ? END_CLASS : COPY_CLASS;
      end
      // The window that ends the cycle goes on with the one that begins it.
      END_CLASS: begin
        count_q   <= count_q + 1'b1;
        if (count_q[2:0] == '1) state_q <= LARGEST_CLASS;
      end
      LARGEST_CLASS: begin
        count_q   <= count_q + 1'b1;
        if (count_q[2:0] == '1) state_q <= WRITE_LARGEST;
      end
      WRITE_LARGEST: state_q <= INITIAL_CLASS;
      INITIAL_CLASS: begin
        count_q   <= count_q + 1'b1;
        if (count_q[2:0] == '1) state_q <= WRITE_INITIAL;
      end
      WRITE_INITIAL: state_q <= EARLIEST;

      EARLIEST: begin
        value_q <= result;
        cycle_q <= {1'b0, list.cycle_ns};
        state_q <= purpose_q == FOR_CHANGE && again_q ? STAY : PAST;
      end
      STAY: begin
        if (result[63] || result == '0) value_q <= time_ns;
        state_q <= result[63] || result == '0 ? KEEP_TIME : PAST;
      end
      PAST: begin
        acc_q   <= result;
        rest_q  <= '0;
        count_q <= '0;
        past_q  <= 1'b0;
        if (result[63]) begin
          value_q <= list.base_ns;
          state_q <= KEEP_TIME;
        end else begin
          past_q  <= 1'b1;
          state_q <= DIVIDE;
        end
      end
      DIVIDE: begin
        acc_q   <= {acc_q[62:0], 1'b0};
        rest_q  <= divide_next[33] ? {rest_q[31:0], acc_q[63]} : divide_next[32:0];
        count_q <= count_q + 1'b1;
        if (count_q == '1) state_q <= BACK;
      end
      BACK: begin
        acc_q <= result;
        if (purpose_q == FOR_LAST) begin
          prolong_q <= rest_q <= {1'b0, list.extension_ns} || rest_q < MIN_NS[32:0];
          state_q   <= ACTS;
        end else begin
          value_q <= result;
          state_q <= rest_q == '0 ? KEEP_TIME : FORTH;
        end
      end
      FORTH: begin
        value_q <= result;
        state_q <= KEEP_TIME;
      end
      KEEP_TIME: begin
        count_q <= '0;
        if (purpose_q == FOR_STEP) begin
          started_q[port_q]    <= 1'b1;
          send_start_q[port_q] <= 1'b1;
          port_q               <= port_q + 1'b1;
          state_q              <= port_q == place_t'(PORTS - 1) ? IDLE : STEP_NEXT;
        end else state_q <= COPY_CLASS;
      end

      // What follows the list: its own start, or that of the new one.
      COPY_CLASS: begin
        count_q   <= count_q + 1'b1;
        index_q   <= last_index_q;
        if (count_q[2:0] == '1) state_q <= OPEN_READ;
      end
      OPEN_READ: begin
        count_q <= '0;
        state_q <= OPEN_LOAD;
      end
      OPEN_LOAD: begin
        last_q     <= index_q == last_index_q;
        interval_q <= index_q == last_index_q ? last_interval_q : {1'b0, kept.interval_ns};
        states_q   <= kept.states;
        state_q    <= OPEN_WRITE;
      end
      OPEN_WRITE: state_q <= OPEN_CLASS;
      OPEN_CLASS: begin
        count_q  <= count_q + 1'b1;
        states_q <= {states_q[0], states_q[7:1]};
        if (count_q[2:0] == '1) begin
          index_q <= index_q - 1'b1;
          state_q <= index_q != '0 ? OPEN_READ : purpose_q == FOR_LAST ? WAIT : LAST;
        end
      end

      // value_q: time of the change.
      LAST: begin
        purpose_q <= FOR_LAST;
        state_q   <= LAST_START;
        if (!running_q[port_q]) begin
          hold_new_q <= 1'b1;
          state_q    <= ACTS;
        end else if (started_q[port_q]) state_q <= LAST_FIRST;
      end
      LAST_FIRST: begin
        state_q <= LAST_START;
        if (result[63] || result[62:6] == '0) begin
          hold_new_q <= 1'b1;
          state_q    <= ACTS;
        end
      end
      LAST_START: begin
        acc_q   <= result;
        cycle_q <= {1'b0, list.cycle_ns};
        rest_q  <= '0;
        count_q <= '0;
        state_q <= DIVIDE;
      end
      // acc_q: the start of the cycle in which the change falls; rest_q: how far into it; value_q: when it is decided.
      ACTS: begin
        value_q <= result;
        state_q <= hold_new_q ? WAIT : LATE;
      end
      LATE: begin
        late_q  <= !result[63] && result != '0;
        state_q <= started_q[port_q] ? LATE_FIRST : LAST_LENGTH;
      end
      LATE_FIRST: begin
        if (result[63] || result == '0) late_q <= 1'b1;
        state_q <= LAST_LENGTH;
      end
      LAST_LENGTH: begin
        if (prolong_q && !late_q) begin
          acc_q  <= result;
          left_q <= $signed({1'b0, cycle_q}) + $signed({1'b0, rest_q});
        end else left_q <= $signed({1'b0, rest_q});
        state_q <= LAST_KEEP;
      end
      LAST_KEEP: begin
        short_q[port_q] <= left_q[33:15] == '0;
        index_q <= '0;
        state_q <= CUT_READ;
      end

      WAIT: begin
        // After a step the changes of all ports are worked out before any is told.
        look_q <= {port_q, hold_new_q ? TIME_CHANGE : TIME_LAST};
        if (result[63] || result[62:11] == '0 || more_again) begin
          pending_q[port_q]   <= 1'b1;
          again_of_q[port_q]  <= 1'b0;
          send_new_q[port_q]  <= hold_new_q;
          send_last_q[port_q] <= !hold_new_q;
          if (hold_new_q) send_start_q[port_q] <= 1'b0;
          state_q             <= more_again ? IDLE : LOOK;
        end
      end

      STEP_NEXT: begin
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
      now_q        <= gate_time_i;
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
    if (rst_i) begin
      errors_q <= '0;
      error_q  <= '0;
    end else if (error != GATE_ERROR_NONE) begin
      error_q[port_q] <= error;
      if (errors_q[port_q] != '1) errors_q[port_q] <= errors_q[port_q] + 1'b1;
    end
  end

  // --- to the gates --------------------------------------------------------------------------------------------------
  always_comb begin
    config_o                    = '0;
    config_o.port               = port_t'(port_q);
    config_o.time_ns            = acc_q[GATE_TIME_W-1:0];
    config_o.bank               = purpose_q == FOR_LAST ? GATE_BANK_LAST_CYCLE : {1'b0, new_bank};
    config_o.index              = 10'(index_q);
    config_o.entry.after_ns     = run_q;
    config_o.entry.interval_ns  = interval_q;
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
  assign busy_o = !(state_q inside {IDLE, LOOK, SEND}) || redo_q || !looked_q || again_of_q != '0;
  assign running_o               = running_q;
  assign pending_o               = pending_q;
  assign status_ready_o          = status_i && !table_busy;
  assign status_change_time_ns_o = time_ns;
  assign status_base_time_ns_o   = list.base_ns;
  assign status_cycle_time_ns_o  = list.cycle_ns;
  assign status_extension_ns_o   = list.extension_ns;
  assign status_errors_o         = errors_q[place_t'(status_port_i)];
  assign status_error_o          = error_q[place_t'(status_port_i)];

`ifdef SYNTHESIS
  assign wake_ns_o = '1;
`else
  always_comb begin
    wake_ns_o = '1;
    if ((send_new_q | send_start_q | send_last_q) != '0) wake_ns_o = gate_time_i + (64'd1 << 33);
    if (busy_o || state_q == SEND || (state_q == LOOK && look_hit)) wake_ns_o = gate_time_i;
    if (state_q == WAIT && value_q > gate_time_i + 64'd4096) wake_ns_o = value_q - 64'd4096;
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
      assume (!f_mine || state_q inside {IDLE, LOOK, SEND, CHECK, SECONDS, NANOSECONDS, ENTRY, ENTRY_CHECK, CANCEL,
                                         CANCELLED, STEP_NEXT} || purpose_q == FOR_STEP);
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
      if (state_q inside {CHECK, SECONDS, NANOSECONDS, ENTRY, ENTRY_CHECK}) begin
        assert (!again_q && f_change && !f_good_q);
        assert (state_q inside {ENTRY, ENTRY_CHECK} || (index_q == '0 && !f_seen_q));
        assert (f_seen_q || index_q <= f_index);
        if (state_q != CHECK) assert (admin_length_q != '0 && admin_length_q <= 16'(ENTRIES));
        if (state_q != CHECK) assert (16'(index_q) < admin_length_q);
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
      if (state_q inside {LAST_FIRST, LAST_START, ACTS, LATE, LATE_FIRST, LAST_LENGTH, LAST_KEEP, WAIT}) begin
        assert (purpose_q == FOR_LAST);
      end
      if (state_q inside {CANCEL, CANCELLED, KEEP_LIST, CUT_CLASS, END_CLASS, LARGEST_CLASS, WRITE_LARGEST,
                          INITIAL_CLASS, WRITE_INITIAL, STAY, LAST}) begin
        assert (f_change);
      end
      if (purpose_q == FOR_STEP) begin
        assert (state_q inside {IDLE, STEP_NEXT, EARLIEST, PAST, DIVIDE, BACK, FORTH, KEEP_TIME});
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
