// SPDX-License-Identifier: Apache-2.0
// The member ports of every VLAN. At start all ports are members of VLAN 1 and of no other.
module pen_vlan_table (
  input  logic                  clk_i,
  input  logic                  init_busy_i,
  input  pen_pkg::init_index_t  init_index_i,
  input  logic                  read_i,
  input  logic [11:0]           vlan_id_i,
  output pen_pkg::port_mask_t   members_o,    // two cycles after read_i
  input  logic                  write_i,
  input  logic [11:0]           write_index_i,
  input  pen_pkg::port_mask_t   write_data_i
);
  import pen_pkg::*;

  port_mask_t members;
  logic       read_q;

  pen_ram_1r1w #(.WIDTH(MAX_PORTS), .DEPTH(4096)) u_members (
    .clk_i,
    .write_i     (init_busy_i || write_i),
    .write_addr_i(init_busy_i ? init_index_i[11:0] : write_index_i),
    .write_data_i(init_busy_i ? {MAX_PORTS{init_index_i[11:0] == 12'd1}} : write_data_i),
    .read_i,
    .read_addr_i (vlan_id_i),
    .read_data_o (members)
  );

  always_ff @(posedge clk_i) begin
    read_q <= read_i;
    if (read_q) members_o <= members;
  end

  logic unused;
  assign unused = init_index_i[12];
endmodule
