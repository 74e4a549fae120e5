// SPDX-License-Identifier: Apache-2.0
// Reads the host's memory for several clients: an AXI4 master of 64 bits with many bursts under way.
//
// pen_dma_requests cuts requests into bursts and looks each page up in the windows before it is asked for: what lies
// outside is never on the bus, and ends its request there. A client may ask again as soon as all bursts of its request are
// asked for; data comes in the order in which it was asked for, whoever asked. What windows or bus said no to ends with `error`.
// Clients take each beat as it comes, a cycle after it was on the bus; behind a request with `mark` a cycle is free.
module pen_dma_read
  import pen_nic_pkg::*;
#(
  parameter int unsigned CLIENTS = 2,
  parameter int unsigned OPEN = 16                       // bursts under way, at most; a power of two
) (
  input  logic                        clk_i,
  input  logic                        rst_i,
  // pen_dma_window
  output logic                        ask_o,
  output page_t                       page_o,
  input  logic                        taken_i,
  input  logic                        allowed_i,
  input  logic [CLIENTS-1:0]          request_valid_i,
  output logic [CLIENTS-1:0]          request_ready_o,   // one request in a cycle, and none of a client whose last one has not been asked for whole
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
  localparam int unsigned CLIENT_W = $clog2(CLIENTS > 1 ? CLIENTS : 2);
  typedef logic [CLIENT_W-1:0] client_t;
  typedef struct packed {
    logic       refused;                        // nothing of it is on the bus
    logic       last;                           // of its request
    logic       mark;
    client_t    client;
    logic [2:0] offset;
    logic [7:0] bytes;
  } burst_t;

  // ---- Addresses
  typedef enum logic [1:0] {IDLE, ADDRESS, REFUSE} state_e;
  state_e             state_q;
  logic               check, burst_last, last, mark, asked;
  logic [7:0]         bytes, strobe;
  logic [CLIENTS-1:0] active;
  address_t           address;
  client_t            client;
  burst_t             burst, coming, now_q;     // that is asked for; the next one; that whose words come
  logic               open_ready, may_ask, coming_valid, begins, now_valid_q, ends;
  logic [$clog2(OPEN):0] open_count;

  pen_dma_requests #(.CLIENTS(CLIENTS), .WHOLE(1)) u_requests (
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
    .bytes_o     (bytes),
    .words_o     (m_axi_arlen_o),
    .last_o      (last),
    .mark_o      (mark),
    .moves_i     (asked),
    .strobe_o    (strobe),
    .burst_last_o(burst_last),
    .end_i       (state_q == REFUSE)
  );

  assign m_axi_araddr_o  = {address[ADDRESS_W-1:3], 3'b0};
  assign may_ask         = open_ready && !(now_valid_q && open_count == ($clog2(OPEN) + 1)'(OPEN - 1));
  assign m_axi_arvalid_o = state_q == ADDRESS && may_ask;
  assign asked           = may_ask && (state_q == REFUSE || (state_q == ADDRESS && m_axi_arready_i));
  assign burst = '{
    refused: state_q == REFUSE, last: state_q == REFUSE || last, mark: mark, client: client, offset: address[2:0], bytes: bytes
  };

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      IDLE: if (check) state_q <= allowed_i ? ADDRESS : REFUSE;
      default: if (asked) state_q <= IDLE;
    endcase
    if (rst_i) state_q <= IDLE;
  end

  // ---- Data
  pen_fifo #(.WIDTH($bits(burst_t)), .DEPTH(OPEN)) u_open (
    .clk_i, .rst_i,
    .valid_i(asked), .ready_o(open_ready), .data_i(burst),
    .valid_o(coming_valid), .ready_i(begins), .data_o(coming), .count_o(open_count)
  );

  logic               pause_q, taken, fails;
  logic [7:0]         left_q;
  logic [2:0]         offset_q;
  logic [3:0]         lanes, moved;
  logic [CLIENTS-1:0] error_q;                  // something of the client's request was refused by the bus
  dma_beat_t          beat;

  assign begins         = coming_valid && (!now_valid_q || ends);
  assign lanes          = 4'd8 - {1'b0, offset_q};
  assign m_axi_rready_o = now_valid_q && !now_q.refused && !pause_q;
  assign taken          = now_valid_q && !pause_q && (now_q.refused || m_axi_rvalid_i);
  assign fails          = now_q.refused || m_axi_rresp_i[1];
  assign moved          = left_q > 8'(lanes) ? lanes : left_q[3:0];
  assign ends           = taken && (now_q.refused || left_q == 8'(moved));

  always_comb begin
    beat.data   = m_axi_rdata_i;
    beat.offset = offset_q;
    beat.count  = moved;
    beat.error  = fails || error_q[now_q.client];
    beat.last   = ends && now_q.last;
    beat.mark   = now_q.mark;
  end

  always_ff @(posedge clk_i) begin
    beat_o       <= beat;
    beat_valid_o <= '0;
    pause_q      <= taken && beat.last && now_q.mark;
    if (taken) begin
      beat_valid_o[now_q.client] <= 1'b1;
      offset_q <= '0;
      left_q   <= left_q - 8'(moved);
      error_q[now_q.client] <= beat.error && !beat.last;
    end
    now_valid_q <= begins || (now_valid_q && !ends);
    if (begins) begin
      now_q    <= coming;
      offset_q <= coming.offset;
      left_q   <= coming.bytes;
    end
    if (rst_i) begin
      beat_valid_o <= '0;
      pause_q      <= 1'b0;
      now_valid_q  <= 1'b0;
      error_q      <= '0;
    end
  end

  logic unused;
  assign unused = &{1'b0, now_q, active, burst_last, strobe, m_axi_rlast_i, m_axi_rresp_i[0]};
endmodule
