// SPDX-License-Identifier: Apache-2.0
// Gives received frames to the host: into the buffers of their queue, as many chains as a frame needs (VIRTIO 1.2, 5.1.6.4).
//
// Frames are written in the order in which they came, one while the one before settles: they are marked in turns, and memory
// tells of either kind by itself when all that was written has been answered. Behind its header a frame fills chain after chain;
// num_buffers is corrected at the end if that took several. The driver sees the chains of a frame together, after all bytes
// stand in memory. A frame for which there are too few is lost, and takes none: the queue goes back to where the frame began.
//
//   frame n:    chains ─► marked writes     ─► settled ─► given back
//   frame n+1:                      chains ─► writes           ─► settled ─► given back       behind that of frame n
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
  output logic [$clog2(QUEUES > 1 ? QUEUES : 2)-1:0] queue_o,  // of chains
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
  output logic [$clog2(QUEUES > 1 ? QUEUES : 2)-1:0] used_queue_o,
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
  input  logic [1:0]        settled_i,         // by mark
  input  logic [1:0]        error_i,
  // One cycle each
  output logic              received_o,
  output received_t         received_frame_o,
  output logic              no_buffer_o
);
  localparam int unsigned QUEUE_W = $clog2(QUEUES > 1 ? QUEUES : 2);
  localparam length_t NUM_BUFFERS_AT = 11'd10;  // in the header
  typedef logic [QUEUE_W-1:0] queue_t;

  typedef enum logic [3:0] {
    PICK, FETCH, BUFFER, REQUEST, SEEK, FILL_HIGH, FILL_LOW, DATA, TAKEN, CHAIN, MORE, PATCH, PATCH_DATA, PASS, UNDO, FORGET
  } state_e;
  state_e       state_q;
  length_t      at_q, total, total_q;           // of header and frame: what stands in buffers; all
  length_t      chains_q;                       // that the frame has filled, a byte of it at least in each
  length_t      chain_bytes_q;
  logic [15:0]  head_q;
  logic         last_q, second_q;
  address_t     address_q;
  length_t      bytes_q;
  address_t [1:0] num_buffers_q;                // the buffers that its two bytes are in, and where there
  logic [1:0][3:0] num_buffers_at_q;
  length_t      room, fits;
  typedef struct packed {
    received_t   frame;
    logic [15:0] head;
    length_t     bytes;                         // in the last chain
  } written_t;
  logic         turn_q, first_q;                // mark of this frame; of the first one that settles
  logic [1:0]   settles_q, error_q;             // by mark: such a frame settles; something was refused of it
  logic         behind_q;                       // a frame behind the one that memory refused may be of its queue
  queue_t       failed_queue_q;
  written_t     passed, written;
  queue_t       written_queue;
  logic         gives, is_bad, drops;
  logic         lost;                           // the frame that is being written is, for whatever reason

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
  logic         zero_q, next, moves;
  logic [63:0]  low_q, high_q;
  logic [127:0] both;

  assign base        = signed'({1'b0, at_q}) - signed'(12'(address_q[2:0]));
  assign both        = {high_q, low_q} >> {shift_q, 3'b0};
  assign next        = state_q == DATA && data_ready_i;
  assign moves       = state_q inside {FILL_HIGH, FILL_LOW} || next;
  assign read_o      = state_q == SEEK || moves;
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
    if (moves) begin
      low_q  <= high_q;
      high_q <= zero_q ? '0 : read_data_i;
    end
    if (next) words_left_q <= words_left_q - 9'sd1;
  end

  // ---- Memory
  logic [15:0] num_buffers;
  assign num_buffers   = 16'(chains_q) + 1'b1;
  assign write_valid_o = state_q inside {REQUEST, PATCH};
  assign write_o       = state_q == PATCH ? '{mark: turn_q, address: num_buffers_q[second_q] + ADDRESS_W'(num_buffers_at_q[second_q]), bytes: 17'd1}
                                          : '{mark: turn_q, address: address_q, bytes: 17'(bytes_q)};
  assign data_valid_o  = state_q inside {DATA, PATCH_DATA};
  assign data_o        = state_q == PATCH_DATA ? {8{num_buffers[8*second_q+:8]}} : both[63:0];

  // ---- Chains
  logic fills_q, whole_q;                       // the frame ends in this buffer; it stands in buffers
  logic refused;                                // some of what was written, and all of it has been answered
  assign fetch_o        = state_q == FETCH && fetch_ready_i;
  assign buffer_ready_o = state_q == TAKEN || (state_q == BUFFER && buffer_valid_i && whole_q);
  // What was written for a frame that does not fit counts as well: a queue that memory refused is stopped, not undone.
  assign refused        = settled_i[turn_q] && (error_q[turn_q] || error_i[turn_q]);
  assign undo_o         = state_q == UNDO && settled_i[turn_q] && !refused;
  assign undo_chains_o  = 16'(chains_q);
  assign busy_o         = state_q != PICK || settles_q != '0;

  // ---- Frames that settle
  assign passed = '{frame: frame_i, head: head_q, bytes: chain_bytes_q};
  pen_lutram_1r1w #(.WIDTH($bits(written_t)), .DEPTH(2)) u_written (
    .clk_i,
    .write_i     (state_q == PASS),
    .write_addr_i(turn_q),
    .write_data_i(passed),
    .read_addr_i (first_q),
    .read_data_o (written)
  );
  assign written_queue = queue_t'(written.frame.pair);
  assign is_bad        = error_q[first_q] || error_i[first_q] || (behind_q && written_queue == failed_queue_q);
  assign gives         = settles_q[first_q] && settled_i[first_q] && !is_bad;
  assign drops         = settles_q[first_q] && settled_i[first_q] && is_bad && !lost;

  // What the frame that is being written gives stands behind all of those before it.
  logic tells;
  assign tells        = state_q inside {MORE, FORGET} && settles_q == '0;
  assign used_valid_o = gives || tells;
  assign used_queue_o = gives ? written_queue : queue_o;
  assign used_o       = '{
    kind: gives ? USED_LAST : state_q == MORE ? USED_MORE : USED_UNDO, head: gives ? written.head : head_q,
    bytes: gives ? written.bytes : chain_bytes_q
  };
  assign received_o       = gives && used_ready_i;
  assign received_frame_o = written.frame;

  logic begins;                                 // not before what has failed stands still
  assign begins = frame_valid_i && !hold_i && fail_o == '0 && !settles_q[turn_q];
  always_comb begin
    lost = 1'b0;
    unique case (state_q)
      PICK: lost = begins && !running_i[queue_o];
      BUFFER: lost = failed_i || (empty_i && chains_q == '0);
      CHAIN: lost = at_q < length_t'(HEADER_BYTES);
      UNDO: lost = refused;
      FORGET: lost = tells && used_ready_i;
      default: ;
    endcase
  end
  assign frame_ready_o = lost || state_q == PASS;
  assign no_buffer_o   = lost || drops;

  always_ff @(posedge clk_i) begin
    fail_o  <= '0;
    total_q <= total;                           // the frame stands still from PICK on
    fills_q <= bytes_q == room;
    error_q <= error_q | error_i;
    if (received_o || !busy_o) behind_q <= 1'b0;
    unique case (state_q)
      PICK: begin
        at_q      <= '0;
        whole_q   <= 1'b0;
        chains_q  <= '0;
        second_q  <= 1'b0;
        if (begins && running_i[queue_o]) begin
          error_q[turn_q] <= 1'b0;
          state_q         <= FETCH;
        end
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
          if (!whole_q) state_q <= REQUEST;
          else if (buffer_i.last) state_q <= CHAIN;
        end
      end
      REQUEST: if (write_ready_i) state_q <= SEEK;
      SEEK: state_q <= FILL_HIGH;
      FILL_HIGH: state_q <= FILL_LOW;
      FILL_LOW: state_q <= DATA;
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
        whole_q       <= fills_q;
        chain_bytes_q <= chain_bytes_q + bytes_q;
        state_q       <= last_q ? CHAIN : BUFFER;
      end
      CHAIN: begin
        // The header has to stand in one chain, as the driver looks for it in the first.
        if (lost) begin
          fail_o[queue_o] <= 1'b1;
          fail_error_o    <= QUEUE_ERROR_SHORT;
        end
        state_q <= lost ? PICK : !whole_q ? MORE : chains_q == '0 ? PASS : PATCH;
      end
      MORE: if (tells && used_ready_i) begin
        chains_q <= chains_q + 1'b1;
        state_q  <= FETCH;
      end
      PATCH: if (write_ready_i) state_q <= PATCH_DATA;
      PATCH_DATA: if (data_ready_i) begin
        second_q <= 1'b1;
        state_q  <= second_q ? PASS : PATCH;
      end
      PASS: begin
        turn_q  <= !turn_q;
        state_q <= PICK;
      end
      UNDO: begin
        if (undo_o && undo_ready_i) state_q <= FORGET;
        if (lost) begin
          fail_o[queue_o] <= 1'b1;
          fail_error_o    <= QUEUE_ERROR_ACCESS;
          state_q         <= PICK;
        end
      end
      FORGET: if (tells && used_ready_i) state_q <= PICK;
      default: state_q <= PICK;
    endcase
    if (state_q == PASS) settles_q[turn_q] <= 1'b1;
    if (drops || received_o) begin
      settles_q[first_q] <= 1'b0;
      first_q            <= !first_q;
    end
    if (drops) begin
      fail_o[written_queue] <= 1'b1;
      behind_q              <= 1'b1;
      failed_queue_q        <= written_queue;
      fail_error_o          <= QUEUE_ERROR_ACCESS;
    end
    if (rst_i) begin
      state_q   <= PICK;
      fail_o    <= '0;
      turn_q    <= 1'b0;
      first_q   <= 1'b0;
      settles_q <= '0;
      behind_q  <= 1'b0;
    end
  end

  logic unused;
  assign unused = &{1'b0, both[127:64], base[11]};

`ifdef FORMAL
  // Contract: 1. what is written lies in the buffer that was given, or is one of the two bytes of num_buffers that were
  // written before; 2. a chain that was fetched is given back once, with its own number, behind those of the frames before,
  // or all chains of the frame but that one are undone, or its queue fails; 3. a frame is given whole, when all of its mark
  // has been answered and nothing of it refused, and not behind one of its queue that was.
  logic        f_past_q = 1'b0, f_fetched_q, f_asked_q, f_passed_q, f_first_q, f_gone;
  written_t [1:0] f_written_q;                      // frames that settle
  logic [1:0]  f_count_q, f_error_q;
  logic [QUEUES-1:0] f_failed_q, f_stopped_q;       // memory refused something of it; it has been told
  assign f_gone = received_o || (no_buffer_o && !lost);
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
    if (tells && used_ready_i) begin
      f_fetched_q <= 1'b0;
      if (used_o.kind == USED_MORE) f_more_q <= f_more_q + 1'b1;
    end
    if (state_q == PASS) begin
      f_fetched_q     <= 1'b0;
      f_written_q[f_passed_q] <= '{frame: frame_i, head: f_head_q, bytes: chain_bytes_q};
      f_passed_q      <= !f_passed_q;
    end
    f_count_q <= f_count_q + 2'(state_q == PASS) - 2'(f_gone);
    if (f_gone) f_first_q <= !f_first_q;
    f_stopped_q <= f_failed_q;
    if (!busy_o) f_failed_q <= '0;
    if (drops) f_failed_q[written_queue] <= 1'b1;
    for (int unsigned w = 0; w < 2; w++) begin
      if (error_i[w]) f_error_q[w] <= 1'b1;
      if (state_q == PICK && begins && running_i[queue_o] && turn_q == 1'(w)) f_error_q[w] <= 1'b0;
    end
    if (state_q == PICK) begin
      f_more_q    <= '0;
      f_fetched_q <= 1'b0;
    end
    if (rst_i) begin
      f_asked_q        <= 1'b0;
      f_fetched_q      <= 1'b0;
      f_buffer_valid_q <= 1'b0;
      f_passed_q       <= 1'b0;
      f_first_q        <= 1'b0;
      f_count_q        <= '0;
      f_failed_q       <= '0;
      f_stopped_q      <= '0;
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
      assume ((running_i & f_stopped_q) == '0);
      // The contract.
      if (state_q == REQUEST) begin
        assert (buffer_valid_i && write_o.address == buffer_i.address && write_o.bytes <= buffer_i.bytes);
        assert (write_o.bytes != '0 && 12'(at_q) + 12'(write_o.bytes) <= 12'(total));
      end
      if (state_q == PATCH) assert (write_o.bytes == 17'd1 && chains_q != '0);
      if (fetch_o) assert (!f_fetched_q);
      if (used_valid_o && used_o.kind == USED_MORE) assert (f_fetched_q && used_o.head == f_head_q && used_queue_o == queue_o);
      if (used_valid_o && used_o.kind != USED_LAST) assert (f_count_q == '0);
      if (used_valid_o && used_o.kind == USED_LAST) begin
        assert (f_count_q != '0 && used_o.head == f_written_q[f_first_q].head && used_o.bytes == f_written_q[f_first_q].bytes);
        assert (used_queue_o == queue_t'(f_written_q[f_first_q].frame.pair) && received_frame_o == f_written_q[f_first_q].frame);
        assert (settled_i[f_first_q] && !f_error_q[f_first_q] && !error_i[f_first_q] && !f_failed_q[used_queue_o]);
      end
      if (state_q == PASS) assert (f_count_q != 2'd2 && at_q == total && chain_bytes_q != '0);
      if (write_valid_o) assert (!settles_q[write_o.mark]);
      if (undo_o) assert (undo_chains_o == f_more_q && !f_fetched_q && f_more_q != '0);
      // What makes it hold.
      if (state_q != PICK) assert (whole_q == (at_q == total));
      if (state_q inside {SEEK, FILL_HIGH, FILL_LOW, DATA, TAKEN}) assert (fills_q == (bytes_q == room));
      if (state_q != PICK) assert (frame_valid_i);
      if (state_q != PICK) assert (f_more_q == 16'(chains_q));
      if (state_q inside {BUFFER, REQUEST, SEEK, FILL_HIGH, FILL_LOW, DATA, TAKEN}) assert (f_asked_q && !f_fetched_q);
      else assert (!f_asked_q);
      if (state_q inside {REQUEST, SEEK, FILL_HIGH, FILL_LOW, DATA, TAKEN}) begin
        assert (buffer_valid_i && f_buffer_valid_q && !whole_q);
        assert (address_q == buffer_i.address && head_q == head_i && last_q == buffer_i.last);
        assert (17'(bytes_q) <= buffer_i.bytes && bytes_q != '0 && bytes_q <= room);
      end
      assert (state_q == PICK || at_q <= total);
      if (state_q inside {CHAIN, MORE, PATCH, PATCH_DATA, PASS}) assert (f_fetched_q && head_q == f_head_q && chain_bytes_q != '0);
      if (state_q inside {FETCH, UNDO, FORGET}) assert (!f_fetched_q);
      if (state_q inside {PATCH, PATCH_DATA, PASS}) assert (whole_q);
      if (state_q inside {PATCH, PATCH_DATA, UNDO, FORGET}) assert (chains_q != '0);
      if (state_q == FETCH) assert (chains_q == '0 || at_q >= length_t'(HEADER_BYTES));
      if (state_q == MORE) assert (at_q >= length_t'(HEADER_BYTES));
      if (state_q == FETCH) assert (chains_q <= at_q);
      if (!(state_q inside {PICK, FETCH, UNDO, FORGET})) assert (18'(chains_q) + 18'(chain_bytes_q) <= 18'(at_q));
      if (state_q inside {FETCH, MORE}) assert (!whole_q);
      if (state_q inside {BUFFER, CHAIN} && whole_q) assert (chain_bytes_q != '0);
      if (state_q inside {REQUEST, SEEK, FILL_HIGH, FILL_LOW, DATA, TAKEN, BUFFER} && chain_bytes_q == '0) assert (!whole_q);
      assert (f_passed_q == turn_q && f_first_q == first_q && turn_q == (first_q ^ f_count_q[0]));
      assert (f_count_q == 2'(settles_q[0]) + 2'(settles_q[1]) && (f_count_q != 2'd1 || settles_q[first_q]));
      for (int unsigned w = 0; w < 2; w++) begin
        if (settles_q[w]) assert (u_written.memory[w] == f_written_q[w]);
        if (settles_q[w] || (state_q != PICK && turn_q == 1'(w))) assert (error_q[w] == f_error_q[w]);
        if (settles_q[w]) assert (32'(f_written_q[w].frame.pair) < QUEUES);
      end
      if (state_q != PICK) assert (!settles_q[turn_q]);
      if ((f_failed_q & ~f_stopped_q) != '0) assert (fail_o != '0);
      for (int unsigned w = 0; w < 2; w++) begin
        if (settles_q[w] && f_failed_q[queue_t'(f_written_q[w].frame.pair)])
          assert (first_q == 1'(w) && behind_q && failed_queue_q == queue_t'(f_written_q[w].frame.pair));
      end
      if (state_q != PICK && f_failed_q[queue_o]) assert (settles_q == '0 && behind_q && failed_queue_q == queue_o);
      cover (received_o && f_count_q == 2'd2);
      cover (undo_o && undo_ready_i);
      cover (|fail_o && fail_error_o == QUEUE_ERROR_SHORT);
      cover (|fail_o && fail_error_o == QUEUE_ERROR_ACCESS);
    end
  end
`endif
endmodule
