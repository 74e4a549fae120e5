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
  input  init_index_t init_index_i,
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

  // Neither an empty list is read nor a full one written.
  pen_ram_1r1w #(.WIDTH(CELL_W), .DEPTH(CELLS), .READ_OLD(0)) u_memory (
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

`ifdef FORMAL
  // Contract, for an environment that returns only what it took: 1. no cell is given while it is taken; 2. each cell is
  // in one place and one only, waiting, at the head, or taken; 3. while cells wait, one can be taken in every cycle.
  logic              f_past_q = 1'b0;
  init_index_t       f_filled_q;           // cells filled in so far, or more
  logic              f_ready_q;            // the filling has ended
  logic [CELLS-1:0]  f_taken_q, f_waiting;
  logic [CELL_W:0]   f_count;
  logic [CELL_W-1:0] f_cell;               // an arbitrary constant, for the covers

  assign f_count = write_q - read_q;

  always_ff @(posedge clk_i) begin
    f_past_q <= 1'b1;
    f_cell   <= f_cell;
    if (rst_i) begin
      f_filled_q <= '0;
      f_ready_q  <= 1'b0;
      f_taken_q  <= '0;
    end else begin
      if (init_busy_i && f_filled_q != '1) f_filled_q <= f_filled_q + 1'b1;
      if (!init_busy_i) f_ready_q <= 1'b1;
      if (free_valid_i) f_taken_q[free_cell_i[CELL_W-1:0]] <= 1'b0;
      if (alloc_take_i) f_taken_q[head] <= 1'b1;
    end
  end

  always_comb begin
    logic [CELL_W-1:0] place;
    f_waiting = '0;
    for (int unsigned i = 0; i < CELLS; i++) begin
      place = CELL_W'(i) - read_q[CELL_W-1:0];  // from the oldest on
      if ({1'b0, place} < f_count) f_waiting[u_memory.memory[i]] = 1'b1;
    end
  end

  always_comb begin
    if (!f_past_q) assume (rst_i);
    else begin
      if (!rst_i) begin
        assume (init_busy_i || 32'(f_filled_q) >= CELLS);
        assume (!(init_busy_i && f_ready_q));
        if (init_busy_i) assume (init_index_i == f_filled_q);
      end
      if (alloc_take_i) assume (alloc_valid_o);
      if (free_valid_i) assume (32'(free_cell_i) < CELLS && f_taken_q[free_cell_i[CELL_W-1:0]]);

      if (alloc_valid_o) assert (!f_taken_q[head]);
      assert (32'(f_count) <= CELLS);
      assert (!f_ready_q || 32'(f_filled_q) >= CELLS);
      if (!f_ready_q) assert (!head_valid_q && read_q == '0 && f_taken_q == '0);
      if (!f_ready_q) assert (32'(write_q) == (32'(f_filled_q) < CELLS ? 32'(f_filled_q) : CELLS));
      // As many places as cells, and each cell is in one: so each is in one only.
      assert (32'(f_count) + 32'(head_valid_q) + $countones(f_taken_q)
          == (32'(f_filled_q) < CELLS ? 32'(f_filled_q) : CELLS));
      for (int unsigned c = 0; c < CELLS; c++)
        if (c < 32'(f_filled_q)) assert (f_waiting[c] || (head_valid_q && 32'(head) == c) || f_taken_q[c]);
    end
  end

  always_ff @(posedge clk_i) begin
    if (f_past_q && !rst_i && !$past(rst_i) && $past(f_ready_q && f_count != '0)) assert (alloc_valid_o);
    if (f_past_q && !rst_i) begin
      cover (&f_taken_q);
      cover (f_taken_q[f_cell] && free_valid_i && free_cell_i[CELL_W-1:0] == f_cell && alloc_take_i);
    end
  end
`endif
endmodule
