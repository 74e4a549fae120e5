// SPDX-License-Identifier: Apache-2.0
// What comes for the gate lists and the credit-based shapers of all ports: entries, commits, and what was refused. Tables of
// other units may be staged here too.
module pen_shaper_settings
  import pen_pkg::*, pen_config_pkg::*, pen_switch_map_pkg::*;
#(
  parameter int unsigned PORTS = 4,
  parameter logic [15:0] OTHERS = '0         // bit t: table t is another unit's, which says that it can take an entry
) (
  input  logic           clk_i,
  input  logic           rst_i,
  input  config_access_t access_i,
  output port_mask_t     gate_enable_o,
  output table_write_t   table_o,
  input  logic           entry_ready_i,      // an entry of a gate list can be taken
  input  logic           credit_ready_i,
  input  logic           other_ready_i,
  output gate_admin_t    gate_admin_o,       // with gate_commit_o
  output logic           gate_commit_o,      // held until gate_ready_i
  input  logic           gate_ready_i,
  input  logic [15:0]    credit_errors_i,
  input  logic [2:0]     credit_error_i,
  output logic           answer_o,
  output logic [31:0]    answer_data_o
);
  localparam port_mask_t ALL_PORTS = port_mask_t'((1 << PORTS) - 1);

  logic        table_answer, gate_commit_q, reads_errors;
  gate_admin_t admin_q;
  port_mask_t  gate_enable_q;

  localparam logic [15:0] OWN = 16'd1 << TABLE_GATE_ENTRY | 16'd1 << TABLE_CREDIT;
  pen_table_shadow #(.TABLES(OWN | OTHERS)) u_shadow (
    .clk_i,
    .rst_i,
    .access_i,
    .table_o,
    .ready_i (table_o.which == TABLE_CREDIT ? credit_ready_i : table_o.which == TABLE_GATE_ENTRY ? entry_ready_i : other_ready_i),
    .answer_o(table_answer)
  );

  always_ff @(posedge clk_i) begin
    if (access_i.stage) begin
      case (access_i.address)
        REG_ADMIN_BASE_TIME_SECONDS_LOW: admin_q.base_seconds[31:0] <= access_i.data;
        REG_ADMIN_BASE_TIME_SECONDS_HIGH: admin_q.base_seconds[47:32] <= access_i.data[15:0];
        REG_ADMIN_BASE_TIME_NANOSECONDS: admin_q.base_nanoseconds <= access_i.data[29:0];
        REG_ADMIN_CYCLE_TIME: admin_q.cycle_time_ns <= access_i.data;
        REG_ADMIN_CYCLE_TIME_EXTENSION: admin_q.extension_ns <= access_i.data;
        REG_ADMIN_CONTROL_LIST_LENGTH: admin_q.entries <= access_i.data[15:0];
        default: ;
      endcase
    end
    if (access_i.write && access_i.address == REG_GATE_ENABLE) gate_enable_q <= access_i.data[7:0] & ALL_PORTS;
    if (access_i.write && access_i.address == REG_GATE_COMMIT) begin
      gate_commit_q <= 1'b1;
      admin_q.port  <= access_i.data[2:0];
    end else if (gate_ready_i) gate_commit_q <= 1'b0;
    if (rst_i) begin
      admin_q       <= '0;
      gate_enable_q <= '0;
      gate_commit_q <= 1'b0;
    end
  end

  assign reads_errors  = (access_i.read || access_i.write) && access_i.address == REG_CREDIT_ERRORS;
  assign gate_enable_o = gate_enable_q;
  assign gate_admin_o  = admin_q;
  assign gate_commit_o = gate_commit_q;
  assign answer_o      = table_answer || (gate_commit_q && gate_ready_i) || reads_errors;
  assign answer_data_o = 32'({credit_error_i, credit_errors_i});

  logic unused;
  assign unused = &{1'b0, access_i};
endmodule
