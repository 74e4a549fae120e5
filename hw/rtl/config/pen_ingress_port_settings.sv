// SPDX-License-Identifier: Apache-2.0
// The settings of one port's way in.
module pen_ingress_port_settings
  import pen_pkg::*, pen_config_pkg::*, pen_switch_map_pkg::*;
#(
  parameter int unsigned PORT = 0
) (
  input  logic                 clk_i,
  input  logic                 rst_i,
  input  config_access_t       access_i,
  output ingress_port_config_t config_o,
  output logic                 port_reset_o
);
  localparam length_t MAX_FRAME_BYTES = 2000;

  ingress_port_config_t config_q;
  logic                 port_reset_q;

  always_ff @(posedge clk_i) begin
    if (access_i.write) begin
      case (access_i.address)
        REG_PORT_ENABLE: config_q.port_enable <= access_i.data[PORT];
        REG_PORT_RESET: port_reset_q <= access_i.data[PORT];
        REG_MAX_FRAME: begin
          config_q.max_frame_bytes <= access_i.data[10:0];
          if (access_i.data[10:0] > MAX_FRAME_BYTES) config_q.max_frame_bytes <= MAX_FRAME_BYTES;
        end
        REG_PORT_VLAN + 16'(4 * PORT): config_q.port_vlan_id <= access_i.data[11:0];
        REG_CLASS_OF_PCP: for (int k = 0; k < 8; k++) config_q.class_of_pcp[k] <= access_i.data[4*k+:3];
        REG_CLASS_OF_UNTAGGED: config_q.class_of_untagged <= access_i.data[2:0];
        REG_PCP_OF_UNTAGGED: config_q.pcp_of_untagged <= access_i.data[2:0];
        REG_LEARNING: config_q.learning_enable <= access_i.data[0];
        REG_IDENTIFY: config_q.identify_enable <= access_i.data[2:0];
        default: ;
      endcase
    end
    if (rst_i) begin
      config_q     <= '0;
      port_reset_q <= 1'b0;
    end
  end

  assign config_o     = config_q;
  assign port_reset_o = port_reset_q;

  logic unused;
  assign unused = &{1'b0, access_i};
endmodule
