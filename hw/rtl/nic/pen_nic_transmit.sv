// SPDX-License-Identifier: Apache-2.0
// Fetches frames of all transmit queues into the store, ahead of their transmission, and queues them at the port.
//
//   pen_frame_fetch: whole frames, in order ─► padding ─► launch time, ATS, or neither ─► queue of the port; chain given back
//
// Of each queue up to SLOTS frames are in the store or on their way to it; whichever queue has room and a frame is fetched
// next, in turns, so the next frame of each is there while another one is being sent. A slot is a reception port as pen_queue has it: of the
// frames of a class that which came first goes first. Queues 8 and up share the classes of those eight below.
//
// Where launch times are enabled, eight bytes before the frame say when it is to leave, and pen_launch has it until then; zero:
// at once, as the frames of other queues. Such a frame goes without ATS, as its time is its program's.
//
// A frame of a queue with ATS gets its eligibility time when it is whole in the store, and is queued behind those of its class
// that have one too, in a list of their own: they leave in the order in which they got it.
//
// A frame that nobody could receive (shorter than a header, longer than max_frame_bytes_i) is given back unsent; refused_o tells.
// Behind one that memory refused, nothing of its queue is sent or given back: the queue stops.
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
  output logic              used_valid_o,      // of fetched_queue_o
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
  localparam int unsigned QUEUE_W = $clog2(QUEUES > 1 ? QUEUES : 2);
  localparam int unsigned SLOT_W = $clog2(SLOTS);
  localparam int unsigned FIRST_SLOT = PORT * QUEUES * SLOTS;
  localparam int unsigned LISTS = (QUEUES > CLASSES ? 2 : 1) * SLOTS;  // of each class
  localparam int unsigned QUEUED_TO_VISIBLE = 3;      // a frame is selected that many cycles later at the earliest: enqueue_o is a register
  localparam int unsigned MIN_WORDS = 8;
  localparam length_t MIN_BYTES = 11'd64;
  localparam length_t LAUNCH_BYTES = 11'd8;
  localparam length_t FCS_BYTES = 11'd4;
  if (QUEUES < 1 || QUEUES > 2 * CLASSES) begin : gen_check_queues
    $fatal(1, "pen_nic_transmit: QUEUES must be 1 to %0d, is %0d (%m)", 2 * CLASSES, QUEUES);
  end
  if (SLOTS < 2 || LISTS > MAX_PORTS || 1 << SLOT_W != SLOTS) begin : gen_check_slots
    $fatal(1, "pen_nic_transmit: SLOTS must be 2, 4 or 8, and not 8 with more than 8 queues, is %0d (%m)", SLOTS);
  end
  if (CELLS < (PORT + 1) * QUEUES * SLOTS * FRAME_CELLS) begin : gen_check_cells
    $fatal(1, "pen_nic_transmit: CELLS must be %0d or more, is %0d (%m)", (PORT + 1) * QUEUES * SLOTS * FRAME_CELLS, CELLS);
  end

  typedef logic [QUEUE_W-1:0] queue_t;
  typedef logic [SLOT_W-1:0]  slot_t;

  typedef enum logic [2:0] {REST, PAD, QUEUE, LAUNCH, SHAPE, GIVE_BACK, LEAVE} state_e;
  state_e                        state_q;
  queue_t                        whole_queue, begin_queue;  // of the frame that is whole; of that which is begun
  queue_t                        queue_q;       // the former, behind REST
  slot_t                         slot, free;
  logic [QUEUES-1:0]             able, failed_q;
  logic [QUEUES-1:0][SLOTS-1:0]  taken_q;
  logic                          begins, fetching, fetched, leaves, pads, kept_q;
  fetched_t                      frame;
  store_write_t                  written;
  length_t                       length, length_q, rounded;
  logic [7:0]                    words;         // that the frame takes
  logic [3:0]                    word_q;        // the next one of the padding
  logic                          shaped_q;      // it has an eligibility time
  cycle_t                        eligible_q, soonest_q, behind;
  logic [63:0]                   launch_time;
  logic                          launch_answer, launch_taken, launch_idle, launches, queued;
  queue_t                        launch_queue;
  slot_t                         launch_slot;
  length_t                       launch_length;

  // A slot is taken from the beginning of a frame until it has left the port, or will not be sent.
  always_comb begin
    for (int unsigned k = 0; k < QUEUES; k++) able[k] = held_i[k] && running_i[k] && !failed_q[k] && taken_q[k] != '1;
    free = '0;
    for (int unsigned s = SLOTS; s >= 1; s--) if (!taken_q[begin_queue][s-1]) free = slot_t'(s - 1);
  end

  function automatic cell_t first_cell(input queue_t of_queue, input slot_t of_slot);
    return cell_t'((FIRST_SLOT + 32'({of_queue, of_slot})) * FRAME_CELLS);
  endfunction

  // The slots of a queue that is not the first of its class stand behind those of that one.
  function automatic port_t list(input queue_t of_queue, input slot_t of_slot);
    return port_t'(of_slot) + (32'(of_queue) >= CLASSES ? port_t'(SLOTS) : '0);
  endfunction

  pen_frame_fetch #(.QUEUES(QUEUES), .SLOTS(SLOTS), .FIRST_SLOT(FIRST_SLOT)) u_fetch (
    .clk_i,
    .rst_i,
    .max_frame_bytes_i,
    .launch_enable_i,
    .able_i       (able),
    .hold_i,
    .busy_o       (fetching),
    .fetch_ready_i,
    .fetch_o,
    .fetch_queue_o,
    .failed_i,
    .buffer_valid_i,
    .buffer_i,
    .head_i,
    .buffer_ready_o,
    .begin_o      (begins),
    .begin_queue_o(begin_queue),
    .slot_i       (free),
    .read_valid_o,
    .read_o,
    .read_ready_i,
    .beat_valid_i,
    .beat_i,
    .store_o      (written),
    .frame_valid_o(fetched),
    .frame_o      (frame),
    .frame_ready_i(leaves)
  );
  assign whole_queue = frame.of_queue[QUEUE_W-1:0];
  assign slot        = frame.slot[SLOT_W-1:0];
  assign launch_time = frame.launch_time;
  assign rounded     = frame.bytes + (frame.timed ? 11'h7FF : 11'd7);
  assign words       = rounded[10:3];
  assign length      = frame.bytes + FCS_BYTES - (frame.timed ? LAUNCH_BYTES : '0);

  pen_launch #(.QUEUES(QUEUES), .SLOTS(SLOTS)) u_launch (
    .clk_i,
    .rst_i,
    .gate_time_i,
    .enable_i        (launch_enable_i),
    .drop_i          (launch_drop_i),
    .horizon_ns_i    (launch_horizon_ns_i),
    .offer_i         (state_q == LAUNCH),
    .offer_queue_i   (queue_q),
    .offer_slot_i    (slot),
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
    .sent_slot_i     (event_i.frame[$clog2(FRAME_CELLS)+:SLOT_W]),
    .late_o,
    .idle_o          (launch_idle)
  );
  // Where queues share a class, the cell tells which one it was.
  if (QUEUES > CLASSES) begin : gen_shared
    assign sent_queue_o = queue_t'(event_i.frame >> $clog2(SLOTS * FRAME_CELLS));
  end else begin : gen_own
    assign sent_queue_o = queue_t'(event_i.traffic_class);
  end
  assign fetched_queue_o = queue_q;
  assign queued          = state_q == QUEUE && !launches;

  // Up to the shortest frame words of zeros are written, when nothing comes of others.
  cell_t base;
  assign base = first_cell(queue_q, slot);
  assign pads = state_q == PAD && word_q < 4'(MIN_WORDS) && !written.valid;
  always_comb begin
    store_o = written;
    if (pads) begin
      store_o.valid      = 1'b1;
      store_o.cell_index = base;
      store_o.word       = word_q;
    end
  end

  assign used_valid_o = state_q == GIVE_BACK;
  assign used_o       = '{kind: USED_LAST, head: frame.head, bytes: '0};
  assign refused_o    = state_q == GIVE_BACK && used_ready_i && frame.kind == FETCHED_REFUSED;
  assign leaves       = state_q == LEAVE;
  assign busy_o       = fetching;
  assign idle_o       = !fetching && able == '0 && launch_idle && enqueue_o.destination == '0;

  always_ff @(posedge clk_i) begin
    fail_o   <= '0;
    failed_q <= fetching ? failed_q : failed_q & running_i;
    length_q <= length < MIN_BYTES ? MIN_BYTES : length;
    queue_q  <= whole_queue;
    unique case (state_q)
      REST: begin
        word_q   <= words < 8'(MIN_WORDS) ? words[3:0] : 4'(MIN_WORDS);
        shaped_q <= 1'b0;
        kept_q   <= 1'b0;
        if (fetched) begin
          state_q <= frame.kind == FETCHED_REFUSED ? GIVE_BACK : PAD;
          if (frame.kind == FETCHED_CUT || frame.error || failed_q[whole_queue]) state_q <= LEAVE;
          if (frame.error) begin
            fail_o[whole_queue]   <= 1'b1;
            failed_q[whole_queue] <= 1'b1;
          end
        end
      end
      PAD: begin
        if (pads) word_q <= word_q + 1'b1;
        if (word_q == 4'(MIN_WORDS)) state_q <= frame.timed && launch_time != '0 ? LAUNCH : ATS && ats_enable_i[queue_q] ? SHAPE : QUEUE;
      end
      SHAPE: if (ats_i.valid) begin
        shaped_q   <= 1'b1;
        eligible_q <= ats_i.visible;
        state_q    <= ats_i.pass ? QUEUE : GIVE_BACK;
      end
      QUEUE: if (queued) state_q <= GIVE_BACK;
      LAUNCH: if (launch_answer) state_q <= GIVE_BACK;
      GIVE_BACK: if (used_ready_i) state_q <= LEAVE;
      default: state_q <= REST;
    endcase
    if (queued || launch_taken) kept_q <= 1'b1;
    for (int unsigned k = 0; k < QUEUES; k++) begin
      for (int unsigned s = 0; s < SLOTS; s++) begin
        if (begins && begin_queue == queue_t'(k) && free == slot_t'(s)) taken_q[k][s] <= 1'b1;
        else if ((release_i.valid && release_i.frame == cell_t'((FIRST_SLOT + k * SLOTS + s) * FRAME_CELLS))
                 || (leaves && !kept_q && queue_q == queue_t'(k) && slot == slot_t'(s))) taken_q[k][s] <= 1'b0;
      end
    end
    if (rst_i) begin
      state_q  <= REST;
      taken_q  <= '0;
      failed_q <= '0;
      fail_o   <= '0;
    end
  end

  assign ats_o       = '{valid: ATS && state_q == SHAPE, of_queue: 4'(queue_q), length: length_q};
  assign residence_o = ATS && ats_i.valid && !ats_i.pass;

  // Among frames with and without eligibility time the queue decides by when each may be selected. Without ATS the order is
  // that of their coming, and so is any time that follows the count of cycles.
  always_ff @(posedge clk_i) soonest_q <= cycle_i + cycle_t'(ATS ? QUEUED_TO_VISIBLE + 1 : 0);
  assign behind = eligible_q - soonest_q;

  enqueue_t enqueue;
  always_comb begin
    enqueue = '0;
    enqueue.destination[PORT] = state_q == QUEUE || launches;
    enqueue.traffic_class = launches ? class_t'(launch_queue) : class_t'(queue_q);
    enqueue.port          = launches ? list(launch_queue, launch_slot) : list(queue_q, slot);
    enqueue.frame         = launches ? first_cell(launch_queue, launch_slot) : base;
    enqueue.length        = launches ? launch_length : length_q;
    enqueue.slot[PORT]    = enqueue.length;
    enqueue.visible       = soonest_q;
    if (ATS && shaped_q && !launches) begin
      enqueue.shaped = 1'b1;
      enqueue.port   = port_t'(LISTS - 1);  // the last list: of equal times those go first that have no eligibility time
      if (!behind[$high(cycle_t)]) enqueue.visible = eligible_q;
    end
  end

  always_ff @(posedge clk_i) enqueue_o <= rst_i ? '0 : enqueue;

  logic unused;
  assign unused = &{1'b0, frame, rounded[2:0], release_i, event_i, ats_enable_i, ats_i, behind};
endmodule
