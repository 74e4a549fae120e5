// SPDX-License-Identifier: Apache-2.0
// The limits of admission, and queueMaxSDU.
module pen_buffer_settings
  import pen_pkg::*, pen_config_pkg::*, pen_switch_map_pkg::*;
#(
  parameter int unsigned PORTS = 4
) (
  input  logic           clk_i,
  input  logic           rst_i,
  input  config_access_t access_i,
  output buffer_config_t config_o,
  output table_write_t   table_o,
  output logic           answer_o
);
  localparam port_mask_t ALL_PORTS = port_mask_t'((1 << PORTS) - 1);

  buffer_config_t config_q;

  pen_table_shadow #(.TABLES(16'd1 << TABLE_MAX_SDU)) u_shadow (
    .clk_i, .rst_i, .access_i, .table_o, .ready_i(1'b1), .answer_o
  );

  always_ff @(posedge clk_i) begin
    if (access_i.write) begin
      case (access_i.address)
        REG_QUEUE_GUARANTEE: config_q.queue_guarantee_cells <= access_i.data[11:0];
        REG_RECEPTION_GUARANTEE: config_q.reception_guarantee_cells <= access_i.data[11:0];
        REG_SHARED_LIMIT: config_q.shared_limit_cells <= access_i.data[11:0];
        REG_GATE_ENABLE: config_q.gate_enable <= access_i.data[7:0] & ALL_PORTS;
        default: ;
      endcase
      if (access_i.address[15:5] == REG_QUEUE_LIMIT[15:5])
        config_q.queue_limit_cells[access_i.address[4:2]] <= access_i.data[11:0];
      if (access_i.address[15:5] == REG_CLASS_LIMIT[15:5])
        config_q.class_limit_cells[access_i.address[4:2]] <= access_i.data[11:0];
    end
    if (rst_i) config_q <= '0;
  end

  assign config_o = config_q;

  logic unused;
  assign unused = &{1'b0, access_i};
endmodule
