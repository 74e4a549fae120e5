// SPDX-License-Identifier: Apache-2.0
// Serial transmitter: one start bit, eight data bits, lowest first, one stop bit, no parity.
module pen_uart_tx #(
  parameter int unsigned BIT_CYCLES = 125  // 8 to 65535
) (
  input  logic       clk_i,
  input  logic       rst_i,
  input  logic       valid_i,
  output logic       ready_o,
  input  logic [7:0] data_i,
  output logic       serial_o  // idle high
);
  if (BIT_CYCLES < 8 || BIT_CYCLES > 65535)
    $fatal(1, "pen_uart_tx: BIT_CYCLES must be 8 to 65535, is %0d (%m)", BIT_CYCLES);

  localparam int unsigned COUNT_W = $clog2(BIT_CYCLES);
  localparam logic [3:0]  BITS    = 4'd10;

  logic [COUNT_W-1:0] count_q;  // cycles of this bit after this one
  logic [3:0]         left_q;   // bits still to send, this one included
  logic [8:0]         bits_q;   // this one is the lowest

  assign ready_o  = left_q == '0;
  assign serial_o = ready_o || bits_q[0];

  always_ff @(posedge clk_i) begin
    count_q <= count_q == '0 ? COUNT_W'(BIT_CYCLES - 1) : count_q - 1'b1;
    if (ready_o) begin
      count_q <= COUNT_W'(BIT_CYCLES - 1);
      bits_q  <= {data_i, 1'b0};
      if (valid_i) left_q <= BITS;
    end else if (count_q == '0) begin
      bits_q <= {1'b1, bits_q[8:1]};
      left_q <= left_q - 1'b1;
    end
    if (rst_i) left_q <= '0;
  end
endmodule
