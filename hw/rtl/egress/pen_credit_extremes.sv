// SPDX-License-Identifier: Apache-2.0
// The highest and lowest credit of every class of every port, as observed. One unit serves all ports.
//
// A port has a sample where its credit may be an extreme, that is twice for each frame, and where it is read. It is
// taken in the port's turn and passes the extreme of its class, so a read knows of all that came before it:
//
//   cycle           | x           | x+1                                 | x+2                             | x+3
//   has_turn_i      | of the port | of others                           |                                 |
//   sample_i        | valid       |                                     |                                 |
//   bits_q          |             | valid, the extreme is read          | zero, if a read clears          |
//   seen_q          |             |                                     | it is stored if it goes further | zero is, if a read clears
//   sample_ready_o  | of the port | of others, or none if a read clears | the same                        | of others
//   ack_o           |             |                                     |                                 | of a read
//
// With 8 ports a sample waits for 16 cycles at most, a turn missed for a read included. From the begin of the shortest
// frame to its end there are 72, so none is lost: see pen_credit. A port that is alone has every other cycle, so that an extreme
// is stored before it is read again.
module pen_credit_extremes
  import pen_pkg::*;
#(
  parameter int unsigned PORTS = 4
) (
  input  logic                       clk_i,
  input  logic                       rst_i,
  input  logic                       init_busy_i,
  input  init_index_t                init_index_i,
  input  logic [PORTS-1:0]           has_turn_i,     // one bit
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

  localparam int unsigned INDEX_W = PORT_W + 1 + $bits(class_t);

  credit_sample_t     sample;
  logic [PORT_W-1:0]  port, port_q;
  class_t             class_q;
  logic               low_q, valid_q, read_q, zero_q;
  bits_t              bits_q, stored;
  logic [INDEX_W-1:0] index, seen_index_q;
  bits_t              seen_q, stored_q;
  logic               seen_valid_q, seen_read_q, seen_zero_q;
  logic               now, clears, takes, above, extreme;

  always_comb begin
    sample = '0;
    port   = '0;
    for (int unsigned p = 0; p < PORTS; p++) begin
      if (has_turn_i[p]) sample |= sample_i[p];
      if (has_turn_i[p]) port   |= PORT_W'(p);
    end
  end
  assign sample_read_o = read_q || seen_read_q || ack_o ? '0 : read_i;

  always_comb begin
    for (int unsigned p = 0; p < PORTS; p++) sample_ready_o[p] = has_turn_i[p] && takes;
  end

  assign now     = read_which_i == 2'd0;
  assign clears  = read_q && clear_i && !now;
  assign takes   = !clears && !zero_q && !(PORTS == 1 && valid_q);
  assign index   = {port_q, low_q, class_q};
  assign above   = seen_q > stored_q;
  assign extreme = above != seen_index_q[$bits(class_t)] && !(seen_read_q && now);

  // Each turn has all ports, so while the tables start the port is in eight cycles whichever it has to be.
  always_ff @(posedge clk_i) begin
    bits_q <= init_busy_i || clears ? '0 : sample.bits;
    if (!clears) begin
      port_q  <= port;
      low_q   <= init_busy_i ? init_index_i[6] : sample.kind == CREDIT_READ ? read_which_i == 2'd2
                 : sample.kind == CREDIT_LOW;
      class_q <= init_busy_i ? init_index_i[5:3] : sample.traffic_class;
    end
    zero_q       <= init_busy_i || clears;
    seen_index_q <= index;
    seen_q       <= bits_q;
    stored_q     <= stored;
    seen_zero_q  <= zero_q;
    data_o       <= !seen_read_q ? '0 : now || extreme ? 32'(seen_q) : 32'(stored_q);
    if (rst_i) begin
      {valid_q, read_q, seen_valid_q, seen_read_q, ack_o} <= '0;
    end else begin
      valid_q      <= sample.valid && takes;
      read_q       <= sample.valid && takes && sample.kind == CREDIT_READ;
      seen_valid_q <= valid_q;
      seen_read_q  <= read_q;
      ack_o        <= seen_read_q;
    end
  end

  pen_lutram_1r1w #(.WIDTH(CREDIT_BITS_W), .DEPTH(2 * CLASSES << PORT_W)) u_extremes (
    .clk_i,
    .write_i     (seen_zero_q || (seen_valid_q && extreme)),
    .write_addr_i(seen_index_q),
    .write_data_i(seen_q),
    .read_addr_i (index),
    .read_data_o (stored)
  );

  logic unused;
  assign unused = &{1'b0, init_index_i};
endmodule
