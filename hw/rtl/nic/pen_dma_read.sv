// SPDX-License-Identifier: Apache-2.0
// Reads the host's memory for several clients: an AXI4 master of 64 bits, one burst at a time.
//
// A request is cut into bursts of up to 128 bytes that do not cross a multiple of 128, so none crosses a page; clients
// take turns burst by burst. Each page is looked up in the windows before it is asked for: what lies outside is never
// on the bus. Where that or the bus says no, the request ends with `error`, and the rest of it is not read.
module pen_dma_read
  import pen_nic_pkg::*;
#(
  parameter int unsigned CLIENTS = 2
) (
  input  logic                        clk_i,
  input  logic                        rst_i,
  input  window_range_t [WINDOWS-1:0] windows_i,
  input  logic [CLIENTS-1:0]          request_valid_i,
  output logic [CLIENTS-1:0]          request_ready_o,   // none of the client is under way
  input  dma_request_t [CLIENTS-1:0]  request_i,
  output logic [CLIENTS-1:0]          beat_valid_o,
  output dma_beat_t                   beat_o,
  input  logic [CLIENTS-1:0]          beat_ready_i,
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
  localparam int unsigned CLIENT_W = CLIENTS > 1 ? $clog2(CLIENTS) : 1;
  localparam int unsigned BURST_BYTES = 128;
  localparam int unsigned BURST_W = $clog2(BURST_BYTES);
  typedef logic [CLIENT_W-1:0] client_t;

  typedef enum logic [2:0] {IDLE, CHECK, ADDRESS, DATA, REFUSE} state_e;
  state_e                     state_q;
  client_t                    client_q, chosen;
  logic [CLIENTS-1:0]         active_q;
  dma_request_t [CLIENTS-1:0] left_q;       // of each request, what has not been read
  dma_request_t               now;
  logic                       any, allowed, error_q, burst_last;
  logic [BURST_W:0]           room, burst_bytes, burst_left_q;
  logic [3:0]                 lanes, count;

  assign request_ready_o = ~active_q;

  // The next client after the one served last.
  always_comb begin
    any    = active_q != '0;
    chosen = client_q;
    for (int unsigned k = CLIENTS; k >= 1; k--) begin
      automatic client_t next = client_t'((32'(client_q) + k) % CLIENTS);
      if (active_q[next]) chosen = next;
    end
  end

  assign now         = left_q[client_q];
  assign room        = (BURST_W + 1)'(BURST_BYTES) - {1'b0, now.address[BURST_W-1:0]};
  assign burst_bytes = now.bytes > 17'(room) ? room : now.bytes[BURST_W:0];

  pen_dma_window u_window (
    .clk_i, .windows_i, .page_i(left_q[chosen].address[ADDRESS_W-1:12]), .allowed_o(allowed)
  );

  assign lanes = 4'd8 - {1'b0, now.address[2:0]};
  assign count = burst_left_q > (BURST_W + 1)'(lanes) ? lanes : burst_left_q[3:0];
  assign burst_last = burst_left_q == (BURST_W + 1)'(count);

  always_comb begin
    beat_o.data   = m_axi_rdata_i;
    beat_o.offset = now.address[2:0];
    beat_o.count  = count;
    beat_o.error  = state_q == REFUSE || error_q || m_axi_rresp_i[1];
    beat_o.last   = state_q == REFUSE || (burst_last && (beat_o.error || now.bytes == 17'(count)));
    beat_valid_o  = '0;
    beat_valid_o[client_q] = state_q == REFUSE || (state_q == DATA && m_axi_rvalid_i);
  end

  assign m_axi_araddr_o  = {now.address[ADDRESS_W-1:3], 3'b0};
  assign m_axi_arvalid_o = state_q == ADDRESS;
  assign m_axi_rready_o  = state_q == DATA && beat_ready_i[client_q];

  // Words that the burst touches, less one.
  assign m_axi_arlen_o = 8'(((BURST_W + 1)'(now.address[2:0]) + burst_bytes - 1'b1) >> 3);

  logic taken;
  assign taken = beat_valid_o[client_q] && beat_ready_i[client_q];

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      IDLE: if (any) state_q <= CHECK;
      CHECK: state_q <= allowed ? ADDRESS : REFUSE;
      ADDRESS: if (m_axi_arready_i) state_q <= DATA;
      DATA: if (taken && burst_last) state_q <= IDLE;
      REFUSE: if (taken) state_q <= IDLE;
      default: state_q <= IDLE;
    endcase
    if (state_q == IDLE) client_q <= chosen;
    if (state_q == CHECK) begin
      burst_left_q <= burst_bytes;
      error_q      <= 1'b0;
    end
    if (taken) begin
      burst_left_q <= burst_left_q - (BURST_W + 1)'(count);
      error_q      <= error_q || m_axi_rresp_i[1];
      left_q[client_q].address <= now.address + ADDRESS_W'(count);
      left_q[client_q].bytes   <= now.bytes - 17'(count);
      if (beat_o.last) active_q[client_q] <= 1'b0;
    end
    for (int unsigned k = 0; k < CLIENTS; k++) begin
      if (request_valid_i[k] && request_ready_o[k]) begin
        active_q[k] <= 1'b1;
        left_q[k]   <= request_i[k];
      end
    end
    if (rst_i) begin
      state_q  <= IDLE;
      client_q <= '0;
      active_q <= '0;
    end
  end

  logic unused;
  assign unused = &{1'b0, m_axi_rlast_i, m_axi_rresp_i[0]};
endmodule
