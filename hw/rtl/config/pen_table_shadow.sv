// SPDX-License-Identifier: Apache-2.0
// A unit's own copy of the table entry that is staged, and its commit: the entry acts whole or not at all.
//
//   access_i.write   |C|.|.|.|.|
//   table_o.valid    |.|V|V|V|.|      until the unit can take it
//   ready_i          |.|.|.|R|.|
//   answer_o         |.|.|.|.|A|      a cycle later, as whether the unit takes it comes late
module pen_table_shadow
  import pen_pkg::*, pen_config_pkg::*, pen_switch_map_pkg::*;
#(
  parameter logic [15:0] TABLES = '1       // bit t: commits to table t are taken and answered here
) (
  input  logic           clk_i,
  input  logic           rst_i,
  input  config_access_t access_i,
  output table_write_t   table_o,          // its data are zero from reset to the first word that is staged
  input  logic           ready_i,
  output logic           answer_o
);
  logic              valid_q;
  table_e            which_q;
  logic [15:0]       index_q;
  logic [3:0][31:0]  data_q;

  always_ff @(posedge clk_i) begin
    if (access_i.stage) begin
      for (int unsigned w = 0; w < 4; w++) begin
        if (access_i.address == REG_TABLE_DATA + 16'(4 * w)) data_q[w] <= access_i.data;
      end
      if (access_i.address == REG_TABLE_INDEX) index_q <= access_i.data[15:0];
    end
    if (access_i.write && access_i.address == REG_TABLE_COMMIT) begin
      valid_q <= TABLES[access_i.data[3:0]];
      which_q <= table_e'(access_i.data[3:0]);
    end else if (ready_i) valid_q <= 1'b0;
    answer_o <= valid_q && ready_i;
    if (rst_i) begin
      answer_o <= 1'b0;
      valid_q <= 1'b0;
      data_q  <= '0;
      index_q <= '0;
    end
  end

  assign table_o  = '{valid: valid_q, which: which_q, index: index_q, data: data_q};

  logic unused;
  assign unused = &{1'b0, access_i};
endmodule
