// SPDX-License-Identifier: Apache-2.0
// When each frame in the store was received: the PTP time at which its first byte behind the delimiter stood at the pins.
//
//     delimiter_i[p]   the time three cycles ago is that of a frame of port p; in the port's next turn it goes into one
//                      of the four places of the port
//     taken_i[p]       a byte is taken; a frame's first one is of the delimiter that came last
//     record_i         in the port's turn: that frame stands in the store from this cell on, and its time beside it
//     read_i           the time of a frame, in the next cycle
//
// A frame's first byte leaves the receive FIFO after its delimiter has been seen here, and before the next one's.
module pen_frame_stamps
  import pen_pkg::*;
#(
  parameter int unsigned PORTS = 4,
  parameter int unsigned CELLS = 1024
) (
  input  logic             clk_i,
  input  logic             rst_i,
  input  port_t            turn_i,
  input  ptp_time_t        time_i,
  input  logic [PORTS-1:0] delimiter_i,
  input  logic [PORTS-1:0] taken_i,
  input  logic [PORTS-1:0] last_i,          // with taken_i
  input  logic             record_i,
  input  cell_t            record_frame_i,
  input  logic             read_i,
  input  cell_t            read_frame_i,
  output ptp_time_t        stamp_o         // seconds below 2^34, fraction: the upper 8 bits
);
  localparam int unsigned CELL_W = $clog2(CELLS);
  localparam int unsigned PORT_W = $clog2(PORTS);
  localparam logic [3:0]  DELIMITER_CYCLES = 4'd3;  // from the first byte to delimiter_i
  if (PORTS < 2 || PORTS > MAX_PORTS) begin : gen_check_ports
    $fatal(1, "pen_frame_stamps: PORTS must be 2 to %0d, is %0d (%m)", MAX_PORTS, PORTS);
  end

  typedef struct packed {
    logic [33:0] seconds;
    logic [29:0] ns;
    logic [7:0]  fraction;
  } kept_t;

  typedef struct packed {
    logic       pending;
    logic [3:0] index;                  // of its time
    logic [1:0] place;                  // of the delimiter that came last
    logic [1:0] frame;                  // of the frame that is being stored
    logic       begun;                  // it has begun and not ended
  } state_t;

  state_t [PORTS-1:0] state_q;
  state_t             chosen;
  logic [3:0]         index_q;          // of this cycle
  logic [PORT_W-1:0]  turn;
  kept_t              now, moment, recorded, read;
  // What is recorded comes from the ports, which are far, and there is time to take it.
  logic               record_q;
  cell_t              record_frame_q;
  logic [PORT_W-1:0]  record_port_q;
  logic [1:0]         record_place_q;

  assign turn   = turn_i[PORT_W-1:0];
  assign chosen = state_q[turn];
  assign now    = '{seconds: time_i.seconds[33:0], ns: time_i.ns, fraction: time_i.fraction[31:24]};

  pen_lutram_1r1w #(.WIDTH($bits(kept_t)), .DEPTH(16)) u_times (
    .clk_i, .write_i(1'b1), .write_addr_i(index_q), .write_data_i(now), .read_addr_i(chosen.index), .read_data_o(moment)
  );

  pen_lutram_1r1w #(.WIDTH($bits(kept_t)), .DEPTH(4 << PORT_W)) u_places (
    .clk_i,
    .write_i     (chosen.pending),
    .write_addr_i({turn, chosen.place}),
    .write_data_i(moment),
    .read_addr_i ({record_port_q, record_place_q}),
    .read_data_o (recorded)
  );

  // A frame is read two cycles after it was recorded at the earliest, and in fact long after.
  pen_ram_1r1w #(.WIDTH($bits(kept_t)), .DEPTH(CELLS), .READ_OLD(0)) u_stamps (
    .clk_i,
    .write_i     (record_q),
    .write_addr_i(record_frame_q[CELL_W-1:0]),
    .write_data_i(recorded),
    .read_i,
    .read_addr_i (read_frame_i[CELL_W-1:0]),
    .read_data_o (read)
  );

  always_ff @(posedge clk_i) begin
    index_q        <= rst_i ? '0 : index_q + 1'b1;
    record_q       <= record_i && !rst_i;
    record_frame_q <= record_frame_i;
    record_port_q  <= turn;
    record_place_q <= chosen.frame;
    for (int unsigned p = 0; p < PORTS; p++) begin
      if (turn == PORT_W'(p)) state_q[p].pending <= 1'b0;
      if (delimiter_i[p]) begin
        state_q[p].pending <= 1'b1;
        state_q[p].index   <= index_q - DELIMITER_CYCLES;
        state_q[p].place   <= state_q[p].place + 1'b1;
      end
      if (taken_i[p]) state_q[p].begun <= !last_i[p];
      if (taken_i[p] && !state_q[p].begun) state_q[p].frame <= state_q[p].place;
      if (rst_i) state_q[p] <= '0;
    end
  end

  assign stamp_o = '{seconds: 48'(read.seconds), ns: read.ns, fraction: {read.fraction, 24'd0}};

  logic unused;
  assign unused = &{1'b0, turn_i, time_i, chosen, record_frame_q, read_frame_i};
endmodule
