// SPDX-License-Identifier: Apache-2.0
// When frames of the host left that it wants to be told of: the PTP time at which their first byte behind the delimiter stood
// at the pins of the egress port.
//
//     stamped_i[p]     whether the host is to be told of the frame that port p sends, from before its delimiter on
//     tag_i[p]         and by which tag
//     gmii_..          the delimiter of that frame comes up to PORTS cycles before the port's turn
//
//     cycle            | b-1       | b     | ..  | t    | t+1        | t+2      |     b: first byte at the pins
//     pins of port p   | delimiter | first |                                          t: the port's first turn from b on
//     tag, time                                  | tag  | time       |
//     valid_o                                                        | 1        |     at the earliest
//
// A frame that a reset of the port keeps from the wire has no delimiter, and no stamp.
//
// 16 stamps wait for the host. One that finds no place is lost, and the next one says how many were.
module pen_egress_stamps
  import pen_pkg::*;
#(
  parameter int unsigned PORTS = 4     // the last one is the host's
) (
  input  logic                  clk_i,
  input  logic                  rst_i,
  input  port_t                 turn_i,
  input  ptp_time_t             time_i,
  input  logic [PORTS-1:0]      stamped_i,
  input  logic [PORTS-1:0][7:0] tag_i,
  input  logic [PORTS-1:0][7:0] gmii_txd_i,
  input  logic [PORTS-1:0]      gmii_tx_en_i,
  output logic                  valid_o,
  output egress_stamp_t         stamp_o,
  input  logic                  ready_i
);
  if (PORTS < 2 || PORTS > MAX_PORTS) begin : gen_check_ports
    $fatal(1, "pen_egress_stamps: PORTS must be 2 to %0d, is %0d (%m)", MAX_PORTS, PORTS);
  end

  localparam int unsigned WIRES = PORTS - 1;
  localparam logic [7:0]  DELIMITER = 8'hD5;
  localparam int unsigned WAITING = 16;

  typedef struct packed {
    logic [33:0] seconds;
    logic [29:0] ns;
    logic [7:0]  fraction;
  } kept_t;

  typedef struct packed {
    port_t      port;
    logic [7:0] tag;
    logic [7:0] lost;
    kept_t      moment;
  } entry_t;

  typedef struct packed {
    logic       in_frame;               // behind the delimiter of a frame
    logic       pending;                // it waits for its turn
    logic [3:0] index;                  // of its time
  } state_t;

  state_t [WIRES-1:0] state_q;
  state_t             chosen;
  logic [3:0]         index_q;          // of this cycle
  logic               chosen_stamped;
  logic [7:0]         chosen_tag;
  logic               tell_q;           // in the cycle after the turn
  logic [3:0]         tell_index_q;
  port_t              tell_port_q;
  logic [7:0]         tell_tag_q;
  kept_t              now, moment;
  entry_t             entry, first;
  logic [7:0]         lost_q;
  logic               has_place;
  logic [$clog2(WAITING):0] count;

  always_comb begin
    chosen         = '0;
    chosen_stamped = 1'b0;
    chosen_tag     = '0;
    for (int unsigned p = 0; p < WIRES; p++) begin
      if (turn_i == port_t'(p)) begin
        chosen         = state_q[p];
        chosen_stamped = stamped_i[p];
        chosen_tag     = tag_i[p];
      end
    end
  end

  assign now = '{seconds: time_i.seconds[33:0], ns: time_i.ns, fraction: time_i.fraction[31:24]};

  pen_lutram_1r1w #(.WIDTH($bits(kept_t)), .DEPTH(16)) u_times (
    .clk_i, .write_i(1'b1), .write_addr_i(index_q), .write_data_i(now), .read_addr_i(tell_index_q), .read_data_o(moment)
  );

  always_ff @(posedge clk_i) begin
    index_q      <= rst_i ? '0 : index_q + 1'b1;
    tell_q       <= chosen.pending && chosen_stamped && !rst_i;
    tell_index_q <= chosen.index;
    tell_port_q  <= turn_i;
    tell_tag_q   <= chosen_tag;
    for (int unsigned p = 0; p < WIRES; p++) begin
      if (turn_i == port_t'(p)) state_q[p].pending <= 1'b0;
      state_q[p].in_frame <= gmii_tx_en_i[p] && (state_q[p].in_frame || gmii_txd_i[p] == DELIMITER);
      if (gmii_tx_en_i[p] && !state_q[p].in_frame && gmii_txd_i[p] == DELIMITER) begin
        state_q[p].pending <= 1'b1;
        state_q[p].index   <= index_q + 1'b1;
      end
      if (rst_i) state_q[p] <= '0;
    end
  end

  assign entry = '{port: tell_port_q, tag: tell_tag_q, lost: lost_q, moment: moment};

  pen_fifo #(.WIDTH($bits(entry_t)), .DEPTH(WAITING)) u_waiting (
    .clk_i,
    .rst_i,
    .valid_i(tell_q),
    .ready_o(has_place),
    .data_i (entry),
    .valid_o,
    .ready_i,
    .data_o (first),
    .count_o(count)
  );

  always_ff @(posedge clk_i) begin
    if (tell_q && has_place) lost_q <= '0;
    else if (tell_q && lost_q != '1) lost_q <= lost_q + 1'b1;
    if (rst_i) lost_q <= '0;
  end

  assign stamp_o = '{
    port:   first.port,
    tag:    first.tag,
    lost:   first.lost,
    moment: '{seconds: 48'(first.moment.seconds), ns: first.moment.ns, fraction: {first.moment.fraction, 24'd0}}
  };

  logic unused;
  assign unused = &{1'b0, time_i, stamped_i, tag_i, gmii_txd_i, gmii_tx_en_i, count, chosen};
endmodule
