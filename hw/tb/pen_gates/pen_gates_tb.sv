// SPDX-License-Identifier: Apache-2.0
// The gates of two ports with what configures them, as the switch joins them.
module pen_gates_tb
  import pen_pkg::*;
#(
  parameter int unsigned ENTRIES = 16
) (
  input  logic                clk_i,
  input  logic                rst_i,
  input  time_ns_t            gate_time_next_i,
  input  logic                stepped_next_i,
  input  logic                write_i,
  input  logic [15:0]         write_index_i,
  input  logic [41:0]         write_entry_i,
  output logic                write_ready_o,
  input  logic [47:0]         admin_base_seconds_i,
  input  logic [29:0]         admin_base_nanoseconds_i,
  input  logic [31:0]         admin_cycle_time_ns_i,
  input  logic [31:0]         admin_extension_ns_i,
  input  logic [15:0]         admin_length_i,
  input  logic                commit_i,
  input  port_t               commit_port_i,
  output logic                commit_ready_o,
  output logic                busy_o,
  output logic [1:0]          running_o,
  output logic [1:0]          pending_o,
  output logic [1:0]          locked_o,
  input  logic                status_i,
  input  port_t               status_port_i,
  output logic                status_ready_o,
  input  gate_status_e        status_which_i,
  output logic [63:0]         status_value_o,
  output logic [15:0]         status_errors_o,
  output gate_error_e         status_error_o,
  input  logic [1:0]          enable_i,
  input  logic [1:0][7:0]     initial_states_i,
  output logic [1:0][7:0]     open_o,
  output logic [1:0][7:0]     open_next_o,
  output logic [1:0]          guard_next_o,
  output logic [1:0][15:0]    remaining_next_ns_o,
  output window_t [1:0][7:0]  after_next_ns_o,
  output window_t [1:0][7:0]  largest_window_ns_o,
  output time_ns_t            wake_ns_o
);
  gate_config_t    gate_config;
  logic [1:0]      changed;
  time_ns_t [2:0]  wake_ns;
  time_ns_t        gate_time_q;
  logic            stepped_q;

  always_ff @(posedge clk_i) begin
    gate_time_q <= gate_time_next_i;
    stepped_q   <= stepped_next_i;
  end

  pen_gate_config #(.PORTS(2), .ENTRIES(ENTRIES)) u_config (
    .clk_i,
    .rst_i,
    .gate_time_i(gate_time_q),
    .stepped_i  (stepped_q),
    .write_i,
    .write_index_i,
    .write_entry_i,
    .write_ready_o,
    .admin_base_seconds_i,
    .admin_base_nanoseconds_i,
    .admin_cycle_time_ns_i,
    .admin_extension_ns_i,
    .admin_length_i,
    .commit_i,
    .commit_port_i,
    .commit_ready_o,
    .config_o (gate_config),
    .changed_i(changed),
    .locked_i (locked_o),
    .busy_o,
    .running_o,
    .pending_o,
    .status_i,
    .status_port_i,
    .status_ready_o,
    .status_which_i,
    .status_value_o,
    .status_errors_o,
    .status_error_o
  );

  for (genvar p = 0; p < 2; p++) begin : gen_port
    pen_gates #(.PORT(p), .ENTRIES(ENTRIES)) u_gates (
      .clk_i,
      .rst_i,
      .gate_time_next_i,
      .stepped_next_i,
      .config_i           (gate_config),
      .enable_i           (enable_i[p]),
      .initial_states_i   (initial_states_i[p]),
      .open_o             (open_o[p]),
      .open_next_o        (open_next_o[p]),
      .guard_next_o       (guard_next_o[p]),
      .remaining_next_ns_o(remaining_next_ns_o[p]),
      .after_next_ns_o    (after_next_ns_o[p]),
      .largest_window_ns_o(largest_window_ns_o[p]),
      .changed_o          (changed[p]),
      .locked_o           (locked_o[p])
    );
    assign wake_ns[p] = u_gates.u_wake.wake_ns;
  end

  assign wake_ns[2] = u_config.u_sequence.u_wake.wake_ns;
  always_comb begin
    wake_ns_o = wake_ns[0] < wake_ns[1] ? wake_ns[0] : wake_ns[1];
    if (wake_ns[2] < wake_ns_o) wake_ns_o = wake_ns[2];
  end
endmodule
