// SPDX-License-Identifier: Apache-2.0
// The order of work on a commit: which step is taken in each cycle, for which port and which entry.
//
// The steps in their order, from a commit to a change that is pending, are described in pen_gate_config; what each does
// stands with the unit that does it. This one decides from their results what comes next, and refuses a list at the
// first thing found wrong. A step of the clock ends whatever is under way: the running lists get a new start one after
// the other (CLOCK_NEXT), then a commit that was interrupted is begun again.
module pen_gate_sequence
  import pen_pkg::*, pen_gate_pkg::*;
#(
  parameter int unsigned PORTS   = 4,
  parameter int unsigned ENTRIES = 128,
  localparam int unsigned PORT_W  = $clog2(PORTS),
  localparam int unsigned INDEX_W = $clog2(ENTRIES)
) (
  input  logic               clk_i,
  input  logic               rst_i,
  input  time_ns_t           gate_time_i,
  input  logic               stepped_i,
  input  logic               commit_i,               // held until commit_ready_o
  input  logic [PORT_W-1:0]  commit_port_i,
  output logic               commit_ready_o,
  output logic               take_settings_o,
  output logic               write_ready_o,          // the staged list may change
  output logic               busy_o,
  // What is done in this cycle.
  output gate_step_t         step_o,
  output gate_purpose_e      purpose_o,
  output logic               again_o,                // a pending change is worked out anew after a step of the clock
  output logic [5:0]         count_o,                // cycles in this step
  output logic [PORT_W-1:0]  port_o,
  output logic [INDEX_W-1:0] index_o,                // entry
  output logic               is_last_index_o,        // it ends the cycle, as the cut has found
  output logic               from_staged_o,          // the list is the staged one
  output logic               hold_new_o,             // the gates will wait for the new list, not for a last cycle
  output logic               prolong_o,              // the last cycle is prolonged to the change
  output logic               snap_o,                 // the gate time is kept
  output logic               withdraw_o,             // the port's pending change is taken back
  output logic               tell_o,                 // its change is worked out, and pending from now on
  output logic               length_known_o,         // LAST_LENGTH: of the last cycle
  // To the gates.
  output logic               write_o,                // of their memory
  output gate_command_e      command_o,
  output logic [PORT_W-1:0]  command_port_o,
  output gate_error_e        error_o,
  // What the units have found.
  input  logic [15:0]        length_i,               // ControlListLength
  input  gate_error_e        settings_error_i,
  input  logic               beyond_clock_i,
  input  logic               interval_short_i,
  input  logic               unknown_operation_i,
  input  logic               ends_list_i,
  input  logic               last_i,                 // the entry ends the cycle
  input  logic [33:0]        sum_i,
  input  logic               is_negative_i,
  input  logic               is_not_positive_i,
  input  logic               is_below_64_i,
  input  logic               is_near_i,
  input  logic               remainder_is_zero_i,
  input  logic               remainder_is_below_64_i,
  // Of each port, and the time looked at.
  input  logic [PORTS-1:0]   changed_i,
  input  logic [PORTS-1:0]   locked_i,
  input  logic [PORTS-1:0]   running_i,
  input  logic [PORTS-1:0]   started_i,
  input  logic [PORTS-1:0]   pending_i,
  input  logic [PORTS-1:0]   again_i,
  input  logic [PORTS-1:0]   send_new_i,
  input  logic [PORTS-1:0]   send_last_i,
  input  logic [PORT_W-1:0]  look_port_i,
  input  logic [1:0]         look_time_i,
  input  logic               look_hit_i,
  input  logic               looked_i,
  input  logic               waits_i,
  input  logic               status_i                // a status is being read
);
  localparam int unsigned WAIT_W = 24;               // for times up to 8 PREPARE_NS ahead or behind

  typedef logic [INDEX_W-1:0] index_t;
  typedef logic [PORT_W-1:0]  place_t;

  gate_step_t        step_q = at(IDLE);               // one of its bits, before a reset too
  gate_purpose_e     purpose_q;
  place_t            port_q, redo_port_q;
  logic              again_q, redo_q;
  logic              past_q, prolong_q, hold_new_q;
  logic [5:0]        count_q;
  logic [2:0]        phase;
  index_t            index_q, last_index_q;
  logic [WAIT_W-1:0] since_q, to_since_q;            // when the change is pending
  logic              refused, send, more_again;
  logic              compared_q;                     // SEND: the last cycle of its sum

  assign step_o          = step_q;
  assign purpose_o       = purpose_q;
  assign again_o         = again_q;
  assign count_o         = count_q;
  assign port_o          = port_q;
  assign index_o         = index_q;
  assign is_last_index_o = index_q == last_index_q;
  assign from_staged_o   = purpose_q == FOR_CHANGE && !again_q;
  assign hold_new_o      = hold_new_q;
  assign prolong_o       = prolong_q;
  assign phase           = count_q[2:0];

  assign write_ready_o   = (step_q[IDLE] || step_q[LOOK] || step_q[SEND]) && !redo_q && !commit_i
                           && !(looked_i && again_i != '0);
  assign commit_ready_o  = step_q[IDLE] && looked_i && again_i == '0 && !redo_q && commit_i && !stepped_i;
  assign take_settings_o = step_q[IDLE] && looked_i && again_i == '0 && !redo_q && commit_i;
  assign busy_o          = !(step_q[IDLE] || step_q[LOOK] || step_q[SEND]) || redo_q || !looked_i || again_i != '0;
  assign snap_o          = stepped_i || (step_q[IDLE] && again_i == '0 && (redo_q || commit_i))
                           || step_q[LOOK] || (step_q[CANCELLED] && !pending_i[port_q]);

  // --- to the gates --------------------------------------------------------------------------------------------------
  assign write_o        = step_q[OPEN_WRITE] || step_q[WRITE_INITIAL] || step_q[WRITE_LARGEST];
  assign send           = step_q[SEND] && compared_q && is_near_i && !stepped_i;
  assign command_port_o = send ? look_port_i : port_q;

  always_comb begin
    command_o = GATE_COMMAND_NONE;
    if (step_q[CANCEL]) command_o = GATE_COMMAND_CANCEL;
    if (send) begin
      unique case (look_time_i)
        TIME_CHANGE: command_o = GATE_COMMAND_HOLD_NEW;
        TIME_START:  command_o = GATE_COMMAND_HOLD;
        default:     command_o = GATE_COMMAND_CHANGE;
      endcase
    end
  end

  // --- errors --------------------------------------------------------------------------------------------------------
  always_comb begin
    error_o = GATE_ERROR_NONE;
    unique case (1'b1)
      step_q[CHECKED]: error_o = settings_error_i;
      step_q[SECONDS]: if (count_q == 6'd49 && beyond_clock_i) error_o = GATE_ERROR_BASE_TIME;
      step_q[ENTRY_CHECK]: begin
        if (interval_short_i) error_o = GATE_ERROR_INTERVAL;
        else if (unknown_operation_i) error_o = GATE_ERROR_OPERATION;
      end
      step_q[KEEP_TIME]: begin
        if (phase == '1 && from_staged_o && past_q && running_i[port_q]) error_o = GATE_ERROR_BASE_TIME_PAST;
      end
      default: ;
    endcase
  end

  // What is found wrong before anything of the port has changed: error_o, less the one that is only told.
  assign refused = (step_q[CHECKED] && settings_error_i != GATE_ERROR_NONE)
                   || (step_q[SECONDS] && count_q == 6'd49 && beyond_clock_i)
                   || (step_q[ENTRY_CHECK] && (interval_short_i || unknown_operation_i));

  // --- the steps -----------------------------------------------------------------------------------------------------
  always_comb begin
    more_again = 1'b0;
    for (int unsigned p = 0; p < PORTS; p++) if (again_q && again_i[p] && port_q != place_t'(p)) more_again = 1'b1;
  end

  assign withdraw_o     = pending_i[port_q] && count_q != '0 && !locked_i[port_q] && !changed_i[port_q];
  assign length_known_o = phase[2];
  // After a step of the clock the changes of all ports are worked out before any is told.
  assign tell_o         = (count_q[0] && (to_since_q[WAIT_W-1] || to_since_q[WAIT_W-2:11] == '0)) || more_again;

  always_ff @(posedge clk_i) begin
    to_since_q <= since_q - gate_time_i[WAIT_W-1:0];
    count_q    <= count_q + 1'b1;
    compared_q <= step_q[SEND] && phase == 3'd6;
    step_q     <= '0;
    unique case (1'b1)
      step_q[IDLE]: begin
        step_q     <= at(IDLE);
        hold_new_q <= 1'b0;
        index_q    <= '0;
        count_q    <= '0;
        past_q     <= 1'b0;
        purpose_q  <= FOR_CHANGE;
        again_q    <= 1'b0;
        if (looked_i && again_i != '0) begin
          again_q <= 1'b1;
          for (int unsigned p = 0; p < PORTS; p++) if (again_i[p]) port_q <= place_t'(p);
          step_q <= at(KEEP_LIST);
        end else if (looked_i && (redo_q || commit_i)) begin
          port_q <= redo_q ? redo_port_q : commit_port_i;
          redo_q <= 1'b0;
          step_q <= at(CHECK);
        end else if (waits_i || !looked_i) begin
          step_q <= at(LOOK);
        end
      end
      step_q[LOOK]: begin
        count_q <= '0;
        step_q  <= look_hit_i ? at(SEND) : at(IDLE);
      end
      step_q[SEND]: step_q <= compared_q ? at(IDLE) : at(SEND);

      step_q[CHECK]: step_q <= at(CHECKED);
      step_q[CHECKED]: begin
        count_q <= '0;
        step_q  <= at(SECONDS);
      end
      step_q[SECONDS]: step_q <= count_q == 6'd49 ? at(ENTRY) : at(SECONDS);
      step_q[ENTRY]: step_q <= at(ENTRY_LOAD);
      step_q[ENTRY_LOAD]: step_q <= at(ENTRY_CHECK);
      step_q[ENTRY_CHECK]: begin
        index_q <= index_q + 1'b1;
        step_q  <= at(ENTRY);
        if (ends_list_i) begin
          count_q <= '0;
          step_q  <= pending_i[port_q] ? at(CANCEL) : at(KEEP_LIST);
        end
      end

      step_q[CANCEL]: begin
        count_q <= '0;
        step_q  <= at(CANCELLED);
      end
      step_q[CANCELLED]: begin
        step_q  <= at(CANCELLED);
        count_q <= 6'd1;
        if (!pending_i[port_q] || withdraw_o) begin
          count_q <= '0;
          step_q  <= at(KEEP_LIST);
        end
      end

      step_q[KEEP_LIST]: begin
        index_q <= '0;
        step_q  <= phase == '1 ? at(EARLIEST) : at(KEEP_LIST);
      end

      step_q[EARLIEST]: step_q <= phase != '1 ? at(EARLIEST) : purpose_q == FOR_CHANGE && again_q ? at(STAY) : at(PAST);
      step_q[STAY]: if (phase != '1) step_q <= at(STAY); else begin
        count_q <= '0;
        step_q  <= is_not_positive_i ? at(LENGTH) : at(PAST);
      end
      step_q[PAST]: if (phase != '1) step_q <= at(PAST); else begin
        count_q <= '0;
        step_q  <= is_negative_i ? at(BASE) : from_staged_o ? at(AGE) : at(DIVIDE_LOAD);
      end
      // A base time may lie ahead, but less than what the list needs: then it is late and yet not past.
      step_q[AGE]: if (phase != '1) step_q <= at(AGE); else begin
        past_q  <= !is_not_positive_i;
        count_q <= '0;
        step_q  <= at(DIVIDE_LOAD);
      end
      step_q[BASE]: step_q <= phase == '1 ? at(KEEP_TIME) : at(BASE);
      step_q[DIVIDE_LOAD]: if (!phase[1]) step_q <= at(DIVIDE_LOAD); else begin
        count_q <= '0;
        step_q  <= at(DIVIDE);
      end
      step_q[DIVIDE]: step_q <= count_q == '1 ? at(DIVIDE_END) : at(DIVIDE);
      step_q[DIVIDE_END]: if (!phase[2]) step_q <= at(DIVIDE_END); else begin
        count_q   <= '0;
        prolong_q <= remainder_is_below_64_i;
        step_q    <= remainder_is_zero_i ? at(KEEP_TIME) : at(BACK);
        if (purpose_q == FOR_LAST) step_q <= at(LAST_BEGIN);
      end
      step_q[BACK]: step_q <= phase == '1 ? at(FORTH) : at(BACK);
      step_q[FORTH]: step_q <= phase == '1 ? at(KEEP_TIME) : at(FORTH);
      step_q[KEEP_TIME]: if (phase != '1) step_q <= at(KEEP_TIME); else begin
        count_q <= '0;
        step_q  <= at(LENGTH);
        if (purpose_q == FOR_CLOCK) begin
          port_q <= port_q + 1'b1;
          step_q <= port_q == place_t'(PORTS - 1) ? at(IDLE) : at(CLOCK_NEXT);
        end
      end

      step_q[LENGTH]: step_q <= phase[1] ? at(CUT_READ) : at(LENGTH);
      step_q[CUT_READ]: step_q <= at(CUT_LOAD);
      step_q[CUT_LOAD]: step_q <= at(CUT_SUBTRACT);
      step_q[CUT_SUBTRACT]: step_q <= at(CUT);
      step_q[CUT]: begin
        count_q <= '0;
        step_q  <= purpose_q == FOR_CHANGE ? at(CUT_CLASS) : at(CUT_WRITE);
      end
      step_q[CUT_CLASS]: step_q <= phase == '1 ? at(CUT_WRITE) : at(CUT_CLASS);
      step_q[CUT_WRITE]: begin
        count_q      <= '0;
        last_index_q <= index_q;
        if (!last_i) index_q <= index_q + 1'b1;
        step_q <= at(CUT_READ);
        if (last_i) step_q <= purpose_q == FOR_CHANGE ? at(END_CLASS) : at(COPY_CLASS);
      end
      step_q[END_CLASS]: step_q <= phase == '1 ? at(INITIAL_CLASS) : at(END_CLASS);
      step_q[INITIAL_CLASS]: step_q <= phase == '1 ? at(WRITE_INITIAL) : at(INITIAL_CLASS);
      step_q[WRITE_INITIAL]: begin
        count_q <= '0;
        step_q  <= at(LARGEST_CLASS);
      end
      step_q[LARGEST_CLASS]: step_q <= phase == '1 ? at(WRITE_LARGEST) : at(LARGEST_CLASS);
      step_q[WRITE_LARGEST]: begin
        count_q <= '0;
        step_q  <= at(COPY_CLASS);
      end

      // What follows the list: its own start, or that of the new one.
      step_q[COPY_CLASS]: begin
        index_q <= last_index_q;
        step_q  <= phase == '1 ? at(OPEN_READ) : at(COPY_CLASS);
      end
      step_q[OPEN_READ]: step_q <= at(OPEN_LOAD);
      step_q[OPEN_LOAD]: step_q <= at(OPEN_WRITE);
      step_q[OPEN_WRITE]: begin
        count_q <= '0;
        step_q  <= at(OPEN_CLASS);
      end
      step_q[OPEN_CLASS]: if (phase != '1) step_q <= at(OPEN_CLASS); else begin
        count_q <= '0;
        index_q <= index_q - 1'b1;
        step_q  <= index_q != '0 ? at(OPEN_READ) : purpose_q == FOR_LAST ? at(WAIT) : at(LAST);
      end

      step_q[LAST]: begin
        count_q   <= '0;
        purpose_q <= FOR_LAST;
        step_q    <= at(LAST_START);
        if (!running_i[port_q]) begin
          hold_new_q <= 1'b1;
          step_q     <= at(ACTS);
        end else if (started_i[port_q]) step_q <= at(LAST_FIRST);
      end
      step_q[LAST_FIRST]: if (phase != '1) step_q <= at(LAST_FIRST); else begin
        step_q <= at(LAST_START);
        if (is_below_64_i) begin
          hold_new_q <= 1'b1;
          step_q     <= at(ACTS);
        end
      end
      step_q[LAST_START]: if (phase != '1) step_q <= at(LAST_START); else begin
        count_q <= '0;
        step_q  <= at(DIVIDE_LOAD);
      end
      // The start of the cycle in which the change falls; REST: how far into it.
      step_q[LAST_BEGIN]: step_q <= phase == '1 ? at(PROLONG) : at(LAST_BEGIN);
      step_q[PROLONG]: if (phase != '1) step_q <= at(PROLONG); else begin
        prolong_q <= prolong_q || !is_negative_i;
        step_q    <= at(ACTS);
      end
      // VALUE: when it is decided.
      step_q[ACTS]: begin
        if (phase == 3'd4) since_q <= sum_i[WAIT_W-1:0];
        step_q <= phase != '1 ? at(ACTS) : hold_new_q ? at(WAIT) : at(LATE);
      end
      step_q[LATE]: if (phase != '1) step_q <= at(LATE); else begin
        prolong_q <= prolong_q && is_not_positive_i;
        step_q    <= started_i[port_q] ? at(LATE_FIRST)
                     : prolong_q && is_not_positive_i ? at(LAST_BACK) : at(LAST_LENGTH);
      end
      step_q[LATE_FIRST]: if (phase != '1) step_q <= at(LATE_FIRST); else begin
        prolong_q <= prolong_q && !is_not_positive_i;
        step_q    <= prolong_q && !is_not_positive_i ? at(LAST_BACK) : at(LAST_LENGTH);
      end
      step_q[LAST_BACK]: step_q <= phase == '1 ? at(LAST_LENGTH) : at(LAST_BACK);
      step_q[LAST_LENGTH]: begin
        index_q <= '0;
        step_q  <= length_known_o ? at(CUT_READ) : at(LAST_LENGTH);
      end

      step_q[WAIT]: begin
        count_q <= 6'd1;
        step_q  <= !tell_o ? at(WAIT) : more_again ? at(IDLE) : at(LOOK);
      end

      step_q[CLOCK_NEXT]: begin
        count_q <= '0;
        step_q  <= at(EARLIEST);
        if (!running_i[port_q]) begin
          port_q <= port_q + 1'b1;
          step_q <= port_q == place_t'(PORTS - 1) ? at(IDLE) : at(CLOCK_NEXT);
        end
      end
      default: ;
    endcase

    if (refused) step_q <= at(IDLE);

    if (stepped_i) begin
      redo_q <= redo_q;
      if (!(step_q[IDLE] || step_q[LOOK] || step_q[SEND] || step_q[CLOCK_NEXT]) && purpose_q != FOR_CLOCK && !again_q
          && !refused) begin
        redo_q      <= 1'b1;
        redo_port_q <= port_q;
      end
      step_q    <= at(CLOCK_NEXT);
      purpose_q <= FOR_CLOCK;
      again_q   <= 1'b0;
      port_q    <= '0;
    end

    if (rst_i) begin
      step_q    <= at(IDLE);
      purpose_q <= FOR_CHANGE;
      redo_q    <= 1'b0;
    end
  end

`ifdef FORMAL
  // What step_q says, which has one bit.
  gate_step_e f_step;
  always_comb begin
    f_step = IDLE;
    for (int unsigned s = 0; s < GATE_STEPS; s++) if (step_q[s]) f_step = gate_step_e'(s);
  end

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
    if (f_step == IDLE || f_step == CHECK) begin
      f_good_q <= 1'b0;
      f_seen_q <= 1'b0;
    end
    if (f_step == IDLE && looked_i && again_i != '0) f_good_q <= 1'b1;
    if (f_step == ENTRY_CHECK && !refused) begin
      if (index_q == f_index) f_seen_q <= 1'b1;
      if (ends_list_i) f_good_q <= 1'b1;
    end
    if (f_step == KEEP_LIST && f_mine) f_written_q <= 1'b0;
    if (f_step == OPEN_WRITE && f_change && f_mine && index_q == f_index) f_written_q <= 1'b1;
    if (f_step == OPEN_READ && f_change && f_mine) f_last_q <= last_index_q;
  end

  always_comb begin
    assume (rst_i == !f_past_q);
    // The gates change only when they have been told to.
    if (changed_i[f_port]) begin
      assume (pending_i[f_port] && !again_i[f_port] && !send_new_i[f_port] && !send_last_i[f_port]);
      assume (!f_mine || f_step inside {IDLE, LOOK, SEND, CHECK, CHECKED, SECONDS, ENTRY, ENTRY_LOAD, ENTRY_CHECK,
                                         CANCEL, CANCELLED, CLOCK_NEXT} || purpose_q == FOR_CLOCK);
    end
    assume (32'(commit_port_i) < PORTS);
    if (f_past_q) begin
      assert (step_q == at(f_step));
      if (step_q[SEND]) assert (compared_q == (phase == '1));
      // 1.
      if (write_o || f_step == CANCEL) assert (f_good_q);
      if (f_good_q && !again_q && purpose_q != FOR_CLOCK && !(f_step inside {IDLE, LOOK, SEND})) begin
        assert (f_seen_q || 16'(f_index) >= length_i);
      end
      if (refused) assert (!write_o && command_o == GATE_COMMAND_NONE);
      // 2.
      if (command_port_o == f_port
          && command_o inside {GATE_COMMAND_CHANGE, GATE_COMMAND_HOLD_NEW}) begin
        assert (f_written_q || f_index > f_last_q);
      end

      // What holds in between, so that the proof goes by induction.
      if (send_new_i[f_port] || send_last_i[f_port]) assert (pending_i[f_port] && (f_written_q || f_index > f_last_q));
      assert (purpose_q <= FOR_CLOCK);
      if (f_step == CLOCK_NEXT) assert (purpose_q == FOR_CLOCK);
      if (again_i[f_port]) assert (!send_new_i[f_port] && !send_last_i[f_port]);
      if (f_step inside {CHECK, CHECKED, SECONDS, ENTRY, ENTRY_LOAD, ENTRY_CHECK}) begin
        assert (!again_q && f_change && !f_good_q);
        assert (f_step inside {ENTRY, ENTRY_LOAD, ENTRY_CHECK} || (index_q == '0 && !f_seen_q));
        assert (f_seen_q || index_q <= f_index);
        if (!(f_step inside {CHECK, CHECKED})) assert (length_i != '0 && length_i <= 16'(ENTRIES));
        if (!(f_step inside {CHECK, CHECKED})) assert (16'(index_q) < length_i);
        if (f_step == CHECKED && !refused) assert (length_i != '0 && length_i <= 16'(ENTRIES));
      end else if (!(f_step inside {IDLE, LOOK, SEND, CLOCK_NEXT}) && purpose_q != FOR_CLOCK) begin
        assert (f_good_q);
        if (f_step inside {CANCEL, CANCELLED}) assert (!again_q && f_change);
        else if (f_mine) assert (!send_new_i[f_port] && !send_last_i[f_port]);
      end
      if (f_step == COPY_CLASS && count_q[2:0] != '0) assert (index_q == last_index_q);
      if (f_mine && f_change) begin
        if (f_step inside {OPEN_READ, OPEN_LOAD, OPEN_WRITE}) begin
          assert (f_written_q || index_q >= f_index || f_index > last_index_q);
        end
        if (f_step == OPEN_CLASS) assert (f_written_q || index_q > f_index || f_index > last_index_q);
        if (f_step inside {OPEN_LOAD, OPEN_WRITE, OPEN_CLASS}) assert (f_last_q == last_index_q);
      end
      if (f_mine && (f_step inside {LAST, WAIT} || purpose_q == FOR_LAST)
          && !(f_step inside {IDLE, LOOK, SEND, CLOCK_NEXT})) begin
        assert (f_written_q || f_index > f_last_q);
      end
      if (f_step inside {LAST_FIRST, LAST_START, LAST_BEGIN, PROLONG, ACTS, LATE, LATE_FIRST, LAST_BACK, LAST_LENGTH,
                          WAIT}) begin
        assert (purpose_q == FOR_LAST);
      end
      if (f_step inside {CANCEL, CANCELLED, KEEP_LIST, CUT_CLASS, END_CLASS, LARGEST_CLASS, WRITE_LARGEST,
                          INITIAL_CLASS, WRITE_INITIAL, STAY, LENGTH, LAST}) begin
        assert (f_change);
      end
      if (purpose_q == FOR_CLOCK) begin
        assert (f_step inside {IDLE, CLOCK_NEXT, EARLIEST, PAST, BASE, DIVIDE_LOAD, DIVIDE, DIVIDE_END, BACK, FORTH,
                                KEEP_TIME});
      end
      if (f_step inside {EARLIEST, PAST, BASE, BACK, FORTH, KEEP_TIME}) assert (purpose_q != FOR_LAST);
      if (f_step == AGE) assert (from_staged_o);
      if (f_step == SEND) assert (look_time_i != 2'd3);
      if (f_step == SEND && look_port_i == f_port) begin
        if (look_time_i == TIME_CHANGE) assert (send_new_i[f_port]);
        if (look_time_i == TIME_LAST) assert (send_last_i[f_port]);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (f_past_q && $past(f_past_q) && $past(refused) && !$past(stepped_i) && $past(changed_i) == '0) begin
      assert (pending_i == $past(pending_i) && running_i == $past(running_i));
      assert (send_new_i == $past(send_new_i) && send_last_i == $past(send_last_i));
    end
    cover (f_past_q && $past(refused) && f_step == IDLE);
  end
`endif
  logic unused;
  assign unused = &{1'b0, gate_time_i, sum_i, length_i, send_new_i, send_last_i, status_i};
endmodule
