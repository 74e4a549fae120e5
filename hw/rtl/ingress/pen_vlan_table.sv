// SPDX-License-Identifier: Apache-2.0
// The member set and the untagged set of every VLAN (802.1Q 8.8.10). At start all ports are untagged members of VLAN 1, and
// of no other.
module pen_vlan_table (
  input  logic                  clk_i,
  input  logic                  init_busy_i,
  input  pen_pkg::init_index_t  init_index_i,
  input  logic                  read_i,
  input  logic [11:0]           vlan_id_i,
  output pen_pkg::port_mask_t   members_o,    // two cycles after read_i
  output pen_pkg::port_mask_t   untagged_o,   // with members_o
  input  logic                  write_i,
  input  logic [11:0]           write_index_i,
  input  logic [15:0]           write_data_i  // {untagged, members}
);
  import pen_pkg::*;

  port_mask_t members, untagged;
  logic       read_q;

  pen_ram_1r1w #(.WIDTH(2 * MAX_PORTS), .DEPTH(4096)) u_members (
    .clk_i,
    .write_i     (init_busy_i || write_i),
    .write_addr_i(init_busy_i ? init_index_i[11:0] : write_index_i),
    .write_data_i(init_busy_i ? {(2 * MAX_PORTS) {init_index_i[11:0] == 12'd1}} : write_data_i),
    .read_i,
    .read_addr_i (vlan_id_i),
    .read_data_o ({untagged, members})
  );

  always_ff @(posedge clk_i) begin
    read_q <= read_i;
    if (read_q) begin
      members_o  <= members;
      untagged_o <= untagged;
    end
  end

  logic unused;
  assign unused = init_index_i[12];
endmodule
