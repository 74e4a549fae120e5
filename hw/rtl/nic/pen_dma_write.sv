// SPDX-License-Identifier: Apache-2.0
// Writes the host's memory for several clients: an AXI4 master of 64 bits.
//
// A request is cut into bursts as in pen_dma_read, and looked up in the windows in the same way; what lies outside is
// taken from the client and never on the bus. A request is over for its client when the last word has gone; whether it
// stands in memory tells `settled_o`, and `error_o` that something of it does not.
module pen_dma_write
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
  input  logic [CLIENTS-1:0]          data_valid_i,
  input  logic [CLIENTS-1:0][63:0]    data_i,            // in the lanes of its address
  output logic [CLIENTS-1:0]          data_ready_o,
  output logic [CLIENTS-1:0]          settled_o,         // all that was written has been answered
  output logic [CLIENTS-1:0]          error_o,           // one cycle: something was not written
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
  localparam int unsigned CLIENT_W = CLIENTS > 1 ? $clog2(CLIENTS) : 1;
  localparam int unsigned BURST_BYTES = 128;
  localparam int unsigned BURST_W = $clog2(BURST_BYTES);
  localparam int unsigned DEPTH = 8;        // bursts that wait for their answer
  typedef logic [CLIENT_W-1:0] client_t;

  typedef enum logic [2:0] {IDLE, CHECK, ADDRESS, DATA, DISCARD} state_e;
  state_e                     state_q;
  client_t                    client_q, chosen, answered;
  logic [CLIENTS-1:0]         active_q;
  dma_request_t [CLIENTS-1:0] left_q;
  dma_request_t               now;
  logic                       any, allowed, burst_last, moves, open_ready, open_valid;
  logic [BURST_W:0]           room, burst_bytes, burst_left_q;
  logic [3:0]                 lanes, count;
  logic [CLIENTS-1:0][$clog2(DEPTH+1)-1:0] open_q;  // bursts without answer

  assign request_ready_o = ~active_q;

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

  assign lanes      = 4'd8 - {1'b0, now.address[2:0]};
  assign count      = burst_left_q > (BURST_W + 1)'(lanes) ? lanes : burst_left_q[3:0];
  assign burst_last = burst_left_q == (BURST_W + 1)'(count);
  assign moves      = data_valid_i[client_q] && (state_q == DISCARD || (state_q == DATA && m_axi_wready_i));

  always_comb begin
    data_ready_o = '0;
    data_ready_o[client_q] = state_q == DISCARD || (state_q == DATA && m_axi_wready_i);
  end

  // Words that the burst touches, less one.
  assign m_axi_awlen_o = 8'(((BURST_W + 1)'(now.address[2:0]) + burst_bytes - 1'b1) >> 3);

  assign m_axi_awaddr_o  = {now.address[ADDRESS_W-1:3], 3'b0};
  assign m_axi_awvalid_o = state_q == ADDRESS && open_ready;
  assign m_axi_wdata_o   = data_i[client_q];
  assign m_axi_wstrb_o   = (8'hFF >> (4'd8 - count)) << now.address[2:0];
  assign m_axi_wlast_o   = burst_last;
  assign m_axi_wvalid_o  = state_q == DATA && data_valid_i[client_q];
  assign m_axi_bready_o  = 1'b1;

  // Whose burst the next answer is of: they come in order.
  logic                 opened;
  logic [$clog2(DEPTH):0] open_count;
  assign opened = m_axi_awvalid_o && m_axi_awready_i;
  pen_fifo #(.WIDTH(CLIENT_W), .DEPTH(DEPTH)) u_open (
    .clk_i, .rst_i,
    .valid_i(opened), .ready_o(open_ready), .data_i(client_q),
    .valid_o(open_valid), .ready_i(m_axi_bvalid_i), .data_o(answered), .count_o(open_count)
  );

  always_comb begin
    for (int unsigned k = 0; k < CLIENTS; k++) begin
      settled_o[k] = !active_q[k] && open_q[k] == '0;
      error_o[k]   = (m_axi_bvalid_i && open_valid && m_axi_bresp_i[1] && answered == client_t'(k))
                     || (state_q == CHECK && !allowed && client_q == client_t'(k));
    end
  end

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      IDLE: if (any) state_q <= CHECK;
      CHECK: state_q <= allowed ? ADDRESS : DISCARD;
      ADDRESS: if (opened) state_q <= DATA;
      DATA, DISCARD: if (moves && burst_last) state_q <= IDLE;
      default: state_q <= IDLE;
    endcase
    if (state_q == IDLE) client_q <= chosen;
    if (state_q == CHECK) burst_left_q <= burst_bytes;
    if (moves) begin
      burst_left_q <= burst_left_q - (BURST_W + 1)'(count);
      left_q[client_q].address <= now.address + ADDRESS_W'(count);
      left_q[client_q].bytes   <= now.bytes - 17'(count);
      if (now.bytes == 17'(count)) active_q[client_q] <= 1'b0;
    end
    for (int unsigned k = 0; k < CLIENTS; k++) begin
      if (request_valid_i[k] && request_ready_o[k]) begin
        active_q[k] <= 1'b1;
        left_q[k]   <= request_i[k];
      end
      open_q[k] <= open_q[k] + $bits(open_q[k])'(opened && client_q == client_t'(k))
                   - $bits(open_q[k])'(m_axi_bvalid_i && open_valid && answered == client_t'(k));
    end
    if (rst_i) begin
      state_q  <= IDLE;
      client_q <= '0;
      active_q <= '0;
      open_q   <= '0;
    end
  end

  logic unused;
  assign unused = &{1'b0, m_axi_bresp_i[0], open_count};
endmodule
