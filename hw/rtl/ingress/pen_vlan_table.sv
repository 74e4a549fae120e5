// SPDX-License-Identifier: Apache-2.0
// The member set and the untagged set of every VLAN (802.1Q 8.8.10), and what its tag becomes where ports translate. At
// start all ports are untagged members of VLAN 1, and of no other.
module pen_vlan_table (
  input  logic                  clk_i,
  input  logic                  init_busy_i,
  input  pen_pkg::init_index_t  init_index_i,
  input  logic                  read_i,
  input  logic [11:0]           vlan_id_i,
  output pen_pkg::vlan_entry_t  entry_o,      // two cycles after read_i
  input  logic                  write_i,
  input  logic [11:0]           write_index_i,
  input  pen_pkg::vlan_entry_t  write_data_i
);
  import pen_pkg::*;

  vlan_entry_t entry;
  logic        read_q;

  vlan_entry_t initial_entry;
  always_comb begin
    initial_entry          = '0;
    initial_entry.members  = {MAX_PORTS{init_index_i[11:0] == 12'd1}};
    initial_entry.untagged = initial_entry.members;
  end

  pen_ram_1r1w #(.WIDTH($bits(vlan_entry_t)), .DEPTH(4096)) u_entries (
    .clk_i,
    .write_i     (init_busy_i || write_i),
    .write_addr_i(init_busy_i ? init_index_i[11:0] : write_index_i),
    .write_data_i(init_busy_i ? initial_entry : write_data_i),
    .read_i,
    .read_addr_i (vlan_id_i),
    .read_data_o (entry)
  );

  always_ff @(posedge clk_i) begin
    read_q <= read_i;
    if (read_q) entry_o <= entry;
  end

  logic unused;
  assign unused = init_index_i[12];
endmodule
