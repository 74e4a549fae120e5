// SPDX-License-Identifier: Apache-2.0
// TransmissionOverrun of 802.1Q, per port and traffic class: how often a gate closed while a frame of its class was being
// sent. One unit serves all ports, each in its turn, which need not be that of the store.
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
  logic [PORT_W-1:0]       port_q;
  logic                    counts, reads;
  logic [INDEX_W-1:0]      index_q;              // as the next two, of the turn before
  logic                    counts_q, reads_q, zero_q;
  logic [WIDTH-1:0]        count;

  assign counts = waiting_q[port_q] != '0;
  assign reads  = read_i[port_q] && !counts && !reads_q && !ack_o;

  pen_lutram_1r1w #(.WIDTH(WIDTH), .DEPTH(1 << INDEX_W)) u_counts (
    .clk_i,
    .write_i     (zero_q || (counts_q && count != '1) || (reads_q && clear_i)),
    .write_addr_i(index_q),
    .write_data_i(zero_q || !counts_q ? '0 : count + 1'b1),
    .read_addr_i (index_q),
    .read_data_o (count)
  );

  always_ff @(posedge clk_i) begin
    port_q <= rst_i || port_q == PORT_W'(PORTS - 1) ? '0 : port_q + 1'b1;
    for (int unsigned p = 0; p < PORTS; p++) begin
      waiting_q[p] <= waiting_q[p] + 2'(overrun_i[p]) - 2'(counts && port_q == PORT_W'(p));
      if (overrun_i[p]) class_q[p] <= class_i[p];
    end
    index_q  <= init_busy_i ? init_index_i[INDEX_W-1:0] : {port_q, counts ? class_q[port_q] : read_class_i};
    counts_q <= counts;
    reads_q  <= reads;
    zero_q   <= init_busy_i;
    data_o   <= reads_q ? count : '0;
    ack_o    <= reads_q;
    if (rst_i) begin
      waiting_q <= '0;
      {counts_q, reads_q, ack_o} <= '0;
    end
  end

  logic unused;
  assign unused = &{1'b0, init_index_i};
endmodule
