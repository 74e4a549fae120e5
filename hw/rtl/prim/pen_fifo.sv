// SPDX-License-Identifier: Apache-2.0
// First-in first-out queue in lookup-table memory; the oldest word stands at the output without being asked for.
module pen_fifo #(
  parameter int unsigned WIDTH = 8,
  parameter int unsigned DEPTH = 16  // a power of two, 2 or more
) (
  input  logic                   clk_i,
  input  logic                   rst_i,
  input  logic                   valid_i,
  output logic                   ready_o,
  input  logic [WIDTH-1:0]       data_i,
  output logic                   valid_o,
  input  logic                   ready_i,
  output logic [WIDTH-1:0]       data_o,
  output logic [$clog2(DEPTH):0] count_o
);
  localparam int unsigned ADDR_W = $clog2(DEPTH);
  if (DEPTH < 2 || DEPTH != 1 << ADDR_W) begin : gen_check_depth
    $fatal(1, "pen_fifo: DEPTH must be a power of two, 2 or more, is %0d (%m)", DEPTH);
  end

  logic [ADDR_W:0] write_q, read_q;  // one bit more than an address, so that full and empty differ

  assign count_o = write_q - read_q;
  assign ready_o = write_q != {~read_q[ADDR_W], read_q[ADDR_W-1:0]};  // without the difference, which takes longer
  assign valid_o = write_q != read_q;

  pen_lutram_1r1w #(.WIDTH(WIDTH), .DEPTH(DEPTH)) u_memory (
    .clk_i,
    .write_i     (valid_i && ready_o),
    .write_addr_i(write_q[ADDR_W-1:0]),
    .write_data_i(data_i),
    .read_addr_i (read_q[ADDR_W-1:0]),
    .read_data_o (data_o)
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      write_q <= '0;
      read_q  <= '0;
    end else begin
      if (valid_i && ready_o) write_q <= write_q + 1'b1;
      if (valid_o && ready_i) read_q <= read_q + 1'b1;
    end
  end

`ifdef FORMAL
  // Contract: 1. never more than DEPTH words; 2. a word offered stays until it is taken; 3. words leave in the order in
  // which they came, unchanged: the word at an arbitrary place of the stream is followed through the memory.
  logic             f_past_q = 1'b0;
  logic [ADDR_W:0]  f_place_q, f_depth;  // an arbitrary constant; how many words stand before that place
  logic             f_inside_q;
  logic [WIDTH-1:0] f_word_q;

  assign f_depth = f_place_q - read_q;

  always_ff @(posedge clk_i) begin
    f_past_q  <= 1'b1;
    f_place_q <= f_place_q;
    if (rst_i) begin
      f_inside_q <= 1'b0;
    end else if (valid_i && ready_o && write_q == f_place_q) begin
      f_inside_q <= 1'b1;
      f_word_q   <= data_i;
    end else if (valid_o && ready_i && read_q == f_place_q) begin
      f_inside_q <= 1'b0;
    end
  end

  always_comb begin
    if (!f_past_q) assume (rst_i);
    else begin
      assert (count_o <= (ADDR_W + 1)'(DEPTH));
      assert (f_inside_q == (f_depth < count_o));
      if (f_inside_q) assert (u_memory.memory[f_place_q[ADDR_W-1:0]] == f_word_q);
      if (f_inside_q && f_depth == '0) assert (valid_o && data_o == f_word_q);
    end
  end

  always_ff @(posedge clk_i) begin
    if (f_past_q && !$past(rst_i)) begin
      if ($past(valid_o && !ready_i)) assert (valid_o && data_o == $past(data_o));
      if ($past(valid_i && ready_o)) assert (valid_o);
      cover (count_o == '0 && $past(count_o) == 1);
      cover (count_o == (ADDR_W + 1)'(DEPTH));
    end
  end
`endif
endmodule
