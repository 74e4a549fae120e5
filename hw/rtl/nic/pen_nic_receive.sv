// SPDX-License-Identifier: Apache-2.0
// Gives received frames to the host: into the buffers of their queue, as many chains as a frame needs (VIRTIO 1.2, 5.1.6.4).
//
// One frame at a time, in the order in which they came. Behind its header a frame fills chain after chain; num_buffers
// is corrected at the end if that took several. The driver sees the chains of a frame together, after all bytes stand
// in memory. A frame for which there are too few is lost, and takes none: the queue goes back to where the frame began.
module pen_nic_receive
  import pen_pkg::*, pen_nic_pkg::*;
#(
  parameter int unsigned QUEUES = 4            // 1 to 16
) (
  input  logic              clk_i,
  input  logic              rst_i,
  input  logic [QUEUES-1:0] running_i,
  input  logic              hold_i,            // no new frame is begun
  output logic              busy_o,            // one is under way
  // Frames
  input  logic              frame_valid_i,
  input  received_t         frame_i,
  output logic              frame_ready_o,
  output logic              read_o,
  output logic [8:0]        read_word_o,
  input  logic [63:0]       read_data_i,
  // Chains
  input  logic              fetch_ready_i,
  output logic              fetch_o,
  output logic [$clog2(QUEUES > 1 ? QUEUES : 2)-1:0] queue_o,  // of all that follows
  input  logic              empty_i,
  input  logic              failed_i,
  input  logic              buffer_valid_i,
  input  buffer_t           buffer_i,
  input  logic [15:0]       head_i,
  output logic              buffer_ready_o,
  input  logic              undo_ready_i,
  output logic              undo_o,            // the last undo_chains_o chains have not been fetched; with undo_ready_i
  output logic [15:0]       undo_chains_o,
  output logic              used_valid_o,
  output used_t             used_o,
  input  logic              used_ready_i,
  output logic [QUEUES-1:0] fail_o,            // one cycle
  output queue_error_e      fail_error_o,
  // Memory
  output logic              write_valid_o,
  output dma_request_t      write_o,
  input  logic              write_ready_i,
  output logic              data_valid_o,
  output logic [63:0]       data_o,
  input  logic              data_ready_i,
  input  logic              settled_i,
  input  logic              error_i,
  // One cycle each, of queue_o
  output logic              received_o,
  output logic              no_buffer_o
);
  localparam int unsigned QUEUE_W = $clog2(QUEUES > 1 ? QUEUES : 2);
  localparam length_t NUM_BUFFERS_AT = 11'd10;  // in the header
  typedef logic [QUEUE_W-1:0] queue_t;

  typedef enum logic [3:0] {
    PICK, FETCH, BUFFER, REQUEST, SEEK, FILL, DATA, TAKEN, CHAIN, MORE, PATCH, PATCH_DATA, SETTLE, GIVE, UNDO, FORGET
  } state_e;
  state_e       state_q;
  length_t      at_q, total, total_q;           // of header and frame: what stands in buffers; all
  logic [15:0]  chains_q;                       // that the frame has filled
  logic [16:0]  chain_bytes_q;
  logic [15:0]  head_q;
  logic         last_q, error_q, second_q;
  address_t     address_q;
  length_t      bytes_q;
  address_t [1:0] num_buffers_q;                // the buffers that its two bytes are in, and where there
  logic [1:0][3:0] num_buffers_at_q;
  length_t      room, fits;

  assign queue_o = queue_t'(frame_i.pair);
  assign total   = frame_i.length + length_t'(HEADER_BYTES);
  assign room    = total_q - at_q;
  assign fits    = buffer_i.bytes < 17'(room) ? buffer_i.bytes[10:0] : room;

  // ---- Bytes of the frame in the lanes of their address
  //
  // Word n of a buffer has the bytes from `base` + 8n on, of header and frame; what of it lies outside of the buffer is
  // not written. Word w of these is word w - 1 of the frame's; the first eight bytes of the header are zero.
  logic signed [11:0] base, word_q;
  logic signed [8:0]  words_left_q;
  logic [2:0]   shift_q;
  logic         zero_q, next;
  logic [63:0]  low_q, high;
  logic [127:0] both;

  assign base        = signed'({1'b0, at_q}) - signed'(12'(address_q[2:0]));
  assign high        = zero_q ? '0 : read_data_i;
  assign both        = {high, low_q} >> {shift_q, 3'b0};
  assign next        = state_q == DATA && data_ready_i;
  assign read_o      = state_q inside {SEEK, FILL} || next;
  assign read_word_o = 9'(word_q - 12'sd1);

  always_ff @(posedge clk_i) begin
    if (state_q == REQUEST) begin
      word_q       <= base >>> 3;
      shift_q      <= base[2:0];
      words_left_q <= 9'((12'(bytes_q) + 12'(address_q[2:0]) + 12'd7) >> 3);
    end
    if (read_o) begin
      word_q <= word_q + 12'sd1;
      zero_q <= word_q <= 12'sd0;
    end
    if (state_q == FILL || next) low_q <= high;
    if (next) words_left_q <= words_left_q - 9'sd1;
  end

  // ---- Memory
  logic [15:0] num_buffers;
  assign num_buffers   = chains_q + 1'b1;
  assign write_valid_o = state_q inside {REQUEST, PATCH};
  assign write_o       = state_q == PATCH ? '{mark: 1'b0, address: num_buffers_q[second_q] + ADDRESS_W'(num_buffers_at_q[second_q]), bytes: 17'd1}
                                          : '{mark: 1'b0, address: address_q, bytes: 17'(bytes_q)};
  assign data_valid_o  = state_q inside {DATA, PATCH_DATA};
  assign data_o        = state_q == PATCH_DATA ? {8{num_buffers[8*second_q+:8]}} : both[63:0];

  // ---- Chains
  logic whole;                                  // the frame stands in buffers
  logic refused;                                // some of what was written, and all of it has been answered
  assign whole = at_q == total_q;

  assign fetch_o        = state_q == FETCH && fetch_ready_i;
  assign buffer_ready_o = state_q == TAKEN || (state_q == BUFFER && buffer_valid_i && whole);
  // What was written for a frame that does not fit counts as well: a queue that memory refused is stopped, not undone.
  assign refused        = settled_i && (error_q || error_i);
  assign undo_o         = state_q == UNDO && settled_i && !refused;
  assign undo_chains_o  = chains_q;
  assign used_valid_o   = state_q inside {MORE, GIVE, FORGET};
  assign used_o         = '{
    kind: state_q == MORE ? USED_MORE : state_q == GIVE ? USED_LAST : USED_UNDO, head: head_q, bytes: chain_bytes_q
  };
  assign busy_o         = state_q != PICK;

  logic finish;                                 // the frame is done with, one way or the other
  logic begins;                                 // not before what has failed stands still
  assign begins = frame_valid_i && !hold_i && fail_o == '0;
  always_comb begin
    finish = 1'b0;
    unique case (state_q)
      PICK: finish = begins && !running_i[queue_o];
      BUFFER: finish = failed_i || (empty_i && chains_q == '0);
      CHAIN: finish = at_q < length_t'(HEADER_BYTES);
      SETTLE, UNDO: finish = refused;
      GIVE, FORGET: finish = used_ready_i;
      default: ;
    endcase
  end
  assign frame_ready_o = finish;
  assign received_o    = state_q == GIVE && finish;
  assign no_buffer_o   = finish && state_q != GIVE;

  always_ff @(posedge clk_i) begin
    fail_o  <= '0;
    total_q <= total;                           // the frame stands still from PICK on
    if (error_i) error_q <= 1'b1;
    unique case (state_q)
      PICK: begin
        at_q      <= '0;
        chains_q  <= '0;
        error_q   <= 1'b0;
        second_q  <= 1'b0;
        if (begins && running_i[queue_o]) state_q <= FETCH;
      end
      FETCH: begin
        chain_bytes_q <= '0;
        if (fetch_ready_i) state_q <= BUFFER;
      end
      BUFFER: begin
        head_q    <= head_i;
        last_q    <= buffer_i.last;
        address_q <= buffer_i.address;
        bytes_q   <= fits;
        if (failed_i) state_q <= PICK;
        else if (empty_i) state_q <= chains_q == '0 ? PICK : UNDO;
        else if (buffer_valid_i) begin
          if (!whole) state_q <= REQUEST;
          else if (buffer_i.last) state_q <= CHAIN;
        end
      end
      REQUEST: if (write_ready_i) state_q <= SEEK;
      SEEK: state_q <= FILL;
      FILL: state_q <= DATA;
      DATA: if (next && words_left_q == 9'sd1) state_q <= TAKEN;
      TAKEN: begin
        for (int unsigned i = 0; i < 2; i++) begin
          automatic length_t byte_at = NUM_BUFFERS_AT + length_t'(i);
          if (byte_at >= at_q && byte_at - at_q < bytes_q) begin
            num_buffers_q[i]    <= address_q;
            num_buffers_at_q[i] <= 4'(byte_at - at_q);
          end
        end
        at_q          <= at_q + bytes_q;
        chain_bytes_q <= chain_bytes_q + 17'(bytes_q);
        state_q       <= last_q ? CHAIN : BUFFER;
      end
      CHAIN: begin
        // The header has to stand in one chain, as the driver looks for it in the first.
        if (finish) begin
          fail_o[queue_o] <= 1'b1;
          fail_error_o    <= QUEUE_ERROR_SHORT;
        end
        state_q <= finish ? PICK : !whole ? MORE : chains_q == '0 ? SETTLE : PATCH;
      end
      MORE: if (used_ready_i) begin
        chains_q <= chains_q + 1'b1;
        state_q  <= FETCH;
      end
      PATCH: if (write_ready_i) state_q <= PATCH_DATA;
      PATCH_DATA: if (data_ready_i) begin
        second_q <= 1'b1;
        state_q  <= second_q ? SETTLE : PATCH;
      end
      SETTLE: if (settled_i) begin
        state_q <= GIVE;
        if (finish) begin
          fail_o[queue_o] <= 1'b1;
          fail_error_o    <= QUEUE_ERROR_ACCESS;
          state_q         <= PICK;
        end
      end
      GIVE: if (used_ready_i) state_q <= PICK;
      UNDO: begin
        if (undo_o && undo_ready_i) state_q <= FORGET;
        if (finish) begin
          fail_o[queue_o] <= 1'b1;
          fail_error_o    <= QUEUE_ERROR_ACCESS;
          state_q         <= PICK;
        end
      end
      FORGET: if (used_ready_i) state_q <= PICK;
    endcase
    if (rst_i) begin
      state_q <= PICK;
      fail_o  <= '0;
    end
  end

  logic unused;
  assign unused = &{1'b0, both[127:64], base[11]};

`ifdef FORMAL
  // Contract: 1. what is written lies in the buffer that was given, or is one of the two bytes of num_buffers that were
  // written before; 2. a chain that was fetched is given back once, with its own number, before the next one is fetched, or
  // all chains of the frame but that one are undone, or its queue fails; 3. a frame is given whole.
  logic        f_past_q = 1'b0, f_fetched_q, f_begun_q, f_asked_q;
  logic [15:0] f_head_q, f_more_q;
  buffer_t     f_buffer_q;
  logic        f_buffer_valid_q;

  always_ff @(posedge clk_i) begin
    f_past_q         <= 1'b1;
    f_buffer_valid_q <= buffer_valid_i && !buffer_ready_o;
    f_buffer_q       <= buffer_i;
    if (fetch_o) f_asked_q <= 1'b1;
    if (empty_i || failed_i || (buffer_ready_o && buffer_i.last)) f_asked_q <= 1'b0;
    if (buffer_ready_o && buffer_i.last) begin
      f_fetched_q <= 1'b1;
      f_head_q    <= head_i;
    end
    if (used_valid_o && used_ready_i) begin
      f_fetched_q <= 1'b0;
      if (used_o.kind == USED_MORE) f_more_q <= f_more_q + 1'b1;
    end
    if (state_q == PICK) begin
      f_more_q    <= '0;
      f_fetched_q <= 1'b0;
    end
    if (rst_i) begin
      f_asked_q        <= 1'b0;
      f_fetched_q      <= 1'b0;
      f_buffer_valid_q <= 1'b0;
    end
  end

  // A chain is read while it is asked for only, and a buffer stands until it is taken.
  received_t   f_frame_q;
  logic [15:0] f_chain_q;
  logic        f_frame_valid_q;
  always_ff @(posedge clk_i) begin
    f_frame_q       <= frame_i;
    f_frame_valid_q <= frame_valid_i && !frame_ready_o && !rst_i;
    f_chain_q       <= head_i;
  end

  always_comb begin
    if (!f_past_q) assume (rst_i);
    else begin
      // What it asks of its surroundings.
      if (f_frame_valid_q) assume (frame_valid_i && frame_i == f_frame_q);
      assume (frame_i.length != '0 && frame_i.length <= 11'd1996 && 32'(frame_i.pair) < QUEUES);
      if (f_buffer_valid_q) assume (buffer_valid_i && buffer_i == f_buffer_q);
      if (f_asked_q && f_buffer_valid_q) assume (head_i == f_chain_q);
      if (!f_asked_q) assume (!buffer_valid_i && !empty_i && !failed_i);
      if (buffer_valid_i) assume (buffer_i.bytes != '0 && !empty_i && !failed_i);
      assume (!(empty_i && failed_i));
      // The contract.
      if (state_q == REQUEST) begin
        assert (buffer_valid_i && write_o.address == buffer_i.address && write_o.bytes <= buffer_i.bytes);
        assert (write_o.bytes != '0 && 12'(at_q) + 12'(write_o.bytes) <= 12'(total));
      end
      if (state_q == PATCH) assert (write_o.bytes == 17'd1 && chains_q != '0);
      if (fetch_o) assert (!f_fetched_q);
      if (used_valid_o && used_o.kind != USED_UNDO) assert (f_fetched_q && used_o.head == f_head_q);
      if (undo_o) assert (undo_chains_o == f_more_q && !f_fetched_q && f_more_q != '0);
      if (received_o) assert (at_q == total);
      if (received_o) assert (chain_bytes_q != '0);
      // What makes it hold.
      if (state_q != PICK) assert (frame_valid_i);
      if (state_q != PICK) assert (f_more_q == chains_q);
      if (state_q inside {BUFFER, REQUEST, SEEK, FILL, DATA, TAKEN}) assert (f_asked_q && !f_fetched_q);
      else assert (!f_asked_q);
      if (state_q inside {REQUEST, SEEK, FILL, DATA, TAKEN}) begin
        assert (buffer_valid_i && f_buffer_valid_q && !whole);
        assert (address_q == buffer_i.address && head_q == head_i && last_q == buffer_i.last);
        assert (17'(bytes_q) <= buffer_i.bytes && bytes_q != '0 && bytes_q <= room);
      end
      assert (state_q == PICK || at_q <= total);
      if (state_q inside {CHAIN, MORE, PATCH, PATCH_DATA, SETTLE, GIVE}) assert (f_fetched_q && head_q == f_head_q && chain_bytes_q != '0);
      if (state_q inside {FETCH, UNDO, FORGET}) assert (!f_fetched_q);
      if (state_q inside {PATCH, PATCH_DATA, SETTLE, GIVE}) assert (whole);
      if (state_q inside {PATCH, PATCH_DATA, UNDO, FORGET}) assert (chains_q != '0);
      if (state_q == FETCH) assert (chains_q == '0 || at_q >= length_t'(HEADER_BYTES));
      if (state_q == MORE) assert (at_q >= length_t'(HEADER_BYTES));
      if (state_q == FETCH) assert (chains_q <= 16'(at_q));
      if (!(state_q inside {PICK, FETCH, UNDO, FORGET})) assert (18'(chains_q) + 18'(chain_bytes_q) <= 18'(at_q));
      if (state_q inside {FETCH, MORE}) assert (!whole);
      if (state_q inside {BUFFER, CHAIN} && whole) assert (chain_bytes_q != '0);
      if (state_q inside {REQUEST, SEEK, FILL, DATA, TAKEN, BUFFER} && chain_bytes_q == '0) assert (!whole);
      cover (received_o);
      cover (undo_o && undo_ready_i);
      cover (|fail_o && fail_error_o == QUEUE_ERROR_SHORT);
      cover (|fail_o && fail_error_o == QUEUE_ERROR_ACCESS);
    end
  end
`endif
endmodule
