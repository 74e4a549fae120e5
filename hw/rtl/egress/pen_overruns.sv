// SPDX-License-Identifier: Apache-2.0
// TransmissionOverrun of 802.1Q, per port and traffic class: how often a gate closed while a frame of its class was being
// sent. One unit serves all ports, each in its turn.
//
// A frame starts only if it ends in time, so this happens when the clock is set or when gates are enabled.
module pen_overruns
  import pen_pkg::*;
#(
  parameter int unsigned PORTS = 4,
  parameter int unsigned WIDTH = 16              // a counter that is full stays so
) (
  input  logic                clk_i,
  input  logic                rst_i,
  input  logic                init_busy_i,
  input  init_index_t         init_index_i,
  input  port_t               turn_i,            // below PORTS
  input  logic [PORTS-1:0]    overrun_i,         // up to three within a frame's time are told one by one
  input  class_t [PORTS-1:0]  class_i,           // with overrun_i, of that frame
  input  logic [PORTS-1:0]    read_i,            // of one port; held until ack_o
  input  logic                clear_i,           // with read_i: the counter starts anew
  input  class_t              read_class_i,
  output logic                ack_o,
  output logic [WIDTH-1:0]    data_o             // zero without ack_o
);
  if (PORTS < 1 || PORTS > MAX_PORTS) begin : gen_check
    $fatal(1, "pen_overruns: PORTS must be 1 to %0d, is %0d (%m)", MAX_PORTS, PORTS);
  end

  localparam int unsigned PORT_W = PORTS > 1 ? $clog2(PORTS) : 1;
  localparam int unsigned INDEX_W = PORT_W + $bits(class_t);
  logic   [PORTS-1:0][1:0] waiting_q;
  class_t [PORTS-1:0]      class_q;
  logic [PORT_W-1:0]       port;
  logic [INDEX_W-1:0]      address;
  logic [WIDTH-1:0]        count;
  logic                    counts, read;

  assign port    = PORTS > 1 ? PORT_W'(turn_i) : '0;
  assign counts  = waiting_q[port] != '0;
  assign read    = read_i[port] && !counts && !ack_o;
  assign address = init_busy_i ? init_index_i[INDEX_W-1:0] : {port, counts ? class_q[port] : read_class_i};

  pen_lutram_1r1w #(.WIDTH(WIDTH), .DEPTH(1 << INDEX_W)) u_counts (
    .clk_i,
    .write_i     (init_busy_i || (counts && count != '1) || (read && clear_i)),
    .write_addr_i(address),
    .write_data_i(init_busy_i || !counts ? '0 : count + 1'b1),
    .read_addr_i (address),
    .read_data_o (count)
  );

  always_ff @(posedge clk_i) begin
    for (int unsigned p = 0; p < PORTS; p++) begin
      waiting_q[p] <= waiting_q[p] + 2'(overrun_i[p]) - 2'(counts && port == PORT_W'(p));
      if (overrun_i[p]) class_q[p] <= class_i[p];
    end
    data_o <= read ? count : '0;
    ack_o  <= read;
    if (rst_i) begin
      waiting_q <= '0;
      ack_o     <= 1'b0;
    end
  end

  logic unused;
  assign unused = &{1'b0, turn_i, init_index_i};
endmodule
