// SPDX-License-Identifier: Apache-2.0
// The settings of one port's way to the host: filter of destination addresses, and what finds a frame's queue.
//
// The unit keeps them and is asked for them. The first port answers for those that the card does not have.
module pen_receive_settings
  import pen_config_pkg::*, pen_nic_pkg::*, pen_nic_map_pkg::*;
#(
  parameter int unsigned PORT  = 0,
  parameter int unsigned PORTS = 1
) (
  input  logic             clk_i,
  input  logic             rst_i,
  input  config_access_t   access_i,
  output steering_config_t config_o,
  output logic             answer_o,
  output logic [31:0]      answer_data_o
);
  localparam int unsigned PORT_LOW = 5;        // 32 bytes a port
  steering_config_t config_q;
  logic             of_block, mine;
  logic [1:0]       port;

  assign port     = access_i.address[PORT_LOW+:2];
  assign of_block = access_i.address[15:PORT_LOW+2] == REG_RECEIVE[15:PORT_LOW+2];
  assign mine     = 32'(port) == PORT;
  assign answer_o = (access_i.read || access_i.write) && of_block && (mine || (PORT == 0 && 32'(port) >= PORTS));
  assign config_o = config_q;

  always_comb begin
    answer_data_o = '0;
    if (mine) begin
      unique case (access_i.address[PORT_LOW-1:2])
        3'd0: answer_data_o = 32'({config_q.all_groups, config_q.promiscuous});
        3'd1: answer_data_o = 32'({config_q.by_hash, config_q.by_pcp});
        3'd2: answer_data_o = config_q.queue_of_pcp;
        3'd3: answer_data_o = config_q.station_address[31:0];
        3'd4: answer_data_o = 32'(config_q.station_address[47:32]);
        default: ;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (access_i.write && of_block && mine) begin
      unique case (access_i.address[PORT_LOW-1:2])
        3'd0: {config_q.all_groups, config_q.promiscuous} <= access_i.data[1:0];
        3'd1: {config_q.by_hash, config_q.by_pcp} <= access_i.data[1:0];
        3'd2: config_q.queue_of_pcp <= access_i.data;
        3'd3: config_q.station_address[31:0] <= access_i.data;
        3'd4: config_q.station_address[47:32] <= access_i.data[15:0];
        default: ;
      endcase
    end
    if (rst_i) begin
      config_q <= '{
        promiscuous: 1'b1, all_groups: 1'b1, by_pcp: 1'b0, by_hash: 1'b1, station_address: '0, queue_of_pcp: 32'h7654_3210
      };
    end
  end

  logic unused;
  assign unused = &{1'b0, access_i};
endmodule
