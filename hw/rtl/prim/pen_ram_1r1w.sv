// SPDX-License-Identifier: Apache-2.0
// Block RAM with one write and one read port.
//
// The word read appears one cycle after `read_i` and holds. A read of the word that is being written gives the old one,
// which costs comparators and registers where the memory of the device does not do so by itself. With READ_OLD 0 such
// a read gives anything; in tests, random bits.
module pen_ram_1r1w #(
  parameter int unsigned WIDTH = 32,
  parameter int unsigned DEPTH = 512,
  parameter bit READ_OLD = 1         // 0 if no such read happens, or what it gives is not used
) (
  input  logic                     clk_i,
  input  logic                     write_i,
  input  logic [$clog2(DEPTH)-1:0] write_addr_i,
  input  logic [WIDTH-1:0]         write_data_i,
  input  logic                     read_i,
  input  logic [$clog2(DEPTH)-1:0] read_addr_i,
  output logic [WIDTH-1:0]         read_data_o
);
  if (WIDTH < 1) begin : gen_check_width
    $fatal(1, "pen_ram_1r1w: WIDTH must be 1 or more, is %0d (%m)", WIDTH);
  end
  if (DEPTH < 2) begin : gen_check_depth
    $fatal(1, "pen_ram_1r1w: DEPTH must be 2 or more, is %0d (%m)", DEPTH);
  end

  (* ram_style = "block" *) logic [WIDTH-1:0] memory[DEPTH];

  always_ff @(posedge clk_i) begin
    if (write_i) memory[write_addr_i] <= write_data_i;
    if (read_i) begin
      read_data_o <= memory[read_addr_i];
      if (!READ_OLD && write_i && write_addr_i == read_addr_i) read_data_o <= 'x;
    end
  end
endmodule
