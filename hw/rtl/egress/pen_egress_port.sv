// SPDX-License-Identifier: Apache-2.0
// One egress port: queues, selection, reader and the transmit side of the MAC.
//
// A frame that is enqueued in cycle q is selected in cycle q+2 at the earliest. One selected in cycle n has its first
// preamble byte on the wire in n+4 and its first byte in n+12. Selection goes on in n+20+length, so that frames that
// wait follow each other with a gap of exactly 12 bytes.
module pen_egress_port
  import pen_pkg::*;
#(
  parameter int unsigned PORTS = 4,
  parameter int unsigned CELLS = 1024,
  parameter int unsigned PORT  = 0
) (
  input  logic          clk_i,
  input  logic          rst_i,
  input  port_t         turn_i,
  input  cycle_t        now_cycle_i,
  input  enqueue_t      enqueue_i,
  output store_read_t   store_read_o,   // zero outside the port's turn
  input  store_data_t   store_data_i,
  output release_t      release_o,      // zero outside the port's turn
  output egress_event_t event_o,        // two cycles after the selection
  output logic [7:0]    gmii_txd_o,
  output logic          gmii_tx_en_o,
  output logic          gmii_tx_er_o,
  output logic          idle_o
);
  logic       grant, tx_ready, mac_ready, queue_idle, reader_idle;
  cell_t      grant_frame;
  release_t   popped, released;
  logic       expired_valid, expired_ready;
  logic       start, data_valid, data_ready;
  length_t    length;
  logic [7:0] data;

  pen_queue #(.PORTS(PORTS), .CELLS(CELLS), .PORT(PORT)) u_queue (
    .clk_i,
    .rst_i,
    .now_cycle_i,
    .enqueue_i,
    .tx_ready_i     (tx_ready),
    .grant_o        (grant),
    .grant_frame_o  (grant_frame),
    .popped_o       (popped),
    .expired_valid_o(expired_valid),
    .expired_ready_i(expired_ready),
    .idle_o         (queue_idle)
  );

  pen_egress_reader #(.CELLS(CELLS), .PORT(PORT)) u_reader (
    .clk_i,
    .rst_i,
    .turn_i,
    .tx_ready_o   (tx_ready),
    .grant_i      (grant),
    .grant_frame_i(grant_frame),
    .popped_i     (popped),
    .store_read_o,
    .store_data_i,
    .release_o    (released),
    .start_o      (start),
    .length_o     (length),
    .data_valid_o (data_valid),
    .data_o       (data),
    .data_ready_i (data_ready),
    .idle_o       (reader_idle)
  );

  pen_mac_tx u_mac (
    .clk_i,
    .rst_i,
    .start_i     (start),
    .length_i    (length),
    .ready_o     (mac_ready),
    .data_valid_i(data_valid),
    .data_i      (data),
    .data_ready_o(data_ready),
    .gmii_txd_o,
    .gmii_tx_en_o,
    .gmii_tx_er_o
  );

  // A frame given up is released in a turn that no sent frame needs.
  assign expired_ready = turn_i == port_t'(PORT) && !released.valid;

  always_comb begin
    release_o = released;
    if (expired_valid && expired_ready) begin
      release_o       = popped;
      release_o.valid = 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      event_o.sent    <= 1'b0;
      event_o.expired <= 1'b0;
    end else begin
      event_o.sent    <= popped.valid;
      event_o.expired <= expired_valid && expired_ready;
    end
    if (popped.valid || expired_valid) begin
      event_o.traffic_class <= popped.traffic_class;
      event_o.frame         <= popped.frame;
      event_o.length        <= popped.length;
    end
  end

  assign idle_o = queue_idle && reader_idle && mac_ready && !event_o.sent && !event_o.expired;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) if (!rst_i) assert (!start || mac_ready);
`endif
endmodule
