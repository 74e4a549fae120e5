// SPDX-License-Identifier: Apache-2.0
// Settings and tables of what all ports share on their way in.
module pen_ingress_settings
  import pen_pkg::*, pen_config_pkg::*, pen_switch_map_pkg::*;
#(
  parameter int unsigned PORTS = 4
) (
  input  logic            clk_i,
  input  logic            rst_i,
  input  config_access_t  access_i,
  output ingress_config_t config_o,
  output table_write_t    table_o,
  input  logic            table_ready_i,
  output logic            answer_o,
  output logic [31:0]     answer_data_o
);
  localparam port_mask_t ALL_PORTS = port_mask_t'((1 << PORTS) - 1);
  localparam logic [3:0] COMMIT_IDENTIFY_MASK = 4'd5;  // beside the values of table_e

  ingress_config_t config_q;
  table_write_t    write;
  logic            is_mask, reads_mask, table_answer;

  // Tables that no other unit has, and numbers that no table has.
  pen_table_shadow #(.TABLES(~(16'd1 << TABLE_GATE_ENTRY | 16'd1 << TABLE_CREDIT | 16'd1 << TABLE_MAX_SDU))) u_shadow (
    .clk_i,
    .rst_i,
    .access_i,
    .table_o (write),
    .ready_i (is_mask || table_ready_i),
    .answer_o(table_answer)
  );

  assign is_mask = 4'(write.which) == COMMIT_IDENTIFY_MASK;

  always_comb begin
    table_o = write;
    table_o.valid = write.valid
                    && write.which inside {TABLE_STREAM_KEY, TABLE_STREAM_RATE, TABLE_GROUP, TABLE_VLAN, TABLE_FDB,
                                           TABLE_NUMBERING};
  end

  always_ff @(posedge clk_i) begin
    if (access_i.write) begin
      case (access_i.address)
        REG_PORT_ENABLE: config_q.port_enable <= access_i.data[7:0] & ALL_PORTS;
        REG_VLAN_TAGGING: config_q.vlan_tagging <= access_i.data[7:0] & ALL_PORTS;
        REG_VLAN_TRANSLATION: config_q.vlan_translation <= access_i.data[7:0] & ALL_PORTS;
        REG_R_TAG_REMOVAL: config_q.r_tag_removal <= access_i.data[7:0] & ALL_PORTS;
        REG_PTP_CORRECTION: config_q.ptp_correction <= access_i.data[7:0] & ALL_PORTS;
        REG_ATS_CLASSES: config_q.ats_classes <= access_i.data[7:0];
        REG_ATS_OVERHEAD: config_q.ats_overhead_bytes <= access_i.data[7:0];
        REG_PROCESSING_DELAY_MAX: config_q.processing_delay_max_ns <= access_i.data;
        REG_RESERVED_TO_HOST: config_q.reserved_to_host <= access_i.data[15:0];
        REG_AGING_PERIOD: config_q.aging_period_ms <= access_i.data;
        REG_IDENTIFY: config_q.identify_ipv4 <= access_i.data[5'(IDENTIFY_IPV4)];
        default: ;
      endcase
    end
    config_q.aging_period_is_new <= access_i.write && access_i.address == REG_AGING_PERIOD
        && access_i.data != config_q.aging_period_ms;
    if (write.valid && is_mask) config_q.identify_ipv4_mask <= write.data[103:0];
    if (rst_i) begin
      config_q                    <= '0;
      config_q.identify_ipv4_mask <= '1;
    end
  end

  assign reads_mask = access_i.address[15:4] == REG_IDENTIFY_IPV4_MASK[15:4];
  assign config_o   = config_q;
  assign answer_o   = table_answer || ((access_i.read || access_i.write) && reads_mask);

  always_comb begin
    answer_data_o = '0;
    if (reads_mask) answer_data_o = 32'(config_q.identify_ipv4_mask >> {access_i.address[3:2], 5'b0});
  end

  logic unused;
  assign unused = &{1'b0, access_i};
endmodule
