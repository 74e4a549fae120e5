// SPDX-License-Identifier: Apache-2.0
// Reads the host's memory for several clients: an AXI4 master of 64 bits, one burst at a time.
//
// pen_dma_requests cuts requests into bursts and looks each page up in the windows before it is asked for: what lies
// outside is never on the bus. Where that or the bus says no, the request ends with `error`, and the rest is not read.
// Clients take each beat as it comes, a cycle after it was on the bus.
module pen_dma_read
  import pen_nic_pkg::*;
#(
  parameter int unsigned CLIENTS = 2
) (
  input  logic                        clk_i,
  input  logic                        rst_i,
  // pen_dma_window
  output logic                        ask_o,
  output page_t                       page_o,
  input  logic                        taken_i,
  input  logic                        allowed_i,
  input  logic [CLIENTS-1:0]          request_valid_i,
  output logic [CLIENTS-1:0]          request_ready_o,   // one request in a cycle, and none of a client that has one under way
  input  dma_request_t [CLIENTS-1:0]  request_i,
  output logic [CLIENTS-1:0]          beat_valid_o,
  output dma_beat_t                   beat_o,
  // AXI4
  output logic [ADDRESS_W-1:0]        m_axi_araddr_o,
  output logic [7:0]                  m_axi_arlen_o,
  output logic                        m_axi_arvalid_o,
  input  logic                        m_axi_arready_i,
  input  logic [63:0]                 m_axi_rdata_i,
  input  logic [1:0]                  m_axi_rresp_i,
  input  logic                        m_axi_rlast_i,
  input  logic                        m_axi_rvalid_i,
  output logic                        m_axi_rready_o
);
  typedef enum logic [1:0] {IDLE, ADDRESS, DATA, REFUSE} state_e;
  state_e     state_q;
  logic       check, error_q, burst_last, last, taken;
  logic [3:0] count;
  logic [CLIENTS-1:0] active;
  address_t   address;
  dma_beat_t  beat;
  logic [$clog2(CLIENTS > 1 ? CLIENTS : 2)-1:0] client;

  pen_dma_requests #(.CLIENTS(CLIENTS)) u_requests (
    .clk_i,
    .rst_i,
    .request_valid_i,
    .request_ready_o,
    .active_o    (active),
    .request_i,
    .next_i      (state_q == IDLE && !check),
    .ask_o,
    .page_o,
    .taken_i,
    .check_o     (check),
    .client_o    (client),
    .address_o   (address),
    .words_o     (m_axi_arlen_o),
    .moves_i     (taken),
    .count_o     (count),
    .burst_last_o(burst_last),
    .last_o      (last),
    .end_i       (beat.last)
  );

  always_comb begin
    beat.data   = m_axi_rdata_i;
    beat.offset = address[2:0];
    beat.count  = count;
    beat.error  = state_q == REFUSE || error_q || m_axi_rresp_i[1];
    beat.last   = state_q == REFUSE || (burst_last && (beat.error || last));
  end

  assign taken           = state_q == REFUSE || (state_q == DATA && m_axi_rvalid_i);
  assign m_axi_araddr_o  = {address[ADDRESS_W-1:3], 3'b0};
  assign m_axi_arvalid_o = state_q == ADDRESS;
  assign m_axi_rready_o  = state_q == DATA;

  always_ff @(posedge clk_i) begin
    beat_o               <= beat;
    beat_valid_o         <= '0;
    beat_valid_o[client] <= taken && !rst_i;
  end

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      IDLE: if (check) state_q <= allowed_i ? ADDRESS : REFUSE;
      ADDRESS: if (m_axi_arready_i) state_q <= DATA;
      DATA: if (taken && burst_last) state_q <= IDLE;
      REFUSE: state_q <= IDLE;
    endcase
    if (check) error_q <= 1'b0;
    if (taken) error_q <= error_q || m_axi_rresp_i[1];
    if (rst_i) state_q <= IDLE;
  end

  logic unused;
  assign unused = &{1'b0, active, m_axi_rlast_i, m_axi_rresp_i[0]};
endmodule
