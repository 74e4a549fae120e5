// SPDX-License-Identifier: Apache-2.0
// TransmissionOverrun of 802.1Q, per traffic class: how often a gate closed while a frame of its class was being sent.
//
// A frame starts only if it ends in time, so this happens when the clock is set or when gates are enabled.
module pen_overruns
  import pen_pkg::*;
#(
  parameter int unsigned WIDTH = 16              // a counter that is full stays so
) (
  input  logic               clk_i,
  input  logic               rst_i,
  input  logic               init_busy_i,
  input  init_index_t        init_index_i,
  input  logic [CLASSES-1:0] open_i,             // gate states
  input  logic [CLASSES-1:0] sending_i,          // bit k: a frame of class k is on its way out; one bit at most
  input  logic               read_i,             // held until ack_o
  input  logic               clear_i,            // with read_i: the counter starts anew
  input  class_t             read_class_i,
  output logic               ack_o,
  output logic [WIDTH-1:0]   data_o              // zero without ack_o
);
  logic [CLASSES-1:0] open_q;
  logic               overrun_q;
  class_t             class_d, class_q, address;
  logic [WIDTH-1:0]   count;
  logic               read;

  always_comb begin
    class_d = '0;
    for (int unsigned k = 0; k < CLASSES; k++) class_d |= sending_i[k] ? class_t'(k) : '0;
  end

  assign read    = read_i && !overrun_q && !ack_o;
  assign address = overrun_q ? class_q : read_class_i;

  pen_lutram_1r1w #(.WIDTH(WIDTH), .DEPTH(CLASSES)) u_counts (
    .clk_i,
    .write_i     (init_busy_i || (overrun_q && count != '1) || (read && clear_i)),
    .write_addr_i(init_busy_i ? init_index_i[2:0] : address),
    .write_data_i(init_busy_i || !overrun_q ? '0 : count + 1'b1),
    .read_addr_i (address),
    .read_data_o (count)
  );

  always_ff @(posedge clk_i) begin
    open_q  <= open_i;
    class_q <= class_d;
    if (rst_i) begin
      overrun_q <= 1'b0;
      ack_o     <= 1'b0;
    end else begin
      overrun_q <= (sending_i & open_q & ~open_i) != '0;
      ack_o     <= read;
    end
    data_o <= read ? count : '0;
  end

  logic unused;
  assign unused = &{1'b0, init_index_i};
endmodule
