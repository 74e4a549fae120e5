// SPDX-License-Identifier: Apache-2.0
// Reads frames of transmit queues into the store, several at once, and hands them over in the order in which they were begun.
//
//   chains, in turns ─► reads, one for each buffer ─► ... memory ... ─► pen_frame_writer ─► frames, whole
//   a slot and a place are taken                                                          the place is free again
//
// A chain is begun only if there is a slot of its queue for the frame and a place here for what is told of it. So what has
// been asked for can always be taken, and no frame keeps memory's answers from others.
//
// A frame that nobody could receive (shorter than a header, longer than max_frame_bytes_i) is not read any further, and is
// told behind all that were begun before it; so is one whose chain turns out to be wrong.
module pen_frame_fetch
  import pen_pkg::*, pen_nic_pkg::*;
#(
  parameter int unsigned QUEUES = 4,           // 1 to 16: of one port
  parameter int unsigned SLOTS  = 4,           // of each
  parameter int unsigned FIRST_SLOT = 0,       // in the store
  parameter int unsigned PLACES = 8            // frames that are begun and not handed over yet; a power of two
) (
  input  logic              clk_i,
  input  logic              rst_i,
  input  length_t           max_frame_bytes_i, // FCS included
  input  logic [QUEUES-1:0] launch_enable_i,   // eight bytes stand before frames of this queue
  input  logic [QUEUES-1:0] able_i,            // a chain is held, and a slot is free
  input  logic              hold_i,            // no chain is begun
  output logic              busy_o,            // a frame is begun and not handed over yet
  // Chains
  input  logic              fetch_ready_i,
  output logic              fetch_o,
  output logic [$clog2(QUEUES > 1 ? QUEUES : 2)-1:0] fetch_queue_o,
  input  logic              failed_i,
  input  logic              buffer_valid_i,
  input  buffer_t           buffer_i,
  input  logic [15:0]       head_i,
  output logic              buffer_ready_o,
  // The slot that a frame gets
  output logic              begin_o,           // one cycle: slot_i is taken
  output logic [$clog2(QUEUES > 1 ? QUEUES : 2)-1:0] begin_queue_o,
  input  logic [$clog2(SLOTS)-1:0] slot_i,     // of begin_queue_o: a free one
  // Memory
  output logic              read_valid_o,
  output dma_request_t      read_o,
  input  logic              read_ready_i,
  input  logic              beat_valid_i,
  input  dma_beat_t         beat_i,
  output store_write_t      store_o,
  // The frame that was begun first
  output logic              frame_valid_o,
  output fetched_t          frame_o,
  input  logic              frame_ready_i
);
  localparam int unsigned QUEUE_W = $clog2(QUEUES > 1 ? QUEUES : 2);
  localparam int unsigned SLOT_W = $clog2(SLOTS);
  localparam int unsigned PLACE_W = $clog2(PLACES);
  localparam int unsigned OPEN_W = 5;                // pen_dma_read has no more reads under way
  localparam length_t HEADER = 11'd14;
  localparam length_t LAUNCH_BYTES = 11'd8;
  localparam length_t FCS_BYTES = 11'd4;
  if (PLACES < 2 || PLACES != 1 << PLACE_W) $fatal(1, "pen_frame_fetch: PLACES must be a power of two, is %0d (%m)", PLACES);

  typedef logic [QUEUE_W-1:0] queue_t;
  typedef logic [SLOT_W-1:0]  slot_t;
  typedef logic [PLACE_W:0]   place_t;               // counts on past PLACES, so that none and all differ
  typedef struct packed {
    queue_t of_queue;
    slot_t  slot;
    logic   timed;
  } begun_t;
  typedef struct packed {
    fetched_e    kind;
    logic [15:0] head;
    length_t     bytes;
  } told_t;

  typedef enum logic [2:0] {PICK, BUFFER, WEIGH, JUDGE, READ, TAKE, DROP} state_e;
  state_e            state_q;
  queue_t            queue_q, chosen;
  logic [3:0]        skip_q;                         // bytes of the header still to come
  logic [16:0]       skipped;
  length_t           bytes_q, least, most_q;         // of the frame so far, the launch time with them
  logic [17:0]       grown_q;
  logic              timed_q, first_q, last_q, refuse_q, cut_q, refuse, wanted_q;
  logic [15:0]       head_q;
  dma_request_t      read_q;
  logic [OPEN_W-1:0] open_q;                         // reads under way
  place_t            asked_q, whole_q, gone_q;       // frames that have been asked for whole, that are whole, that are handed over
  logic              asks, passes, done, full, error_q, ends;
  logic              prefix_valid;
  logic [63:0]       prefix;
  begun_t            begins, coming, begun;
  told_t             tells, told;

  // ---- Chains
  always_comb begin
    chosen = queue_q;
    for (int unsigned k = QUEUES; k >= 1; k--) begin
      automatic queue_t next = queue_t'((32'(queue_q) + k) % QUEUES);
      if (able_i[next]) chosen = next;
    end
  end

  assign full          = asked_q - gone_q == place_t'(PLACES);
  assign fetch_o       = state_q == PICK && able_i != '0 && fetch_ready_i && !hold_i && !full;
  assign fetch_queue_o = chosen;
  assign begin_o       = state_q == BUFFER && first_q;
  assign begin_queue_o = queue_q;
  assign skipped       = buffer_i.bytes > 17'(skip_q) ? 17'(skip_q) : buffer_i.bytes;
  assign least         = HEADER + (timed_q ? LAUNCH_BYTES : '0);
  assign refuse        = refuse_q || grown_q > 18'(most_q) || (last_q && grown_q < 18'(least));

  // Until it has been asked for, so that no later one of the chain is told of meanwhile.
  assign buffer_ready_o = state_q == TAKE || (state_q == JUDGE && !wanted_q);
  assign read_valid_o   = state_q == READ;
  assign read_o         = read_q;
  assign asks           = state_q == READ && read_ready_i && last_q;
  // What has been read of it is all there, and nothing comes of others.
  assign passes         = state_q == DROP && open_q == '0 && asked_q == whole_q;
  assign busy_o         = state_q != PICK || asked_q != gone_q;

  always_ff @(posedge clk_i) begin
    most_q <= max_frame_bytes_i - FCS_BYTES + (timed_q ? LAUNCH_BYTES : '0);
    unique case (state_q)
      PICK: begin
        if (fetch_o) begin
          queue_q <= chosen;
          timed_q <= launch_enable_i[chosen];
          state_q <= BUFFER;
        end
        skip_q   <= 4'(HEADER_BYTES);
        bytes_q  <= '0;
        refuse_q <= 1'b0;
        cut_q    <= 1'b0;
        first_q  <= 1'b1;
      end
      BUFFER: begin
        first_q <= 1'b0;
        head_q  <= head_i;
        read_q  <= '{mark: buffer_i.last, address: buffer_i.address + ADDRESS_W'(skipped), bytes: buffer_i.bytes - skipped};
        last_q  <= buffer_i.last;
        grown_q <= 18'(bytes_q) + 18'(buffer_i.bytes) - 18'(skipped);
        if (failed_i) begin
          cut_q   <= 1'b1;
          state_q <= DROP;
        end else if (buffer_valid_i) begin
          skip_q  <= skip_q - 4'(skipped);
          state_q <= WEIGH;
        end
      end
      WEIGH: begin
        refuse_q <= refuse;
        wanted_q <= !refuse && read_q.bytes != '0;
        state_q  <= JUDGE;
      end
      JUDGE: begin
        if (!refuse_q) bytes_q <= grown_q[10:0];
        state_q <= wanted_q ? READ : refuse_q && last_q ? DROP : BUFFER;
      end
      READ: if (read_ready_i) state_q <= TAKE;
      TAKE: state_q <= last_q ? PICK : BUFFER;
      default: if (passes) state_q <= PICK;
    endcase
    if (rst_i) begin
      state_q <= PICK;
      queue_q <= '0;
    end
  end

  // ---- What comes
  assign ends = beat_valid_i && beat_i.last;
  always_ff @(posedge clk_i) begin
    open_q  <= open_q + OPEN_W'(read_valid_o && read_ready_i) - OPEN_W'(ends);
    error_q <= (error_q && !done && !passes) || (ends && beat_i.error);
    if (asks || passes) asked_q <= asked_q + 1'b1;
    if (done || passes) whole_q <= whole_q + 1'b1;
    if (frame_valid_o && frame_ready_i) gone_q <= gone_q + 1'b1;
    if (rst_i) begin
      open_q  <= '0;
      error_q <= 1'b0;
      asked_q <= '0;
      whole_q <= '0;
      gone_q  <= '0;
    end
  end

  function automatic cell_t cell_of(input queue_t q, input slot_t s);
    return cell_t'((FIRST_SLOT + 32'({q, s})) * FRAME_CELLS);
  endfunction

  pen_frame_writer u_writer (
    .clk_i,
    .rst_i,
    .cell_i        (cell_of(coming.of_queue, coming.slot)),
    .prefix_i      (coming.timed),
    .beat_valid_i,
    .beat_i,
    .restart_i     (passes),
    .done_o        (done),
    .prefix_valid_o(prefix_valid),
    .prefix_o      (prefix),
    .store_o
  );

  // ---- Places
  assign begins = '{of_queue: queue_q, slot: slot_i, timed: timed_q};
  assign tells  = '{kind: asks ? FETCHED_WHOLE : cut_q ? FETCHED_CUT : FETCHED_REFUSED, head: head_q, bytes: bytes_q};
  pen_lutram_nr1w #(.WIDTH($bits(begun_t)), .DEPTH(PLACES)) u_begun (
    .clk_i,
    .write_i     (begin_o),
    .write_addr_i(asked_q[PLACE_W-1:0]),
    .write_data_i(begins),
    .read_addr_i ({gone_q[PLACE_W-1:0], whole_q[PLACE_W-1:0]}),
    .read_data_o ({begun, coming})
  );
  pen_lutram_1r1w #(.WIDTH($bits(told_t)), .DEPTH(PLACES)) u_told (
    .clk_i,
    .write_i     (asks || passes),
    .write_addr_i(asked_q[PLACE_W-1:0]),
    .write_data_i(tells),
    .read_addr_i (gone_q[PLACE_W-1:0]),
    .read_data_o (told)
  );
  logic error;
  pen_lutram_1r1w #(.WIDTH(1), .DEPTH(PLACES)) u_errors (
    .clk_i,
    .write_i     (done || passes),
    .write_addr_i(whole_q[PLACE_W-1:0]),
    .write_data_i(error_q),
    .read_addr_i (gone_q[PLACE_W-1:0]),
    .read_data_o (error)
  );
  logic [63:0] launch_time;
  pen_lutram_1r1w #(.WIDTH(64), .DEPTH(PLACES)) u_launch_times (
    .clk_i,
    .write_i     (prefix_valid),
    .write_addr_i(whole_q[PLACE_W-1:0]),
    .write_data_i(prefix),
    .read_addr_i (gone_q[PLACE_W-1:0]),
    .read_data_o (launch_time)
  );

  assign frame_valid_o = whole_q != gone_q;
  assign frame_o       = '{
    kind: told.kind, error: error, of_queue: 4'(begun.of_queue), slot: 3'(begun.slot), timed: begun.timed, head: told.head,
    bytes: told.bytes, launch_time: launch_time
  };

