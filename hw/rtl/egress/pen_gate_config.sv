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
// The units, which all follow the step that pen_gate_sequence has come to:
//
//   pen_gate_sequence   which step is taken, for which port and entry
//   pen_gate_settings   base time, cycle time, extension and length that come with a commit
//   pen_gate_lists      the staged list, and two of each port
//   pen_gate_words      times and settings of each port; status
//   pen_gate_adder      sums, differences and remainders of times; what is left of a cycle
//   pen_gate_windows    how long the gate of each class stays open
//   pen_gate_ports      list in force, change pending, and times that the port waits to be told
module pen_gate_config
  import pen_pkg::*, pen_gate_pkg::*;
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
  output gate_error_e      status_error_o             // the last one
);
  localparam int unsigned INDEX_W = $clog2(ENTRIES);
  localparam int unsigned PORT_W = $clog2(PORTS);
  if (PORTS < 2 || PORTS > MAX_PORTS) begin : gen_check_ports
    $fatal(1, "pen_gate_config: PORTS must be 2 to %0d, is %0d (%m)", MAX_PORTS, PORTS);
  end
  if (ENTRIES < 8 || ENTRIES > 1024 || 1 << INDEX_W != ENTRIES) begin : gen_check_entries
    $fatal(1, "pen_gate_config: ENTRIES must be a power of two from 8 to 1024, is %0d (%m)", ENTRIES);
  end

  typedef logic [INDEX_W-1:0] index_t;
  typedef logic [PORT_W-1:0]  place_t;

  // What is worked on.
  gate_step_t    step;
  gate_purpose_e purpose;
  logic          again, from_staged, hold_new, prolong, is_last_index;
  logic [5:0]    count;
  place_t        port;
  index_t        index;
  logic          take_settings, snap, withdraw, tell, length_known;
  // Settings and entries.
  logic [15:0]   length;
  gate_error_e   settings_error, error;
  logic          beyond_clock, unknown_operation, ends_list, ends_list_q, last, is_cut_last;
  logic [31:0]   setting, staged_interval_ns, kept_interval_ns;
  logic [32:0]   interval_ns;
  logic          is_open;
  window_t [7:0] run_ns;
  // Sums.
  gate_word_e    operand_a, operand_b, target;
  logic [31:0]   word;
  logic [33:0]   sum;
  gate_time_t    told_ns;
  logic          is_sum, is_negative, is_not_positive, is_below_64, is_near, remainder_is_zero, remainder_is_below_64;
  // Ports.
  logic [PORTS-1:0] bank, slot, started, again_of, send_new, send_last, is_short;
  place_t           look_port, command_port;
  logic [1:0]       look_time;
  logic             look_hit, looked, waits;
  logic             new_bank, gates_write;
  gate_command_e    command;

  assign new_bank = !bank[port];

  pen_gate_sequence #(.PORTS(PORTS), .ENTRIES(ENTRIES)) u_sequence (
    .clk_i,
    .rst_i,
    .gate_time_i,
    .stepped_i,
    .commit_i,
    .commit_port_i          (place_t'(commit_port_i)),
    .commit_ready_o,
    .take_settings_o        (take_settings),
    .write_ready_o,
    .busy_o,
    .step_o                 (step),
    .purpose_o              (purpose),
    .again_o                (again),
    .count_o                (count),
    .port_o                 (port),
    .index_o                (index),
    .is_last_index_o        (is_last_index),
    .from_staged_o          (from_staged),
    .hold_new_o             (hold_new),
    .prolong_o              (prolong),
    .snap_o                 (snap),
    .withdraw_o             (withdraw),
    .tell_o                 (tell),
    .length_known_o         (length_known),
    .write_o                (gates_write),
    .command_o              (command),
    .command_port_o         (command_port),
    .error_o                (error),
    .length_i               (length),
    .settings_error_i       (settings_error),
    .beyond_clock_i         (beyond_clock),
    .interval_short_i       (interval_ns[31:6] == '0),
    .unknown_operation_i    (unknown_operation),
    .ends_list_i            (ends_list),
    .last_i                 (last),
    .sum_i                  (sum),
    .is_negative_i          (is_negative),
    .is_not_positive_i      (is_not_positive),
    .is_below_64_i          (is_below_64),
    .is_near_i              (is_near),
    .remainder_is_zero_i    (remainder_is_zero),
    .remainder_is_below_64_i(remainder_is_below_64),
    .changed_i,
    .locked_i,
    .running_i              (running_o),
    .started_i              (started),
    .pending_i              (pending_o),
    .again_i                (again_of),
    .send_new_i             (send_new),
    .send_last_i            (send_last),
    .look_port_i            (look_port),
    .look_time_i            (look_time),
    .look_hit_i             (look_hit),
    .looked_i               (looked),
    .waits_i                (waits),
    .status_i
  );

  pen_gate_settings #(.ENTRIES(ENTRIES)) u_settings (
    .clk_i,
    .take_i            (take_settings),
    .base_seconds_i    (admin_base_seconds_i),
    .base_nanoseconds_i(admin_base_nanoseconds_i),
    .cycle_time_ns_i   (admin_cycle_time_ns_i),
    .extension_ns_i    (admin_extension_ns_i),
    .length_i          (admin_length_i),
    .step_i            (step),
    .count_i           (count),
    .length_o          (length),
    .error_o           (settings_error),
    .beyond_clock_o    (beyond_clock),
    .setting_o         (setting)
  );

  pen_gate_lists #(.PORTS(PORTS), .ENTRIES(ENTRIES)) u_lists (
    .clk_i,
    .write_i             (write_i && write_ready_o),
    .write_index_i,
    .write_entry_i,
    .step_i              (step),
    .from_staged_i       (from_staged),
    .port_i              (port),
    .bank_i              (purpose == FOR_LAST ? bank[port] : new_bank),
    .index_i             (index),
    .is_last_index_i     (is_last_index),
    .length_i            (length),
    .is_cut_last_i       (is_cut_last),
    .staged_interval_ns_o(staged_interval_ns),
    .kept_interval_ns_o  (kept_interval_ns),
    .unknown_operation_o (unknown_operation),
    .ends_list_o         (ends_list),
    .ends_list_q_o       (ends_list_q),
    .is_open_o           (is_open),
    .last_o              (last)
  );

  pen_gate_words #(.PORTS(PORTS)) u_words (
    .clk_i,
    .rst_i,
    .gate_time_i,
    .stepped_i,
    .step_i          (step),
    .count_i         (count),
    .snap_i          (snap),
    .port_i          (port),
    .look_port_i     (look_port),
    .list_bank_i     (purpose == FOR_CHANGE ? new_bank : bank[port]),
    .bank_i          (bank),
    .slot_i          (slot),
    .changed_i,
    .is_sum_i        (is_sum),
    .operand_a_i     (operand_a),
    .operand_b_i     (operand_b),
    .target_i        (target),
    .result_i        (sum[31:0]),
    .keeps_settings_i(step[KEEP_LIST] && !again),
    .setting_i       (setting),
    .word_o          (word),
    .status_i,
    .status_port_i   (place_t'(status_port_i)),
    .status_which_i,
    .status_ready_o,
    .status_value_o
  );

  pen_gate_adder #(.ENTRIES(ENTRIES)) u_adder (
    .clk_i,
    .step_i                 (step),
    .purpose_i              (purpose),
    .again_i                (again),
    .prolong_i              (prolong),
    .look_time_i            (look_time),
    .count_i                (count),
    .is_sum_o               (is_sum),
    .operand_a_o            (operand_a),
    .operand_b_o            (operand_b),
    .target_o               (target),
    .word_i                 (word),
    .from_staged_i          (from_staged),
    .staged_interval_ns_i   (staged_interval_ns),
    .kept_interval_ns_i     (kept_interval_ns),
    .ends_list_i            (ends_list_q),
    .is_last_index_i        (is_last_index),
    .is_cut_last_o          (is_cut_last),
    .interval_ns_o          (interval_ns),
    .sum_o                  (sum),
    .operand_a_value_o      (told_ns),
    .is_negative_o          (is_negative),
    .is_not_positive_o      (is_not_positive),
    .is_below_64_o          (is_below_64),
    .is_near_o              (is_near),
    .remainder_is_zero_o    (remainder_is_zero),
    .remainder_is_below_64_o(remainder_is_below_64)
  );

  pen_gate_windows u_windows (
    .clk_i,
    .clear_i      (step[KEEP_LIST]),
    .cut_i        (step[CUT_CLASS]),
    .end_i        (step[END_CLASS]),
    .initial_i    (step[INITIAL_CLASS]),
    .largest_i    (step[LARGEST_CLASS]),
    .copy_i       (step[COPY_CLASS]),
    .open_i       (step[OPEN_CLASS]),
    .is_open_i    (is_open),
    .is_first_i   (index == '0),
    .interval_ns_i(interval_ns),
    .run_ns_o     (run_ns)
  );

  pen_gate_ports #(.PORTS(PORTS)) u_ports (
    .clk_i,
    .rst_i,
    .stepped_i,
    .changed_i,
    .step_i        (step),
    .is_eighth_i   (count[2:0] == '1),
    .purpose_i     (purpose),
    .port_i        (port),
    .withdraw_i    (withdraw),
    .tell_i        (tell),
    .hold_new_i    (hold_new),
    .length_known_i(length_known),
    .is_short_i    (sum[32:15] == '0),
    .is_near_i     (is_near),
    .look_port_o   (look_port),
    .look_time_o   (look_time),
    .look_hit_o    (look_hit),
    .looked_o      (looked),
    .waits_o       (waits),
    .send_new_o    (send_new),
    .send_last_o   (send_last),
    .bank_o        (bank),
    .slot_o        (slot),
    .running_o,
    .started_o     (started),
    .pending_o,
    .again_o       (again_of),
    .short_o       (is_short)
  );

  // --- to the gates --------------------------------------------------------------------------------------------------
  always_comb begin
    config_o                   = '0;
    config_o.port              = port_t'(command_port);
    config_o.command           = command;
    config_o.time_ns           = told_ns;
    config_o.is_short          = is_short[look_port];
    config_o.bank              = purpose == FOR_LAST ? GATE_BANK_LAST_CYCLE : {1'b0, new_bank};
    config_o.index             = 10'(index);
    config_o.entry.after_ns    = run_ns;
    config_o.entry.interval_ns = interval_ns[31:0];
    config_o.is_last           = last;
    config_o.is_long           = interval_ns[32];
    config_o.write             = gates_write;
    if (step[WRITE_INITIAL] || step[WRITE_LARGEST]) begin
      config_o.bank  = GATE_BANK_WINDOWS;
      config_o.index = {8'b0, step[WRITE_LARGEST], new_bank};
    end
  end

  // --- errors --------------------------------------------------------------------------------------------------------
  gate_error_e             error_found_q;
  place_t                  error_port_q;
  logic [PORTS-1:0][15:0]  errors_q;
  gate_error_e [PORTS-1:0] error_q;

  always_ff @(posedge clk_i) begin
    error_found_q <= error;
    error_port_q  <= port;
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

  assign status_errors_o = errors_q[place_t'(status_port_i)];
  assign status_error_o  = error_q[place_t'(status_port_i)];

  logic unused;
  assign unused = &{1'b0, status_port_i, commit_port_i};
endmodule
