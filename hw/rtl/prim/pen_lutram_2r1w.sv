// SPDX-License-Identifier: Apache-2.0
// Small memory in lookup tables with two read ports, for which synthesis keeps it twice: where one address comes late, the
// other does not stand in its way.
module pen_lutram_2r1w #(
  parameter int unsigned WIDTH = 32,
  parameter int unsigned DEPTH = 32
) (
  input  logic                     clk_i,
  input  logic                     write_i,
  input  logic [$clog2(DEPTH)-1:0] write_addr_i,
  input  logic [WIDTH-1:0]         write_data_i,
  input  logic [$clog2(DEPTH)-1:0] read_addr_a_i,
  output logic [WIDTH-1:0]         read_data_a_o,
  input  logic [$clog2(DEPTH)-1:0] read_addr_b_i,
  output logic [WIDTH-1:0]         read_data_b_o
);
  if (WIDTH < 1) begin : gen_check_width
    $fatal(1, "pen_lutram_2r1w: WIDTH must be 1 or more, is %0d (%m)", WIDTH);
  end
  if (DEPTH < 2) begin : gen_check_depth
    $fatal(1, "pen_lutram_2r1w: DEPTH must be 2 or more, is %0d (%m)", DEPTH);
  end

  (* ram_style = "distributed" *) logic [WIDTH-1:0] memory[DEPTH];

  always_ff @(posedge clk_i) begin
    if (write_i) memory[write_addr_i] <= write_data_i;
  end

  assign read_data_a_o = memory[read_addr_a_i];
  assign read_data_b_o = memory[read_addr_b_i];
endmodule
