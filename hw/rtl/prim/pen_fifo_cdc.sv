// SPDX-License-Identifier: Apache-2.0
// FIFO between two clocks. The oldest word stands at the output without being asked for.
//
// The pointers cross as Gray code, so a pointer caught while it changes is the old or the new one. A word written in
// source cycle w is at the output two to three destination cycles after the write pointer has changed:
//
//     src_clk (= dst_clk)   | w | w+1 | w+2 | w+3 |
//     src_valid_i & ready_o | 1 |     |     |     |
//     write_gray_q              | new |           |
//     write_gray (synced)                   | new |
//     dst_valid_o                           |  1  |
//
// Both sides have to be reset together; each side's reset is synchronous to its own clock.
// Paths between the clocks are constrained to the period of the faster one: constraints/ holds files for several tools.
module pen_fifo_cdc #(
  parameter int unsigned WIDTH = 8,
  parameter int unsigned DEPTH = 32  // a power of two, 4 or more; 8 or more for a word in each cycle
) (
  input  logic             src_clk_i,
  input  logic             src_rst_i,
  input  logic             src_valid_i,
  output logic             src_ready_o,
  input  logic [WIDTH-1:0] src_data_i,
  input  logic             dst_clk_i,
  input  logic             dst_rst_i,
  output logic             dst_valid_o,
  input  logic             dst_ready_i,
  output logic [WIDTH-1:0] dst_data_o
);
  localparam int unsigned ADDR_W = $clog2(DEPTH);
  if (DEPTH < 4 || DEPTH != 1 << ADDR_W) begin : gen_check_depth
    $fatal(1, "pen_fifo_cdc: DEPTH must be a power of two, 4 or more, is %0d (%m)", DEPTH);
  end

  typedef logic [ADDR_W:0] pointer_t;  // one bit more than an address, so that full and empty differ

  function automatic pointer_t gray(input pointer_t value);
    return value ^ (value >> 1);
  endfunction

  pointer_t write_q, write_gray_q, write_gray;  // the last one as the destination sees it
  pointer_t read_q, read_gray_q, read_gray;     // the last one as the source sees it
  logic     write, read;

  // Source. Full: the pointers are DEPTH apart, which in Gray code inverts the two upper bits.
  pointer_t write_next;
  assign write_next  = write_q + 1'b1;
  assign src_ready_o = write_gray_q != {~read_gray[ADDR_W-:2], read_gray[ADDR_W-2:0]};
  assign write       = src_valid_i && src_ready_o;

  always_ff @(posedge src_clk_i) begin
    if (src_rst_i) begin
      write_q      <= '0;
      write_gray_q <= '0;
    end else if (write) begin
      write_q      <= write_next;
      write_gray_q <= gray(write_next);
    end
  end

  pen_sync #(.WIDTH(ADDR_W + 1)) u_sync_read (
    .clk_i (src_clk_i),
    .rst_i (src_rst_i),
    .data_i(read_gray_q),
    .data_o(read_gray)
  );

  // Destination.
  pointer_t read_next;
  assign read_next   = read_q + 1'b1;
  assign dst_valid_o = read_gray_q != write_gray;
  assign read        = dst_valid_o && dst_ready_i;

  always_ff @(posedge dst_clk_i) begin
    if (dst_rst_i) begin
      read_q      <= '0;
      read_gray_q <= '0;
    end else if (read) begin
      read_q      <= read_next;
      read_gray_q <= gray(read_next);
    end
  end

  pen_sync #(.WIDTH(ADDR_W + 1)) u_sync_write (
    .clk_i (dst_clk_i),
    .rst_i (dst_rst_i),
    .data_i(write_gray_q),
    .data_o(write_gray)
  );

  // The word that is read was written before its pointer crossed and is not overwritten before it has been read.
  pen_lutram_1r1w #(.WIDTH(WIDTH), .DEPTH(DEPTH)) u_memory (
    .clk_i       (src_clk_i),
    .write_i     (write),
    .write_addr_i(write_q[ADDR_W-1:0]),
    .write_data_i(src_data_i),
    .read_addr_i (read_q[ADDR_W-1:0]),
    .read_data_o (dst_data_o)
  );

`ifdef FORMAL
  // Contract, for any two clocks: 1. each side's view of the other's pointer lags but never leads, so the FIFO neither
  // overflows nor gives a word that it does not hold; 2. one bit at a time of a pointer changes; 3. words leave in the
  // order in which they came, unchanged: the word at an arbitrary place of the stream is followed through the memory.
  function automatic pointer_t f_binary(input pointer_t value);
    pointer_t result;
    for (int unsigned i = 0; i <= ADDR_W; i++) result[i] = ^(value >> i);
    return result;
  endfunction

  logic     f_src_reset_q = 1'b0, f_dst_reset_q = 1'b0, f_running;  // each side has been reset
  pointer_t f_place_q;                                              // an arbitrary constant
  logic [WIDTH-1:0] f_word_q;
  pointer_t f_w1, f_w2, f_r1, f_r2;
  logic     f_inside;

  assign f_running = f_src_reset_q && f_dst_reset_q;
  assign f_w1      = f_binary(u_sync_write.stage_q[0]);
  assign f_w2      = f_binary(u_sync_write.stage_q[1]);
  assign f_r1      = f_binary(u_sync_read.stage_q[0]);
  assign f_r2      = f_binary(u_sync_read.stage_q[1]);
  assign f_inside  = pointer_t'(f_place_q - read_q) < pointer_t'(write_q - read_q);

  always_ff @(posedge src_clk_i) begin
    f_place_q     <= f_place_q;
    f_src_reset_q <= 1'b1;
    if (write && write_q == f_place_q) f_word_q <= src_data_i;
  end
  always_ff @(posedge dst_clk_i) f_dst_reset_q <= 1'b1;

  always_comb begin
    assume (src_rst_i == !f_running);
    assume (dst_rst_i == !f_running);
    if (f_running) begin
      assert (write_gray_q == gray(write_q));
      assert (read_gray_q == gray(read_q));
      assert ($countones(gray(write_next) ^ write_gray_q) == 1);
      assert ($countones(gray(read_next) ^ read_gray_q) == 1);
      // In the order r2, r1, read, w2, w1, write, all within DEPTH.
      assert (pointer_t'(write_q - f_r2) <= pointer_t'(DEPTH));
      assert (pointer_t'(write_q - f_r2) >= pointer_t'(f_w1 - f_r2));
      assert (pointer_t'(f_w1 - f_r2) >= pointer_t'(f_w2 - f_r2));
      assert (pointer_t'(f_w2 - f_r2) >= pointer_t'(read_q - f_r2));
      assert (pointer_t'(read_q - f_r2) >= pointer_t'(f_r1 - f_r2));
      if (f_inside) assert (u_memory.memory[f_place_q[ADDR_W-1:0]] == f_word_q);
      if (dst_valid_o) assert (write_q != read_q);
      if (dst_valid_o && read_q == f_place_q) assert (dst_data_o == f_word_q);
    end else begin
      if (f_src_reset_q) assert (write_q == '0 && write_gray_q == '0 && f_r1 == '0 && f_r2 == '0);
      if (f_dst_reset_q) assert (read_q == '0 && read_gray_q == '0 && f_w1 == '0 && f_w2 == '0);
    end
    cover (f_running && !src_ready_o);
    cover (f_running && dst_valid_o && read_q == pointer_t'(DEPTH));
  end
`endif
endmodule
