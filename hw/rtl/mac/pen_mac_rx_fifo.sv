// SPDX-License-Identifier: Apache-2.0
// Receive MAC with its crossing into the core clock. Every carrier event gives exactly one beat with `last`.
//
// When the FIFO is full, the rest of the frame is lost: the frame is ended by a beat with `last` and REASON_OVERRUN as
// soon as there is room again. Frames that begin before that are lost whole, and are ended the same way, one by one.
module pen_mac_rx_fifo
  import pen_pkg::*;
#(
  parameter int unsigned DEPTH = 32  // bytes; a power of two, 8 or more
) (
  input  logic       clk_i,              // core clock
  input  logic       rst_i,
  input  logic       gmii_rx_clk_i,      // may stand still at any time
  input  logic [7:0] gmii_rxd_i,
  input  logic       gmii_rx_dv_i,
  input  logic       gmii_rx_er_i,
  input  length_t    max_frame_bytes_i,  // of the core clock
  output logic       delimiter_o,        // core clock: three cycles after the byte behind it was at the pins
  output rx_beat_t   beat_o,
  output logic       valid_o,
  input  logic       ready_i
);
  if (DEPTH < 8) begin : gen_check_depth
    $fatal(1, "pen_mac_rx_fifo: DEPTH must be a power of two, 8 or more, is %0d (%m)", DEPTH);
  end

  // The core side stays in reset until the receive side has been reset, which needs the receive clock to run. So the
  // pointers of the FIFO always start equal.
  logic rst_q, rx_rst, rx_rst_core, core_rst;

  always_ff @(posedge clk_i) rst_q <= rst_i;  // acts asynchronously, so it has to come from a flip-flop

  pen_reset_sync u_reset_sync (.clk_i(gmii_rx_clk_i), .rst_i(rst_q), .rst_o(rx_rst));
  pen_sync #(.RESET_VALUE(1'b1)) u_sync_reset (.clk_i, .rst_i, .data_i(rx_rst), .data_o(rx_rst_core));
  assign core_rst = rst_i || rx_rst_core;

  length_t max_frame_bytes;
  pen_sync_value #(.WIDTH($bits(length_t)), .RESET_VALUE(length_t'(1522))) u_sync_max (
    .clk_i (gmii_rx_clk_i),
    .rst_i (rx_rst),
    .data_i(max_frame_bytes_i),
    .data_o(max_frame_bytes)
  );

  rx_beat_t mac_beat;
  logic     mac_valid, mac_delimiter;
  pen_mac_rx u_mac_rx (
    .clk_i            (gmii_rx_clk_i),
    .rst_i            (rx_rst),
    .gmii_rxd_i,
    .gmii_rx_dv_i,
    .gmii_rx_er_i,
    .max_frame_bytes_i(max_frame_bytes),
    .delimiter_o      (mac_delimiter),
    .beat_o           (mac_beat),
    .valid_o          (mac_valid)
  );

  // Each delimiter turns a level, which crosses into the core clock two cycles before the frame's first byte.
  logic turn_q, turn, turn_core_q;

  always_ff @(posedge gmii_rx_clk_i) turn_q <= !rx_rst && (turn_q ^ mac_delimiter);

  pen_sync u_sync_turn (.clk_i, .rst_i(core_rst), .data_i(turn_q), .data_o(turn));

  always_ff @(posedge clk_i) turn_core_q <= !core_rst && turn;

  assign delimiter_o = turn != turn_core_q;

  // A frame that lost a byte owes a last beat. While one is owed nothing else enters the FIFO, since it would seem to
  // belong to the frame before.
  localparam int unsigned OWED_W = 8;  // a core that does not read for 255 frames sees the frames after them as one
  logic [OWED_W-1:0] owed_q;
  logic              lost_q;           // the frame that the MAC is giving is already marked as lost
  logic              owing, lose, push, fifo_ready;
  rx_beat_t          push_beat;

  assign owing = owed_q != '0;
  assign lose  = mac_valid && !lost_q && (owing || !fifo_ready);
  assign push  = owing || (mac_valid && !lost_q);

  always_comb begin
    push_beat = mac_beat;
    if (owing) push_beat = '{last: 1'b1, short_gap: 1'b0, reason: 3'(REASON_OVERRUN), data: 8'd0};
  end

  always_ff @(posedge gmii_rx_clk_i) begin
    if (rx_rst) begin
      owed_q <= '0;
      lost_q <= 1'b0;
    end else begin
      if (mac_valid) lost_q <= (lost_q || lose) && !mac_beat.last;
      if (lose && !(owing && fifo_ready)) begin
        if (owed_q != '1) owed_q <= owed_q + 1'b1;
      end else if (!lose && owing && fifo_ready) begin
        owed_q <= owed_q - 1'b1;
      end
    end
  end

  pen_fifo_cdc #(.WIDTH($bits(rx_beat_t)), .DEPTH(DEPTH)) u_fifo (
    .src_clk_i  (gmii_rx_clk_i),
    .src_rst_i  (rx_rst),
    .src_valid_i(push),
    .src_ready_o(fifo_ready),
    .src_data_i (push_beat),
    .dst_clk_i  (clk_i),
    .dst_rst_i  (core_rst),
    .dst_valid_o(valid_o),
    .dst_ready_i(ready_i),
    .dst_data_o (beat_o)
  );
endmodule
