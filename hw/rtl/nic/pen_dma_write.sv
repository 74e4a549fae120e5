// SPDX-License-Identifier: Apache-2.0
// Writes the host's memory for several clients: an AXI4 master of 64 bits.
//
// pen_dma_requests cuts requests into bursts and looks each page up in the windows; what lies outside is taken from the
// client and never on the bus. A request is over for its client when the last word has gone; whether it
// stands in memory tells `settled_o`, and `error_o` that something of it does not. Of the last client, requests with `mark` are
// counted by themselves, behind all clients.
module pen_dma_write
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
  input  logic [CLIENTS-1:0]          data_valid_i,
  input  logic [CLIENTS-1:0][63:0]    data_i,            // in the lanes of its address
  output logic [CLIENTS-1:0]          data_ready_o,
  output logic [CLIENTS:0]            settled_o,         // all that was written has been answered
  output logic [CLIENTS:0]            error_o,           // one cycle: something was not written
  // AXI4
  output logic [ADDRESS_W-1:0]        m_axi_awaddr_o,
  output logic [7:0]                  m_axi_awlen_o,
  output logic                        m_axi_awvalid_o,
  input  logic                        m_axi_awready_i,
  output logic [63:0]                 m_axi_wdata_o,
  output logic [7:0]                  m_axi_wstrb_o,
  output logic                        m_axi_wlast_o,
  output logic                        m_axi_wvalid_o,
  input  logic                        m_axi_wready_i,
  input  logic [1:0]                  m_axi_bresp_i,
  input  logic                        m_axi_bvalid_i,
  output logic                        m_axi_bready_o
);
  localparam int unsigned CLIENT_W = $clog2(CLIENTS > 1 ? CLIENTS : 2);
  localparam int unsigned DEPTH = 8;        // bursts that wait for their answer
  localparam int unsigned OPEN_W = $clog2(DEPTH + 1);
  localparam int unsigned COUNT_W = $clog2(CLIENTS + 1);
  typedef logic [CLIENT_W-1:0] client_t;
  typedef logic [COUNT_W-1:0]  count_t;

  typedef enum logic [1:0] {IDLE, ADDRESS, DATA, DISCARD} state_e;
  state_e     state_q;
  client_t    client;
  count_t     counted, answered;            // where the burst is counted
  address_t   address;
  logic       check, burst_last, last, mark, moves, opened, answers, open_ready, open_valid;
  logic [7:0] bytes;
  logic [$clog2(DEPTH):0] open_count;
  logic [CLIENTS-1:0]     active;
  logic [CLIENTS:0][OPEN_W-1:0] open_q;     // bursts without answer

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
    .bytes_o     (bytes),
    .words_o     (m_axi_awlen_o),
    .last_o      (last),
    .mark_o      (mark),
    .moves_i     (moves),
    .strobe_o    (m_axi_wstrb_o),
    .burst_last_o(burst_last),
    .end_i       (1'b0)
  );

  always_comb begin
    data_ready_o = '0;
    data_ready_o[client] = state_q == DISCARD || (state_q == DATA && m_axi_wready_i);
  end
  assign moves = data_valid_i[client] && data_ready_o[client];

  assign m_axi_awaddr_o  = {address[ADDRESS_W-1:3], 3'b0};
  assign m_axi_awvalid_o = state_q == ADDRESS && open_ready;
  assign m_axi_wdata_o   = data_i[client];
  assign m_axi_wlast_o   = burst_last;
  assign m_axi_wvalid_o  = state_q == DATA && data_valid_i[client];
  assign m_axi_bready_o  = 1'b1;

  assign counted = client == client_t'(CLIENTS - 1) && mark ? count_t'(CLIENTS) : count_t'(client);

  // Whose burst the next answer is of: they come in order.
  assign opened  = m_axi_awvalid_o && m_axi_awready_i;
  assign answers = m_axi_bvalid_i && open_valid;
  pen_fifo #(.WIDTH(COUNT_W), .DEPTH(DEPTH)) u_open (
    .clk_i, .rst_i,
    .valid_i(opened), .ready_o(open_ready), .data_i(counted),
    .valid_o(open_valid), .ready_i(m_axi_bvalid_i), .data_o(answered), .count_o(open_count)
  );

  // Both a cycle later than they could be; a new request is seen at once.
  logic [CLIENTS:0] settled_q, writes;
  assign writes    = {active[CLIENTS-1], active};
  assign settled_o = settled_q & ~writes;
  always_ff @(posedge clk_i) begin
    for (int unsigned k = 0; k <= CLIENTS; k++) begin
      settled_q[k] <= !writes[k] && open_q[k] == '0;
      error_o[k]   <= !rst_i && ((answers && m_axi_bresp_i[1] && answered == count_t'(k))
                                 || (check && !allowed_i && counted == count_t'(k)));
    end
  end

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      IDLE: if (check) state_q <= allowed_i ? ADDRESS : DISCARD;
      ADDRESS: if (opened) state_q <= DATA;
      DATA, DISCARD: if (moves && burst_last) state_q <= IDLE;
    endcase
    for (int unsigned k = 0; k <= CLIENTS; k++) begin
      open_q[k] <= open_q[k] + OPEN_W'(opened && counted == count_t'(k)) - OPEN_W'(answers && answered == count_t'(k));
    end
    if (rst_i) begin
      state_q <= IDLE;
      open_q  <= '0;
    end
  end

  logic unused;
  assign unused = &{1'b0, m_axi_bresp_i[0], open_count, last, bytes, address[2:0]};
endmodule
