// SPDX-License-Identifier: Apache-2.0
// Counters in one block RAM: one of them can be advanced in every cycle, and none is ever missed.
//
//   cycle          0      1      2      3
//   add_valid_i   add
//   RAM                  value
//   value_q                     sum
//   sum_q                              written
//
// A counter that is advanced again before its sum can be read back takes the sum on its way. That needs a choice for each
// bit; with SPACED 1 there is none, as no counter is advanced again so soon, and a read waits for its counter's sum.
module pen_counter_bank #(
  parameter int unsigned WIDTH = 32,
  parameter int unsigned DEPTH = 128,
  parameter int unsigned ADD_W = 1,
  parameter bit          SPACED = 0                // no counter is advanced twice within three cycles
) (
  input  logic                     clk_i,
  input  logic                     rst_i,
  input  logic                     clear_i,        // after a reset, with every index: clears all counters; no adds meanwhile
  input  logic [$clog2(DEPTH)-1:0] clear_index_i,
  input  logic                     add_valid_i,
  input  logic [$clog2(DEPTH)-1:0] add_index_i,
  input  logic [ADD_W-1:0]     add_i,
  input  logic                     read_i,         // taken when read_ready_o, in a cycle without an add
  output logic                     read_ready_o,
  input  logic [$clog2(DEPTH)-1:0] read_index_i,
  output logic                     read_valid_o,   // one cycle after the read was taken
  output logic [WIDTH-1:0]         read_data_o,
  output logic                     carry_o,        // the counter that is being written has begun again from zero
  output logic [$clog2(DEPTH)-1:0] carry_index_o
);
  localparam int unsigned INDEX_W = $clog2(DEPTH);

  logic               ram_valid_q, value_valid_q, sum_valid_q, read_q;
  logic [INDEX_W-1:0] ram_index_q, value_index_q, sum_index_q;
  logic [ADD_W-1:0]   ram_add_q, value_add_q;
  logic [WIDTH-1:0]   ram_value, value_d, value_q, sum, sum_q;

  // A sum being written is taken on its way.
  pen_ram_1r1w #(.WIDTH(WIDTH), .DEPTH(DEPTH), .READ_OLD(0)) u_memory (
    .clk_i,
    .write_i     (clear_i || value_valid_q),
    .write_addr_i(clear_i ? clear_index_i : value_index_q),
    .write_data_i(sum),
    .read_i      (add_valid_i || read_i),
    .read_addr_i (add_valid_i ? add_index_i : read_index_i),
    .read_data_o (ram_value)
  );

  logic carry;

  assign {carry, sum}  = {1'b0, value_q} + (WIDTH + 1)'(value_add_q);
  assign carry_o       = value_valid_q && carry;
  assign carry_index_o = value_index_q;

  always_comb begin
    value_d = ram_value;
    if (!SPACED && sum_valid_q && sum_index_q == ram_index_q) value_d = sum_q;
    if (!SPACED && value_valid_q && value_index_q == ram_index_q) value_d = sum;
  end

  always_ff @(posedge clk_i) begin
    ram_valid_q   <= add_valid_i && !rst_i && !clear_i;
    value_valid_q <= ram_valid_q && !rst_i && !clear_i;
    sum_valid_q   <= value_valid_q && !rst_i && !clear_i;
    read_q        <= read_i && read_ready_o && !rst_i;
    // A read must also pass the additions that are on their way, so the index moves on with it.
    if (add_valid_i || read_i) ram_index_q <= add_valid_i ? add_index_i : read_index_i;
    if (add_valid_i) ram_add_q <= add_i;
    if (ram_valid_q) begin
      value_q       <= value_d;
      value_index_q <= ram_index_q;
      value_add_q   <= ram_add_q;
    end
    if (value_valid_q) begin
      sum_q       <= sum;
      sum_index_q <= value_index_q;
    end
    if (rst_i || clear_i) begin                    // so that the sum is what is written to clear
      value_q     <= '0;
      value_add_q <= '0;
    end
  end

  assign read_ready_o = !add_valid_i && !(SPACED && ((ram_valid_q && ram_index_q == read_index_i)
                                                     || (value_valid_q && value_index_q == read_index_i)));
  assign read_valid_o = read_q;
  assign read_data_o = value_d;
endmodule
