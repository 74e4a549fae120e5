// SPDX-License-Identifier: Apache-2.0
// Block RAM with one write and one read port, whose words have two parts that are written each by itself. Side by side they
// take less than in memories of their own.
//
// The word read appears one cycle after `read_i` and holds. A read of a part that is being written gives anything; in tests,
// random bits.
module pen_ram_parts_1r1w #(
  parameter int unsigned WIDTH_A = 32,
  parameter int unsigned WIDTH_B = 32,
  parameter int unsigned DEPTH = 512
) (
  input  logic                     clk_i,
  input  logic                     write_a_i,
  input  logic                     write_b_i,
  input  logic [$clog2(DEPTH)-1:0] write_addr_i,
  input  logic [WIDTH_A-1:0]       write_data_a_i,
  input  logic [WIDTH_B-1:0]       write_data_b_i,
  input  logic                     read_i,
  input  logic [$clog2(DEPTH)-1:0] read_addr_i,
  output logic [WIDTH_A-1:0]       read_data_a_o,
  output logic [WIDTH_B-1:0]       read_data_b_o
);
  if (WIDTH_A < 1 || WIDTH_B < 1) begin : gen_check_width
    $fatal(1, "pen_ram_parts_1r1w: WIDTH_A and WIDTH_B must be 1 or more, are %0d and %0d (%m)", WIDTH_A, WIDTH_B);
  end
  if (DEPTH < 2) begin : gen_check_depth
    $fatal(1, "pen_ram_parts_1r1w: DEPTH must be 2 or more, is %0d (%m)", DEPTH);
  end

  (* ram_style = "block" *) logic [WIDTH_A+WIDTH_B-1:0] memory[DEPTH];

  always_ff @(posedge clk_i) begin
    if (write_a_i) memory[write_addr_i][WIDTH_A-1:0] <= write_data_a_i;
    if (write_b_i) memory[write_addr_i][WIDTH_A+:WIDTH_B] <= write_data_b_i;
    if (read_i) begin
      {read_data_b_o, read_data_a_o} <= memory[read_addr_i];
      if (write_a_i && write_addr_i == read_addr_i) read_data_a_o <= 'x;
      if (write_b_i && write_addr_i == read_addr_i) read_data_b_o <= 'x;
    end
  end
endmodule
