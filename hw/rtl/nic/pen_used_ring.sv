// SPDX-License-Identifier: Apache-2.0
// The device's side of split virtqueues (VIRTIO 1.2, 2.7.8): gives chains back, and tells the driver.
//
// Chains come in the order of a queue and from all queues. Each is written into the used ring at once; the index that
// makes them visible is written when no other chain waits, or after 32, so completions of a busy card share it. Chains
// that belong together become visible together, or not at all. What was done before its queue failed is told, too. What
// stands in memory is told in this order, of all queues that have something at once, so that they share the three times that
// memory takes to answer:
//
//   elements ─► settled ─► indices ─► settled ─► flags of the drivers read ─► interrupt, unless VRING_AVAIL_F_NO_INTERRUPT
module pen_used_ring
  import pen_nic_pkg::*;
#(
  parameter int unsigned QUEUES = 8
) (
  input  logic                      clk_i,
  input  logic                      rst_i,
  // The queue that starts; its places are those of start_settings_i
  input  logic                      start_i,        // with idle_o
  input  logic [$clog2(QUEUES)-1:0] start_queue_i,
  input  queue_settings_t           start_settings_i,
  // Chains that are given back
  input  logic                      valid_i,
  input  logic [$clog2(QUEUES)-1:0] queue_i,
  input  used_t                     used_i,
  output logic                      ready_o,
  output logic                      idle_o,         // nothing waits to be told
  output logic [QUEUES-1:0]         interrupt_o,    // one cycle
  output logic [QUEUES-1:0]         fail_o,         // one cycle: memory refused
  // Memory
  output logic                      write_valid_o,
  output dma_request_t              write_o,
  input  logic                      write_ready_i,
  output logic                      data_valid_o,
  output logic [63:0]               data_o,
  input  logic                      data_ready_i,
  input  logic                      settled_i,
  input  logic                      error_i,
  output logic                      read_valid_o,
  output dma_request_t              read_o,
  input  logic                      read_ready_i,
  input  logic                      beat_valid_i,
  input  dma_beat_t                 beat_i
);
  localparam int unsigned QUEUE_W = $clog2(QUEUES);
  localparam int unsigned BATCH = 32;
  typedef logic [QUEUE_W-1:0] queue_t;
  typedef struct packed {
    logic [ADDRESS_W-1:2] device;
    logic [ADDRESS_W-1:1] driver;
    logic [14:0]          mask;
  } place_t;
  typedef struct packed {
    queue_t owner;
    used_t  used;
  } chain_t;

  typedef enum logic [3:0] {IDLE, UNDO, ELEMENT, ELEMENT_DATA, SETTLE, NEXT, INDEX, INDEX_DATA, TOLD, ASK, FLAGS} state_e;
  state_e             state_q;
  queue_t             queue_q;
  chain_t             chain, chain_q;
  logic               chain_valid, take, second_q, no_interrupt;
  logic [4:0]         count;
  place_t             place, start_place;
  logic [15:0]        next_used, visible, index, mask;  // behind the last element; behind the last that may be seen
  logic [QUEUES-1:0]  dirty_q;                      // elements may be seen, and are not yet
  logic [QUEUES-1:0]  open, open_q;                 // started, and its ring not refused by memory: else chains are dropped
  logic [QUEUES-1:0]  written_q;                    // elements may not stand in memory yet
  logic [QUEUES-1:0]  told_q;                       // the index is being written, or the driver's flags are being read
  logic [QUEUES-1:0]  left_q;                       // of these, those that are still to be written, or to be asked for
  logic               asks_q;                       // all indices stand in memory
  logic               element_moves, is_last;
  logic [$clog2(BATCH):0] batch_q;
  logic               error_q;
  logic [63:0]        element, index_data;
  address_t           write_at;

  pen_fifo #(.WIDTH($bits(chain_t)), .DEPTH(16)) u_chains (
    .clk_i, .rst_i,
    .valid_i, .ready_o, .data_i({queue_i, used_i}),
    .valid_o(chain_valid), .ready_i(take), .data_o(chain), .count_o(count)
  );

  assign start_place = '{
    device: start_settings_i.device[ADDRESS_W-1:2], driver: start_settings_i.driver[ADDRESS_W-1:1],
    mask: 15'((16'd1 << start_settings_i.size_log2) - 1'b1)
  };
  pen_lutram_1r1w #(.WIDTH($bits(place_t)), .DEPTH(QUEUES)) u_places (
    .clk_i,
    .write_i     (start_i),
    .write_addr_i(start_queue_i),
    .write_data_i(start_place),
    .read_addr_i (queue_q),
    .read_data_o (place)
  );
  pen_lutram_1r1w #(.WIDTH(16), .DEPTH(QUEUES)) u_next (
    .clk_i,
    .write_i     (start_i || element_moves || state_q == UNDO),
    .write_addr_i(start_i ? start_queue_i : queue_q),
    .write_data_i(start_i ? start_settings_i.next_used : state_q == UNDO ? visible : next_used + 1'b1),
    .read_addr_i (queue_q),
    .read_data_o (next_used)
  );
  pen_lutram_1r1w #(.WIDTH(16), .DEPTH(QUEUES)) u_visible (
    .clk_i,
    .write_i     (start_i || (element_moves && is_last)),
    .write_addr_i(start_i ? start_queue_i : queue_q),
    .write_data_i(start_i ? start_settings_i.next_used : next_used + 1'b1),
    .read_addr_i (queue_q),
    .read_data_o (visible)
  );
  assign element_moves = state_q == ELEMENT && write_ready_i;
  assign is_last       = chain_q.used.kind == USED_LAST;

  // Both take the queues in the same order, so answers are of the queues in which they were asked for.
  function automatic queue_t first(input logic [QUEUES-1:0] queues);
    first = '0;
    for (int unsigned k = 0; k < QUEUES; k++) if (queues[k]) first = queue_t'(k);
  endfunction
  queue_t next, answered;
  assign next     = first(left_q);
  assign answered = first(told_q);

  assign take  = state_q == IDLE && chain_valid && batch_q != $bits(batch_q)'(BATCH);
  assign mask  = {1'b0, place.mask};
  assign index = next_used & mask;

  // What is written now: the index, or the element that is next.
  assign write_at = {place.device, 2'b0} + (state_q == INDEX ? ADDRESS_W'(2) : ADDRESS_W'(4) + ADDRESS_W'({index, 3'b0}));
  assign element         = {21'b0, chain_q.used.bytes, 16'b0, chain_q.used.head};
  assign index_data      = {4{visible}};

  // An element that begins in the upper half of a word has its other half in the next one.
  logic upper_q;
  always_comb begin
    write_valid_o = state_q inside {ELEMENT, INDEX};
    write_o       = '{mark: 1'b0, address: write_at, bytes: state_q == INDEX ? 17'd2 : 17'd8};
    data_valid_o  = state_q inside {ELEMENT_DATA, INDEX_DATA};
    data_o        = state_q == INDEX_DATA ? index_data : upper_q ? {element[31:0], element[63:32]} : element;
    read_valid_o  = state_q == ASK;
    read_o        = '{mark: 1'b0, address: {place.driver, 1'b0}, bytes: 17'd2};
  end

  assign no_interrupt = beat_i.data[16*beat_i.offset[2:1]];
  assign open         = open_q & ~fail_o;
  assign idle_o       = state_q == IDLE && !chain_valid && dirty_q == '0;

  always_ff @(posedge clk_i) begin
    interrupt_o <= '0;
    fail_o      <= '0;
    open_q      <= open;
    if (start_i) open_q[start_queue_i] <= 1'b1;
    if (error_i) error_q <= 1'b1;
    unique case (state_q)
      IDLE: begin
        if (take) begin
          chain_q <= chain;
          queue_q <= chain.owner;
          batch_q <= batch_q + 1'b1;
          if (open[chain.owner]) state_q <= chain.used.kind == USED_UNDO ? UNDO : ELEMENT;
        end else if (dirty_q != '0) state_q <= SETTLE;
        else batch_q <= '0;
      end
      UNDO: state_q <= IDLE;
      ELEMENT: begin
        upper_q  <= write_at[2];
        second_q <= 1'b0;
        if (write_ready_i) begin
          written_q[queue_q] <= 1'b1;
          if (is_last) dirty_q[queue_q] <= 1'b1;
          state_q <= ELEMENT_DATA;
        end
      end
      ELEMENT_DATA: if (data_ready_i) begin
        second_q <= 1'b1;
        if (!upper_q || second_q) state_q <= IDLE;
      end
      SETTLE: if (settled_i) begin
        dirty_q   <= '0;
        written_q <= '0;
        told_q    <= dirty_q;
        left_q    <= dirty_q;
        asks_q    <= 1'b0;
        state_q   <= NEXT;
        if (error_q || error_i) begin               // which queue's element it was is not known: all that had some stop
          error_q <= 1'b0;
          fail_o  <= written_q | dirty_q;
          told_q  <= '0;
          left_q  <= '0;
          state_q <= IDLE;
        end
      end
      NEXT: begin
        queue_q <= next;
        left_q[next] <= 1'b0;
        if (left_q != '0) state_q <= asks_q ? ASK : INDEX;
        else state_q <= asks_q ? FLAGS : TOLD;
      end
      INDEX: if (write_ready_i) state_q <= INDEX_DATA;
      INDEX_DATA: if (data_ready_i) state_q <= NEXT;
      TOLD: if (settled_i) begin
        left_q  <= told_q;
        asks_q  <= 1'b1;
        state_q <= NEXT;
        if (error_q || error_i) begin               // nor is whose index it was
          error_q <= 1'b0;
          fail_o  <= told_q;
          told_q  <= '0;
          left_q  <= '0;
          state_q <= IDLE;
        end
      end
      ASK: if (read_ready_i) state_q <= NEXT;
      FLAGS: if (told_q == '0) state_q <= IDLE;
      default: state_q <= IDLE;
    endcase
    if (beat_valid_i && beat_i.last) begin
      told_q[answered]      <= 1'b0;
      interrupt_o[answered] <= !no_interrupt || beat_i.error;
      fail_o[answered]      <= beat_i.error;
    end
    if (rst_i) begin
      open_q      <= '0;
      state_q     <= IDLE;
      told_q      <= '0;
      left_q      <= '0;
      dirty_q     <= '0;
      written_q   <= '0;
      batch_q     <= '0;
      error_q     <= 1'b0;
      interrupt_o <= '0;
      fail_o      <= '0;
    end
  end

  logic unused;
  assign unused = &{1'b0, count, chain_q.owner, beat_i, start_settings_i};

`ifdef FORMAL
  // Contract: 1. a chain that is taken, of a queue whose ring memory has not refused, becomes one element, in the place behind
  // the one before, and no element is written otherwise; 2. the index that is told never goes beyond elements that stand in
  // memory, nor beyond the last of those that belong together; 3. flags are asked for behind indices that stand in memory, and
  // an answer is of the queue in which it was asked for.
  logic              f_past_q = 1'b0, f_wrote_q, f_open_q, f_untold_q;
  logic [QUEUES-1:0] f_asked;                       // flags that are still to come
  logic [$clog2(QUEUES):0] f_asked_q;               // how many
  logic [15:0]       f_element_q;                   // elements of chains that were taken, less those that were undone
  logic [15:0]       f_settled_q, f_last_q;         // of these, those in memory; those up to the last USED_LAST
  queue_t            f_queue_q;                     // any, and always the same

  always_ff @(posedge clk_i) begin
    f_past_q  <= 1'b1;
    f_queue_q <= f_queue_q;
    // An element was written that may not be in memory yet.
    if (element_moves) f_wrote_q <= 1'b1;
    else if (settled_i) f_wrote_q <= 1'b0;
    if (state_q == INDEX && write_ready_i) f_untold_q <= 1'b1;
    else if (settled_i) f_untold_q <= 1'b0;
    f_asked_q <= f_asked_q + (read_valid_o && read_ready_i) - (beat_valid_i && beat_i.last);
    if (write_valid_o && write_ready_i) f_open_q <= 1'b1;
    else if (data_valid_o && data_ready_i && (state_q == INDEX_DATA || !upper_q || second_q)) f_open_q <= 1'b0;
    if (start_i && start_queue_i == f_queue_q) begin
      f_element_q <= start_settings_i.next_used;
      f_last_q    <= start_settings_i.next_used;
      f_settled_q <= start_settings_i.next_used;
    end else if (queue_q == f_queue_q) begin
      if (element_moves) begin
        f_element_q <= f_element_q + 1'b1;
        if (is_last) f_last_q <= f_element_q + 1'b1;
      end
      if (state_q == UNDO) f_element_q <= f_last_q;
    end
    if (state_q == SETTLE && settled_i && !(start_i && start_queue_i == f_queue_q)) f_settled_q <= f_last_q;
    if (rst_i) begin
      f_wrote_q <= 1'b0;
      f_open_q  <= 1'b0;
      f_asked_q <= '0;
      f_untold_q <= 1'b0;
    end
  end

  always_comb begin
    f_asked = asks_q ? told_q & ~left_q : '0;
    if (state_q == ASK) f_asked[queue_q] = 1'b0;
  end

  logic f_started_q, f_takes_q;
  always_ff @(posedge clk_i) begin
    if (start_i && start_queue_i == f_queue_q) f_started_q <= 1'b1;
    if (take) f_takes_q <= open[chain.owner] && chain.used.kind != USED_UNDO;
    else if (element_moves) f_takes_q <= 1'b0;
    if (rst_i) begin
      f_started_q <= 1'b0;
      f_takes_q   <= 1'b0;
    end
  end

  always_comb begin
    if (!f_past_q) assume (rst_i);
    else begin
      // What it asks of its surroundings.
      if (start_i) assume (idle_o && settled_i && 32'(start_queue_i) < QUEUES);
      if (f_open_q) assume (!settled_i);
      if (f_asked_q == '0) assume (!beat_valid_i);
      assume (32'(queue_i) < QUEUES && used_i.kind <= USED_UNDO);
      // The contract.
      if (state_q == ELEMENT && queue_q == f_queue_q) begin
        assert (write_o.address == {place.device, 2'b0} + ADDRESS_W'(4) + ADDRESS_W'({f_element_q & mask, 3'b0}));
        assert (write_o.bytes == 17'd8 && element == {21'b0, chain_q.used.bytes, 16'b0, chain_q.used.head});
      end
      if (state_q == ELEMENT) assert (f_takes_q);
      if (state_q inside {INDEX, INDEX_DATA} && queue_q == f_queue_q) assert (visible == f_settled_q && visible == f_last_q);
      if (state_q == INDEX) assert (!f_wrote_q);
      if (state_q == ASK) assert (!f_untold_q);
      for (int unsigned k = 0; k < QUEUES; k++) if (f_asked[k]) assert (answered >= queue_t'(k) && f_asked[answered]);
      // What makes it hold.
      assert (f_asked_q == ($clog2(QUEUES) + 1)'($countones(f_asked)));
      assert ((left_q & ~told_q) == '0);
      for (int unsigned k = 0; k < QUEUES; k++)
        for (int unsigned j = 0; j < k; j++)
          if (asks_q && state_q inside {NEXT, ASK} && (left_q[k] || (state_q == ASK && queue_q == queue_t'(k)))) assert (!f_asked[j]);
      if (state_q == ASK) assert (asks_q && told_q[queue_q] && !left_q[queue_q]);
      if (state_q == ASK && left_q != '0) assert (next < queue_q);
      if (state_q inside {IDLE, UNDO, ELEMENT, ELEMENT_DATA, SETTLE}) assert (told_q == '0 && left_q == '0);
      if (state_q == FLAGS) assert (asks_q && left_q == '0);
      if (state_q == TOLD) assert (!asks_q && left_q == '0);
      if (state_q inside {INDEX, INDEX_DATA}) assert (!asks_q && !left_q[queue_q]);
      if (state_q inside {NEXT, INDEX, INDEX_DATA, TOLD, ASK, FLAGS}) begin
        assert (!f_wrote_q && (!asks_q || !f_untold_q));
        if (f_started_q) assert (f_settled_q == f_last_q);
      end
      assert (state_q <= FLAGS);
      assert (f_open_q == (state_q inside {ELEMENT_DATA, INDEX_DATA}));
      if (f_started_q) begin
        assert (u_next.memory[f_queue_q] == f_element_q);
        assert (u_visible.memory[f_queue_q] == f_last_q);
      end
      if (state_q inside {ELEMENT, ELEMENT_DATA, UNDO}) assert (queue_q == chain_q.owner);
      if (state_q inside {UNDO, ELEMENT, ELEMENT_DATA, INDEX, INDEX_DATA, ASK} && queue_q == f_queue_q) assert (f_started_q);
      if (open_q[f_queue_q]) assert (f_started_q);
      if (dirty_q[f_queue_q] || written_q[f_queue_q] || told_q[f_queue_q]) assert (f_started_q);
      cover (interrupt_o[f_queue_q] && f_last_q == 16'd2);
      cover (state_q == UNDO && f_element_q != f_last_q);
      cover (fail_o == '1);
    end
  end
`endif
endmodule
