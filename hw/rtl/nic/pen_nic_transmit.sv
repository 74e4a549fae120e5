// SPDX-License-Identifier: Apache-2.0
// Fetches frames of all transmit queues into the store, ahead of their transmission, and queues them at the port.
//
// Of each queue up to SLOTS frames are in the store; whichever queue has room and a frame is fetched next, in turns, so
// the next frame of each is there while another one is being sent. A slot is a reception port as pen_queue has it: of the
// frames of a class that which came first goes first. Queues 8 and up share the classes of those eight below.
//
// Where launch times are enabled, eight bytes before the frame say when it is to leave, and pen_launch has it until then; zero:
// at once, as the frames of other queues. Such a frame goes without ATS, as its time is its program's.
//
// A frame of a queue with ATS gets its eligibility time when it is whole in the store, and is queued behind those of its class
// that have one too, in a list of their own: they leave in the order in which they got it.
//
// A frame that nobody could receive (shorter than a header, longer than max_frame_bytes_i) is given back unsent; refused_o tells.
module pen_nic_transmit
  import pen_pkg::*, pen_nic_pkg::*;
#(
  parameter int unsigned QUEUES = 4,           // 1 to 16: of one port
  parameter int unsigned SLOTS  = 4,           // 2, 4 or 8; 2 or 4 with more than 8 queues
  parameter int unsigned CELLS  = 256,         // of all ports
  parameter int unsigned PORT   = 0,
  parameter bit          ATS    = 1            // 0: no queue has it
) (
  input  logic              clk_i,
  input  logic              rst_i,
  input  length_t           max_frame_bytes_i, // FCS included
  input  cycle_t            cycle_i,
  // Launch times, by queue; see pen_launch
  input  logic [63:0]       gate_time_i,
  input  logic [QUEUES-1:0] launch_enable_i,
  input  logic [QUEUES-1:0] launch_drop_i,
  input  logic [31:0]       launch_horizon_ns_i,
  input  egress_event_t     event_i,           // of the port
  output logic [$clog2(QUEUES > 1 ? QUEUES : 2)-1:0] sent_queue_o,  // of which event_i tells
  output logic              late_o,            // one cycle: a frame of that queue left after its launch time
  output logic              dropped_o,         // one cycle: one of fetched_queue_o was not taken, as its time had passed
  output logic              beyond_o,          // or was too far ahead
  output logic [$clog2(QUEUES > 1 ? QUEUES : 2)-1:0] fetched_queue_o,
  // ATS, by queue; see pen_nic_ats
  input  logic [QUEUES-1:0] ats_enable_i,
  output ats_request_t      ats_o,
  input  ats_answer_t       ats_i,
  output logic              residence_o,       // one cycle: a frame of fetched_queue_o would have waited for too long
  input  logic [QUEUES-1:0] running_i,
  input  logic              hold_i,            // no new chain is begun
  output logic              idle_o,            // nothing is being fetched, and nothing waits to be
  output logic              busy_o,            // a chain is under way
  // Chains
  input  logic [QUEUES-1:0] held_i,            // there is one
  input  logic              fetch_ready_i,
  output logic              fetch_o,
  output logic [$clog2(QUEUES > 1 ? QUEUES : 2)-1:0] fetch_queue_o,
  input  logic              failed_i,
  input  logic              buffer_valid_i,
  input  buffer_t           buffer_i,
  input  logic [15:0]       head_i,
  output logic              buffer_ready_o,
  output logic              used_valid_o,
  output used_t             used_o,
  input  logic              used_ready_i,
  output logic [QUEUES-1:0] fail_o,            // one cycle: memory refused
  // Memory
  output logic              read_valid_o,
  output dma_request_t      read_o,
  input  logic              read_ready_i,
  input  logic              beat_valid_i,
  input  dma_beat_t         beat_i,
  // Store and port
  output store_write_t      store_o,
  output enqueue_t          enqueue_o,
  input  release_t          release_i,
  output logic              refused_o          // one cycle: a frame was given back unsent
);
  localparam int unsigned PLACES = QUEUES > 1 ? QUEUES : 2;
  localparam int unsigned QUEUE_W = $clog2(PLACES);
  localparam int unsigned SLOT_W = $clog2(SLOTS);
  localparam int unsigned CELLS_PER_SLOT = 16;
  localparam int unsigned FIRST_SLOT = PORT * QUEUES * SLOTS;
  localparam int unsigned LISTS = (QUEUES > CLASSES ? 2 : 1) * SLOTS;  // of each class
  localparam int unsigned QUEUED_TO_VISIBLE = 3;      // a frame is selected that many cycles later at the earliest: enqueue_o is a register
  localparam length_t HEADER = 11'd14;
  localparam length_t LAUNCH_BYTES = 11'd8;
  localparam length_t FCS_BYTES = 11'd4;
  if (QUEUES < 1 || QUEUES > 2 * CLASSES) begin : gen_check_queues
    $fatal(1, "pen_nic_transmit: QUEUES must be 1 to %0d, is %0d (%m)", 2 * CLASSES, QUEUES);
  end
  if (SLOTS < 2 || LISTS > MAX_PORTS || 1 << SLOT_W != SLOTS) begin : gen_check_slots
    $fatal(1, "pen_nic_transmit: SLOTS must be 2, 4 or 8, and not 8 with more than 8 queues, is %0d (%m)", SLOTS);
  end
  if (CELLS < (PORT + 1) * QUEUES * SLOTS * CELLS_PER_SLOT) begin : gen_check_cells
    $fatal(1, "pen_nic_transmit: CELLS must be %0d or more, is %0d (%m)", (PORT + 1) * QUEUES * SLOTS * CELLS_PER_SLOT, CELLS);
  end

  typedef logic [QUEUE_W-1:0] queue_t;
  typedef logic [SLOT_W-1:0]  slot_t;

  typedef enum logic [3:0] {PICK, BUFFER, SKIP, READ, DATA, SEAL, WAIT_END, GIVE_BACK, QUEUE, LAUNCH, SHAPE} state_e;
  state_e                        state_q;
  queue_t                        queue_q, chosen;
  slot_t                         slot_q, slot;
  logic [QUEUES-1:0]             able;
  logic [QUEUES-1:0][SLOTS-1:0]  taken_q;
  logic [3:0]                    skip_q;        // bytes of the header still to come
  logic [16:0]                   skipped;
  logic [11:0]                   bytes_q;       // of the frame so far; stands at its end
  logic [17:0]                   grown;
  logic                          refuse_q, last_q, error_q, first_q;
  logic                          done;
  length_t                       length;
  dma_request_t                  read_q;
  store_write_t                  written;
  length_t                       length_q;
  logic [15:0]                   head_q;
  logic                          timed_q;       // a launch time stands before the frame
  logic                          shaped_q;      // it has an eligibility time
  cycle_t                        eligible_q, soonest, behind;
  length_t                       least, most_q; // bytes, the launch time included
  logic [63:0]                   launch_time;
  logic                          launch_answer, launch_taken, launch_idle, launches, queued;
  queue_t                        launch_queue;
  slot_t                         launch_slot;
  length_t                       launch_length;

  always_comb begin
    chosen = queue_q;
    for (int unsigned k = 0; k < QUEUES; k++) able[k] = held_i[k] && running_i[k] && taken_q[k] != '1;
    for (int unsigned k = QUEUES; k >= 1; k--) begin
      automatic queue_t next = queue_t'((32'(queue_q) + k) % QUEUES);
      if (able[next]) chosen = next;
    end
    slot = '0;
    for (int unsigned s = SLOTS; s >= 1; s--) if (!taken_q[queue_q][s-1]) slot = slot_t'(s - 1);
  end

  function automatic cell_t first_cell(input queue_t of_queue, input slot_t of_slot);
    return cell_t'((FIRST_SLOT + 32'({of_queue, of_slot})) * CELLS_PER_SLOT);
  endfunction

  // The slots of a queue that is not the first of its class stand behind those of that one.
  function automatic port_t list(input queue_t of_queue, input slot_t of_slot);
    return port_t'(of_slot) + (32'(of_queue) >= CLASSES ? port_t'(SLOTS) : '0);
  endfunction

  assign fetch_o       = state_q == PICK && able != '0 && fetch_ready_i && !hold_i;
  assign fetch_queue_o = chosen;

  assign skipped = buffer_i.bytes > 17'(skip_q) ? 17'(skip_q) : buffer_i.bytes;
  assign grown   = 18'(bytes_q) + 18'(buffer_i.bytes) - 18'(skipped);

  assign read_valid_o = state_q == READ;
  assign read_o       = read_q;

  // A buffer is done with when its last byte is there, or a cycle after it came if none of it is wanted.
  logic wanted;
  assign least  = HEADER + (timed_q ? LAUNCH_BYTES : '0);
  always_ff @(posedge clk_i) most_q <= max_frame_bytes_i - FCS_BYTES + (timed_q ? LAUNCH_BYTES : '0);
  assign wanted = buffer_i.bytes != skipped && !refuse_q && grown <= 18'(most_q);
  assign buffer_ready_o = state_q == SKIP || (state_q == DATA && beat_valid_i && beat_i.last);

  pen_frame_writer #(.CELLS(CELLS)) u_writer (
    .clk_i,
    .rst_i,
    .start_i     (state_q == PICK),
    .cell_i      ('0),
    .prefix_i    (launch_enable_i[chosen]),
    .beat_valid_i(state_q == DATA && beat_valid_i),
    .beat_i,
    .end_i       (state_q == SEAL),
    .done_o      (done),
    .length_o    (length),
    .prefix_o    (launch_time),
    .store_o     (written)
  );

  pen_launch #(.QUEUES(QUEUES), .SLOTS(SLOTS)) u_launch (
    .clk_i,
    .rst_i,
    .gate_time_i,
    .enable_i        (launch_enable_i),
    .drop_i          (launch_drop_i),
    .horizon_ns_i    (launch_horizon_ns_i),
    .offer_i         (state_q == LAUNCH),
    .offer_queue_i   (queue_q),
    .offer_slot_i    (slot_q),
    .offer_length_i  (length_q),
    .offer_time_i    (launch_time),
    .answer_o        (launch_answer),
    .taken_o         (launch_taken),
    .dropped_o,
    .beyond_o,
    .release_o       (launches),
    .release_queue_o (launch_queue),
    .release_slot_o  (launch_slot),
    .release_length_o(launch_length),
    .sent_i          (event_i.sent),
    .expired_i       (event_i.expired),
    .sent_queue_i    (sent_queue_o),
    .sent_slot_i     (event_i.frame[$clog2(CELLS_PER_SLOT)+:SLOT_W]),
    .late_o,
    .idle_o          (launch_idle)
  );
  // Where queues share a class, the cell tells which one it was.
  if (QUEUES > CLASSES) begin : gen_shared
    assign sent_queue_o = queue_t'(event_i.frame >> $clog2(SLOTS * CELLS_PER_SLOT));
  end else begin : gen_own
    assign sent_queue_o = queue_t'(event_i.traffic_class);
  end
  assign fetched_queue_o = queue_q;
  assign queued          = state_q == QUEUE && !launches;

  cell_t base;
  assign base = first_cell(queue_q, slot_q);
  always_comb begin
    store_o            = written;
    store_o.cell_index = written.cell_index | base;
    store_o.link_from  = written.link_from | base;
    store_o.link_to    = written.link_to | base;
  end

  assign used_valid_o = state_q == GIVE_BACK;
  assign used_o       = '{kind: USED_LAST, head: head_q, bytes: '0};
  assign refused_o    = state_q == GIVE_BACK && used_ready_i && refuse_q;
  assign busy_o       = state_q != PICK;
  assign idle_o       = state_q == PICK && able == '0 && launch_idle && enqueue_o.destination == '0;

  always_ff @(posedge clk_i) begin
    fail_o    <= '0;
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
        error_q  <= 1'b0;
        first_q  <= 1'b1;
        shaped_q <= 1'b0;
      end
      BUFFER: begin
        if (first_q) slot_q <= slot;              // of the whole frame, whatever is released meanwhile
        first_q <= 1'b0;
        if (failed_i) state_q <= PICK;
        else if (buffer_valid_i) begin
          head_q <= head_i;
          read_q  <= '{address: buffer_i.address + ADDRESS_W'(skipped), bytes: buffer_i.bytes - skipped};
          last_q  <= buffer_i.last;
          skip_q  <= skip_q - 4'(skipped);
          if (grown > 18'(most_q)) refuse_q <= 1'b1;
          else bytes_q <= grown[11:0];
          state_q <= wanted ? READ : SKIP;
        end
      end
      SKIP: state_q <= last_q ? SEAL : BUFFER;
      READ: if (read_ready_i) state_q <= DATA;
      DATA: if (beat_valid_i && beat_i.last) begin
        error_q <= error_q || beat_i.error;
        state_q <= last_q || beat_i.error ? SEAL : BUFFER;
        // The rest of the chain is not looked at: the queue stops.
        if (beat_i.error) begin
          fail_o[queue_q] <= 1'b1;
          if (!last_q) state_q <= BUFFER;
          refuse_q <= 1'b1;
        end
      end
      SEAL: begin
        if (bytes_q < 12'(least)) refuse_q <= 1'b1;
        state_q <= error_q ? PICK : refuse_q || bytes_q < 12'(least) ? GIVE_BACK : WAIT_END;
      end
      WAIT_END: if (done) state_q <= timed_q && launch_time != '0 ? LAUNCH : ATS && ats_enable_i[queue_q] ? SHAPE : QUEUE;
      SHAPE: if (ats_i.valid) begin
        shaped_q   <= 1'b1;
        eligible_q <= ats_i.visible;
        state_q    <= ats_i.pass ? QUEUE : GIVE_BACK;
      end
      QUEUE: if (queued) state_q <= GIVE_BACK;
      LAUNCH: if (launch_answer) state_q <= GIVE_BACK;
      GIVE_BACK: if (used_ready_i) state_q <= PICK;
      default: state_q <= PICK;
    endcase
    for (int unsigned k = 0; k < QUEUES; k++) begin
      for (int unsigned s = 0; s < SLOTS; s++) begin
        if ((queued || launch_taken) && queue_q == queue_t'(k) && slot_q == slot_t'(s)) taken_q[k][s] <= 1'b1;
        else if (release_i.valid && release_i.frame == cell_t'((FIRST_SLOT + k * SLOTS + s) * CELLS_PER_SLOT)) taken_q[k][s] <= 1'b0;
      end
    end
    if (rst_i) begin
      state_q   <= PICK;
      queue_q   <= '0;
      taken_q   <= '0;
      fail_o    <= '0;
    end
  end

  always_ff @(posedge clk_i) if (done) length_q <= length;

  assign ats_o       = '{valid: ATS && state_q == SHAPE, of_queue: 4'(queue_q), length: length_q};
  assign residence_o = ATS && ats_i.valid && !ats_i.pass;

  // Among frames with and without eligibility time the queue decides by when each may be selected. Without ATS the order is
  // that of their coming, and so is any time that follows the count of cycles.
  assign soonest = cycle_i + cycle_t'(ATS ? QUEUED_TO_VISIBLE : 0);
  assign behind  = eligible_q - soonest;

  enqueue_t enqueue;
  always_comb begin
    enqueue = '0;
    enqueue.destination[PORT] = state_q == QUEUE || launches;
    enqueue.traffic_class = launches ? class_t'(launch_queue) : class_t'(queue_q);
    enqueue.port          = launches ? list(launch_queue, launch_slot) : list(queue_q, slot_q);
    enqueue.frame         = launches ? first_cell(launch_queue, launch_slot) : base;
    enqueue.length        = launches ? launch_length : length_q;
    enqueue.visible       = soonest;
    if (ATS && shaped_q && !launches) begin
      enqueue.shaped = 1'b1;
      enqueue.port   = port_t'(LISTS - 1);  // the last list: of equal times those go first that have no eligibility time
      if (!behind[$high(cycle_t)]) enqueue.visible = eligible_q;
    end
  end

  always_ff @(posedge clk_i) enqueue_o <= rst_i ? '0 : enqueue;

  logic unused;
  assign unused = &{1'b0, release_i, event_i, ats_enable_i, ats_i, behind};
endmodule
