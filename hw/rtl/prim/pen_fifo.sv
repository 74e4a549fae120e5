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
  assign ready_o = count_o != (ADDR_W + 1)'(DEPTH);
  assign valid_o = count_o != '0;

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
endmodule
