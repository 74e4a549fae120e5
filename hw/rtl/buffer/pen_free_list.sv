// SPDX-License-Identifier: Apache-2.0
// The free cells, first freed first given, in block RAM. One can be taken and one returned in every cycle.
//
// The output register of the memory is the head of the list: a take reads the next cell, which stands there in the
// next cycle. The cells are filled in after reset, one for each value of `init_index_i`.
module pen_free_list
  import pen_pkg::*;
#(
  parameter int unsigned CELLS = 1024  // a power of two
) (
  input  logic        clk_i,
  input  logic        rst_i,
  input  logic        init_busy_i,
  input  logic [11:0] init_index_i,
  output logic        alloc_valid_o,
  output cell_t       alloc_cell_o,
  input  logic        alloc_take_i,    // only while alloc_valid_o
  input  logic        free_valid_i,    // only of a cell that was taken
  input  cell_t       free_cell_i
);
  localparam int unsigned CELL_W = $clog2(CELLS);
  if (CELLS < 4 || CELLS > 4096 || CELLS != 1 << CELL_W) begin : gen_check
    $fatal(1, "pen_free_list: CELLS must be a power of two, 4 to 4096, is %0d (%m)", CELLS);
  end

  logic [CELL_W:0]   write_q, read_q;  // one bit more than an address, so that full and empty differ
  logic              head_valid_q;
  logic              fill, write, advance;
  logic [CELL_W-1:0] write_data, head;

  assign fill       = init_busy_i && 32'(init_index_i) < CELLS;
  assign write      = fill || free_valid_i;
  assign write_data = fill ? init_index_i[CELL_W-1:0] : free_cell_i[CELL_W-1:0];
  assign advance    = (alloc_take_i || !head_valid_q) && write_q != read_q && !init_busy_i;

  assign alloc_valid_o = head_valid_q;
  assign alloc_cell_o  = cell_t'(head);

  pen_ram_1r1w #(.WIDTH(CELL_W), .DEPTH(CELLS)) u_memory (
    .clk_i,
    .write_i     (write),
    .write_addr_i(write_q[CELL_W-1:0]),
    .write_data_i(write_data),
    .read_i      (advance),
    .read_addr_i (read_q[CELL_W-1:0]),
    .read_data_o (head)
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      write_q      <= '0;
      read_q       <= '0;
      head_valid_q <= 1'b0;
    end else begin
      if (write) write_q <= write_q + 1'b1;
      if (advance) read_q <= read_q + 1'b1;
      if (advance) head_valid_q <= 1'b1;
      else if (alloc_take_i) head_valid_q <= 1'b0;
    end
  end

  logic unused;
  assign unused = &{1'b0, free_cell_i, init_index_i};
endmodule
