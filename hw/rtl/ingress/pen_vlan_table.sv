// SPDX-License-Identifier: Apache-2.0
// The member set and the untagged set of every VLAN (802.1Q 8.8.10), and what its tag becomes where ports translate. At
// start all ports are untagged members of VLAN 1, and of no other.
//
// Only what the ports of this switch have is kept: 4 ports take three block RAMs, 8 take four.
module pen_vlan_table #(
  parameter int unsigned PORTS = 8
) (
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

  if (PORTS < 2 || PORTS > MAX_PORTS) begin : gen_check_ports
    $fatal(1, "pen_vlan_table: PORTS must be 2 to %0d, is %0d (%m)", MAX_PORTS, PORTS);
  end

  typedef struct packed {
    logic             sets_pcp;
    logic [2:0]       egress_pcp;
    logic [11:0]      egress_vlan_id;
    logic [PORTS-1:0] untagged;
    logic [PORTS-1:0] members;
  } kept_t;

  kept_t initial_entry, write_entry, entry;
  logic  read_q;

  always_comb begin
    initial_entry          = '0;
    initial_entry.members  = {PORTS{init_index_i[11:0] == 12'd1}};
    initial_entry.untagged = initial_entry.members;
    write_entry = '{
      sets_pcp: write_data_i.sets_pcp,
      egress_pcp: write_data_i.egress_pcp,
      egress_vlan_id: write_data_i.egress_vlan_id,
      untagged: write_data_i.untagged[PORTS-1:0],
      members: write_data_i.members[PORTS-1:0]
    };
  end

  pen_ram_1r1w #(.WIDTH($bits(kept_t)), .DEPTH(4096)) u_entries (
    .clk_i,
    .write_i     (init_busy_i || write_i),
    .write_addr_i(init_busy_i ? init_index_i[11:0] : write_index_i),
    .write_data_i(init_busy_i ? initial_entry : write_entry),
    .read_i,
    .read_addr_i (vlan_id_i),
    .read_data_o (entry)
  );

  always_ff @(posedge clk_i) begin
    read_q <= read_i;
    if (read_q) begin
      entry_o <= '{
        sets_pcp: entry.sets_pcp,
        egress_pcp: entry.egress_pcp,
        egress_vlan_id: entry.egress_vlan_id,
        untagged: port_mask_t'(entry.untagged),
        members: port_mask_t'(entry.members)
      };
    end
  end

  logic unused;
  assign unused = &{1'b0, init_index_i[12], write_data_i};
endmodule
