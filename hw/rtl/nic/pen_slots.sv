// SPDX-License-Identifier: Apache-2.0
// Time slots of queues, as a front of the gates: registers for how long each queue may send (TQCR) and in which order
// (SCR), compiled into a gate control list (Scionti et al., section IV). Twin of `penstock_shaper::slots`.
//
// A commit walks over the order and the queues, and then over the order again for the list:
//
//   slot of queue q    q open for its slot less the guard     all closed for the guard
//   ...
//   free time          queues without a slot, less the guard   all closed for the guard
//
// What is wrong is told by a number, and changes nothing. A good list goes to pen_gate_config, with cycle and base time
// zero, so that it acts from the begin of a cycle on; without slots the gates are open for good. The write that commits
// is answered when all this has been done.
module pen_slots
  import pen_pkg::*, pen_config_pkg::*, pen_nic_pkg::*;
#(
  parameter int unsigned QUEUES  = 4,          // 1 to 8
  parameter int unsigned ENTRIES = 128,        // of a gate list
  parameter int unsigned PORT    = 0,
  parameter int unsigned MOST_SLOTS = 128,     // in a cycle: a power of two, 4 to 128
  parameter int unsigned TIME_W  = 32,         // bits of a time in nanoseconds; what a register says beyond is cut off
  parameter int unsigned SLOTS_AT = 0,         // addresses of the registers; a multiple of 256
  parameter int unsigned ORDER_AT = 0          // a multiple of 128
) (
  input  logic           clk_i,
  input  logic           rst_i,
  input  config_access_t access_i,
  output logic           answer_o,
  output logic [31:0]    answer_data_o,
  input  length_t        max_frame_bytes_i,    // a slot holds the longest frame
  output logic           enable_o,             // the gates act
  // To pen_gate_config; nobody else writes to it meanwhile
  output logic           busy_o,
  output logic           entry_valid_o,        // held until entry_ready_i
  output logic [15:0]    entry_index_o,
  output logic [41:0]    entry_o,              // {operation, states, interval_ns}
  input  logic           entry_ready_i,
  output logic           commit_o,             // held until commit_ready_i
  output gate_admin_t    admin_o,
  input  logic           commit_ready_i
);
  localparam int unsigned QUEUE_W = $clog2(QUEUES > 1 ? QUEUES : 2);
  localparam int unsigned WORD_W = MOST_SLOTS > 8 ? $clog2(MOST_SLOTS / 4) : 1;
  localparam int unsigned CLEAR_W = WORD_W > QUEUE_W ? WORD_W : QUEUE_W;
  localparam length_t OVERHEAD_BYTES = 11'd20;   // preamble, delimiter and gap
  localparam logic [5:0] LAST_BIT = 6'd31;
  if (QUEUES < 1 || QUEUES > CLASSES) begin : gen_check_queues
    $fatal(1, "pen_slots: QUEUES must be 1 to %0d, is %0d (%m)", CLASSES, QUEUES);
  end
  if (MOST_SLOTS < 4 || MOST_SLOTS > 128 || MOST_SLOTS != 1 << $clog2(MOST_SLOTS)) begin : gen_check_slots
    $fatal(1, "pen_slots: MOST_SLOTS must be a power of two, 4 to 128, is %0d (%m)", MOST_SLOTS);
  end

  typedef logic [QUEUE_W-1:0] queue_t;
  typedef logic [TIME_W-1:0]  ns_t;
  typedef logic [TIME_W+7:0]  sum_ns_t;          // of all slots, and a sign
  typedef enum logic [3:0] {
    CLEAR, IDLE, READ, DIVIDE, WALK, TIMES, SUMS, CHECK, EMIT, GUARD, FREE, FREE_GUARD, COMMIT, ANSWER
  } state_e;

  // The blocks of registers, by bits 8:0 of the address.
  localparam logic [8:0] AT_NS = 9'h040, AT_CYCLE = 9'h080, AT_GUARD = 9'h084, AT_COUNT = 9'h088, AT_COMMIT = 9'h08C,
                         AT_ERROR = 9'h090, AT_ORDER = 9'h100;

  state_e            state_q;
  logic [8:0]        at;
  logic              of_block, of_queue, of_order, has_queue;
  slot_error_e       error_q;
  logic [31:0]       count_q;
  ns_t               cycle_ns_q, guard_ns_q;
  logic              enable_q;

  assign of_block  = 32'(access_i.address[15:8]) == SLOTS_AT >> 8 || 32'(access_i.address[15:7]) == ORDER_AT >> 7;
  assign at        = {access_i.address[9], access_i.address[7:0]};
  assign of_queue  = at < AT_CYCLE;
  assign of_order  = at >= AT_ORDER;
  assign has_queue = 32'(at[5:2]) < QUEUES;

  // ---- What is staged
  logic [7:0]        slot_q;                     // of the order
  logic [CLEAR_W-1:0] clear_q;
  queue_t            queue;                      // whose slot is looked at
  ns_t               slot_ns;
  logic [31:0]       order_word, us_ns;
  logic [7:0]        owner_q;                    // queue of the slot; in READ the one that is read, in TIMES each in turn
  logic              found_q;                    // owner_q is that of slot_q: WALK and EMIT take two cycles for each slot
  logic              write_slot, write_order;
  logic [41:0]       us_product;

  // 1000 is 1024 less three times eight.
  assign us_product  = {access_i.data, 10'b0} - 42'({34'({access_i.data, 1'b0}) + 34'(access_i.data), 3'b0});
  assign us_ns       = us_product[41:32] != '0 ? '1 : us_product[31:0];
  assign write_slot  = state_q == IDLE && access_i.write && of_block && of_queue && has_queue;
  assign write_order = state_q == IDLE && access_i.write && of_block && of_order;

  assign queue       = queue_t'(owner_q);

  pen_lutram_1r1w #(.WIDTH(TIME_W), .DEPTH(1 << QUEUE_W)) u_slots (
    .clk_i,
    .write_i     (state_q == CLEAR || write_slot),
    .write_addr_i(state_q == CLEAR ? clear_q[QUEUE_W-1:0] : queue_t'(at[5:2])),
    .write_data_i(state_q == CLEAR ? '0 : ns_t'(at < AT_NS ? us_ns : access_i.data)),
    .read_addr_i (queue),
    .read_data_o (slot_ns)
  );
  pen_lutram_1r1w #(.WIDTH(32), .DEPTH(1 << WORD_W)) u_order (
    .clk_i,
    .write_i     (state_q == CLEAR || write_order),
    .write_addr_i(state_q == CLEAR ? clear_q[WORD_W-1:0] : at[2+:WORD_W]),
    .write_data_i(state_q == CLEAR ? '0 : access_i.data),
    .read_addr_i (state_q inside {IDLE, READ} ? at[2+:WORD_W] : slot_q[2+:WORD_W]),
    .read_data_o (order_word)
  );

  // ---- Reading; whole microseconds by long division
  logic [5:0]  bit_q;
  logic [31:0] quotient_q;
  logic [9:0]  remainder_q;
  logic [10:0] remainder;
  assign remainder     = {remainder_q, quotient_q[31]};
  assign answer_data_o = quotient_q;
  assign answer_o      = state_q == ANSWER;

  // ---- What is wrong
  sum_ns_t            sum_q;                     // of all slots
  logic [TIME_W:0]    least_ns_q;                // a slot with its guard; its registers stand still in a commit
  sum_ns_t            free_q;
  logic [QUEUES-1:0]  named_q;                   // queues with a slot
  logic               short_q, lonely_q;         // a slot is shorter than least_ns_q; a queue has time and no slot
  logic               free_short_q;              // what slots leave free is
  slot_error_e        wrong_q;                   // in the order itself
  logic [8:0]         needed_q;                  // entries
  slot_error_e        verdict;
  logic               none, has_guard, all_named, walk_over, is_short;
  sum_ns_t            amount;                    // of time: a slot, or what slots leave free

  always_ff @(posedge clk_i) least_ns_q <= (TIME_W + 1)'({max_frame_bytes_i + OVERHEAD_BYTES, 3'b0}) + (TIME_W + 1)'(guard_ns_q);
  assign none      = count_q == '0;
  assign has_guard = guard_ns_q != '0;
  assign all_named = named_q == '1;
  assign walk_over = 32'(slot_q) + 1 == count_q;
  assign amount    = state_q inside {WALK, EMIT} ? sum_ns_t'(slot_ns) : free_q;
  assign is_short  = amount < sum_ns_t'(least_ns_q);

  always_comb begin
    verdict = SLOT_ERROR_NONE;
    if (wrong_q != SLOT_ERROR_NONE) verdict = wrong_q;
    else if (lonely_q) verdict = SLOT_ERROR_NO_SLOT;
    else if ((cycle_ns_q == '0) != none || (none && has_guard)) verdict = SLOT_ERROR_CYCLE;
    else if (free_q[TIME_W+7]) verdict = SLOT_ERROR_TOO_LONG;
    else if (short_q || (free_q != '0 && !all_named && free_short_q)) verdict = SLOT_ERROR_TOO_SHORT;
    else if (32'(needed_q) > ENTRIES || (has_guard && guard_ns_q < ns_t'(GATE_MIN_INTERVAL_NS))
             || (free_q != '0 && free_q < sum_ns_t'(GATE_MIN_INTERVAL_NS))) verdict = SLOT_ERROR_LIST;
  end

  // ---- The list
  logic [8:0] entry_q;
  logic       moves;
  logic [QUEUES-1:0] states;
  ns_t               guarded;
  assign moves   = entry_valid_o && entry_ready_i;
  assign guarded = amount[TIME_W-1:0] - guard_ns_q;
  always_comb begin
    states  = '0;
    entry_o = '0;
    unique case (state_q)
      EMIT: begin
        states[queue] = 1'b1;
        entry_o[31:0] = 32'(guarded);
      end
      FREE: begin
        states        = ~named_q;
        entry_o[31:0] = 32'(all_named ? free_q[TIME_W-1:0] : guarded);
      end
      default: entry_o[31:0] = 32'(guard_ns_q);
    endcase
    entry_o[39:32] = 8'(states);
  end
  assign entry_valid_o = (state_q == EMIT && found_q) || state_q inside {GUARD, FREE, FREE_GUARD};
  assign entry_index_o = 16'(entry_q);
  assign commit_o      = state_q == COMMIT;
  assign admin_o       = '{
    base_seconds: '0, base_nanoseconds: '0, cycle_time_ns: 32'(cycle_ns_q), extension_ns: '0, entries: 16'(entry_q), port: port_t'(PORT)
  };
  assign busy_o   = !(state_q inside {CLEAR, IDLE});
  assign enable_o = enable_q;

  always_ff @(posedge clk_i) begin
    owner_q <= order_word[8*slot_q[1:0]+:8];
    found_q <= (state_q == WALK && !found_q) || (state_q == EMIT && !moves);
    unique case (state_q)
      CLEAR: begin
        clear_q <= clear_q + 1'b1;
        if (clear_q == '1) state_q <= IDLE;
      end
      IDLE: begin
        bit_q       <= '0;
        remainder_q <= '0;
        slot_q      <= '0;
        owner_q     <= 8'(at[5:2]);
        sum_q       <= '0;
        named_q     <= '0;
        short_q     <= 1'b0;
        lonely_q    <= 1'b0;
        wrong_q     <= SLOT_ERROR_NONE;
        entry_q     <= '0;
        if (access_i.read && of_block) state_q <= READ;
        if (access_i.write && of_block) begin
          state_q <= ANSWER;
          unique case (at)
            AT_CYCLE: cycle_ns_q <= ns_t'(access_i.data);
            AT_GUARD: guard_ns_q <= ns_t'(access_i.data);
            AT_COUNT: count_q <= access_i.data;
            AT_COMMIT: begin
              state_q <= none ? TIMES : WALK;
              owner_q <= '0;
              if (access_i.data != PORT) begin
                error_q <= SLOT_ERROR_PORT;
                state_q <= ANSWER;
              end else if (count_q > MOST_SLOTS) begin
                error_q <= SLOT_ERROR_SLOTS;
                state_q <= ANSWER;
              end
            end
            default: ;
          endcase
        end
      end
      READ: begin
        state_q <= of_queue && at < AT_NS ? DIVIDE : ANSWER;
        unique case (at)
          AT_CYCLE: quotient_q <= 32'(cycle_ns_q);
          AT_GUARD: quotient_q <= 32'(guard_ns_q);
          AT_COUNT: quotient_q <= count_q;
          AT_ERROR: quotient_q <= 32'(error_q);
          default: quotient_q <= of_order ? order_word : of_queue && has_queue ? 32'(slot_ns) : '0;
        endcase
      end
      DIVIDE: begin
        bit_q       <= bit_q + 1'b1;
        quotient_q  <= {quotient_q[30:0], remainder >= 11'd1000};
        remainder_q <= 10'(remainder >= 11'd1000 ? remainder - 11'd1000 : remainder);
        if (bit_q == LAST_BIT) state_q <= ANSWER;
      end
      WALK: if (found_q) begin
        if (wrong_q == SLOT_ERROR_NONE) begin
          if (32'(owner_q) >= QUEUES) wrong_q <= SLOT_ERROR_QUEUE;
          else if (slot_ns == '0) wrong_q <= SLOT_ERROR_NO_TIME;
        end
        if (is_short) short_q <= 1'b1;
        sum_q          <= sum_q + sum_ns_t'(slot_ns);
        named_q[queue] <= 1'b1;
        slot_q         <= slot_q + 1'b1;
        if (walk_over) begin
          state_q <= TIMES;
          owner_q <= '0;
        end
      end
      TIMES: begin
        if (slot_ns != '0 && !named_q[queue]) lonely_q <= 1'b1;
        free_q  <= sum_ns_t'(cycle_ns_q) - sum_q;
        owner_q <= owner_q + 1'b1;
        if (32'(owner_q) == QUEUES - 1) state_q <= SUMS;
      end
      SUMS: begin
        free_short_q <= is_short;
        slot_q  <= '0;
        state_q <= CHECK;
        needed_q <= has_guard ? 9'({count_q[7:0], 1'b0}) + (all_named ? 9'd1 : 9'd2) : 9'(count_q[7:0]) + 9'd1;
        if (sum_ns_t'(cycle_ns_q) == sum_q) needed_q <= has_guard ? 9'({count_q[7:0], 1'b0}) : 9'(count_q[7:0]);
      end
      CHECK: begin
        error_q <= verdict;
        state_q <= ANSWER;
        if (verdict == SLOT_ERROR_NONE) begin
          enable_q <= !none && enable_q;
          if (!none) state_q <= EMIT;
        end
      end
      EMIT, GUARD: if (moves) begin
        entry_q <= entry_q + 1'b1;
        if (state_q == EMIT && has_guard) state_q <= GUARD;
        else begin
          slot_q  <= slot_q + 1'b1;
          state_q <= !walk_over ? EMIT : free_q != '0 ? FREE : COMMIT;
        end
      end
      FREE: if (moves) begin
        entry_q <= entry_q + 1'b1;
        state_q <= has_guard && !all_named ? FREE_GUARD : COMMIT;
      end
      FREE_GUARD: if (moves) begin
        entry_q <= entry_q + 1'b1;
        state_q <= COMMIT;
      end
      COMMIT: if (commit_ready_i) begin
        enable_q <= 1'b1;
        state_q  <= ANSWER;
      end
      ANSWER: state_q <= IDLE;
      default: state_q <= IDLE;
    endcase
    if (rst_i) begin
      state_q    <= CLEAR;
      clear_q    <= '0;
      error_q    <= SLOT_ERROR_NONE;
      cycle_ns_q <= '0;
      guard_ns_q <= '0;
      count_q    <= '0;
      enable_q   <= 1'b0;
    end
  end

  logic unused;
  assign unused = &{1'b0, access_i};

`ifdef FORMAL
  // Contract, whatever is written and when, for one length of the longest frame: 1. entries come one after the other, no more
  // than a list has; 2. entry by entry it is the order's next slot, with its queue alone open for its time less the guard,
  // and the guard; then free time, with all queues open that have no slot, less the guard, and the guard; 3. what is open
  // holds a longest frame; 4. when the list is committed, its entries sum to the cycle, and each queue with time has a slot.
  localparam int unsigned           F_SLOT_W = $clog2(MOST_SLOTS);
  logic                             f_past_q = 1'b0;
  length_t                          f_frame_q;        // any, as it has no first value
  logic [31:0]                      f_longest_ns;
  sum_ns_t                          f_sum_q;          // of entries that were taken
  logic [8:0]                       f_entries_q;
  logic [MOST_SLOTS-1:0][7:0]       f_queue;          // of each slot of the order
  ns_t [MOST_SLOTS-1:0]             f_slot_ns;
  sum_ns_t [MOST_SLOTS:0]           f_before_ns;      // what the slots before it take, as the walk adds it up
  logic [MOST_SLOTS:0][QUEUES-1:0]  f_named;          // by these
  logic [MOST_SLOTS:0]              f_right, f_fit;   // each of these is of a queue with time; holds a longest frame
  logic [QUEUE_W:0]                 f_looked_at;      // queues of which it is known whether they have a slot

  always_ff @(posedge clk_i) begin
    f_past_q  <= 1'b1;
    f_frame_q <= f_frame_q;
    if (state_q == IDLE) f_before_ns[0] <= '0;
    if (state_q == WALK && found_q)
      f_before_ns[{1'b0, slot_q[F_SLOT_W-1:0]} + 1'b1] <= f_before_ns[slot_q[F_SLOT_W-1:0]] + sum_ns_t'(slot_ns);
    if (state_q == IDLE) begin
      f_sum_q     <= '0;
      f_entries_q <= '0;
    end else if (moves) begin
      f_sum_q     <= f_sum_q + sum_ns_t'(entry_o[31:0]);
      f_entries_q <= f_entries_q + 1'b1;
    end
  end

  assign f_longest_ns = 32'({f_frame_q + OVERHEAD_BYTES, 3'b0});
  always_comb begin
    f_named[0]     = '0;
    f_right[0]     = 1'b1;
    f_fit[0]       = 1'b1;
    for (int unsigned i = 0; i < MOST_SLOTS; i++) begin
      f_queue[i]         = u_order.memory[i/4][8*(i%4)+:8];
      f_slot_ns[i]       = u_slots.memory[queue_t'(f_queue[i])];
      f_named[i+1]       = f_named[i] | QUEUES'(1) << queue_t'(f_queue[i]);
      f_right[i+1]       = f_right[i] && 32'(f_queue[i]) < QUEUES && f_slot_ns[i] != '0;
      f_fit[i+1]         = f_fit[i] && (TIME_W + 1)'(f_slot_ns[i]) >= least_ns_q;
    end
    f_looked_at = state_q == TIMES ? (QUEUE_W + 1)'(owner_q) : (QUEUE_W + 1)'(QUEUES);
  end

  always_comb begin
    if (!f_past_q) assume (rst_i);
    else begin
      assume (max_frame_bytes_i == f_frame_q && f_longest_ns < 32'd1 << (TIME_W - 1));
      // The contract.
      if (entry_valid_o) assert (entry_index_o == 16'(f_entries_q) && 32'(f_entries_q) < ENTRIES);
      if (state_q == EMIT) begin
        assert (32'(slot_q) < count_q && f_entries_q == (has_guard ? 9'({slot_q, 1'b0}) : 9'(slot_q)));
        if (found_q) assert (entry_o == {2'b0, 8'd1 << f_queue[slot_q[F_SLOT_W-1:0]], 32'(ns_t'(f_slot_ns[slot_q[F_SLOT_W-1:0]] - guard_ns_q))});
      end
      if (state_q == GUARD) assert (f_entries_q == 9'({slot_q, 1'b1}) && has_guard);
      if (state_q inside {GUARD, FREE_GUARD}) assert (entry_o == {10'b0, 32'(guard_ns_q)});
      if (state_q == FREE) begin
        assert (f_entries_q == (has_guard ? 9'({count_q, 1'b0}) : 9'(count_q)));
        assert (entry_o[41:32] == 10'(QUEUES'(~f_named[count_q[F_SLOT_W:0]])));
      end
      if (entry_valid_o && entry_o[39:32] != '0) assert (entry_o[31:0] >= f_longest_ns);
      if (commit_o) begin
        assert (f_sum_q == sum_ns_t'(cycle_ns_q) && cycle_ns_q != '0 && 32'(f_entries_q) <= ENTRIES);
        assert (admin_o.cycle_time_ns == 32'(cycle_ns_q) && admin_o.entries == 16'(f_entries_q));
        for (int unsigned k = 0; k < QUEUES; k++)
          assert (u_slots.memory[k] == '0 || f_named[count_q[F_SLOT_W:0]][k]);
      end
      // What makes it hold: what the walks have found.
      assert (state_q <= ANSWER);
      if (state_q inside {WALK, EMIT} && found_q) assert (owner_q == f_queue[slot_q[F_SLOT_W-1:0]]);
      if (state_q != ANSWER && (state_q != CLEAR || clear_q != '0))
        assert (least_ns_q == (TIME_W + 1)'(f_longest_ns) + (TIME_W + 1)'(guard_ns_q));
      if (state_q inside {WALK, TIMES, SUMS, CHECK, EMIT, GUARD, FREE, FREE_GUARD, COMMIT}) assert (count_q <= MOST_SLOTS);
      if (state_q inside {WALK, EMIT, GUARD}) assert (32'(slot_q) < count_q);
      if (state_q inside {TIMES, SUMS}) assert (32'(slot_q) == count_q);
      if (state_q == SUMS) assert (free_q == sum_ns_t'(cycle_ns_q) - sum_q);
      if (state_q == CHECK) assert (slot_q == '0 && free_short_q == (free_q < sum_ns_t'(least_ns_q)));
      if (state_q inside {WALK, TIMES, SUMS}) begin
        assert (sum_q == f_before_ns[slot_q[F_SLOT_W:0]] && named_q == f_named[slot_q[F_SLOT_W:0]]);
        assert ((wrong_q == SLOT_ERROR_NONE) == f_right[slot_q[F_SLOT_W:0]] && short_q == !f_fit[slot_q[F_SLOT_W:0]]);
      end
      if (state_q == TIMES) assert (32'(owner_q) < QUEUES);
      if (state_q inside {WALK, TIMES, SUMS, CHECK, EMIT, GUARD, FREE, FREE_GUARD, COMMIT}) begin
        assert (f_before_ns[0] == '0);
        for (int unsigned i = 0; i < MOST_SLOTS; i++)
          if (i < (state_q == WALK ? 32'(slot_q) : count_q))
            assert (f_before_ns[i+1] == f_before_ns[i] + sum_ns_t'(f_slot_ns[i]));
      end
      if (state_q inside {TIMES, SUMS, CHECK} && !lonely_q)
        for (int unsigned k = 0; k < QUEUES; k++)
          if (k < 32'(f_looked_at)) assert (u_slots.memory[k] == '0 || named_q[k]);
      if (state_q inside {CHECK, EMIT, GUARD, FREE, FREE_GUARD, COMMIT}) begin
        assert (named_q == f_named[count_q[F_SLOT_W:0]]);
        assert (free_q == sum_ns_t'(cycle_ns_q) - f_before_ns[count_q[F_SLOT_W:0]]);
        assert (needed_q == 9'((has_guard ? 2 : 1) * count_q + (free_q == '0 ? 0 : has_guard && !all_named ? 2 : 1)));
      end
      if (state_q == CHECK) begin
        assert ((wrong_q == SLOT_ERROR_NONE) == f_right[count_q[F_SLOT_W:0]] && short_q == !f_fit[count_q[F_SLOT_W:0]]);
        assert (f_sum_q == '0 && f_entries_q == '0);
      end
      if (state_q inside {WALK, TIMES, SUMS}) assert (f_sum_q == '0 && f_entries_q == '0);
      if (state_q inside {IDLE, WALK, TIMES, SUMS, CHECK, EMIT, GUARD, FREE, FREE_GUARD, COMMIT} && state_q != IDLE)
        assert (entry_q == f_entries_q);
      if (state_q inside {EMIT, GUARD, FREE, FREE_GUARD, COMMIT}) begin
        assert (f_right[count_q[F_SLOT_W:0]] && f_fit[count_q[F_SLOT_W:0]] && !none && !free_q[TIME_W+7] && 32'(needed_q) <= ENTRIES);
        assert (free_q == '0 || all_named || free_q >= sum_ns_t'(least_ns_q));
        for (int unsigned k = 0; k < QUEUES; k++) assert (u_slots.memory[k] == '0 || named_q[k]);
      end
      if (state_q == EMIT) assert (f_sum_q == f_before_ns[slot_q[F_SLOT_W:0]]);
      if (state_q == GUARD) assert (f_sum_q == f_before_ns[slot_q[F_SLOT_W:0]] + sum_ns_t'(f_slot_ns[slot_q[F_SLOT_W-1:0]]) - sum_ns_t'(guard_ns_q));
      if (state_q inside {FREE, FREE_GUARD}) assert (free_q != '0);
      if (state_q == FREE) assert (f_sum_q == f_before_ns[count_q[F_SLOT_W:0]]);
      if (state_q == FREE_GUARD) begin
        assert (f_sum_q == sum_ns_t'(cycle_ns_q) - sum_ns_t'(guard_ns_q) && has_guard && !all_named);
        assert (f_entries_q + 9'd1 == needed_q);
      end
      if (state_q == COMMIT) assert (f_entries_q == needed_q);
      cover (commit_o && count_q > 32'd1 && !all_named && free_q != '0);
      cover (commit_o && has_guard && !all_named && free_q != '0);
      cover (state_q == CHECK && verdict == SLOT_ERROR_TOO_SHORT);
    end
  end
`endif
endmodule
