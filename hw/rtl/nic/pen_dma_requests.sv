// SPDX-License-Identifier: Apache-2.0
// Requests of several clients for the host's memory, cut into bursts, whose pages pen_dma_window looks up.
//
// A burst has up to 128 bytes and does not cross a multiple of 128, so none crosses a page; clients take turns burst by
// burst. What requests have left is kept in a memory, which takes one request in a cycle, and none behind a burst that is not
// its request's last.
//
//   next_i      |1| | | | |..| |    a burst may begin
//   ask_o       | |1| | | |..| |    until taken_i; now_q is the request whose turn it is, to the end of the burst
//   check_o     | | |1| | |..| |    client_o, address_o and burst_last_o hold from here to the end of the burst
//   moves_i     | | | | |1|..|1|    a word: bytes of it that belong to the burst: count_o
//
// With WHOLE a burst moves in one cycle, and count_o has all of its bytes.
module pen_dma_requests
  import pen_nic_pkg::*;
#(
  parameter int unsigned CLIENTS = 2,
  parameter bit          WHOLE = 0
) (
  input  logic                        clk_i,
  input  logic                        rst_i,
  input  logic [CLIENTS-1:0]          request_valid_i,
  output logic [CLIENTS-1:0]          request_ready_o,
  output logic [CLIENTS-1:0]          active_o,          // a request of the client is under way
  input  dma_request_t [CLIENTS-1:0]  request_i,
  input  logic                        next_i,
  output logic                        ask_o,             // of pen_dma_window, which answers with check_o
  output page_t                       page_o,
  input  logic                        taken_i,
  output logic                        check_o,
  output logic [$clog2(CLIENTS > 1 ? CLIENTS : 2)-1:0] client_o,
  output address_t                    address_o,         // of the next byte
  output logic [7:0]                  words_o,           // with check_o and until the first word: of the burst, less one
  input  logic                        moves_i,
  output logic [7:0]                  count_o,
  output logic                        burst_last_o,      // this word ends the burst
  output logic                        last_o,            // and the request
  input  logic                        end_i              // with moves_i: so does this word, whatever is left
);
  localparam int unsigned CLIENT_W = $clog2(CLIENTS > 1 ? CLIENTS : 2);
  localparam int unsigned BURST_BYTES = 128;
  localparam int unsigned BURST_W = $clog2(BURST_BYTES);
  typedef logic [CLIENT_W-1:0] client_t;

  client_t                    client_q, chosen, newcomer;
  logic [CLIENTS-1:0]         active_q;
  dma_request_t               left, now_q;               // of the chosen request; of client_q's
  logic                       begins, comes, put_back_q;
  logic [BURST_W:0]           room, burst_bytes, burst_left_q;
  logic [3:0]                 lanes;

  always_comb begin
    comes    = 1'b0;
    newcomer = '0;
    for (int unsigned k = 0; k < CLIENTS; k++) begin
      if (request_valid_i[k] && !active_q[k]) begin
        comes    = 1'b1;
        newcomer = client_t'(k);
      end
    end
    request_ready_o           = '0;
    request_ready_o[newcomer] = comes && !put_back_q;
  end
  assign active_o = active_q;

  pen_lutram_1r1w #(.WIDTH($bits(dma_request_t)), .DEPTH(CLIENTS > 1 ? CLIENTS : 2)) u_left (
    .clk_i,
    .write_i     (put_back_q || comes),
    .write_addr_i(put_back_q ? client_q : newcomer),
    .write_data_i(put_back_q ? now_q : request_i[newcomer]),
    .read_addr_i (chosen),
    .read_data_o (left)
  );

  // The next client after the one served last.
  always_comb begin
    chosen = client_q;
    for (int unsigned k = CLIENTS; k >= 1; k--) begin
      automatic client_t next = client_t'((32'(client_q) + k) % CLIENTS);
      if (active_q[next]) chosen = next;
    end
  end

  assign begins       = next_i && !ask_o && active_q != '0;
  assign page_o       = now_q.address[ADDRESS_W-1:12];
  assign client_o     = client_q;
  assign address_o    = now_q.address;
  assign room         = (BURST_W + 1)'(BURST_BYTES) - {1'b0, now_q.address[BURST_W-1:0]};
  assign burst_bytes  = now_q.bytes > 17'(room) ? room : now_q.bytes[BURST_W:0];
  assign words_o      = 8'(((BURST_W + 1)'(now_q.address[2:0]) + burst_bytes - 1'b1) >> 3);
  assign lanes        = 4'd8 - {1'b0, now_q.address[2:0]};
  assign count_o      = !WHOLE && burst_left_q > (BURST_W + 1)'(lanes) ? 8'(lanes) : burst_left_q;
  assign burst_last_o = WHOLE || burst_left_q == count_o;
  assign last_o       = now_q.bytes == 17'(count_o);

  always_ff @(posedge clk_i) begin
    ask_o      <= begins || (ask_o && !taken_i);
    check_o    <= taken_i;
    put_back_q <= moves_i && burst_last_o && !last_o && !end_i;
    if (begins) begin
      client_q <= chosen;
      if (!(put_back_q && chosen == client_q)) now_q <= left;
    end
    if (check_o) burst_left_q <= burst_bytes;
    if (moves_i) begin
      burst_left_q  <= burst_left_q - count_o;
      now_q.address <= now_q.address + ADDRESS_W'(count_o);
      now_q.bytes   <= now_q.bytes - 17'(count_o);
      if (last_o || end_i) active_q[client_q] <= 1'b0;
    end
    if (comes && !put_back_q) active_q[newcomer] <= 1'b1;
    if (rst_i) begin
      ask_o      <= 1'b0;
      check_o    <= 1'b0;
      put_back_q <= 1'b0;
      client_q   <= '0;
      active_q   <= '0;
    end
  end
endmodule
