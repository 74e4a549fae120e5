// SPDX-License-Identifier: Apache-2.0
// The time-aware gates of one port (802.1Q 8.6.8.4, 8.6.9): executes the lists that pen_gate_config has compiled.
//
// An entry holds from the first cycle in which gate time has reached its start. Its successor is fetched meanwhile:
//
//   cycle            | n-1      | n        | n+1      | n+2  | n+3     | n+4    | n+5         shortest entry: 7 cycles
//   gate_time_next_i | >= end_q |
//   event            |          | valid    |
//   stage_q          | READY    | READY    | COMPARE  | READ | CAPTURE | ADD    | READY
//   end_q, ...       |          |          | of the new entry
//   *_next_o         |          |          |          | of the new entry: for cycle n+3
//
// So that gate states are right in cycle n for gate time G(n), `gate_time_next_i` in cycle n is G(n+4).
//
// The memory has two lists in turn and beside them a copy of the last cycle before a change, cut or prolonged to the
// time of the change. Nothing but its start is told: from then on its entries go before those of the list.
// Of each class an entry says how long it is open from the entry's end on, and so whether it is open in the next entry.
// A class that is open stays open for `remaining_next_ns_o + after_next_ns_o` more, or for longer than any frame takes
// if there is nothing to guard (`guard_next_o` is low).
module pen_gates
  import pen_pkg::*;
