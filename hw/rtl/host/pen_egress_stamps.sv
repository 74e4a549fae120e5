// SPDX-License-Identifier: Apache-2.0
// When frames of the host left that it wants to be told of: the PTP time at which their first byte behind the delimiter stood
// at the pins of the egress port.
//
//     record_i         in a port's turn: a frame stands in the store from this cell on, and with it whether the host is to
//                      be told, by which tag
//     sent_i[p]        port p sends the frame that begins in this cell
//     gmii_..          the delimiter of that frame comes up to PORTS cycles before the port's turn
//
//     cycle            | b-1       | b     | ..  | t    | t+1        | t+2      |     b: first byte at the pins
//     pins of port p   | delimiter | first |                                          t: the port's first turn from b on
//     of the store                               | read | tag        |
//     valid_o                                                        | 1        |     at the earliest
//
// A frame that a reset of the port keeps from the wire has no delimiter, and no stamp.
//
// 16 stamps wait for the host. One that finds no place is lost, and the next one says how many were.
module pen_egress_stamps
  import pen_pkg::*;
#(
  parameter int unsigned PORTS = 4,    // the last one is the host's
  parameter int unsigned CELLS = 1024
) (
  input  logic                  clk_i,
  input  logic                  rst_i,
  input  port_t                 turn_i,
  input  ptp_time_t             time_i,
  input  logic                  record_i,
  input  cell_t                 record_frame_i,
  input  host_way_t             record_way_i,
  input  logic [PORTS-1:0]      sent_i,
  input  cell_t [PORTS-1:0]     sent_frame_i,   // with sent_i
  input  logic [PORTS-1:0][7:0] gmii_txd_i,
  input  logic [PORTS-1:0]      gmii_tx_en_i,
  output logic                  valid_o,
  output egress_stamp_t         stamp_o,
  input  logic                  ready_i
);
  if (PORTS < 2 || PORTS > MAX_PORTS) begin : gen_check_ports
    $fatal(1, "pen_egress_stamps: PORTS must be 2 to %0d, is %0d (%m)", MAX_PORTS, PORTS);
  end

  localparam int unsigned CELL_W = $clog2(CELLS);
  localparam int unsigned WIRES = PORTS - 1;
  localparam logic [7:0]  DELIMITER = 8'hD5;
  localparam int unsigned WAITING = 16;

  typedef struct packed {
    logic [33:0] seconds;
    logic [29:0] ns;
    logic [7:0]  fraction;
  } kept_t;

  typedef struct packed {
    logic       stamped;
    logic [7:0] tag;
  } wish_t;

  typedef struct packed {
    port_t      port;
    logic [7:0] tag;
    logic [7:0] lost;
    kept_t      moment;
  } entry_t;

  typedef struct packed {
    logic              in_frame;        // behind the delimiter of a frame
    logic              pending;         // it waits for its turn
    logic [3:0]        index;           // of its time
    logic [CELL_W-1:0] frame;
  } state_t;

  state_t [WIRES-1:0] state_q;
  state_t             chosen;
  logic [3:0]         index_q;          // of this cycle
  logic               look_q;           // in the cycle after a turn with a frame
  logic [3:0]         look_index_q;
  port_t              look_port_q;
  wish_t              wish;
  kept_t              now, moment;
  entry_t             entry, first;
  logic [7:0]         lost_q;
  logic               tell, has_place;
  logic [$clog2(WAITING):0] count;

  always_comb begin
    chosen = '0;
    for (int unsigned p = 0; p < WIRES; p++) if (turn_i == port_t'(p)) chosen = state_q[p];
  end

  assign now = '{seconds: time_i.seconds[33:0], ns: time_i.ns, fraction: time_i.fraction[31:24]};

  pen_lutram_1r1w #(.WIDTH($bits(kept_t)), .DEPTH(16)) u_times (
    .clk_i, .write_i(1'b1), .write_addr_i(index_q), .write_data_i(now), .read_addr_i(look_index_q), .read_data_o(moment)
  );

  // A frame is sent long after it was recorded.
  pen_ram_1r1w #(.WIDTH($bits(wish_t)), .DEPTH(CELLS), .READ_OLD(0)) u_wishes (
    .clk_i,
    .write_i     (record_i),
    .write_addr_i(record_frame_i[CELL_W-1:0]),
    .write_data_i({record_way_i.stamped, record_way_i.tag}),
    .read_i      (chosen.pending),
    .read_addr_i (chosen.frame),
    .read_data_o (wish)
  );

  always_ff @(posedge clk_i) begin
    index_q      <= rst_i ? '0 : index_q + 1'b1;
    look_q       <= chosen.pending && !rst_i;
    look_index_q <= chosen.index;
    look_port_q  <= turn_i;
    for (int unsigned p = 0; p < WIRES; p++) begin
      if (turn_i == port_t'(p)) state_q[p].pending <= 1'b0;
      state_q[p].in_frame <= gmii_tx_en_i[p] && (state_q[p].in_frame || gmii_txd_i[p] == DELIMITER);
      if (gmii_tx_en_i[p] && !state_q[p].in_frame && gmii_txd_i[p] == DELIMITER) begin
        state_q[p].pending <= 1'b1;
        state_q[p].index   <= index_q + 1'b1;
      end
      if (sent_i[p]) state_q[p].frame <= sent_frame_i[p][CELL_W-1:0];
      if (rst_i) state_q[p] <= '0;
    end
  end

  assign tell  = look_q && wish.stamped;
  assign entry = '{port: look_port_q, tag: wish.tag, lost: lost_q, moment: moment};

  pen_fifo #(.WIDTH($bits(entry_t)), .DEPTH(WAITING)) u_waiting (
    .clk_i,
    .rst_i,
    .valid_i(tell),
    .ready_o(has_place),
    .data_i (entry),
    .valid_o,
    .ready_i,
    .data_o (first),
    .count_o(count)
  );

  always_ff @(posedge clk_i) begin
    if (tell && has_place) lost_q <= '0;
    else if (tell && lost_q != '1) lost_q <= lost_q + 1'b1;
    if (rst_i) lost_q <= '0;
  end

  assign stamp_o = '{
    port:   first.port,
    tag:    first.tag,
    lost:   first.lost,
    moment: '{seconds: 48'(first.moment.seconds), ns: first.moment.ns, fraction: {first.moment.fraction, 24'd0}}
  };

  logic unused;
  assign unused = &{1'b0, time_i, record_frame_i, record_way_i, sent_i, sent_frame_i, gmii_txd_i, gmii_tx_en_i, count, chosen};
endmodule
