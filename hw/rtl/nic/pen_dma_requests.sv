// SPDX-License-Identifier: Apache-2.0
// Requests of several clients for the host's memory, cut into bursts, whose pages pen_dma_window looks up.
//
// A burst has up to 128 bytes and does not cross a multiple of 128, so none crosses a page; clients take turns burst by
// burst. What requests have left is kept in a memory, which takes one request in a cycle, and none behind a burst that is not
// its request's last.
//
//   next_i      |1| | | | |..| |    a burst may begin
//   ask_o       | |1| | | |..| |    until taken_i; now_q is the request whose turn it is, to the end of the burst
//   check_o     | | |1| | |..| |    client_o, address_o, bytes_o, words_o, last_o and mark_o hold from here to the end of the burst
//   moves_i     | | | | |1|..|1|    a word: which bytes of it belong to the burst, strobe_o; whether it ends it, burst_last_o
//
// With WHOLE a burst moves in one cycle.
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
  output address_t                    address_o,         // of the burst
  output logic [7:0]                  bytes_o,
  output logic [7:0]                  words_o,           // less one
  output logic                        last_o,            // it is the last one of its request
  output logic                        mark_o,            // of its request
  input  logic                        moves_i,
  output logic [7:0]                  strobe_o,
  output logic                        burst_last_o,
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
  logic [BURST_W:0]           room, bytes_q;
  logic [BURST_W+1:0]         behind;                    // the last byte, from the first word's first lane on
  logic [7:0]                 words_q;                   // behind the one that moves
  logic [2:0]                 end_lane_q;
  logic                       is_first_q, is_last_q, burst_last_q;

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
  // What the burst has is counted while its page is asked for.
  assign room         = (BURST_W + 1)'(BURST_BYTES) - {1'b0, now_q.address[BURST_W-1:0]};
  assign behind       = (BURST_W + 2)'(now_q.address[2:0]) + (BURST_W + 2)'(bytes_q) - 1'b1;
  assign bytes_o      = bytes_q;
  assign words_o      = 8'(behind >> 3);
  assign last_o       = is_last_q;
  assign mark_o       = now_q.mark;
  assign strobe_o     = (is_first_q ? 8'hFF << now_q.address[2:0] : '1) & (burst_last_o ? 8'hFF >> (3'd7 - end_lane_q) : '1);
  assign burst_last_o = WHOLE || burst_last_q;

  always_ff @(posedge clk_i) begin
    ask_o      <= begins || (ask_o && !taken_i);
    check_o    <= taken_i;
    put_back_q <= moves_i && burst_last_o && !last_o && !end_i;
    bytes_q    <= now_q.bytes > 17'(room) ? room : now_q.bytes[BURST_W:0];
    is_last_q  <= now_q.bytes <= 17'(room);
    if (begins) begin
      client_q <= chosen;
      if (!(put_back_q && chosen == client_q)) now_q <= left;
    end
    if (check_o) begin
      words_q      <= words_o;
      burst_last_q <= words_o == '0;
      end_lane_q   <= behind[2:0];
      is_first_q   <= 1'b1;
    end
    if (moves_i) begin
      words_q      <= words_q - 1'b1;
      burst_last_q <= words_q == 8'd1;
      is_first_q   <= 1'b0;
      if (burst_last_o) begin
        now_q.address <= {now_q.address[ADDRESS_W-1:BURST_W] + 1'b1, BURST_W'(0)};
        now_q.bytes   <= now_q.bytes - 17'(bytes_q);
        if (last_o || end_i) active_q[client_q] <= 1'b0;
      end
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