#(
  parameter int unsigned PORT    = 0,
  parameter int unsigned ENTRIES = 128  // of a list; a power of two, 8 to 1024
) (
  input  logic          clk_i,
  input  logic          rst_i,
  input  time_ns_t      gate_time_next_i,    // 7 to 9 ns more in each cycle, but where time is stepped or leaps
  input  logic          stepped_next_i,      // the clock was set: that does not follow from the one before
  input  gate_config_t  config_i,
  input  logic          enable_i,            // GateEnabled; else all gates are open
  input  logic [7:0]    initial_states_i,    // before the first list begins
  output logic [7:0]    open_o,              // states in this cycle
  output logic [7:0]    open_next_o,         // in the next cycle, as all of these
  output logic          guard_next_o,        // a gate may close soon
  output logic [15:0]   remaining_next_ns_o, // to the end of the entry
  output window_t [7:0] after_next_ns_o,     // per class that is open: how long it stays so thereafter
  output window_t [7:0] largest_window_ns_o, // of the list in force
  output logic          changed_o,           // the new list is in force
  output logic          locked_o             // a change can no longer be taken back
);
  localparam int unsigned INDEX_W = $clog2(ENTRIES);
  localparam int unsigned DEPTH = 3 * ENTRIES + 4;
  localparam int unsigned ADDR_W = $clog2(DEPTH);
  if (ENTRIES < 8 || ENTRIES > 1024 || 1 << INDEX_W != ENTRIES) begin : gen_check_entries
    $fatal(1, "pen_gates: ENTRIES must be a power of two from 8 to 1024, is %0d (%m)", ENTRIES);
  end

  typedef logic [INDEX_W-1:0] index_t;
  typedef logic [ADDR_W-1:0]  addr_t;

  function automatic addr_t address(input logic [1:0] bank, input index_t index);
    return addr_t'({bank, index});
  endfunction

  typedef enum logic [3:0] {
    IDLE,                                             // nothing follows: no list, or its start is not known
    READY, COMPARE, READ, CAPTURE, ADD,               // the next entry
    AGAIN_READ, AGAIN_CAPTURE, AGAIN_ADD, AGAIN_LOAD, // this entry once more, as it is in the last cycle
    HOLD_READ, HOLD_CAPTURE, HOLD_LOAD                // windows at the start of the list that is waited for
  } stage_e;
  stage_e      stage_q;

  // The entry that holds.
  logic        run_q, list_q, in_last_q, hold_new_q, last_q;    // last: of its cycle
  index_t      index_q;
  gate_time_t  start_q, end_q;
  logic        end_valid_q, near_q;
  logic [7:0]  states_q;
  window_t [7:0] after_q;

  // The entry that follows.
  logic [1:0]  next_bank_q;
  index_t      next_index_q;
  logic        next_change_q, next_near_q, next_last;
  gate_time_t  next_end_q;
  gate_entry_t read_entry, entry_q;

  // The change ahead.
  logic        armed_q, was_armed_q, short_q, redo_q;
  logic        fresh_q;                             // the entry's end or the last cycle's start may be new
  logic        at_start_q, past_start_q;            // the entry ends with the start of the last cycle, or behind it
  logic        at_last, past_last;                  // the same, if there is one
  logic        cut_off_q, next_cut_off_q;           // it ends with that or near before it; so does the next entry
  gate_time_t  last_start_q;

  logic        mine, hold, event_now, calm;
  logic [15:0] late, before_q;
  gate_time_t  now_q, distance_q, to_last;
  logic [1:0]  settled_q;
  logic        stepped_q, arrived_q;

  assign mine    = config_i.port == port_t'(PORT);
  assign hold    = mine && config_i.command inside {GATE_COMMAND_HOLD, GATE_COMMAND_HOLD_NEW};

  // --- the end of the entry ----------------------------------------------------------------------------------------
  // 16 bits decide when it is near. Whether it is, takes three cycles to find out, or is known from the interval.
  // What is read of a new end, a cycle late, is not asked for before READY.
  assign late      = gate_time_next_i[15:0] - end_q[15:0];
  assign event_now = near_q && arrived_q && stage_q == READY && !stepped_q;

  always_ff @(posedge clk_i) begin
    now_q      <= gate_time_next_i[GATE_TIME_W-1:0];
    stepped_q  <= stepped_next_i;
    arrived_q  <= !late[15];
    before_q   <= now_q[15:0];
    distance_q <= end_q - now_q;
    settled_q  <= {settled_q[0], 1'b1};
    if (settled_q[1] && (distance_q[GATE_TIME_W-1] || distance_q[GATE_TIME_W-2:15] == '0)) near_q <= 1'b1;
    if (event_now || stage_q == AGAIN_LOAD) begin
      // Read again, an entry ends where it did, or with the change, which is not near yet.
      near_q    <= next_near_q || (near_q && stage_q == AGAIN_LOAD && !next_last);
      settled_q <= '0;
    end
    if (stepped_q || rst_i || !end_valid_q || hold) begin
      near_q    <= 1'b0;
      settled_q <= '0;
    end
  end

  // Far enough from the end to fetch an entry in between.
  assign calm = !near_q || (settled_q[1] && distance_q[GATE_TIME_W-1:8] != '0 && !distance_q[GATE_TIME_W-1]);

  // --- which entry follows -----------------------------------------------------------------------------------------
  logic [1:0]  follow_bank;
  logic        follow_change;

  // The last cycle starts so much after the end of the next entry, less one; or of this one, as soon as that can be new.
  logic is_cut_off_there;
  assign to_last          = last_start_q + ~(fresh_q ? end_q : next_end_q);
  assign is_cut_off_there = to_last == '1 || to_last[GATE_TIME_W-1:15] == '0;
  assign at_last          = was_armed_q && at_start_q;
  assign past_last        = was_armed_q && past_start_q;

  always_comb begin
    follow_change = hold_new_q || (in_last_q && last_q);
    if (follow_change) follow_bank = {1'b0, !list_q};
    else if (in_last_q || (armed_q && (past_last || (at_last && last_q)))) follow_bank = GATE_BANK_LAST_CYCLE;
    else follow_bank = {1'b0, list_q};
  end

  logic  read, windows_due_q, windows_read_q;
  addr_t read_addr;

  always_comb begin
    read      = 1'b0;
    read_addr = address(GATE_BANK_WINDOWS, index_t'({1'b1, list_q}));
    unique case (stage_q)
      READ: begin
        read      = 1'b1;
        read_addr = address(follow_bank, last_q ? '0 : index_q + 1'b1);
      end
      AGAIN_READ: begin
        read      = 1'b1;
        read_addr = address(GATE_BANK_LAST_CYCLE, index_q);
      end
      HOLD_READ: begin
        read      = 1'b1;
        read_addr = address(GATE_BANK_WINDOWS, index_t'({1'b0, list_q ^ hold_new_q}));
      end
      READY: read = windows_due_q && !windows_read_q;
      default: ;
    endcase
  end

`ifndef FORMAL
  pen_ram_1r1w #(.WIDTH($bits(gate_entry_t)), .DEPTH(DEPTH), .READ_OLD(0)) u_entries (
    .clk_i,
    .write_i     (config_i.write && mine),
    .write_addr_i(address(config_i.bank, config_i.index[INDEX_W-1:0])),
    .write_data_i(config_i.entry),
    .read_i      (read),
    .read_addr_i (read_addr),
    .read_data_o (read_entry)
  );
`else
  // One word, at any address, stands for the memory: reads of all others give anything.
  addr_t                      f_addr;    // never written
  (* anyseq *)   gate_entry_t f_any;
  gate_entry_t                f_word;

  always_ff @(posedge clk_i) begin
    if (config_i.write && mine && f_addr == address(config_i.bank, config_i.index[INDEX_W-1:0])) begin
      f_word <= config_i.entry;
    end
    if (read) read_entry <= read_addr == f_addr ? f_word : f_any;
    f_addr <= f_addr;
  end
`endif

  // Of each list, the entry that ends its cycle.
  index_t      last_index;
  logic        is_long;
  pen_lutram_1r1w #(.WIDTH(INDEX_W + 1), .DEPTH(4)) u_ends (
    .clk_i,
    .write_i     (config_i.write && mine && config_i.is_last),
    .write_addr_i(config_i.bank),
    .write_data_i({config_i.is_long, config_i.index[INDEX_W-1:0]}),
    .read_addr_i (next_bank_q),
    .read_data_o ({is_long, last_index})
  );

  // No entry is shorter than GATE_MIN_INTERVAL_NS, nor is what stays open for one.
  logic [7:0] states_after;
  always_comb begin
    for (int unsigned k = 0; k < CLASSES; k++)
      states_after[k] = after_q[k][$high(window_t):$clog2(GATE_MIN_INTERVAL_NS)] != '0;
  end

  logic [32:0] interval_ns;
  gate_time_t  sum;
  assign next_last   = next_index_q == last_index;
  assign interval_ns = {is_long && next_last, entry_q.interval_ns};
  assign sum         = (stage_q == AGAIN_ADD ? start_q : end_q) + gate_time_t'(interval_ns);

  always_ff @(posedge clk_i) begin
    was_armed_q <= armed_q;
    fresh_q     <= event_now || stage_q == AGAIN_LOAD || hold || rst_i || (mine && config_i.command == GATE_COMMAND_CHANGE);
    if (fresh_q) begin
      at_start_q   <= to_last == '1;
      past_start_q <= to_last != '1 && to_last[GATE_TIME_W-1];
      cut_off_q    <= is_cut_off_there;
    end else begin
      next_cut_off_q <= is_cut_off_there;
    end
    if (event_now) cut_off_q <= next_cut_off_q;
    if (stage_q inside {CAPTURE, AGAIN_CAPTURE, HOLD_CAPTURE}) entry_q <= read_entry;
    if (stage_q inside {READ, AGAIN_READ}) {next_bank_q, next_index_q} <= read_addr;
    if (stage_q == READ) next_change_q <= follow_change;
    if (stage_q inside {ADD, AGAIN_ADD}) begin
      next_end_q  <= sum;
      next_near_q <= interval_ns[32:15] == '0;
    end
    // One enable and a choice of two; left to be found in the cases below, it can take two LUTs for each bit.
    if (event_now || stage_q == AGAIN_LOAD || hold) end_q <= hold ? config_i.time_ns : next_end_q;

    unique case (stage_q)
      COMPARE: stage_q <= READ;
      READ: stage_q <= CAPTURE;
      CAPTURE: stage_q <= ADD;
      ADD: stage_q <= READY;
      READY: begin
        if (event_now) begin
          stage_q     <= COMPARE;
          run_q       <= 1'b1;
          hold_new_q  <= 1'b0;
          in_last_q   <= next_bank_q == GATE_BANK_LAST_CYCLE;
          list_q      <= list_q ^ next_change_q;
          index_q     <= next_index_q;
          start_q     <= end_q;
          after_q     <= entry_q.after_ns;
          last_q      <= next_last;
          states_q    <= states_after;
          redo_q      <= 1'b0;
          if (next_change_q) armed_q <= 1'b0;
        end else if (redo_q && calm) begin
          stage_q <= COMPARE;
          redo_q  <= 1'b0;
        end else if (armed_q && past_last && !in_last_q && !hold_new_q && calm && !redo_q) begin
          stage_q <= AGAIN_READ;
        end
      end
      AGAIN_READ: stage_q <= AGAIN_CAPTURE;
      AGAIN_CAPTURE: stage_q <= AGAIN_ADD;
      AGAIN_ADD: stage_q <= AGAIN_LOAD;
      AGAIN_LOAD: begin
        stage_q   <= COMPARE;
        in_last_q <= 1'b1;
        after_q   <= entry_q.after_ns;
        last_q    <= next_last;
      end
      HOLD_READ: stage_q <= HOLD_CAPTURE;
      HOLD_CAPTURE: stage_q <= HOLD_LOAD;
      HOLD_LOAD: begin
        stage_q <= COMPARE;
        after_q <= entry_q.after_ns;
      end
      default: ;
    endcase

    changed_o      <= event_now && next_change_q;
    windows_read_q <= windows_due_q && stage_q == READY;
    if (windows_read_q) begin
      windows_due_q       <= 1'b0;
      largest_window_ns_o <= read_entry.after_ns;
    end
    if (changed_o) windows_due_q <= 1'b1;

    if (mine) begin
      unique case (config_i.command)
        GATE_COMMAND_CHANGE: begin
          armed_q      <= 1'b1;
          redo_q       <= 1'b1;
          last_start_q <= config_i.time_ns;
          short_q      <= config_i.is_short;
        end
        GATE_COMMAND_CANCEL: begin
          if (!locked_o) begin
            armed_q <= 1'b0;
            redo_q  <= 1'b1;
            if (hold_new_q) begin
              hold_new_q  <= 1'b0;
              end_valid_q <= 1'b0;
              stage_q     <= IDLE;
            end
          end
        end
        GATE_COMMAND_HOLD, GATE_COMMAND_HOLD_NEW: begin
          hold_new_q  <= config_i.command == GATE_COMMAND_HOLD_NEW;
          end_valid_q <= 1'b1;
          in_last_q   <= 1'b0;
          last_q      <= 1'b1;
          stage_q     <= HOLD_READ;
        end
        default: ;
      endcase
    end
    if (stepped_q || rst_i) begin
      stage_q     <= IDLE;
      end_valid_q <= 1'b0;
      armed_q     <= 1'b0;
      redo_q      <= 1'b0;
      hold_new_q  <= 1'b0;
      in_last_q   <= 1'b0;
    end
    if (rst_i) begin
      run_q               <= 1'b0;
      list_q              <= 1'b1;
      changed_o           <= 1'b0;
      windows_due_q       <= 1'b0;
      windows_read_q      <= 1'b0;
      largest_window_ns_o <= '1;
    end
  end

  // A change that is near cannot be taken back, as what follows it may have been promised to a frame.
  assign locked_o = in_last_q || (hold_new_q && (run_q || near_q)) || past_last || (at_last && near_q);

  // What the list says about the time after a short last cycle is not what will be: near it, nothing is promised beyond
  // the end of an entry.
  logic is_cut_off;
  assign is_cut_off = armed_q && short_q && !in_last_q && cut_off_q;

  // --- for selection -----------------------------------------------------------------------------------------------
  always_ff @(posedge clk_i) begin
    open_next_o <= !enable_i ? '1 : run_q ? states_q : initial_states_i;
    open_o      <= open_next_o;
    if (rst_i) begin
      open_next_o <= '1;
      open_o      <= '1;
    end
    guard_next_o        <= enable_i && near_q && !rst_i;
    remaining_next_ns_o <= end_q[15:0] - before_q;
    after_next_ns_o     <= is_cut_off ? '0 : after_q;
  end

`ifndef SYNTHESIS
`ifndef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i && !stepped_q && near_q) begin
      assert (!arrived_q || stage_q inside {COMPARE, READY})
      else $error("pen_gates: an entry ends before its successor is known");
    end
  end
`endif
`endif

  logic unused;
  assign unused = &{1'b0, gate_time_next_i, config_i.index, late};

`ifdef FORMAL
  // Contract, for a list of any entries that are not changed while they are in use: 1. the windows beyond the entry and
  // its end are those of the active entry, and gate states are what the entry before it has said; 2. it ends in the
  // first cycle that has reached its end, even if all intervals are the shortest; 3. what is promised to selection ends
  // with the entry and its window; 4. a change is locked a cycle after the entry that holds reaches beyond its last cycle's start.
  localparam gate_time_t F_FAR = {2'b01, {(GATE_TIME_W - 2) {1'b0}}};
  localparam gate_time_t F_NEAR = gate_time_t'(1 << 15);

  logic             f_past_q = 1'b0;
  logic             f_follows_q;          // the entry that holds was read from the memory
  gate_time_t       f_time_next, f_now_q, f_left, f_command_left, f_again_left;
  logic [15:0]      f_late;
  gate_time_t       f_beyond;
  addr_t            f_active, f_next;
  logic [1:0]       f_bank;
  logic [7:0]       f_states_q;           // what f_word has said of the entry that holds
  logic             f_said_q;

  assign f_time_next    = gate_time_next_i[GATE_TIME_W-1:0];
  assign f_late         = now_q[15:0] - end_q[15:0];
  assign f_beyond       = end_q - last_start_q;
  assign f_left         = end_q - f_now_q;  // at the end of the cycle before
  assign f_command_left = config_i.time_ns - now_q;
  assign f_again_left   = start_q + gate_time_t'(interval_ns) - now_q;
  assign f_bank         = in_last_q ? GATE_BANK_LAST_CYCLE : {1'b0, list_q};
  assign f_active       = address(f_bank, index_q);
  assign f_next         = address(next_bank_q, next_index_q);

  function automatic logic f_is_last(input addr_t entry);
    return entry[INDEX_W-1:0] == u_ends.memory[entry[ADDR_W-1:INDEX_W]][INDEX_W-1:0];
  endfunction
  function automatic logic [32:0] f_interval_ns(input addr_t entry, input gate_entry_t word);
    return {f_is_last(entry) && u_ends.memory[entry[ADDR_W-1:INDEX_W]][INDEX_W], word.interval_ns};
  endfunction

  always_ff @(posedge clk_i) begin
    f_past_q <= 1'b1;
    f_now_q  <= now_q;
    if (event_now) begin
      f_said_q <= f_follows_q && f_active == f_addr;
      for (int unsigned k = 0; k < CLASSES; k++) f_states_q[k] <= f_word.after_ns[k] != '0;
    end
    if (!f_past_q) f_said_q <= 1'b0;
    if (event_now) f_follows_q <= 1'b1;
    if (hold || stepped_q || rst_i) f_follows_q <= 1'b0;
  end

  // What pen_gate_config and the clock keep to.
  always_comb begin
    assume (rst_i == !f_past_q);
    if (!stepped_next_i) assume (f_time_next - now_q >= 7 && f_time_next - now_q <= 9);
    assume (!(config_i.write && mine) || config_i.index < 10'(config_i.bank == GATE_BANK_WINDOWS ? 4 : ENTRIES));
    if (config_i.write && mine) begin
      assume (config_i.bank != f_bank && config_i.bank != next_bank_q && config_i.bank != follow_bank);
      assume (!(stage_q inside {AGAIN_READ, AGAIN_CAPTURE, AGAIN_ADD, AGAIN_LOAD})
              || config_i.bank != GATE_BANK_LAST_CYCLE);
    end
    if (stage_q inside {CAPTURE, AGAIN_CAPTURE})
      assume ({is_long && next_last, read_entry.interval_ns} >= 33'(GATE_MIN_INTERVAL_NS));
    for (int unsigned k = 0; k < CLASSES; k++)
      assume (f_word.after_ns[k] == '0 || f_word.after_ns[k] >= window_t'(GATE_MIN_INTERVAL_NS));
    if (stage_q == AGAIN_LOAD) begin
      if (next_last) assume (f_again_left >= gate_time_t'(20_000) && f_again_left < F_FAR);
      else assume (next_end_q == end_q);
    end
    if (hold) assume (f_command_left >= gate_time_t'(1024) && f_command_left < F_FAR);
    // Only what is held is told when to go on, and a last cycle does not begin before that.
    if (hold) assume (!f_follows_q);
    if (!f_follows_q) assume (!past_last);
    if (config_i.command == GATE_COMMAND_CANCEL && mine && hold_new_q) assume (!run_q);
  end

  always_comb begin
    if (f_past_q) begin
      // 1.
      if (f_follows_q && f_active == f_addr) begin
        assert (after_q == f_word.after_ns);
        assert (end_q == start_q + gate_time_t'(f_interval_ns(f_addr, f_word)));
      end
      if (f_follows_q) assert (last_q == f_is_last(f_active));
      if (f_said_q) assert (states_q == f_states_q);
      // 2.
      if (end_valid_q) assert (f_left != '0 && !f_left[GATE_TIME_W-1]);

      // What holds in between, so that the proof goes by induction.
      if (!fresh_q) begin
        assert (at_start_q == (f_beyond == '0));
        assert (past_start_q == (f_beyond != '0 && !f_beyond[GATE_TIME_W-1]));
      end
      if (!stepped_q) assert (now_q - f_now_q >= 7 && now_q - f_now_q <= 9);
      if (near_q && stage_q inside {READ, CAPTURE, ADD, READY}) assert (arrived_q == !f_late[15]);
      assert (stage_q <= HOLD_LOAD && (end_valid_q || stage_q == IDLE) && (!end_valid_q || stage_q != IDLE));
      if (f_follows_q) begin
        assert (end_valid_q && run_q && end_q - start_q < gate_time_t'(64'd1 << 33));
        assert (f_now_q - start_q < end_q - start_q);
      end else assert (!(stage_q inside {AGAIN_READ, AGAIN_CAPTURE, AGAIN_ADD, AGAIN_LOAD}));
      assert (!near_q || end_valid_q || stage_q == IDLE);
      assert (settled_q != 2'b10);
      if (end_valid_q) begin
        assert (f_left < F_FAR);
        if (near_q) assert (f_left < F_NEAR);
        if (!near_q) assert (f_left >= (settled_q == 2'b00 ? 900 : settled_q == 2'b01 ? 890 : 880));
        if (settled_q[0]) assert (distance_q == f_left);
        if (stage_q == READ) assert (settled_q[0]);
        if (!(stage_q inside {COMPARE, READ, HOLD_READ, HOLD_CAPTURE})) assert (settled_q == 2'b11);
        if (!near_q && !(stage_q inside {COMPARE, READ, CAPTURE, HOLD_READ, HOLD_CAPTURE, HOLD_LOAD})) begin
          assert (f_left >= F_NEAR - 9);
        end
      end
      if (stage_q == COMPARE) assert (f_left >= 56);
      if (stage_q == READ) assert (f_left >= 47);
      if (stage_q == CAPTURE) assert (f_left >= 38);
      if (stage_q == ADD) assert (f_left >= 29);
      if (stage_q inside {HOLD_READ, HOLD_CAPTURE, HOLD_LOAD}) assert (!near_q && !settled_q[1] || f_left >= 800);
      if (stage_q inside {HOLD_READ, HOLD_CAPTURE, HOLD_LOAD}) assert (!f_follows_q && last_q && !in_last_q);
      if (stage_q inside {CAPTURE, ADD, READY}) begin
        if (next_change_q) assert (next_bank_q == {1'b0, !list_q});
        else assert (next_bank_q == {1'b0, list_q} || next_bank_q == GATE_BANK_LAST_CYCLE);
      end
      if (stage_q == READY) begin
        if (f_next == f_addr) assert (entry_q == f_word);
        assert (next_end_q == end_q + gate_time_t'(interval_ns));
        assert (next_near_q == (interval_ns[32:15] == '0));
        assert (interval_ns >= 33'(GATE_MIN_INTERVAL_NS));
      end
      if (stage_q == CAPTURE && f_next == f_addr) assert (read_entry == f_word);
      if (stage_q == ADD) begin
        if (f_next == f_addr) assert (entry_q == f_word);
        assert (interval_ns >= 33'(GATE_MIN_INTERVAL_NS));
      end
      if (address(GATE_BANK_LAST_CYCLE, index_q) == f_addr) begin
        if (stage_q == AGAIN_CAPTURE) assert (read_entry == f_word);
        if (stage_q inside {AGAIN_ADD, AGAIN_LOAD}) assert (entry_q == f_word);
      end
      if (stage_q inside {AGAIN_CAPTURE, AGAIN_ADD, AGAIN_LOAD}) assert (f_next == address(GATE_BANK_LAST_CYCLE, index_q));
      if (stage_q == AGAIN_LOAD) begin
        assert (next_end_q == start_q + gate_time_t'(interval_ns));
        assert (next_near_q == (interval_ns[32:15] == '0));
      end
      if (stage_q == AGAIN_READ) assert (f_left >= 200);
      if (stage_q == AGAIN_CAPTURE) assert (f_left >= 190);
      if (stage_q == AGAIN_ADD) assert (f_left >= 180);
      if (stage_q == AGAIN_LOAD) assert (f_left >= 170);
    end
  end

  // 3.
  always_ff @(posedge clk_i) begin
    if (f_past_q && !$past(rst_i)) begin
      assert (open_next_o == (!$past(enable_i) ? 8'hFF : $past(run_q) ? $past(states_q) : $past(initial_states_i)));
      assert (!guard_next_o || gate_time_t'(remaining_next_ns_o) == $past(f_left));
      for (int unsigned k = 0; k < CLASSES; k++) assert (after_next_ns_o[k] <= $past(after_q[k]));
    end
    // 4.
    if (f_past_q && !$past(rst_i) && $past(armed_q && end_q != last_start_q && !f_beyond[GATE_TIME_W-1])) assert (locked_o);
    cover (f_past_q && stage_q == READY && armed_q);
  end
`endif
endmodule
