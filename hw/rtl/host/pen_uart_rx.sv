// SPDX-License-Identifier: Apache-2.0
// Serial receiver: one start bit, eight data bits, lowest first, one stop bit, no parity.
//
// A bit is read in its middle. A byte whose stop bit is missing is reported as an error and has no meaning.
module pen_uart_rx #(
  parameter int unsigned BIT_CYCLES = 125  // 8 to 65535
) (
  input  logic       clk_i,
  input  logic       rst_i,
  input  logic       serial_i,  // of no clock; idle high
  output logic       valid_o,   // one cycle
  output logic [7:0] data_o,
  output logic       error_o    // with valid_o
);
  if (BIT_CYCLES < 8 || BIT_CYCLES > 65535)
    $fatal(1, "pen_uart_rx: BIT_CYCLES must be 8 to 65535, is %0d (%m)", BIT_CYCLES);

  localparam int unsigned COUNT_W = $clog2(BIT_CYCLES);

  typedef enum logic [1:0] {IDLE, START, DATA, STOP} state_e;

  state_e             state_q, state_d;
  logic [COUNT_W-1:0] count_q, count_d;  // cycles until the next bit is read
  logic [2:0]         left_q, left_d;    // data bits after this one
  logic [7:0]         data_q;
  logic               serial, read;

  pen_sync #(.RESET_VALUE(1'b1)) u_sync (.clk_i, .rst_i, .data_i(serial_i), .data_o(serial));

  assign read = count_q == '0;

  always_comb begin
    state_d = state_q;
    count_d = read ? COUNT_W'(BIT_CYCLES - 1) : count_q - 1'b1;
    left_d  = left_q;
    unique case (state_q)
      IDLE: begin
        count_d = COUNT_W'(BIT_CYCLES / 2 - 1);
        left_d  = 3'd7;
        if (!serial) state_d = START;
      end
      START: if (read) state_d = serial ? IDLE : DATA;  // a spike is no start bit
      DATA: if (read) begin
        left_d = left_q - 1'b1;
        if (left_q == '0) state_d = STOP;
      end
      STOP: if (read) state_d = IDLE;
    endcase
  end

  always_ff @(posedge clk_i) begin
    count_q <= count_d;
    left_q  <= left_d;
    if (state_q == DATA && read) data_q <= {serial, data_q[7:1]};
    valid_o <= state_q == STOP && read && !rst_i;
    error_o <= !serial;
    state_q <= rst_i ? IDLE : state_d;
  end

  assign data_o = data_q;
endmodule
