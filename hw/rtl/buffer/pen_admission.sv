// SPDX-License-Identifier: Apache-2.0
// Decides for each copy of a received frame whether it may be queued, and on whose account.
//
//   cycle    0        1         2         3          4          5
//            begin    accounts  compared  choice     decision   enqueue_o, verdict_o, reclaim_o
//                     read                of copies
//
// Frames are decided one after the other, in the order they came, a frame every other cycle; the first of a burst
// begins one cycle after classified_i. A port has one frame at most in 2 * PORTS cycles, so that none waits for more
// than PORTS - 1 cycles. A decision knows all that was decided before and all copies released before it began.
//
// The frame before may be charged after the accounts of the queues were read: they are therefore compared twice, with
// and without its charge, and the choice of copies comes later. The accounts of all others are read in cycle 3, when
// that charge is in them, and take the releases two cycles later so that they tell of the same moment.
//
// What is guaranteed to a queue is taken whatever its class holds elsewhere: the limit of the class is for the rest.
//
// Each copy is decided by itself, as if it were the only one, so that none changes the fate of another. The accounts of a
// class, a reception port and of all may thus go beyond their limits by the other copies of one frame. The store does
// not: the frame is stored once, and that once was within the limit.
//
// A queue of the host port has what is guaranteed to it and no more: a host that fetches nothing takes nothing from others.
//
// A copy that is longer than queueMaxSDU of its egress port and class, or than the largest window of its gate, would
// only be in the way of others. Its length is the one that it has there, with or without a tag.
//
// Each account is a pair of counters that wrap, charged by admission and returned by releases, so that each has one
// writer and fits into memory; the difference is what is used.
module pen_admission
  import pen_pkg::*;
  import pen_buffer_pkg::*;
