// SPDX-License-Identifier: Apache-2.0
// pen_time_stamp behind what reads headers at reception, which takes a byte a cycle after it leaves the FIFO of the MAC.
module pen_time_stamp_tb
  import pen_pkg::*;
#(
  parameter int unsigned PORTS = 4
) (
  input  logic                  clk_i,
  input  logic                  rst_i,
  input  logic                  awake_i,
  input  ptp_time_t             time_i,
  input  logic [2*PORTS-1:0]    all_i,
  input  logic [PORTS-1:0]      delimiter_i,
  input  rx_beat_t [PORTS-1:0]  beat_i,
  input  logic [PORTS-1:0]      beat_valid_i,
  input  logic [PORTS-1:0][7:0] gmii_txd_i,
  input  logic [PORTS-1:0]      gmii_tx_en_i,
  input  logic [PORTS-1:0]      gmii_tx_er_i,
  input  logic                  capture_i,
  output logic [2*PORTS:0]      waiting_o,
  output logic [2*PORTS:0]      lost_o,
  input  logic                  clear_lost_i,
  input  logic                  take_i,
  input  logic [4:0]            take_source_i,
  output stamp_t                stamp_o
);
  parsed_byte_t [PORTS-1:0] received;

  for (genvar p = 0; p < PORTS; p++) begin : gen_received
    rx_beat_t beat_q;
    logic     valid_q;
    header_t  header;

    always_ff @(posedge clk_i) begin
      valid_q <= beat_valid_i[p] && !rst_i;
      beat_q  <= beat_i[p];
    end

    pen_header_parser u_header (
      .clk_i,
      .clear_i (rst_i || (valid_q && beat_q.last)),
      .valid_i (valid_q),
      .data_i  (beat_q.data),
      .header_o(header)
    );
    assign received[p] = '{
      valid: valid_q, last: beat_q.last, good: beat_q.reason == 3'(REASON_NONE), header: header
    };
  end

  pen_time_stamp #(.PORTS(PORTS)) u_stamp (.received_i(received), .*);
endmodule
