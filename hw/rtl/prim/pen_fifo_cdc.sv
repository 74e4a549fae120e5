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
// Constrain the paths between the clocks to the period of the faster one (set_max_delay -datapath_only).
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
endmodule