#(
  parameter int unsigned PORTS = 4,
  parameter int unsigned CELLS = 1024,
  parameter bit          HOST  = 0      // the last port is the host's
) (
  input  logic        clk_i,
  input  logic        rst_i,
  input  logic        init_busy_i,
  input  init_index_t init_index_i,
  input  pen_config_pkg::buffer_config_t config_i,
  input  logic        max_sdu_write_i,
  input  port_t       max_sdu_write_port_i,
  input  class_t      max_sdu_write_class_i,
  input  length_t     max_sdu_write_bytes_i,
  input  window_t [PORTS-1:0][CLASSES-1:0] largest_window_ns_i,
  input  classified_t classified_i,
  output enqueue_t    enqueue_o,
  output verdict_t    verdict_o,
  output reclaim_t    reclaim_o,
  input  release_t    release_i,
  input  port_t       release_turn_i,  // the egress port that it is of
  output logic        idle_o
);
  // The class accounts count copies, not cells of the store: PORTS times as many.
  localparam int unsigned USED_W = $clog2(CELLS) + 1;
  localparam int unsigned WIDE_W = USED_W + 3;
  localparam int unsigned PORT_W = $clog2(PORTS);
  localparam logic [PORTS-1:0] HOST_PORT = HOST ? PORTS'(1 << (PORTS - 1)) : '0;
  if (PORTS < 2 || PORTS > MAX_PORTS) begin : gen_check
    $fatal(1, "pen_admission: PORTS must be 2 to 8, is %0d (%m)", PORTS);
  end

  typedef logic [USED_W-1:0] used_t;
  typedef logic [WIDE_W-1:0] wide_t;
  typedef struct packed {
    used_t guaranteed;                 // charged to the guarantee of the egress port and class
    used_t total;                      // all in this queue
  } account_t;

  typedef logic signed [WIDE_W:0]  room_t;         // negative: more is used than the limit allows now
  typedef logic [PORTS-1:0]        ports_t;
  typedef struct packed {
    edit_t [PORTS-1:0] edit;
    ports_t      wanted;                           // copies to decide about
    logic        reclaim;                          // the frame has cells
    class_t      traffic_class;
    port_t       port;                             // reception port
    cell_count_t cells;
  } head_t;

  // --- releases: of queues, and two cycles later of all else -------------------------------------------------------
  typedef struct packed {
    pool_e       pool;
    class_t      traffic_class;
    port_t       port;                             // reception port
    cell_count_t cells;
  } returned_t;
  logic [2:0]      release_q;
  returned_t [2:0] returned_q;
  port_t           release_turn_q;                 // egress port
  returned_t       early, late;

  assign early = returned_q[0];
  assign late  = returned_q[2];

  always_ff @(posedge clk_i) begin
    if (rst_i) release_q <= '0;
    else release_q <= {release_q[1:0], release_i.valid};
    if (release_i.valid) begin
      returned_q[0] <= '{
        pool: release_i.pool, traffic_class: release_i.traffic_class, port: release_i.port,
        cells: cells_of(release_i.length)
      };
      release_turn_q <= release_turn_i;
    end
    if (release_q[0]) returned_q[1] <= returned_q[0];
    if (release_q[1]) returned_q[2] <= returned_q[1];
    if (init_busy_i) returned_q <= '0;
  end

  // --- frames that wait or are being decided -----------------------------------------------------------------------
  localparam int unsigned DEPTH = 8;
  logic [2:0]  write_q, begin_q, decide_q;         // places in the memories
  logic [4:1]  valid_q;                            // bit i: a frame in cycle i
  logic        begins, accept;
  head_t       head_0, head_1_q, head_2_q, head_3_q, head_4_q;
  length_t     length_0, length_1_q;
  length_t [PORTS-1:0] slot_2_q, slot_4_q;         // as the egress ports have it
  logic [6:0]  triple_3_q;                         // three times its cells
  classified_t waiting, frame;                     // frame: the one in cycle 4

  assign accept = classified_i.reason == REASON_NONE;
  assign begins = write_q != begin_q && !valid_q[1];

  pen_lutram_1r1w #(.WIDTH($bits(head_t) + $bits(length_t)), .DEPTH(DEPTH)) u_heads (
    .clk_i,
    .write_i     (classified_i.valid),
    .write_addr_i(write_q),
    .write_data_i({
      classified_i.edit[PORTS-1:0],
      accept ? classified_i.destination[PORTS-1:0] : ports_t'(0), accept || classified_i.has_cells,
      classified_i.traffic_class, classified_i.port, cells_of(classified_i.length), classified_i.length
    }),
    .read_addr_i (begin_q),
    .read_data_o ({head_0, length_0})
  );

  // What is in the head, or the same for all, is not kept twice.
  always_comb begin
    waiting = classified_i;
    waiting.valid = 1'b0;
    waiting.has_cells = 1'b0;
    waiting.port = '0;
    waiting.traffic_class = '0;
    waiting.destination = '0;
    waiting.edit = '0;
  end

  pen_lutram_1r1w #(.WIDTH($bits(classified_t)), .DEPTH(DEPTH)) u_frames (
    .clk_i,
    .write_i     (classified_i.valid),
    .write_addr_i(write_q),
    .write_data_i(waiting),
    .read_addr_i (decide_q),
    .read_data_o (frame)
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      write_q  <= '0;
      begin_q  <= '0;
      decide_q <= '0;
      valid_q  <= '0;
    end else begin
      if (classified_i.valid) write_q <= write_q + 1'b1;
      if (begins) begin_q <= begin_q + 1'b1;
      if (valid_q[4]) decide_q <= decide_q + 1'b1;
      valid_q <= {valid_q[3:1], begins};
    end
    if (begins) begin
      head_1_q   <= head_0;
      length_1_q <= length_0;
    end
    if (valid_q[1]) begin
      head_2_q   <= head_1_q;
      for (int unsigned e = 0; e < PORTS; e++) slot_2_q[e] <= slot_length(length_1_q, head_1_q.edit[e], PORTS);
    end
    if (valid_q[2]) begin
      head_3_q   <= head_2_q;
      triple_3_q <= 7'({head_2_q.cells, 1'b0}) + 7'(head_2_q.cells);
    end
    if (valid_q[3]) begin
      head_4_q <= head_3_q;
      slot_4_q <= slot_2_q;
    end
  end

  // --- cycle 1: what is used, and what may be used so that the frame still fits ------------------------------------
  localparam int unsigned SLACK_W = 15;
  typedef logic signed [SLACK_W-1:0] slack_t;
  account_t [PORTS-1:0] used_1, used_2_q, charged_3;
  slack_t               queue_slack, guarantee_slack, queue_slack_2_q, guarantee_slack_2_q;
  slack_t               queue_slack_charged_2_q, guarantee_slack_charged_2_q;
  logic                 follows_2_q, follows_3_q;  // the frame before is of the same class and may have been missed

  // The returned cells once more, of all queues in one memory, for their own update. In the initialization nothing is
  // added to nothing, here as in all accounts.
  account_t returned_read, returned_before, returned_update;

  assign returned_before            = init_busy_i ? '0 : returned_read;
  assign returned_update.total      = used_t'(early.cells) + returned_before.total;
  assign returned_update.guaranteed = (early.pool == POOL_QUEUE ? used_t'(early.cells) : '0)
      + returned_before.guaranteed;

  pen_lutram_1r1w #(.WIDTH($bits(account_t)), .DEPTH(CLASSES << PORT_W)) u_returned (
    .clk_i,
    .write_i     (init_busy_i || release_q[0]),
    .write_addr_i(init_busy_i ? init_index_i[PORT_W+2:0] : {release_turn_q[PORT_W-1:0], early.traffic_class}),
    .write_data_i(returned_update),
    .read_addr_i ({release_turn_q[PORT_W-1:0], early.traffic_class}),
    .read_data_o (returned_read)
  );

  ports_t               accepted;
  account_t [PORTS-1:0] charged_4_q;               // if the copy is accepted

  for (genvar e = 0; e < PORTS; e++) begin : gen_queue
    account_t returned;
    for (genvar copy = 0; copy < 2; copy++) begin : gen_charged
      account_t read_data;
      pen_lutram_1r1w #(.WIDTH($bits(account_t)), .DEPTH(CLASSES)) u_memory (
        .clk_i,
        .write_i     (init_busy_i || accepted[e]),
        .write_addr_i(init_busy_i ? init_index_i[2:0] : head_4_q.traffic_class),
        .write_data_i(charged_4_q[e]),
        .read_addr_i (copy == 0 ? head_1_q.traffic_class : head_3_q.traffic_class),
        .read_data_o (read_data)
      );
    end
    assign charged_3[e] = gen_charged[1].read_data;

    pen_lutram_1r1w #(.WIDTH($bits(account_t)), .DEPTH(CLASSES)) u_returned_class (
      .clk_i,
      .write_i     (init_busy_i || (release_q[0] && release_turn_q == port_t'(e))),
      .write_addr_i(init_busy_i ? init_index_i[2:0] : early.traffic_class),
      .write_data_i(returned_update),
      .read_addr_i (head_1_q.traffic_class),
      .read_data_o (returned)
    );
    assign used_1[e].total      = gen_charged[0].read_data.total - returned.total;
    assign used_1[e].guaranteed = gen_charged[0].read_data.guaranteed - returned.guaranteed;
  end

  // The longest frame that each egress port takes, as set and as its gates have it.
  length_t [PORTS-1:0]       max_sdu_1, max_sdu_2_q;
  length_t [PORTS-1:0]       window_2_q;           // bytes with all that they take on the wire
  logic [1:0][PORTS-1:0]     gate_enable_q;        // as late as gates that are enabled reach selection
  length_t                   max_sdu_write_bytes;
  logic                      max_sdu_write;
  logic [2:0]                max_sdu_index;

  assign max_sdu_write       = init_busy_i || max_sdu_write_i;
  assign max_sdu_write_bytes = init_busy_i ? '1 : max_sdu_write_bytes_i;
  assign max_sdu_index       = init_busy_i ? init_index_i[2:0] : max_sdu_write_class_i;

  for (genvar e = 0; e < PORTS; e++) begin : gen_max_sdu
    pen_lutram_1r1w #(.WIDTH($bits(length_t)), .DEPTH(CLASSES)) u_memory (
      .clk_i,
      .write_i     (max_sdu_write && (init_busy_i || max_sdu_write_port_i == port_t'(e))),
      .write_addr_i(max_sdu_index),
      .write_data_i(max_sdu_write_bytes),
      .read_addr_i (head_1_q.traffic_class),
      .read_data_o (max_sdu_1[e])
    );
  end

  assign queue_slack     = slack_t'({3'b0, config_i.queue_limit_cells[head_1_q.traffic_class]})
      - slack_t'({10'b0, head_1_q.cells});
  assign guarantee_slack = slack_t'({3'b0, config_i.queue_guarantee_cells}) - slack_t'({10'b0, head_1_q.cells});

  always_ff @(posedge clk_i) begin
    gate_enable_q <= {gate_enable_q[0], PORTS'(config_i.gate_enable)};
    if (valid_q[1]) begin
      used_2_q                    <= used_1;
      max_sdu_2_q                 <= max_sdu_1;
      for (int unsigned e = 0; e < PORTS; e++)
        window_2_q[e] <= gate_enable_q[1][e] ? largest_window_ns_i[e][head_1_q.traffic_class][$high(window_t):3] : '1;
      queue_slack_2_q             <= queue_slack;
      guarantee_slack_2_q         <= guarantee_slack;
      queue_slack_charged_2_q     <= queue_slack - slack_t'({10'b0, head_3_q.cells});
      guarantee_slack_charged_2_q <= guarantee_slack - slack_t'({10'b0, head_3_q.cells});
      follows_2_q                 <= valid_q[4:3] != '0 && head_3_q.traffic_class == head_1_q.traffic_class;
    end
  end

  // --- cycle 2: compared -------------------------------------------------------------------------------------------
  ports_t queue_ok_3_q, queue_ok_charged_3_q, guarantee_ok_3_q, guarantee_ok_charged_3_q;
  room_t  class_slack_3_q, class_slack_4_q;
  ports_t too_long_3_q, too_long_4_q;

  always_ff @(posedge clk_i) begin
    if (valid_q[2]) begin
      for (int unsigned e = 0; e < PORTS; e++) begin
        too_long_3_q[e]             <= slot_2_q[e] > max_sdu_2_q[e]
            || slot_2_q[e] + 11'd20 > window_2_q[e];   // preamble, delimiter and gap
        queue_ok_3_q[e]             <= slack_t'({1'b0, used_2_q[e].total}) <= queue_slack_2_q;
        queue_ok_charged_3_q[e]     <= slack_t'({1'b0, used_2_q[e].total}) <= queue_slack_charged_2_q;
        guarantee_ok_3_q[e]         <= slack_t'({1'b0, used_2_q[e].guaranteed}) <= guarantee_slack_2_q;
        guarantee_ok_charged_3_q[e] <= slack_t'({1'b0, used_2_q[e].guaranteed}) <= guarantee_slack_charged_2_q;
      end
      follows_3_q     <= follows_2_q;
      class_slack_3_q <= room_t'({1'b0, config_i.class_limit_cells[head_2_q.traffic_class]})
          - room_t'({1'b0, head_2_q.cells});
    end
  end

  // --- cycle 3: the choice of copies, if class and store have room -------------------------------------------------
  ports_t     before_accepted_q, before_guaranteed_q;    // of the frame before
  ports_t     charged_queue, charged_guarantee, fit_queue_3, fit_guarantee_3, guaranteed_3, rest_3;
  ports_t     fit_queue, guaranteed, rest;               // in cycle 4
  logic [7:0] need_4_q;                                  // cells of the copies that no queue guarantees
  logic [7:0] charge_all_4_q, charge_guaranteed_4_q;
  wide_t      class_charged_3, class_returned_3, class_charged_4_q, class_used_4_q;
  wide_t      reception_charged_3, reception_returned_3, reception_charged_4_q;
  room_t      reception_room_4_q, shared_room_4_q;
  wide_t      shared_charged_q, shared_returned_q;
  logic       reception_charge;

  // --- reception ports ---
  wide_t reception_returned, class_returned;       // before a release

  assign reception_returned = init_busy_i ? '0 : gen_reception_returned[1].read_data;
  assign class_returned     = init_busy_i ? '0 : gen_class_returned[1].read_data;

  for (genvar copy = 0; copy < 2; copy++) begin : gen_reception_returned
    wide_t read_data;
    pen_lutram_1r1w #(.WIDTH(WIDE_W), .DEPTH(MAX_PORTS)) u_memory (
      .clk_i,
      .write_i     (init_busy_i || (release_q[2] && late.pool == POOL_RECEPTION)),
      .write_addr_i(init_busy_i ? init_index_i[2:0] : late.port),
      .write_data_i(wide_t'(late.cells) + reception_returned),
      .read_addr_i (copy == 0 ? head_3_q.port : late.port),
      .read_data_o (read_data)
    );
  end
  assign reception_returned_3 = gen_reception_returned[0].read_data;

  pen_lutram_1r1w #(.WIDTH(WIDE_W), .DEPTH(MAX_PORTS)) u_reception_charged (
    .clk_i,
    .write_i     (init_busy_i || reception_charge),
    .write_addr_i(init_busy_i ? init_index_i[2:0] : head_4_q.port),
    .write_data_i(reception_charged_4_q + wide_t'(need_4_q)),
    .read_addr_i (head_3_q.port),
    .read_data_o (reception_charged_3)
  );

  // --- classes ---
  for (genvar copy = 0; copy < 2; copy++) begin : gen_class_returned
    wide_t read_data;
    pen_lutram_1r1w #(.WIDTH(WIDE_W), .DEPTH(CLASSES)) u_memory (
      .clk_i,
      .write_i     (init_busy_i || release_q[2]),
      .write_addr_i(init_busy_i ? init_index_i[2:0] : late.traffic_class),
      .write_data_i(wide_t'(late.cells) + class_returned),
      .read_addr_i (copy == 0 ? head_3_q.traffic_class : late.traffic_class),
      .read_data_o (read_data)
    );
  end
  assign class_returned_3 = gen_class_returned[0].read_data;

  logic  class_ok, reception_ok, shared_ok, rest_ok;
  wide_t class_charged_all, class_charged_guaranteed, class_charged_5;

  // Both sums at once, chosen by gates: a synthesizer would join the two adders of a multiplexer to one behind it.
  assign class_charged_all        = class_charged_4_q + wide_t'(charge_all_4_q);
  assign class_charged_guaranteed = class_charged_4_q + wide_t'(charge_guaranteed_4_q);
  assign class_charged_5 = ({WIDE_W{rest_ok}} & class_charged_all) | ({WIDE_W{!rest_ok}} & class_charged_guaranteed);

  pen_lutram_1r1w #(.WIDTH(WIDE_W), .DEPTH(CLASSES)) u_class_charged (
    .clk_i,
    .write_i     (init_busy_i || accepted != '0),
    .write_addr_i(init_busy_i ? init_index_i[2:0] : head_4_q.traffic_class),
    .write_data_i(class_charged_5),
    .read_addr_i (head_3_q.traffic_class),
    .read_data_o (class_charged_3)
  );

  assign charged_queue     = before_accepted_q & {PORTS{follows_3_q}};
  assign charged_guarantee = before_guaranteed_q & {PORTS{follows_3_q}};
  assign fit_queue_3       = head_3_q.wanted & ~too_long_3_q & (fit_guarantee_3 | ~HOST_PORT)
      & ((charged_queue & queue_ok_charged_3_q) | (~charged_queue & queue_ok_3_q));
  assign fit_guarantee_3   = (charged_guarantee & guarantee_ok_charged_3_q) | (~charged_guarantee & guarantee_ok_3_q);
  assign guaranteed_3      = fit_queue_3 & fit_guarantee_3;
  assign rest_3            = fit_queue_3 & ~fit_guarantee_3;

  always_ff @(posedge clk_i) begin
    if (valid_q[3]) begin
      fit_queue             <= fit_queue_3;
      too_long_4_q          <= too_long_3_q;
      guaranteed            <= guaranteed_3;
      rest                  <= rest_3;
      need_4_q              <= times(count_ports(port_mask_t'(rest_3)), head_3_q.cells, triple_3_q, PORTS);
      charge_all_4_q        <= times(count_ports(port_mask_t'(fit_queue_3)), head_3_q.cells, triple_3_q, PORTS);
      charge_guaranteed_4_q <= times(count_ports(port_mask_t'(guaranteed_3)), head_3_q.cells, triple_3_q, PORTS);
      class_slack_4_q       <= class_slack_3_q;
      class_charged_4_q     <= class_charged_3;
      class_used_4_q        <= class_charged_3 - class_returned_3;
      reception_charged_4_q <= reception_charged_3;
      reception_room_4_q    <= room_t'({1'b0, config_i.reception_guarantee_cells})
          - room_t'({1'b0, wide_t'(reception_charged_3 - reception_returned_3)});
      shared_room_4_q       <= room_t'({1'b0, config_i.shared_limit_cells})
          - room_t'({1'b0, wide_t'(shared_charged_q - shared_returned_q)});
      for (int unsigned e = 0; e < PORTS; e++) begin
        charged_4_q[e].total      <= charged_3[e].total + used_t'(head_3_q.cells);
        charged_4_q[e].guaranteed <= charged_3[e].guaranteed + (fit_guarantee_3[e] ? used_t'(head_3_q.cells) : '0);
      end
    end
    if (init_busy_i) begin
      need_4_q              <= '0;
      charge_all_4_q        <= '0;
      charge_guaranteed_4_q <= '0;
      class_charged_4_q     <= '0;
      reception_charged_4_q <= '0;
      charged_4_q           <= '0;
    end
  end

  // --- cycle 4: the decision ---------------------------------------------------------------------------------------
  ports_t refused;

  assign class_ok         = room_t'({1'b0, class_used_4_q}) <= class_slack_4_q;
  assign reception_ok     = room_t'({1'b0, head_4_q.cells}) <= reception_room_4_q;
  assign shared_ok        = room_t'({1'b0, head_4_q.cells}) <= shared_room_4_q;
  assign rest_ok          = class_ok && (reception_ok || shared_ok);
  assign accepted         = valid_q[4] ? guaranteed | (rest_ok ? rest : '0) : '0;
  assign refused          = head_4_q.wanted & ~accepted;
  assign reception_charge = valid_q[4] && class_ok && reception_ok && rest != '0;

  always_ff @(posedge clk_i) begin
    if (valid_q[4]) begin
      before_accepted_q   <= accepted;
      before_guaranteed_q <= accepted & guaranteed;
    end
    if (rst_i) begin
      shared_charged_q  <= '0;
      shared_returned_q <= '0;
    end else begin
      if (valid_q[4] && class_ok && !reception_ok && shared_ok)
        shared_charged_q <= shared_charged_q + wide_t'(need_4_q);
      if (release_q[2] && late.pool == POOL_SHARED)
        shared_returned_q <= shared_returned_q + wide_t'(late.cells);
    end
  end

  // --- the outcome -----------------------------------------------------------------------------------------------
  verdict_t verdict_q;                                  // but for the reasons of what is refused
  logic     class_full_q;
  ports_t   queue_full_q, too_long_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      verdict_q.valid       <= 1'b0;
      reclaim_o.valid       <= 1'b0;
      enqueue_o.destination <= '0;
    end else begin
      verdict_q.valid       <= valid_q[4];
      reclaim_o.valid       <= valid_q[4] && head_4_q.reclaim && accepted == '0;
      enqueue_o.destination <= port_mask_t'(accepted);
    end
    if (valid_q[4]) begin
      verdict_q.destination   <= port_mask_t'(accepted);
      verdict_q.refused       <= port_mask_t'(refused);
      verdict_q.port          <= head_4_q.port;
      verdict_q.traffic_class <= head_4_q.traffic_class;
      verdict_q.frame         <= frame.frame;
      verdict_q.length        <= frame.length;
      verdict_q.visible       <= frame.visible;
      verdict_q.reason        <= frame.reason;
      verdict_q.short_gap     <= frame.short_gap;
      verdict_q.is_stream     <= frame.is_stream;
      verdict_q.stream        <= frame.stream;
      verdict_q.shaped        <= frame.shaped;
      enqueue_o.traffic_class <= head_4_q.traffic_class;
      enqueue_o.port          <= head_4_q.port;
      enqueue_o.frame         <= frame.frame;
      enqueue_o.length        <= frame.length;
      enqueue_o.visible       <= frame.visible;
      enqueue_o.shaped        <= frame.shaped;
      reclaim_o.frame         <= frame.frame;
      reclaim_o.cells         <= head_4_q.cells;
      for (int unsigned e = 0; e < MAX_PORTS; e++) begin
        enqueue_o.pool[e]           <= POOL_QUEUE;
        enqueue_o.edit[e]           <= '{tag: TAG_KEEP, r_tag: R_TAG_KEEP};
        enqueue_o.slot[e]           <= '0;
        verdict_q.refused_reason[e] <= REASON_NONE;
      end
      for (int unsigned e = 0; e < PORTS; e++) begin
        if (!guaranteed[e]) enqueue_o.pool[e] <= reception_ok ? POOL_RECEPTION : POOL_SHARED;
        enqueue_o.edit[e] <= head_4_q.edit[e];
        enqueue_o.slot[e] <= slot_4_q[e];
      end
      class_full_q <= !class_ok;
      queue_full_q <= ~fit_queue;
      too_long_q   <= too_long_4_q;
    end
  end

  always_comb begin
    verdict_o = verdict_q;
    for (int unsigned e = 0; e < PORTS; e++) begin
      if (verdict_q.refused[e])
        verdict_o.refused_reason[e] = too_long_q[e] ? REASON_MAX_SDU
            : queue_full_q[e] ? REASON_QUEUE_FULL : class_full_q ? REASON_CLASS_FULL : REASON_STORE_FULL;
    end
  end

  assign idle_o = !classified_i.valid && write_q == begin_q && valid_q == '0 && !verdict_q.valid && release_q == '0;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) if (!rst_i) assert (!classified_i.valid || 3'(write_q - decide_q) != 3'(DEPTH - 1));
