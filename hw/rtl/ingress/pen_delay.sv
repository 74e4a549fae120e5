// SPDX-License-Identifier: Apache-2.0
// Carries a word past a pipeline: out again CYCLES later. A ring in lookup-table memory in place of a row of registers.
module pen_delay #(
  parameter int unsigned WIDTH = 8,
  parameter int unsigned CYCLES = 4  // 2 or more
) (
  input  logic             clk_i,
  input  logic             rst_i,
  input  logic             valid_i,
  input  logic [WIDTH-1:0] data_i,
  output logic             valid_o,
  output logic [WIDTH-1:0] data_o   // holds until the next word
);
  localparam int unsigned ADDR_W = $clog2(CYCLES);
  if (CYCLES < 2) begin : gen_check
    $fatal(1, "pen_delay: CYCLES must be 2 or more, is %0d (%m)", CYCLES);
  end

  logic [ADDR_W-1:0] position_q;
  logic [CYCLES-1:0] valid_q;  // bit i: a word entered i+1 cycles ago
  logic [WIDTH-1:0]  data;

  pen_lutram_1r1w #(.WIDTH(WIDTH), .DEPTH(1 << ADDR_W)) u_ring (
    .clk_i,
    .write_i     (valid_i),
    .write_addr_i(position_q),
    .write_data_i(data_i),
    .read_addr_i (position_q - ADDR_W'(CYCLES - 1)),
    .read_data_o (data)
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      position_q <= '0;
      valid_q    <= '0;
    end else begin
      position_q <= position_q + 1'b1;
      valid_q    <= {valid_q[CYCLES-2:0], valid_i};
    end
    if (valid_q[CYCLES-2]) data_o <= data;
  end

  assign valid_o = valid_q[CYCLES-1];
endmodule
