// SPDX-License-Identifier: Apache-2.0
// The highest and lowest credit of every class of every port, as observed. One unit serves all ports.
//
// A port has a sample where its credit may be an extreme, that is twice for each frame, and where it is read. It is
// taken in the port's turn and passes the extreme of its class, so a read knows of all that came before it:
//
//   cycle           | x           | x+1                                 | x+2
//   turn_i          | of the port | of others                           |
//   sample_i        | valid       |                                     |
//   bits_q          |             | it is stored if it goes further     | zero is, if a read clears
//   sample_ready_o  | of the port | of others, or none if a read clears | of others
//   ack_o           |             |                                     | of a read
//
// With 8 ports a sample waits for 16 cycles at most, a turn missed for a read included. From the begin of the shortest
// frame to its end there are 72, so none is lost: see pen_credit.
module pen_credit_extremes
  import pen_pkg::*;
#(
  parameter int unsigned PORTS = 4
) (
  input  logic                       clk_i,
  input  logic                       rst_i,
  input  logic                       init_busy_i,
  input  init_index_t                init_index_i,
  input  port_t                      turn_i,         // below PORTS
  output logic           [PORTS-1:0] sample_read_o,  // a sample for a read is wanted
  input  credit_sample_t [PORTS-1:0] sample_i,
  output logic           [PORTS-1:0] sample_ready_o,
  input  logic           [PORTS-1:0] read_i,         // of one port; held until ack_o
  input  logic                       clear_i,        // with read_i: highest and lowest start anew
  input  logic           [1:0]       read_which_i,   // 0 what the sample has, 1 highest, 2 lowest
  output logic                       ack_o,
  output logic           [31:0]      data_o          // bits, signed; zero without ack_o
);
  if (PORTS < 1 || PORTS > MAX_PORTS) begin : gen_check
    $fatal(1, "pen_credit_extremes: PORTS must be 1 to %0d, is %0d (%m)", MAX_PORTS, PORTS);
  end

  localparam int unsigned PORT_W = PORTS > 1 ? $clog2(PORTS) : 1;
  typedef logic signed [CREDIT_BITS_W-1:0] bits_t;

  logic [PORT_W-1:0] port_q;
  credit_sample_t    sample;
  class_t            class_q;
  bits_t             bits_q, stored;
  logic              low_q, valid_q, read_q, zero_q;
  logic              now, above, extreme, clears;

  assign sample        = sample_i[PORTS > 1 ? PORT_W'(turn_i) : '0];
  assign sample_read_o = read_q || ack_o ? '0 : read_i;

  always_comb begin
    for (int unsigned p = 0; p < PORTS; p++) sample_ready_o[p] = turn_i == port_t'(p) && !clears;
  end

  assign now     = read_q && read_which_i == 2'd0;
  assign clears  = read_q && clear_i && !now;
  assign above   = bits_q > stored;
  assign extreme = above != low_q && !now;

  // Each turn has all ports, so while the tables start the port is in eight cycles whichever it has to be.
  always_ff @(posedge clk_i) begin
    bits_q <= init_busy_i || clears ? '0 : sample.bits;
    if (!clears) begin
      port_q  <= PORT_W'(turn_i);
      low_q   <= init_busy_i ? init_index_i[6] : sample.kind == CREDIT_READ ? read_which_i == 2'd2
                 : sample.kind == CREDIT_LOW;
      class_q <= init_busy_i ? init_index_i[5:3] : sample.traffic_class;
    end
    zero_q  <= init_busy_i || clears;
    data_o  <= !read_q ? '0 : now || extreme ? 32'(bits_q) : 32'(stored);
    if (rst_i) begin
      valid_q <= 1'b0;
      read_q  <= 1'b0;
      ack_o   <= 1'b0;
    end else begin
      valid_q <= sample.valid && !clears;
      read_q  <= sample.valid && !clears && sample.kind == CREDIT_READ;
      ack_o   <= read_q;
    end
  end

  pen_lutram_1r1w #(.WIDTH(CREDIT_BITS_W), .DEPTH(2 * CLASSES << PORT_W)) u_extremes (
    .clk_i,
    .write_i     (zero_q || (valid_q && extreme)),
    .write_addr_i({port_q, low_q, class_q}),
    .write_data_i(bits_q),
    .read_addr_i ({port_q, low_q, class_q}),
    .read_data_o (stored)
  );

  logic unused;
  assign unused = &{1'b0, init_index_i};
endmodule
