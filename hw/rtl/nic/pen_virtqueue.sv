// SPDX-License-Identifier: Apache-2.0
// The driver's side of split virtqueues (VIRTIO 1.2, 2.7): finds what has been made available, and hands it out buffer by buffer.
//
// One unit serves all queues of one direction. It reads ahead: up to 8 elements of a ring at once, then their descriptors one
// behind the other, of which up to HELD are kept for each queue, each the first of its chain.
//
//   index ─► elements ─► descriptors ─► held ─► fetched, in order          those that follow a first one are read when it is taken
//
//   held_o       of these queues a chain is held
//   fetch_i      a chain of this queue is wanted; with ready_o
//   empty_o      there is none                                  \
//   failed_o     the queue stands still from now on, see error_o | one of them answers
//   valid_o      a buffer of the chain, until ready_i; `last`   /  ends it
//
// A queue is looked at when its driver says so, when few of its chains are left, and when a chain is wanted and none is held.
//
// Whatever the driver writes, nothing is read but the ring and the table that the queue was started with, and a chain
// has at most as many buffers as the table. What is wrong is left where it is until all chains before it have been taken; then
// it stops the queue and no other one, of RECEIVE if a chain is wanted.
module pen_virtqueue
  import pen_nic_pkg::*;
#(
  parameter int unsigned QUEUES  = 4,
  parameter bit          RECEIVE = 0,           // buffers are for the device to write
  parameter int unsigned HELD    = 8            // chains of a queue that are held; a power of two
) (
  input  logic                clk_i,
  input  logic                rst_i,
  // Start and stop, while nothing is fetched or undone; each acts with command_ready_o
  input  logic                start_i,
  input  logic                stop_i,
  input  logic [$clog2(QUEUES > 1 ? QUEUES : 2)-1:0] command_queue_i,
  input  queue_settings_t     settings_i,
  input  logic                settings_good_i,  // alignment and size
  output logic                command_ready_o,
  output logic [15:0]         next_available_o, // of command_queue_i, in the cycle behind command_ready_o
  output logic [QUEUES-1:0]   running_o,
  output queue_error_e [QUEUES-1:0] error_o,
  input  logic [QUEUES-1:0]   fail_i,           // somebody else found something wrong
  input  queue_error_e        fail_error_i,
  input  logic [QUEUES-1:0]   notify_i,         // there may be more
  output logic                idle_o,           // nothing is being read, and no queue is to be looked at
  // Chains
  output logic [QUEUES-1:0]   held_o,
  output logic                ready_o,
  input  logic                fetch_i,
  input  logic [$clog2(QUEUES > 1 ? QUEUES : 2)-1:0] fetch_queue_i,
  output logic                empty_o,          // one cycle, as failed_o
  output logic                failed_o,
  output logic                valid_o,
  output buffer_t             buffer_o,
  output logic [15:0]         head_o,           // of the chain
  input  logic                ready_i,
  output logic                undo_ready_o,
  input  logic                undo_i,           // with undo_ready_o and RECEIVE: as if the last undo_chains_i chains were not fetched
  input  logic [15:0]         undo_chains_i,    // of fetch_queue_i, of which no chain is being handed out
  // Memory
  output logic                request_valid_o,
  output dma_request_t        request_o,
  input  logic                request_ready_i,
  input  logic                beat_valid_i,
  input  dma_beat_t           beat_i
);
  localparam int unsigned PLACES = QUEUES > 1 ? QUEUES : 2;
  localparam int unsigned QUEUE_W = $clog2(PLACES);
  localparam int unsigned HELD_W = $clog2(HELD);
  localparam int unsigned FEW = 3;              // so many are left, one of them about to go: more are read
  localparam logic [16:0] MOST_BYTES = 17'h10000;
  if (QUEUES < 1 || QUEUES > MAX_QUEUES / 2) begin : gen_check
    $fatal(1, "pen_virtqueue: QUEUES must be 1 to 16, is %0d (%m)", QUEUES);
  end

  if (HELD < 2 || HELD > 8 || HELD != 1 << HELD_W) begin : gen_check_held
    $fatal(1, "pen_virtqueue: HELD must be 2, 4 or 8, is %0d (%m)", HELD);
  end

  typedef logic [QUEUE_W-1:0] queue_t;
  typedef logic [3:0]         count8_t;         // of elements
  typedef logic [HELD_W:0]    count_t;          // counts on past HELD, so that none and all differ
  typedef logic [ADDRESS_W-1:1] base_t;         // of the ring; of the table
  typedef struct packed {
    logic [15:0] known;                         // available index as last read
    logic [15:0] next;                          // not yet held
  } index_t;
  typedef struct packed {
    address_t    address;
    logic [16:0] bytes;
    logic        more;
    logic [15:0] following;
  } held_t;

  typedef enum logic [1:0] {READ, MORE, UNDO} work_e;
  typedef enum logic [3:0] {
    IDLE, LOOK, GO_BACK, INDEX, AVAILABLE, KNOWN, RING, RING_PLACE, RING_ASK, HEADS, HEAD, PLACE, ASK, REST, END, FAIL
  } state_e;
  typedef enum logic [1:0] {FREE, WAIT, GIVE, REST_OF} hand_e;
  state_e       state_q;
  hand_e        hand_q;
  work_e        work_q;
  logic         wanted_q;                       // a chain is, and none was held when the look began
  queue_t       queue_q, out_queue_q, chosen, place_queue;
  logic [QUEUES-1:0] look_q, able;
  base_t        base;
  index_t       index, index_d;
  logic [15:0]  known_q, next_q, mask_q;        // of the queue that is looked at, after LOOK
  logic [15:0]  behind_known_q;                 // chains that are offered, less one; with measured_q, in KNOWN and RING
  logic         measured_q;
  logic [3:0]   size_log2;
  logic         table_q;                        // of the two the table's
  logic         index_write;
  count_t       filled, taken, out_filled, out_taken, held_now;
  logic [15:0]  undo_chains_q, value;
  logic [15:0]  following;                      // descriptor, of the buffer that is handed out
  logic         goes_back, command, wants, continues, answered, more, few_q;

  localparam int unsigned NEXT = 0, WRITE = 1, INDIRECT = 2;

  assign more        = work_q == MORE;
  assign goes_back   = RECEIVE && state_q == GO_BACK;
  assign place_queue = state_q == IDLE ? command_queue_i : queue_q;
  // A start takes two cycles, as both places of the queue lie in one memory.
  logic begun_q, starts;
  logic still;
  assign still           = state_q == IDLE && hand_q == FREE;
  assign starts          = start_i && still;
  assign command         = starts && begun_q;
  assign command_ready_o = command || (stop_i && !start_i && still);
  assign ready_o         = hand_q == FREE && !(work_q == UNDO && state_q != IDLE);
  assign undo_ready_o    = state_q == IDLE;
  assign idle_o          = state_q == IDLE && able == '0;

  pen_lutram_1r1w #(.WIDTH($bits(base_t)), .DEPTH(2 * PLACES)) u_places (
    .clk_i,
    .write_i     (starts),
    .write_addr_i({command_queue_i, begun_q}),
    .write_data_i(begun_q ? {settings_i.descriptors[ADDRESS_W-1:4], 3'b0} : settings_i.driver[ADDRESS_W-1:1]),
    .read_addr_i ({queue_q, table_q}),
    .read_data_o (base)
  );
  pen_lutram_1r1w #(.WIDTH(4), .DEPTH(PLACES)) u_sizes (
    .clk_i,
    .write_i     (command),
    .write_addr_i(command_queue_i),
    .write_data_i(settings_i.size_log2),
    .read_addr_i (queue_q),
    .read_data_o (size_log2)
  );
  pen_lutram_1r1w #(.WIDTH($bits(index_t)), .DEPTH(PLACES)) u_indices (
    .clk_i,
    .write_i     (index_write),
    .write_addr_i(place_queue),
    .write_data_i(index_d),
    .read_addr_i (place_queue),
    .read_data_o (index)
  );
  logic [15:0] told_next_q, first_held;         // of the cycle before; first: of chains that are held or given back
  count_t      told_held_q;
  always_ff @(posedge clk_i) begin
    told_next_q <= index.next;
    told_held_q <= held_now;
  end
  assign next_available_o = told_next_q - 16'(told_held_q);
  assign first_held       = next_available_o - undo_chains_q;

  // ---- What comes of the table: taken apart, held and judged, taken over, each in a cycle
  logic [63:0]  base_q;
  logic [31:0]  length_q;
  logic [15:0]  flags_q, following_q;
  logic         come_q, refused_q, judged_q, fresh;
  queue_error_e judged_error, judged_error_q, wrong_q;
  count_t       asked_q, done_q, room_q;        // descriptors of this look; places that are left
  logic         stopped_q;                      // one of them is wrong, so that those behind it do not count
  held_t        hold, held;
  logic [15:0]  head, chain_q;
  logic [16:0]  total_q;                        // bytes of chain_q buffers that were given of this chain
  logic [17:0]  total;                          // of two that are 64 KiB each
  logic         hold_write, of_table, taken_over, takes;

  assign of_table   = state_q inside {HEAD, PLACE, ASK, REST};
  assign total      = (more ? 18'(total_q) : '0) + 18'(length_q[16:0]);
  assign hold       = '{address: base_q[ADDRESS_W-1:0], bytes: length_q[16:0], more: flags_q[NEXT], following: following_q};
  assign hold_write = come_q && !refused_q && !stopped_q;

  always_comb begin
    judged_error = QUEUE_ERROR_NONE;
    if (refused_q) judged_error = QUEUE_ERROR_ACCESS;
    else if (flags_q[INDIRECT] || flags_q[WRITE] != RECEIVE) judged_error = QUEUE_ERROR_KIND;
    else if (length_q == '0) judged_error = QUEUE_ERROR_EMPTY;
    else if (length_q > 32'(MOST_BYTES) || total > 18'(MOST_BYTES)) judged_error = QUEUE_ERROR_LONG;
    else if (base_q[63:ADDRESS_W] != '0) judged_error = QUEUE_ERROR_ACCESS;
    else if (flags_q[NEXT] && (following_q & ~mask_q) != '0) judged_error = QUEUE_ERROR_INDEX;
    else if (flags_q[NEXT] && (more ? chain_q : '0) >= mask_q) judged_error = QUEUE_ERROR_LOOP;
  end
  assign fresh      = judged_q && judged_error_q == QUEUE_ERROR_NONE && !stopped_q;
  assign taken_over = fresh && !more;           // a chain more is held

  // The descriptor that follows stands in the place of the one before.
  pen_lutram_1r1w #(.WIDTH($bits(held_t)), .DEPTH(PLACES * HELD)) u_held (
    .clk_i,
    .write_i     (hold_write),
    .write_addr_i({queue_q, more ? taken[HELD_W-1:0] : filled[HELD_W-1:0]}),
    .write_data_i(hold),
    .read_addr_i ({out_queue_q, out_taken[HELD_W-1:0]}),
    .read_data_o (held)
  );
  pen_lutram_nr1w #(.WIDTH($bits(count_t)), .DEPTH(PLACES)) u_filled (
    .clk_i,
    .write_i     (command || taken_over || goes_back),
    .write_addr_i(place_queue),
    .write_data_i(command ? '0 : taken_over ? filled + 1'b1 : taken),
    .read_addr_i ({out_queue_q, place_queue}),
    .read_data_o ({out_filled, filled})
  );
  pen_lutram_nr1w #(.WIDTH($bits(count_t)), .DEPTH(PLACES)) u_taken (
    .clk_i,
    .write_i     (command || takes),
    .write_addr_i(command ? command_queue_i : out_queue_q),
    .write_data_i(command ? '0 : out_taken + 1'b1),
    .read_addr_i ({out_queue_q, place_queue}),
    .read_data_o ({out_taken, taken})
  );
  assign held_now = filled - taken;

  // ---- What is read now
  address_t     address_q;
  logic [4:0]   bytes_q;
  logic         request_q;
  logic [20:0]  offset_q;                       // in the ring or table
  logic [15:0]  head_q, rest_q;                 // rest_q: elements behind this one to the ring's end
  logic [2:0]   lane_q;                         // of the next element, of 8
  logic         word_q;
  count8_t      left_q, offered;                // elements whose descriptors are to be asked for
  logic [1:0][63:0] heads_q;
  logic [7:0][15:0] heads;
  logic [HELD_W-1:0] spot_q;                    // that its chain will be held in
  logic         begins;
  queue_t       begin_queue;

  assign head_q          = offset_q[19:4];
  assign request_valid_o = request_q;
  assign request_o       = '{mark: 1'b0, address: address_q, bytes: 17'(bytes_q)};
  assign answered        = beat_valid_i && beat_i.last;

  pen_lutram_1r1w #(.WIDTH(16), .DEPTH(PLACES * HELD)) u_heads (
    .clk_i,
    .write_i     (state_q == PLACE && !more),
    .write_addr_i({queue_q, spot_q}),
    .write_data_i(head_q),
    .read_addr_i ({out_queue_q, out_taken[HELD_W-1:0]}),
    .read_data_o (head)
  );

  assign value        = beat_i.data[16*beat_i.offset[2:1]+:16];
  assign heads = heads_q;

  // Read are the elements up to the ring's end, or that of an aligned 16 bytes; used are those that have been made available,
  // as far as there is room.
  logic [2:0] to_end, behind;                   // elements behind the first one
  assign to_end       = ~address_q[3:1];
  assign behind       = rest_q > 16'(to_end) ? to_end : rest_q[2:0];
  assign offered      = behind_known_q >= 16'(room_q) ? count8_t'(room_q) : behind_known_q[3:0] + 1'b1;

  // ---- What is done next
  assign able        = look_q & running_o;
  assign continues   = hand_q == REST_OF;
  assign wants       = RECEIVE && hand_q == WAIT && !held_o[out_queue_q];
  assign begins      = state_q == IDLE && !(start_i || stop_i) && !undo_i && !continues && (wants || able != '0);
  assign begin_queue = continues || wants ? out_queue_q : chosen;
  always_comb begin
    chosen = queue_q;
    for (int unsigned k = QUEUES; k >= 1; k--) begin
      automatic queue_t one = queue_t'((32'(queue_q) + k) % QUEUES);
      if (able[one]) chosen = one;
    end
  end

  always_comb begin
    index_write = command || goes_back || state_q == RING || taken_over;
    index_d     = '{known: known_q, next: taken_over ? next_q + 1'b1 : next_q};
    if (command) index_d = '{known: settings_i.next_available, next: settings_i.next_available};
    if (goes_back) index_d = '{known: first_held, next: first_held};  // looked at again
  end

  logic none, jumps, bad_head, fails, empty, failed;
  assign none     = &behind_known_q;
  assign jumps    = wrong_q != QUEUE_ERROR_NONE || (!none && (behind_known_q & ~mask_q) != '0);
  assign bad_head = !more && (head_q & ~mask_q) != '0;
  // What is wrong counts if nothing stands before it.
  assign fails    = wrong_q != QUEUE_ERROR_NONE && (more || (!held_o[queue_q] && (wanted_q || !RECEIVE)));

  assign empty    = state_q == KNOWN && measured_q && !jumps && none && wanted_q;
  assign failed   = state_q == FAIL && (more || wanted_q);
  assign valid_o  = hand_q == GIVE;
  assign takes    = valid_o && ready_i && buffer_o.last;

  always_ff @(posedge clk_i) begin
    begun_q        <= starts && !begun_q;
    empty_o        <= empty && !rst_i;
    failed_o       <= failed && !rst_i;
    behind_known_q <= known_q + ~next_q;
    measured_q     <= state_q inside {KNOWN, RING} && !measured_q && !rst_i;
    unique case (state_q)
      IDLE: begin
        undo_chains_q <= RECEIVE && undo_i ? undo_chains_i : '0;
        queue_q       <= RECEIVE && undo_i ? fetch_queue_i : begin_queue;
        work_q        <= continues ? MORE : READ;
        wanted_q      <= wants;
        if (begins || continues) state_q <= LOOK;
        if (RECEIVE && undo_i) begin
          work_q  <= UNDO;
          state_q <= LOOK;
        end
      end
      LOOK: begin
        mask_q        <= (16'd1 << size_log2) - 1'b1;
        known_q       <= index.known;
        next_q        <= index.next;
        room_q        <= count_t'(HELD) - held_now;
        asked_q       <= '0;
        done_q        <= '0;
        stopped_q     <= 1'b0;
        wrong_q       <= QUEUE_ERROR_NONE;
        spot_q        <= filled[HELD_W-1:0];
        table_q       <= more;
        offset_q      <= more ? {1'b0, following, 4'b0} : 21'd2;
        state_q       <= more ? PLACE : RECEIVE && work_q == UNDO ? GO_BACK : index.known == index.next ? INDEX : RING;
      end
      GO_BACK: state_q <= IDLE;
      INDEX: begin
        bytes_q   <= 5'd2;
        request_q <= 1'b1;
        state_q   <= AVAILABLE;
      end
      AVAILABLE: if (answered) begin
        known_q <= value;
        if (beat_i.error) wrong_q <= QUEUE_ERROR_ACCESS;
        state_q <= KNOWN;
      end
      KNOWN: if (measured_q) begin
        state_q <= RING;
        if (jumps) begin
          if (wrong_q == QUEUE_ERROR_NONE) wrong_q <= QUEUE_ERROR_JUMP;
          state_q <= END;
        end else if (none) state_q <= IDLE;
      end
      RING: if (measured_q) begin
        offset_q <= 21'({next_q & mask_q, 1'b0}) + 21'd4;
        rest_q   <= ~next_q & mask_q;
        left_q   <= offered;
        state_q  <= room_q == '0 ? IDLE : RING_PLACE;
      end
      RING_PLACE: state_q <= RING_ASK;
      RING_ASK: begin
        lane_q    <= address_q[3:1];
        word_q    <= address_q[3];
        bytes_q   <= {1'b0, behind, 1'b0} + 5'd2;
        if (left_q > count8_t'(behind)) left_q <= count8_t'(behind) + 1'b1;
        request_q <= 1'b1;
        state_q   <= HEADS;
      end
      HEADS: begin
        if (beat_valid_i) begin
          heads_q[word_q] <= beat_i.data;
          word_q          <= 1'b1;
        end
        if (answered) begin
          state_q <= HEAD;
          if (beat_i.error) begin
            wrong_q <= QUEUE_ERROR_ACCESS;
            state_q <= END;
          end
        end
      end
      HEAD: begin
        table_q  <= 1'b1;
        offset_q <= {1'b0, heads[lane_q], 4'b0};
        lane_q   <= lane_q + 1'b1;
        left_q   <= left_q - 1'b1;
        state_q  <= PLACE;
      end
      PLACE: begin
        bytes_q   <= 5'd16;
        request_q <= !bad_head;
        spot_q    <= spot_q + 1'b1;
        if (!bad_head) asked_q <= asked_q + 1'b1;
        state_q <= ASK;
        if (bad_head) begin
          state_q <= REST;
          if (asked_q == '0) wrong_q <= QUEUE_ERROR_INDEX;
        end
      end
      ASK: if (request_ready_i) state_q <= more || left_q == '0 || stopped_q ? REST : HEAD;
      REST: if (asked_q == done_q) state_q <= END;
      END: state_q <= fails ? FAIL : IDLE;
      default: state_q <= IDLE;
    endcase
    if (state_q inside {INDEX, RING_PLACE, PLACE})
      address_q <= {base, 1'b0} + ADDRESS_W'(offset_q);
    if (request_q && request_ready_i) request_q <= 1'b0;

    come_q <= answered && of_table;
    if (beat_valid_i && of_table) begin
      refused_q <= beat_i.error;
      if (!beat_i.last) base_q <= beat_i.data;
      else {following_q, flags_q, length_q} <= beat_i.data;
    end
    judged_q       <= come_q;
    judged_error_q <= judged_error;
    if (judged_q) begin
      done_q <= done_q + 1'b1;
      if (judged_error_q != QUEUE_ERROR_NONE && !stopped_q) begin
        stopped_q <= 1'b1;
        if (done_q == '0) wrong_q <= judged_error_q;
      end
    end
    if (taken_over) next_q <= next_q + 1'b1;

    unique case (hand_q)
      FREE: begin
        out_queue_q <= fetch_queue_i;
        total_q     <= '0;
        chain_q     <= '0;
        if (fetch_i) hand_q <= WAIT;
      end
      WAIT: begin
        buffer_o  <= '{address: held.address, bytes: held.bytes, last: !held.more};
        following <= held.following;
        head_o    <= head;
        few_q     <= 32'(count_t'(out_filled - out_taken)) <= FEW;
        if (held_o[out_queue_q]) hand_q <= GIVE;
        else if (empty || failed) hand_q <= FREE;
      end
      GIVE: if (ready_i) begin
        total_q <= total_q + buffer_o.bytes;
        chain_q <= chain_q + 1'b1;
        hand_q  <= buffer_o.last ? FREE : REST_OF;
      end
      REST_OF: begin
        if (more && state_q == END && !fails) hand_q <= WAIT;
        if (failed) hand_q <= FREE;
      end
    endcase

    for (int unsigned k = 0; k < QUEUES; k++) begin
      look_q[k] <= running_o[k] && (notify_i[k] || (takes && few_q && out_queue_q == queue_t'(k))
                                    || (look_q[k] && !(begins && begin_queue == queue_t'(k))));
      if ((command && command_queue_i == queue_t'(k)) || (goes_back && queue_q == queue_t'(k))) held_o[k] <= 1'b0;
      else if (taken_over && queue_q == queue_t'(k)) held_o[k] <= 1'b1;
      else if (takes && out_queue_q == queue_t'(k)) held_o[k] <= out_filled != out_taken + 1'b1;
      if (command_ready_o && command_queue_i == queue_t'(k)) begin
        running_o[k] <= start_i && settings_good_i;
        if (start_i) error_o[k] <= settings_good_i ? QUEUE_ERROR_NONE : QUEUE_ERROR_SETTING;
      end else if (running_o[k] && (fail_i[k] || (state_q == FAIL && queue_q == queue_t'(k)))) begin
        running_o[k] <= 1'b0;
        error_o[k]   <= state_q == FAIL && queue_q == queue_t'(k) ? wrong_q : fail_error_i;
      end
    end
    if (rst_i) begin
      state_q   <= IDLE;
      hand_q    <= FREE;
      work_q    <= READ;
      begun_q   <= 1'b0;
      request_q <= 1'b0;
      come_q    <= 1'b0;
      judged_q  <= 1'b0;
      held_o    <= '0;
      look_q    <= '0;
      running_o <= '0;
      for (int unsigned k = 0; k < QUEUES; k++) error_o[k] <= QUEUE_ERROR_NONE;
    end
  end

  logic unused;
  assign unused = &{1'b0, settings_i.device, settings_i.next_used, settings_i.descriptors[3:0], settings_i.driver[0],
                    beat_i.count, beat_i.mark, beat_i.offset[0], flags_q[15:3]};

`ifdef FORMAL
  // Contract, whatever the driver writes: 1. no chain is begun that the driver has not offered, and never more than the ring
  // holds are taken as offered; 2. nothing is read but the ring and the table; 3. a chain has at most as many buffers as
  // the ring, none of them empty, and 64 KiB; 4. each fetch is answered once: nothing there, failed, or a whole chain.
  logic [PLACES-1:0] f_cut_q;           // stopped within a chain, of which the held buffer is wrong
  logic              f_past_q = 1'b0, f_open_q, f_fresh_q, f_second_q, f_active;
  logic [PLACES-1:0] f_started_q;
  index_t            f_index;
  held_t             f_held;
  count_t            f_filled, f_taken, f_open, f_coming;
  logic [HELD_W-1:0] f_behind;
  logic [15:0]       f_size, f_offered, size;
  logic [31:0]       f_bytes_q;         // of the buffers that were given of this chain
  logic [15:0]       f_buffers_q;
  address_t          f_ring_at, f_table_at;

  assign size       = mask_q + 1'b1;
  assign f_ring_at  = request_o.address - {u_places.memory[{queue_q, 1'b0}], 1'b0};
  assign f_table_at = request_o.address - {u_places.memory[{queue_q, 1'b1}], 1'b0};
  assign f_active   = !(state_q inside {IDLE, LOOK});
  assign f_open     = asked_q - done_q;                 // descriptors that are to come, or to be judged
  assign f_offered  = known_q - next_q;
  assign f_coming   = f_open - count_t'(come_q) - count_t'(judged_q) - count_t'(state_q == ASK);

  always_ff @(posedge clk_i) begin
    f_past_q <= 1'b1;
    if (hand_q == FREE) begin
      f_bytes_q   <= '0;
      f_buffers_q <= '0;
    end else if (valid_o && ready_i) begin
      f_bytes_q   <= f_bytes_q + 32'(buffer_o.bytes);
      f_buffers_q <= f_buffers_q + 1'b1;
    end
    if (beat_valid_i && of_table) f_second_q <= !beat_i.last;
    if (state_q == LOOK) f_fresh_q <= 1'b0;
    else if (fresh) f_fresh_q <= 1'b1;
    if (command) f_started_q[command_queue_i] <= 1'b1;
    if (command) f_cut_q[command_queue_i] <= 1'b0;
    if (state_q == FAIL && more) f_cut_q[queue_q] <= 1'b1;
    if (fetch_i) f_open_q <= 1'b1;
    if (empty || failed || takes) f_open_q <= 1'b0;
    if (rst_i) begin
      f_started_q <= '0;
      f_cut_q     <= '0;
      f_open_q    <= 1'b0;
      f_second_q  <= 1'b0;
    end
  end

  function automatic logic f_is_good(input held_t entry, input logic [15:0] ring);
    return entry.bytes != '0 && entry.bytes <= MOST_BYTES && (!entry.more || entry.following < ring);
  endfunction

  always_comb begin
    if (!f_past_q) assume (rst_i);
    else begin
      // What it asks of its surroundings.
      if (fetch_i || undo_i) assume (f_started_q[fetch_queue_i] && !f_cut_q[fetch_queue_i] && 32'(fetch_queue_i) < QUEUES);
      if (fetch_i) assume (ready_o && (RECEIVE || held_o[fetch_queue_i]));
      if (undo_i) assume (RECEIVE && undo_ready_o && hand_q == FREE && !fetch_i);
      if (start_i || stop_i) assume (32'(command_queue_i) < QUEUES && !fetch_i && !undo_i);
      if (beat_valid_i) assume (of_table ? f_coming != '0 : state_q inside {AVAILABLE, HEADS} && !request_q);
      // A descriptor that can be read comes in two beats.
      if (beat_valid_i && of_table) assume (beat_i.last ? f_second_q || beat_i.error : !f_second_q);
      // The contract.
      if (taken_over) assert (known_q != next_q);
      for (int unsigned k = 0; k < QUEUES; k++) begin
        f_index  = u_indices.memory[k];
        f_filled = u_filled.memory[k];
        f_taken  = u_taken.memory[k];
        f_size   = 16'd1 << u_sizes.memory[k];
        if (running_o[k] || look_q[k]) assert (f_started_q[k]);
        if (held_o[k]) assert (f_started_q[k]);
        if (f_started_q[k]) begin
          assert (16'(f_index.known - f_index.next) <= f_size);
          assert (count_t'(f_filled - f_taken) <= count_t'(HELD));
          assert (held_o[k] == (f_filled != f_taken));
          for (int unsigned i = 0; i < HELD; i++) begin
            f_held = u_held.memory[HELD * k + i];
            f_behind = HELD_W'(i) - f_taken[HELD_W-1:0];
            if ({1'b0, f_behind} < count_t'(f_filled - f_taken) && !(f_cut_q[k] && f_behind == '0)
                && !(more && f_active && queue_q == queue_t'(k) && f_taken[HELD_W-1:0] == HELD_W'(i))) begin
              assert (f_is_good(f_held, f_size) && (!f_held.more || f_size != 16'd1));
            end
          end
        end
      end
      if (request_valid_o && state_q == AVAILABLE) assert (f_ring_at == 48'd2 && request_o.bytes == 17'd2);
      if (request_valid_o && state_q == HEADS) assert (f_ring_at >= 48'd4 && f_ring_at + 48'(request_o.bytes) <= 48'd4 + {31'b0, size, 1'b0});
      if (request_valid_o && state_q == ASK) assert (request_o.bytes == 17'd16 && f_table_at + 48'd16 <= {28'b0, size, 4'b0});
      if (request_valid_o) assert (state_q inside {AVAILABLE, HEADS, ASK});
      if (valid_o) begin
        assert (buffer_o.bytes != '0 && f_bytes_q + 32'(buffer_o.bytes) <= 32'(MOST_BYTES));
        assert (f_buffers_q < 16'd1 << u_sizes.memory[out_queue_q]);
      end
      if (empty || failed || valid_o) assert (f_open_q);
      assert (f_open_q == (hand_q != FREE));
      // What makes it hold: of the queue that is looked at,
      if (state_q != IDLE) assert (f_started_q[queue_q]);
      if (hand_q != FREE) assert (f_started_q[out_queue_q]);
      if (f_active) begin
        f_index = u_indices.memory[queue_q];
        assert (size == 16'd1 << u_sizes.memory[queue_q] && next_q == f_index.next && (state_q inside {KNOWN, END, FAIL, RING} || known_q == f_index.known));
        if (!(state_q inside {KNOWN, END, FAIL})) assert (f_offered <= size);
      end
      if (measured_q) assert (state_q inside {KNOWN, RING} && behind_known_q == f_offered - 16'd1);
      if (state_q inside {RING, RING_PLACE, RING_ASK, HEADS}) assert (f_offered != '0);
      if (state_q inside {RING_PLACE, RING_ASK, HEADS}) assert (left_q != '0 && 6'(left_q) <= 6'(room_q) && 16'(left_q) <= f_offered);
      if (state_q inside {INDEX, AVAILABLE}) assert (known_q == next_q);
      if (state_q inside {INDEX, AVAILABLE, KNOWN, RING, RING_PLACE, RING_ASK, HEADS}) assert (!table_q && !more && asked_q == '0 && done_q == '0 && !stopped_q);
      if (state_q inside {INDEX, AVAILABLE, RING, RING_PLACE, RING_ASK, HEADS}) assert (wrong_q == QUEUE_ERROR_NONE);
      if (state_q inside {INDEX, AVAILABLE, KNOWN, RING, RING_PLACE, RING_ASK, HEADS}) assert (6'(held_now) + 6'(room_q) <= 6'(HELD));
      assert ((work_q == UNDO && state_q != IDLE) == (state_q == GO_BACK || (state_q == LOOK && work_q == UNDO)));
      if (work_q == UNDO) assert (RECEIVE && (state_q == IDLE || hand_q == FREE));
      if (more && state_q != IDLE) assert (hand_q == REST_OF && out_queue_q == queue_q && held_o[queue_q] && state_q inside {LOOK, PLACE, ASK, REST, END, FAIL});
      if (more && f_active) assert (asked_q <= count_t'(state_q != PLACE) && done_q <= asked_q);
      // its descriptors,
      assert (f_coming <= count_t'(HELD) || !of_table);
      if (of_table) assert (f_open <= count_t'(HELD) && f_open >= count_t'(come_q) + count_t'(judged_q) + count_t'(state_q == ASK));
      else assert (!come_q && !judged_q);
      if (!of_table && f_active && !(state_q inside {GO_BACK})) assert (asked_q == done_q);
      if (f_second_q) assert (of_table && f_coming != '0 && !come_q);
      assert (!(come_q && !refused_q && judged_q));
      if (come_q && judged_q) assert (refused_q);
      if (state_q inside {AVAILABLE, HEADS, ASK}) assert (!request_q || request_valid_o);
      assert (request_q ? state_q inside {AVAILABLE, HEADS, ASK} : state_q != ASK);
      if (of_table && !more && !stopped_q) begin
        f_filled = u_filled.memory[queue_q];
        f_taken  = u_taken.memory[queue_q];
        assert (16'(f_open) + 16'(left_q) + 16'(state_q == PLACE) <= f_offered);
        assert (room_q <= count_t'(HELD) && 6'(count_t'(f_filled - f_taken)) + 6'(f_open) + 6'(left_q) + 6'(state_q == PLACE) <= 6'(HELD));
      end
      if (state_q == HEAD) assert (left_q != '0);
      if (hand_q != FREE) assert (!f_cut_q[out_queue_q]);
      for (int unsigned k = 0; k < QUEUES; k++) if (f_cut_q[k]) assert (!running_o[k]);
      assert (work_q <= UNDO);
      if (f_active) assert (done_q <= asked_q && asked_q <= count_t'(HELD) && room_q <= count_t'(HELD));
      if (of_table && !more) assert (6'(asked_q) + 6'(left_q) + 6'(state_q == PLACE) <= 6'(HELD));
      // what is asked for,
      if (state_q == INDEX) assert (!table_q && offset_q == 21'd2);
      if (state_q inside {RING_PLACE, RING_ASK, HEADS}) assert (!table_q && rest_q == (~next_q & mask_q) && offset_q == 21'({next_q & mask_q, 1'b0}) + 21'd4);
      if (state_q inside {RING_ASK, HEADS}) assert (address_q == {u_places.memory[{queue_q, 1'b0}], 1'b0} + ADDRESS_W'(offset_q));
      if (state_q == HEADS) assert (17'(bytes_q) <= 17'({rest_q, 1'b0}) + 17'd2 && bytes_q != '0);
      if (state_q == PLACE) assert (table_q && offset_q[3:0] == '0 && !offset_q[20] && (!more || head_q < size));
      if (state_q == AVAILABLE && request_q) assert (address_q == {u_places.memory[{queue_q, 1'b0}], 1'b0} + ADDRESS_W'(2) && bytes_q == 5'd2);
      if (state_q == ASK) assert (bytes_q == 5'd16 && address_q == {u_places.memory[{queue_q, 1'b1}], 1'b0} + ADDRESS_W'(offset_q) && offset_q[3:0] == '0 && !offset_q[20] && head_q < size);
      // what has been found wrong,
      if (f_active && !f_fresh_q && !more) assert (!wanted_q || (hand_q == WAIT && out_queue_q == queue_q && !held_o[queue_q]));
      if (state_q == LOOK && wanted_q) assert (work_q == READ && hand_q == WAIT && out_queue_q == queue_q && !held_o[queue_q]);
      if (wanted_q && state_q != IDLE) assert (!more);
      if (f_active && done_q == '0) assert (!f_fresh_q || !(state_q inside {INDEX, AVAILABLE, KNOWN, RING, RING_PLACE, RING_ASK, HEADS, HEAD, PLACE, ASK, REST, END}));
      if (f_active && wrong_q != QUEUE_ERROR_NONE && !more) assert (!f_fresh_q && (stopped_q || asked_q == '0));
      if (of_table && !more && wrong_q != QUEUE_ERROR_NONE && !stopped_q) assert (state_q == REST && asked_q == '0);
      if (state_q == FAIL) assert (wrong_q != QUEUE_ERROR_NONE && (more || !held_o[queue_q] || !RECEIVE));
      // and of the chain that is handed out.
      if (hand_q == FREE || chain_q == '0) assert (total_q == '0 || hand_q == FREE);
      if (hand_q inside {WAIT, GIVE, REST_OF}) begin
        f_size = 16'd1 << u_sizes.memory[out_queue_q];
        assert (f_bytes_q == 32'(total_q) && f_buffers_q == chain_q && total_q <= MOST_BYTES && chain_q < f_size);
        if (hand_q != WAIT) assert (held_o[out_queue_q]);
        if (hand_q == WAIT && held_o[out_queue_q]) begin
          assert (f_is_good(held, f_size) && 18'(total_q) + 18'(held.bytes) <= 18'(MOST_BYTES));
          assert (!held.more || chain_q + 1'b1 < f_size);
        end
        if (hand_q == WAIT && !held_o[out_queue_q]) assert (chain_q == '0);
        if (hand_q == GIVE) assert (buffer_o.bytes != '0 && 18'(total_q) + 18'(buffer_o.bytes) <= 18'(MOST_BYTES));
        if (hand_q == GIVE && !buffer_o.last) assert (following < f_size && chain_q + 1'b1 < f_size);
        if (hand_q == REST_OF) assert (following < f_size && chain_q != '0);
      end
      if (judged_q && judged_error_q == QUEUE_ERROR_NONE && !stopped_q) begin
        f_filled = u_filled.memory[queue_q];
        f_taken  = u_taken.memory[queue_q];
        f_held   = u_held.memory[{queue_q, more ? f_taken[HELD_W-1:0] : f_filled[HELD_W-1:0]}];
        assert (f_is_good(f_held, size));
        assert (!f_held.more || (more ? chain_q : '0) + 1'b1 < size);
        if (more) assert (18'(total_q) + 18'(f_held.bytes) <= 18'(MOST_BYTES));
      end
      if (more && state_q inside {REST, END} && done_q != '0 && wrong_q == QUEUE_ERROR_NONE) begin
        f_taken = u_taken.memory[queue_q];
        f_held  = u_held.memory[{queue_q, f_taken[HELD_W-1:0]}];
        assert (f_is_good(f_held, size) && (!f_held.more || chain_q + 1'b1 < size) && 18'(total_q) + 18'(f_held.bytes) <= 18'(MOST_BYTES));
      end
      if (more && f_active && done_q == '0) assert (wrong_q == QUEUE_ERROR_NONE && !stopped_q);
      if (more && state_q inside {ASK, REST, END}) assert (asked_q == count_t'(1));
      if (more && state_q == END) assert (done_q != '0);
      if (!RECEIVE) cover (taken_over);
      if (!RECEIVE) cover (state_q == FAIL && wrong_q == QUEUE_ERROR_JUMP);
      if (RECEIVE) cover (empty_o);
      if (RECEIVE) cover (state_q == GO_BACK);
    end
  end
`endif
endmodule
