// SPDX-License-Identifier: Apache-2.0
// The driver's side of split virtqueues (VIRTIO 1.2, 2.7): finds what has been made available, buffer by buffer.
//
// One unit serves all queues of one direction, one chain at a time:
//
//   fetch_i      a chain of this queue is wanted; with ready_o
//   empty_o      there is none                                  \
//   failed_o     the queue stands still from now on, see error_o | one of them answers
//   valid_o      a buffer of the chain, until ready_i; `last`   /  ends it
//
// Whatever the driver writes, nothing is read but the ring and the table that the queue was started with, and a chain
// has at most as many buffers as the table. What is wrong stops the queue and no other one.
module pen_virtqueue
  import pen_nic_pkg::*;
#(
  parameter int unsigned QUEUES  = 4,
  parameter bit          RECEIVE = 0            // buffers are for the device to write
) (
  input  logic                clk_i,
  input  logic                rst_i,
  // Start and stop; each acts with command_ready_o
  input  logic                start_i,
  input  logic                stop_i,
  input  logic [$clog2(QUEUES > 1 ? QUEUES : 2)-1:0] command_queue_i,
  input  queue_settings_t     settings_i,
  input  logic                settings_good_i,  // alignment and size
  output logic                command_ready_o,
  output logic [15:0]         next_available_o, // of command_queue_i, while command_ready_o
  output logic [QUEUES-1:0]   running_o,
  output queue_error_e [QUEUES-1:0] error_o,
  input  logic [QUEUES-1:0]   fail_i,           // somebody else found something wrong
  input  queue_error_e        fail_error_i,
  // Chains
  output logic                ready_o,
  input  logic                fetch_i,
  input  logic [$clog2(QUEUES > 1 ? QUEUES : 2)-1:0] fetch_queue_i,
  output logic                empty_o,
  output logic                failed_o,
  output logic                valid_o,
  output buffer_t             buffer_o,
  output logic [15:0]         head_o,           // of the chain
  input  logic                ready_i,
  input  logic                undo_i,           // with ready_o and RECEIVE: as if the last undo_chains_i chains were not fetched
  input  logic [15:0]         undo_chains_i,    // of fetch_queue_i
  // Memory
  output logic                request_valid_o,
  output dma_request_t        request_o,
  input  logic                request_ready_i,
  input  logic                beat_valid_i,
  input  dma_beat_t           beat_i
);
  localparam int unsigned PLACES = QUEUES > 1 ? QUEUES : 2;
  localparam int unsigned QUEUE_W = $clog2(PLACES);
  localparam logic [16:0] MOST_BYTES = 17'h10000;
  if (QUEUES < 1 || QUEUES > MAX_QUEUES / 2) begin : gen_check
    $fatal(1, "pen_virtqueue: QUEUES must be 1 to 16, is %0d (%m)", QUEUES);
  end

  typedef logic [QUEUE_W-1:0] queue_t;
  typedef struct packed {
    logic [ADDRESS_W-1:4] descriptors;
    logic [ADDRESS_W-1:1] driver;
    logic [3:0]           size_log2;
  } place_t;
  typedef struct packed {
    logic [15:0] known;                         // available index as last read
    logic [15:0] next;                          // not yet fetched
  } index_t;

  typedef enum logic [3:0] {
    IDLE, UNDO, LOOK, INDEX, AVAILABLE, KNOWN, RING, HEAD, DESCRIPTOR, ADDRESS, CHECK, GIVE, FAIL
  } state_e;
  state_e       state_q;
  queue_t       queue_q, place_queue;
  place_t       place, place_q, start_place;
  index_t       index, index_q, index_d;        // place_q and index_q: of the queue that is being fetched from, after LOOK
  logic         index_write;
  logic [15:0]  head_q, at_q, chain_q, undo_chains_q, size, size_q, mask, ahead, value, value_q;
  logic [16:0]  total_q;
  logic [17:0]  total;                          // of two that are 64 KiB each
  logic [63:0]  base_q;
  logic [31:0]  length_q;
  logic [15:0]  flags_q, following_q;
  queue_error_e wrong_q;
  logic         command, request, jumps;

  localparam int unsigned NEXT = 0, WRITE = 1, INDIRECT = 2;

  assign place_queue = state_q == IDLE ? command_queue_i : queue_q;
  assign start_place = '{
    descriptors: settings_i.descriptors[ADDRESS_W-1:4], driver: settings_i.driver[ADDRESS_W-1:1],
    size_log2: settings_i.size_log2
  };

  assign command_ready_o = state_q == IDLE && !fetch_i && !undo_i && (start_i || stop_i);
  assign command = start_i && command_ready_o;
  assign ready_o = state_q == IDLE;

  pen_lutram_1r1w #(.WIDTH($bits(place_t)), .DEPTH(PLACES)) u_places (
    .clk_i,
    .write_i     (command),
    .write_addr_i(command_queue_i),
    .write_data_i(start_place),
    .read_addr_i (queue_q),
    .read_data_o (place)
  );
  pen_lutram_1r1w #(.WIDTH($bits(index_t)), .DEPTH(PLACES)) u_indices (
    .clk_i,
    .write_i     (index_write),
    .write_addr_i(place_queue),
    .write_data_i(index_d),
    .read_addr_i (place_queue),
    .read_data_o (index)
  );
  assign next_available_o = index.next;

  assign size  = 16'd1 << place_q.size_log2;
  assign mask  = size - 1'b1;
  assign value = beat_i.data[16*beat_i.offset[2:1]+:16];
  assign ahead = value_q - index_q.next;
  assign jumps = wrong_q == QUEUE_ERROR_ACCESS || ahead > size_q;
  assign total = 18'(total_q) + 18'(length_q[16:0]);

  // What is read now: of the table a descriptor, of the ring an element, or else its index.
  address_t base, offset;
  assign base   = state_q == DESCRIPTOR ? {place_q.descriptors, 4'b0} : {place_q.driver, 1'b0};
  assign offset = state_q == DESCRIPTOR ? ADDRESS_W'({at_q, 4'b0})
                  : state_q == RING ? ADDRESS_W'(4) + ADDRESS_W'({index_q.next & mask, 1'b0}) : ADDRESS_W'(2);
  assign request_o = '{address: base + offset, bytes: state_q == DESCRIPTOR ? 17'd16 : 17'd2};
  assign request         = state_q inside {INDEX, RING, DESCRIPTOR};
  assign request_valid_o = request;

  logic answered;
  assign answered = beat_valid_i && beat_i.last;

  always_comb begin
    index_write = 1'b0;
    index_d     = index_q;
    if (command) begin
      index_write = 1'b1;
      index_d     = '{known: settings_i.next_available, next: settings_i.next_available};
    end else if (state_q == UNDO) begin
      index_write  = 1'b1;
      index_d      = '{known: index.next - undo_chains_q, next: index.next - undo_chains_q};  // looked at again
    end else if (state_q == KNOWN && !jumps) begin
      index_write   = 1'b1;
      index_d.known = value_q;
    end else if (state_q == GIVE && ready_i && !flags_q[NEXT]) begin
      index_write  = 1'b1;
      index_d.next = index_q.next + 1'b1;
    end
  end

  assign empty_o  = state_q == KNOWN && wrong_q != QUEUE_ERROR_ACCESS && ahead == '0;
  assign failed_o = state_q == FAIL;
  assign valid_o  = state_q == GIVE;
  assign head_o   = head_q;
  assign buffer_o = '{address: base_q[ADDRESS_W-1:0], bytes: length_q[16:0], last: !flags_q[NEXT]};

  always_ff @(posedge clk_i) begin
    size_q <= size;                             // from two cycles after LOOK on
    unique case (state_q)
      IDLE: begin
        queue_q <= fetch_queue_i;
        if (fetch_i) state_q <= LOOK;
        if (RECEIVE && undo_i) state_q <= UNDO;
        undo_chains_q <= undo_chains_i;
        total_q <= '0;
        chain_q <= '0;
      end
      UNDO: state_q <= IDLE;
      LOOK: begin
        place_q <= place;
        index_q <= index;
        state_q <= index.known == index.next ? INDEX : RING;
      end
      INDEX: if (request_ready_i) state_q <= AVAILABLE;
      AVAILABLE: if (answered) begin
        value_q <= value;
        wrong_q <= beat_i.error ? QUEUE_ERROR_ACCESS : QUEUE_ERROR_JUMP;
        state_q <= KNOWN;
      end
      KNOWN: begin
        index_q.known <= value_q;
        state_q       <= jumps ? FAIL : ahead == '0 ? IDLE : RING;
      end
      RING: if (request_ready_i) state_q <= HEAD;
      HEAD: if (answered) begin
        head_q  <= value;
        at_q    <= value;
        wrong_q <= beat_i.error ? QUEUE_ERROR_ACCESS : QUEUE_ERROR_INDEX;
        state_q <= beat_i.error || value >= size_q ? FAIL : DESCRIPTOR;
      end
      DESCRIPTOR: if (request_ready_i) state_q <= ADDRESS;
      ADDRESS: if (beat_valid_i) begin
        if (!beat_i.last) base_q <= beat_i.data;
        else {following_q, flags_q, length_q} <= beat_i.data;
        wrong_q <= QUEUE_ERROR_ACCESS;
        if (beat_i.last) begin
          chain_q <= chain_q + 1'b1;
          state_q <= beat_i.error ? FAIL : CHECK;
        end
      end
      CHECK: begin
        state_q <= FAIL;
        if (flags_q[INDIRECT] || flags_q[WRITE] != RECEIVE) wrong_q <= QUEUE_ERROR_KIND;
        else if (length_q == '0) wrong_q <= QUEUE_ERROR_EMPTY;
        else if (length_q > 32'(MOST_BYTES) || total > 18'(MOST_BYTES)) wrong_q <= QUEUE_ERROR_LONG;
        else if (base_q[63:ADDRESS_W] != '0) wrong_q <= QUEUE_ERROR_ACCESS;
        else if (flags_q[NEXT] && following_q >= size_q) wrong_q <= QUEUE_ERROR_INDEX;
        else if (flags_q[NEXT] && chain_q >= size_q) wrong_q <= QUEUE_ERROR_LOOP;
        else begin
          total_q <= total[16:0];
          state_q <= GIVE;
        end
      end
      GIVE: if (ready_i) begin
        at_q    <= following_q;
        state_q <= flags_q[NEXT] ? DESCRIPTOR : IDLE;
      end
      FAIL: state_q <= IDLE;
      default: state_q <= IDLE;
    endcase
    for (int unsigned k = 0; k < QUEUES; k++) begin
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
      running_o <= '0;
      for (int unsigned k = 0; k < QUEUES; k++) error_o[k] <= QUEUE_ERROR_NONE;
    end
  end

  logic unused;
  assign unused = &{1'b0, settings_i.device, settings_i.next_used, settings_i.descriptors[3:0], settings_i.driver[0],
                    beat_i.count, beat_i.offset[0], flags_q[15:3]};

`ifdef FORMAL
  // Contract, whatever the driver writes: 1. no chain is begun that the driver has not offered, and never more than the ring
  // holds are taken as offered; 2. nothing is read but the ring and the table; 3. a chain has at most as many buffers as
  // the ring, none of them empty, and 64 KiB; 4. each fetch is answered once: nothing there, failed, or a whole chain.
  logic              f_past_q = 1'b0, f_open_q, f_ring;
  logic [PLACES-1:0] f_started_q;
  place_t            f_place;
  index_t            f_index;
  logic [15:0]       f_size;
  logic [31:0]       f_bytes_q;         // of the buffers that were given of this chain, and the one that is
  address_t          f_ring_at, f_table_at;

  assign f_ring     = state_q inside {INDEX, RING};
  assign f_ring_at  = request_o.address - {place_q.driver, 1'b0};
  assign f_table_at = request_o.address - {place_q.descriptors, 4'b0};

  always_ff @(posedge clk_i) begin
    f_past_q <= 1'b1;
    if (state_q == IDLE) f_bytes_q <= '0;
    if (state_q == CHECK) f_bytes_q <= f_bytes_q + length_q;
    if (command) f_started_q[command_queue_i] <= 1'b1;
    if (fetch_i) f_open_q <= 1'b1;
    if (empty_o || failed_o || (valid_o && ready_i && buffer_o.last)) f_open_q <= 1'b0;
    if (rst_i) begin
      f_started_q <= '0;
      f_open_q    <= 1'b0;
    end
  end

  always_comb begin
    if (!f_past_q) assume (rst_i);
    else begin
      // What it asks of its surroundings.
      if (fetch_i || undo_i) assume (ready_o && f_started_q[fetch_queue_i]);
      assume (!(fetch_i && undo_i));
      if (fetch_i || undo_i) assume (32'(fetch_queue_i) < QUEUES);
      if (start_i || stop_i) assume (32'(command_queue_i) < QUEUES);
      if (beat_valid_i) assume (state_q inside {AVAILABLE, HEAD, ADDRESS});
      // The contract.
      if (valid_o || request_valid_o && !(state_q == INDEX)) assert (index_q.known != index_q.next);
      for (int unsigned k = 0; k < QUEUES; k++) begin
        f_place = u_places.memory[k];
        f_index = u_indices.memory[k];
        f_size  = 16'd1 << f_place.size_log2;
        if (f_started_q[k]) assert (16'(f_index.known - f_index.next) <= f_size);
        if (running_o[k]) assert (f_started_q[k]);
      end
      if (request_valid_o && f_ring) assert (f_ring_at >= 48'd2 && f_ring_at + 48'd2 <= 48'd4 + {31'b0, size, 1'b0});
      if (request_valid_o && !f_ring) assert (f_table_at + 48'd16 <= {28'b0, size, 4'b0});
      if (valid_o) assert (chain_q <= size && buffer_o.bytes != '0 && f_bytes_q <= 32'(MOST_BYTES));
      if (empty_o || failed_o || valid_o) assert (f_open_q);
      assert (f_open_q == !(state_q inside {IDLE, UNDO}));
      // What makes it hold.
      if (!(state_q inside {IDLE, UNDO, LOOK, FAIL})) assert (place_q == u_places.memory[queue_q] && index_q == u_indices.memory[queue_q]);
      if (state_q inside {AVAILABLE, KNOWN, HEAD, DESCRIPTOR, ADDRESS, CHECK, GIVE}) assert (size_q == size);
      assert (state_q <= FAIL);
      if (!(state_q inside {IDLE, UNDO, FAIL})) assert (f_bytes_q == 32'(total_q));
      if (!(state_q == IDLE)) assert (f_started_q[queue_q]);
      if (state_q inside {DESCRIPTOR, ADDRESS, CHECK, GIVE}) assert (at_q < size);
      if (state_q inside {RING, HEAD, DESCRIPTOR, ADDRESS, CHECK, GIVE}) assert (index_q.known != index_q.next);
      if (state_q inside {RING, HEAD}) assert (chain_q == '0 && total_q == '0);
      if (state_q == DESCRIPTOR) assert (chain_q < size && total_q <= MOST_BYTES);
      if (state_q == ADDRESS) assert (chain_q < size && total_q <= MOST_BYTES);
      if (state_q == CHECK) assert (chain_q <= size && total_q <= MOST_BYTES);
      if (state_q == GIVE && flags_q[NEXT]) assert (following_q < size && chain_q < size);
      if (state_q == GIVE) assert (length_q != '0 && length_q <= 32'(MOST_BYTES));
      if (state_q inside {LOOK, INDEX, AVAILABLE, KNOWN}) assert (chain_q == '0 && total_q == '0);
      if (state_q inside {INDEX, AVAILABLE, KNOWN}) assert (index_q.known == index_q.next);
      cover (valid_o && ready_i && buffer_o.last && chain_q == 16'd2);
      cover (failed_o && wrong_q == QUEUE_ERROR_LOOP);
      cover (failed_o && wrong_q == QUEUE_ERROR_JUMP);
      cover (failed_o && wrong_q == QUEUE_ERROR_LONG);
      cover (empty_o && index_q.next != '0);
    end
  end
`endif
endmodule