`ifdef FORMAL
  // Contract, of any frame, whatever chains and memory say: 1. it is handed over once, in the order in which frames were begun,
  // with the queue, slot and number of its chain; 2. whole only if all of its reads have been answered, and with an error if
  // memory refused one; 3. no frame is begun that has no place; 4. what comes is written into the slot of the frame that it is of,
  // which has not been handed over.
  localparam int unsigned F_OPEN = 4;                // reads under way, at most
  typedef logic [$clog2(F_OPEN):0] f_count_t;
  logic              f_past_q = 1'b0, f_chain_q, f_first_q, f_pause_q, f_valid_q, f_building, f_here, f_before, f_asked, f_told;
  buffer_t           f_buffer_q;
  logic [15:0]       f_chain_head_q;
  logic [F_OPEN-1:0] f_marks_q;                      // of reads under way, the first one in 0
  f_count_t          f_count_q, f_marked, f_behind;  // how many; of these with mark; behind the last mark
  f_count_t          f_open;                         // of that frame
  told_t             f_told_of;
  place_t            f_place_q;                      // of any frame, and always the same
  place_t            f_begun_q, f_handed_q;          // frames
  begun_t            f_record_q;                     // of that frame
  logic [15:0]       f_head_q;
  logic [3:0]        f_asks_q, f_answers_q;          // reads of that frame
  logic              f_error_q, f_final_q;           // memory refused some of it; the last one has been asked for

  assign f_building = state_q != PICK && !begin_o && !(state_q == TAKE && last_q);
  assign f_here     = f_place_q - gone_q < place_t'(whole_q - gone_q);           // it waits to be handed over
  assign f_asked    = f_place_q - gone_q < place_t'(asked_q - gone_q);
  assign f_told     = f_asked || (f_building && f_place_q == asked_q);           // it has been begun
  assign f_before   = f_place_q == whole_q && f_told;                            // what comes is of it

  always_comb begin
    f_marked = '0;
    f_behind = f_count_q;
    f_open   = '0;
    for (int unsigned i = 0; i < F_OPEN; i++) begin
      if (i < 32'(f_count_q) && place_t'(f_place_q - whole_q - place_t'(done)) == place_t'(f_marked)) f_open += 1'b1;
      if (i < 32'(f_count_q) && f_marks_q[i]) begin
        f_marked += 1'b1;
        f_behind = f_count_q - f_count_t'(i) - 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    f_past_q       <= 1'b1;
    f_place_q      <= f_place_q;
    f_pause_q      <= beat_valid_i && beat_i.last && beat_i.mark && !rst_i;
    f_valid_q      <= buffer_valid_i && !buffer_ready_o && !rst_i;
    f_buffer_q     <= buffer_i;
    f_chain_head_q <= head_i;
    if (fetch_o) f_chain_q <= 1'b1;
    if (failed_i || (buffer_ready_o && buffer_i.last)) f_chain_q <= 1'b0;
    if (ends) begin
      f_marks_q <= f_marks_q >> 1;
      if (read_valid_o && read_ready_i) f_marks_q[2'(f_count_q - 1'b1)] <= read_o.mark;
    end else if (read_valid_o && read_ready_i) f_marks_q[2'(f_count_q)] <= read_o.mark;
    f_count_q <= f_count_q + f_count_t'(read_valid_o && read_ready_i) - f_count_t'(ends);
    if (begin_o) f_begun_q <= f_begun_q + 1'b1;
    if (frame_valid_o && frame_ready_i) f_handed_q <= f_handed_q + 1'b1;
    // The frame that has that place next.
    if (begin_o && f_begun_q == f_place_q) begin
      f_record_q  <= '{of_queue: begin_queue_o, slot: slot_i, timed: timed_q};
      f_asks_q    <= '0;
      f_answers_q <= '0;
      f_error_q   <= 1'b0;
      f_final_q   <= 1'b0;
    end else begin
      if (f_building && asked_q == f_place_q && read_valid_o && read_ready_i) begin
        f_asks_q  <= f_asks_q + 1'b1;
        f_final_q <= read_o.mark;
      end
      if (f_before && ends) begin
        f_answers_q <= f_answers_q + 1'b1;
        f_error_q   <= f_error_q || beat_i.error;
      end
    end
    if (buffer_valid_i && state_q == BUFFER && asked_q == f_place_q) f_head_q <= head_i;
    if (rst_i) begin
      f_chain_q  <= 1'b0;
      f_count_q  <= '0;
      f_begun_q  <= '0;
      f_handed_q <= '0;
    end
  end

  always_comb begin
    if (!f_past_q) assume (rst_i);
    else if (!rst_i) begin
      // What it asks of its surroundings.
      assume (max_frame_bytes_i >= 11'd64 && max_frame_bytes_i <= 11'd2000);
      if (!f_chain_q) assume (!buffer_valid_i && !failed_i);
      if (f_valid_q) assume (buffer_valid_i && buffer_i == f_buffer_q && head_i == f_chain_head_q);
      if (buffer_valid_i) assume (buffer_i.bytes != '0 && buffer_i.bytes <= 17'h10000 && !failed_i);
      if (failed_i) assume (state_q == BUFFER && !first_q);   // when a buffer is waited for
      if (f_count_q == f_count_t'(F_OPEN)) assume (!read_ready_i);
      if (f_count_q == '0 || f_pause_q) assume (!beat_valid_i);
      if (beat_valid_i) assume (beat_i.mark == f_marks_q[0] && beat_i.count != '0 && beat_i.count <= 4'd8);
      if (beat_valid_i && beat_i.error) assume (beat_i.last);
      // The contract.
      assert (f_begun_q == place_t'(asked_q + place_t'(f_building)) && f_handed_q == gone_q);
      assert (f_begun_q - f_handed_q <= place_t'(PLACES));
      if (frame_valid_o && gone_q == f_place_q) begin
        assert (frame_o.of_queue == 4'(f_record_q.of_queue) && frame_o.slot == 3'(f_record_q.slot) && frame_o.timed == f_record_q.timed);
        if (frame_o.kind != FETCHED_CUT) assert (frame_o.head == f_head_q);
        if (frame_o.kind == FETCHED_WHOLE) assert (f_final_q);
        assert (f_answers_q == f_asks_q && frame_o.error == f_error_q && frame_o.kind <= FETCHED_CUT);
      end
      if (beat_valid_i) assert (asked_q != whole_q || f_building);
      if (beat_valid_i && f_before) assert (coming == f_record_q);
      // What makes it hold.
      assert (state_q <= DROP);
      assert (f_chain_q == (state_q inside {BUFFER, WEIGH, JUDGE, READ, TAKE}));
      if (state_q inside {BUFFER, WEIGH, JUDGE, READ, TAKE}) begin
        assert (!cut_q && skip_q <= 4'(HEADER_BYTES));
        if (skip_q != '0) assert (bytes_q == '0 && (!(state_q inside {WEIGH, JUDGE}) || read_q.bytes == '0));
        if (state_q inside {WEIGH, JUDGE}) assert (grown_q == 18'(bytes_q) + 18'(read_q.bytes) && (read_q.bytes != '0 || bytes_q == '0));
        if (state_q inside {READ, TAKE}) assert (read_q.bytes != '0 && skip_q == '0);
      end
      assert (place_t'(asked_q - gone_q) <= place_t'(PLACES) && place_t'(whole_q - gone_q) <= place_t'(asked_q - gone_q));
      if (state_q != PICK && !(state_q == TAKE && last_q)) assert (!full);
      if (state_q != BUFFER && state_q != PICK) assert (!first_q);
      assert (OPEN_W'(f_count_q) == open_q && f_count_q <= f_count_t'(F_OPEN));
      assert (4'(place_t'(asked_q - whole_q)) == 4'(f_marked) + 4'(done) && done == f_pause_q);
      if (state_q == PICK || begin_o) assert (f_behind == '0);
      if (state_q inside {WEIGH, JUDGE, READ, TAKE}) assert (buffer_valid_i && f_valid_q && head_q == head_i && last_q == buffer_i.last && read_q.mark == last_q);
      if (f_told) assert (u_begun.memory[f_place_q[PLACE_W-1:0]] == f_record_q);
      f_told_of = u_told.memory[f_place_q[PLACE_W-1:0]];
      if (f_asked) begin
        assert (f_told_of.kind <= FETCHED_CUT && (f_told_of.kind == FETCHED_CUT || f_told_of.head == f_head_q));
        assert (f_told_of.kind != FETCHED_WHOLE || f_final_q);
      end
      if (f_told && !f_here) assert (4'(f_asks_q - f_answers_q) == 4'(f_open));
      if (f_told && !f_here && whole_q != f_place_q) assert (!f_error_q);
      if (asked_q == whole_q && (state_q == PICK || begin_o)) assert (!error_q);
      if (state_q inside {WEIGH, JUDGE, READ} || (state_q == TAKE && !last_q) || (state_q == DROP && !cut_q)) if (asked_q == f_place_q) assert (f_head_q == head_q);
      if (f_here) assert (f_answers_q == f_asks_q && u_errors.memory[f_place_q[PLACE_W-1:0]] == f_error_q);
      if (f_before && !f_here) assert (error_q == f_error_q);
      cover (frame_valid_o && gone_q == f_place_q && frame_o.kind == FETCHED_WHOLE && place_t'(asked_q - gone_q) == place_t'(PLACES));
      cover (frame_valid_o && frame_o.kind == FETCHED_REFUSED && f_asks_q != '0);
      cover (frame_valid_o && frame_o.kind == FETCHED_CUT && frame_o.error);
    end
  end
`endif
endmodule
