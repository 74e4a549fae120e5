// SPDX-License-Identifier: Apache-2.0
// The settings of one port's way out.
module pen_egress_port_settings
  import pen_config_pkg::*, pen_switch_map_pkg::*;
#(
  parameter int unsigned PORT = 0
) (
  input  logic                clk_i,
  input  logic                rst_i,
  input  config_access_t      access_i,
  output egress_port_config_t config_o,
  output logic                port_reset_o
);
  egress_port_config_t config_q;
  logic                port_reset_q;

  always_ff @(posedge clk_i) begin
    if (access_i.write) begin
      case (access_i.address)
        REG_PORT_RESET: port_reset_q <= access_i.data[PORT];
        REG_GATE_ENABLE: config_q.gate_enable <= access_i.data[PORT];
        REG_ADMIN_GATE_STATES + 16'(4 * PORT): config_q.gate_states <= access_i.data[7:0];
        REG_CBS_COUNT_GAP: config_q.cbs_count_gap <= access_i.data[0];
        REG_ROUND_ROBIN + 16'(4 * PORT): config_q.round_robin <= access_i.data[7:0];
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