`endif

  logic unused;
  assign unused = &{1'b0, config_i, classified_i, frame, early, late, release_i, init_index_i, release_turn_q};

`ifdef FORMAL
  // Contract: 1. each copy that is wanted is queued or refused, not both, and no other is; a frame of which none is queued is
  // reclaimed if it has cells; 2. what the accounts are charged is what enqueue_o and its pools say, copy by copy, so that they
  // come back to zero when all copies have been released; 3. what is returned to them is what release_i said; 4. no decision is
  // taken in the cycle after another. Egress port, class and reception port of the accounts are arbitrary.
  logic   f_past_q = 1'b0;
  class_t f_class;
  port_t  f_port, f_egress;
  head_t  f_head_q;                                    // of the frame whose outcome is told
  account_t f_charged_q, f_returned_q;                 // of the queue of f_egress and f_class
  wide_t  f_class_charged_q, f_class_returned_q, f_reception_charged_q, f_reception_returned_q;
  account_t f_told;
  wide_t  f_class_told, f_reception_told;
  logic   f_ours;

  assign f_ours = enqueue_o.traffic_class == f_class;

  // What enqueue_o says in this cycle.
  always_comb begin
    f_told           = '0;
    f_class_told     = '0;
    f_reception_told = '0;
    for (int unsigned e = 0; e < PORTS; e++) begin
      if (enqueue_o.destination[e]) begin
        if (f_ours && 32'(f_egress) == e) begin
          f_told.total = used_t'(f_head_q.cells);
          if (enqueue_o.pool[e] == POOL_QUEUE) f_told.guaranteed = used_t'(f_head_q.cells);
        end
        if (f_ours) f_class_told = f_class_told + wide_t'(f_head_q.cells);
        if (enqueue_o.pool[e] == POOL_RECEPTION && enqueue_o.port == f_port)
          f_reception_told = f_reception_told + wide_t'(f_head_q.cells);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    f_past_q <= 1'b1;
    f_class  <= f_class;
    f_port   <= f_port;
    f_egress <= f_egress;
    if (valid_q[4]) f_head_q <= head_4_q;
    f_charged_q.total      <= f_charged_q.total + f_told.total;
    f_charged_q.guaranteed <= f_charged_q.guaranteed + f_told.guaranteed;
    f_class_charged_q      <= f_class_charged_q + f_class_told;
    f_reception_charged_q  <= f_reception_charged_q + f_reception_told;
    if (release_q[0] && release_turn_q == f_egress && early.traffic_class == f_class) begin
      f_returned_q.total      <= f_returned_q.total + used_t'(early.cells);
      f_returned_q.guaranteed <= f_returned_q.guaranteed + (early.pool == POOL_QUEUE ? used_t'(early.cells) : '0);
    end
    if (release_q[2] && late.traffic_class == f_class) f_class_returned_q <= f_class_returned_q + wide_t'(late.cells);
    if (release_q[2] && late.pool == POOL_RECEPTION && late.port == f_port)
      f_reception_returned_q <= f_reception_returned_q + wide_t'(late.cells);
    if (rst_i) begin
      f_charged_q            <= '0;
      f_returned_q           <= '0;
      f_class_charged_q      <= '0;
      f_class_returned_q     <= '0;
      f_reception_charged_q  <= '0;
      f_reception_returned_q <= '0;
    end
  end

  account_t f_memory_charged, f_memory_returned;
  always_comb begin
    f_memory_charged  = gen_queue[0].gen_charged[0].u_memory.memory[f_class];
    f_memory_returned = gen_queue[0].u_returned_class.memory[f_class];
    if (f_egress[0]) begin
      f_memory_charged  = gen_queue[1].gen_charged[0].u_memory.memory[f_class];
      f_memory_returned = gen_queue[1].u_returned_class.memory[f_class];
    end
  end

  always_comb begin
    assume (rst_i == !f_past_q);
    assume (!init_busy_i);
    assume (32'(f_egress) < PORTS && 32'(release_turn_i) < PORTS);
    assume (!classified_i.valid || 3'(write_q - decide_q) != 3'(DEPTH - 1));
    if (!f_past_q) begin                               // as the initialization leaves it
      assume (valid_q == '0 && release_q == '0);
      assume (f_memory_charged == '0 && f_memory_returned == '0);
      assume (u_class_charged.memory[f_class] == '0 && gen_class_returned[0].u_memory.memory[f_class] == '0);
      assume (u_reception_charged.memory[f_port] == '0 && gen_reception_returned[0].u_memory.memory[f_port] == '0);
      for (int unsigned e = 0; e < PORTS; e++) assume (u_returned.memory[{e[PORT_W-1:0], f_class}] == '0);
      assume (gen_queue[0].gen_charged[1].u_memory.memory[f_class] == gen_queue[0].gen_charged[0].u_memory.memory[f_class]);
      assume (gen_queue[1].gen_charged[1].u_memory.memory[f_class] == gen_queue[1].gen_charged[0].u_memory.memory[f_class]);
      assume (gen_class_returned[1].u_memory.memory[f_class] == '0);
      assume (gen_reception_returned[1].u_memory.memory[f_port] == '0);
    end else begin
      // 1.
      if (verdict_o.valid) begin
        assert ((verdict_o.destination[PORTS-1:0] & verdict_o.refused[PORTS-1:0]) == '0);
        assert ((verdict_o.destination[PORTS-1:0] | verdict_o.refused[PORTS-1:0]) == f_head_q.wanted);
        assert (reclaim_o.valid == (f_head_q.reclaim && verdict_o.destination == '0));
        for (int unsigned e = 0; e < PORTS; e++)
          assert (verdict_o.refused[e] == (verdict_o.refused_reason[e] != REASON_NONE));
      end else assert (!reclaim_o.valid);
      assert (enqueue_o.destination == (verdict_o.valid ? verdict_o.destination : '0));
      // 2.
      assert (f_memory_charged.total == used_t'(f_charged_q.total + f_told.total));
      assert (f_memory_charged.guaranteed == used_t'(f_charged_q.guaranteed + f_told.guaranteed));
      assert (u_class_charged.memory[f_class] == wide_t'(f_class_charged_q + f_class_told));
      assert (u_reception_charged.memory[f_port] == wide_t'(f_reception_charged_q + f_reception_told));
      // 3.
      assert (f_memory_returned == f_returned_q);
      assert (u_returned.memory[{f_egress[PORT_W-1:0], f_class}] == f_returned_q);
      assert (gen_class_returned[0].u_memory.memory[f_class] == f_class_returned_q);
      assert (gen_class_returned[1].u_memory.memory[f_class] == f_class_returned_q);
      assert (gen_reception_returned[0].u_memory.memory[f_port] == f_reception_returned_q);
      assert (gen_reception_returned[1].u_memory.memory[f_port] == f_reception_returned_q);
      // 4.
      assert ((valid_q[4:2] & valid_q[3:1]) == '0 && !(valid_q[4] && verdict_o.valid));

      // What holds in between, so that the proof goes by induction.
      assert (gen_queue[0].gen_charged[1].u_memory.memory[f_class] == gen_queue[0].gen_charged[0].u_memory.memory[f_class]);
      assert (gen_queue[1].gen_charged[1].u_memory.memory[f_class] == gen_queue[1].gen_charged[0].u_memory.memory[f_class]);
      if (verdict_o.valid) begin
        assert (enqueue_o.traffic_class == f_head_q.traffic_class && enqueue_o.port == f_head_q.port);
      end
      assert (release_turn_q < 3'(PORTS) || release_q == '0);
      cover (verdict_o.valid && f_told.guaranteed != '0 && f_reception_told != '0);
      cover (verdict_o.valid && verdict_o.destination != '0 && verdict_o.refused != '0);
      cover (f_charged_q == f_returned_q && f_charged_q.total != '0);
    end
  end
`endif
endmodule
