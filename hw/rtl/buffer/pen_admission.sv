// SPDX-License-Identifier: Apache-2.0
// Decides for each copy of a received frame whether it may be queued, and on whose account.
//
//   cycle         |  t    |  t+1  |  t+2
//   classified_i  | valid |       |
//   stage         |   1   |   2   |
//   enqueue_o, verdict_o, reclaim_o       | valid
//
// Stage 1 holds the copies against the queues, stage 2 against the class and the store. A frame may come in every
// cycle, but a reception port's next one not before two cycles. The queues are charged at the end of stage 2, while
// the next frame is in stage 1: it is therefore compared twice, with and without the charge, and chooses later.
//
// What is guaranteed to a queue is taken whatever its class holds elsewhere: the limit of the class is for the rest.
//
// Each account is a pair of counters that wrap, charged by admission and returned by releases, so that each has one
// writer and fits into memory; the difference is what is used.
module pen_admission
  import pen_pkg::*;
  import pen_buffer_pkg::*;
#(
  parameter int unsigned PORTS = 4,
  parameter int unsigned CELLS = 1024
) (
  input  logic        clk_i,
  input  logic        rst_i,
  input  logic        init_busy_i,
  input  logic [11:0] init_index_i,
  input  port_t       turn_i,
  input  config_t     config_i,
  input  classified_t classified_i,
  output enqueue_t    enqueue_o,
  output verdict_t    verdict_o,
  output reclaim_t    reclaim_o,
  input  release_t    release_i,       // of the egress port whose turn it is
  output logic        idle_o
);
  // The class accounts count copies, not cells of the store: PORTS times as many.
  localparam int unsigned USED_W = $clog2(CELLS) + 1;
  localparam int unsigned WIDE_W = USED_W + 3;
  localparam int unsigned PORT_W = $clog2(PORTS);
  if (PORTS < 2 || PORTS > MAX_PORTS) begin : gen_check
    $fatal(1, "pen_admission: PORTS must be 2 to 8, is %0d (%m)", PORTS);
  end

  typedef logic [USED_W-1:0] used_t;
  typedef logic [WIDE_W-1:0] wide_t;
  typedef struct packed {
    used_t guaranteed;                 // charged to the guarantee of the egress port and class
    used_t total;                      // all in this queue
  } account_t;

  // --- releases, one cycle later ---------------------------------------------------------------------------------
  logic        release_q;
  pool_e       release_pool_q;
  class_t      release_class_q;
  port_t       release_port_q;         // reception port
  port_t       release_turn_q;         // egress port
  cell_count_t release_cells_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) release_q <= 1'b0;
    else release_q <= release_i.valid;
    if (release_i.valid) begin
      release_pool_q  <= release_i.pool;
      release_class_q <= release_i.traffic_class;
      release_port_q  <= release_i.port;
      release_turn_q  <= turn_i;
      release_cells_q <= cells_of(release_i.length);
    end
  end

  // --- stage 1 ---------------------------------------------------------------------------------------------------
  logic                     accept;                // the frame goes on to the queues
  cell_count_t              cells;
  logic [3:0]               copies;
  logic [PORTS-1:0]         queue_ok, queue_ok_charged, guarantee_ok, guarantee_ok_charged;
  wide_t                    reception_charged, reception_returned;
  logic signed [WIDE_W+1:0] reception_room;

  // --- stage 2 ---------------------------------------------------------------------------------------------------
  logic                     valid_q, accept_q, reclaim_q;
  classified_t              frame_q;
  cell_count_t              cells_q;
  logic [7:0]               demand_q;              // cells of all copies
  logic                     follows_q;             // the frame before was of the same class
  logic [PORTS-1:0]         queue_ok_q, queue_ok_charged_q, guarantee_ok_q, guarantee_ok_charged_q;
  logic signed [WIDE_W+1:0] reception_room_q;
  wide_t                    reception_charged_q;
  logic [PORTS-1:0]         before_accepted_q, before_guaranteed_q;   // of the frame before

  logic [PORTS-1:0]         fit_queue, fit_guarantee, guaranteed, rest, accepted, refused;
  logic                     class_ok, reception_ok, shared_ok, store_ok, rest_ok;
  logic [7:0]               charge_all, charge_guaranteed, class_charge;
  logic [7:0]               need;                  // cells of the copies that no queue guarantees
  wide_t                    class_charged, class_returned, class_used;
  wide_t                    shared_used_q;

  assign accept = classified_i.valid && classified_i.reason == REASON_NONE;
  assign cells  = cells_of(classified_i.length);
  assign copies = count_ports(port_mask_t'(classified_i.destination[PORTS-1:0]));
  assign reception_room = $signed({2'b0, wide_t'(config_i.reception_guarantee_cells)})
      - $signed({2'b0, wide_t'(reception_charged - reception_returned)});

  // The returned cells once more, of all queues in one memory, for their own update.
  account_t returned_read, returned_update;

  assign returned_update.total      = returned_read.total + used_t'(release_cells_q);
  assign returned_update.guaranteed = returned_read.guaranteed
      + (release_pool_q == POOL_QUEUE ? used_t'(release_cells_q) : '0);

  pen_lutram_1r1w #(.WIDTH($bits(account_t)), .DEPTH(CLASSES << PORT_W)) u_returned (
    .clk_i,
    .write_i     (init_busy_i || release_q),
    .write_addr_i(init_busy_i ? init_index_i[PORT_W+2:0] : {release_turn_q[PORT_W-1:0], release_class_q}),
    .write_data_i(init_busy_i ? '0 : returned_update),
    .read_addr_i ({release_turn_q[PORT_W-1:0], release_class_q}),
    .read_data_o (returned_read)
  );

  for (genvar e = 0; e < PORTS; e++) begin : gen_queue
    account_t charged, charged_update, charged_read, returned;
    used_t    queue_used, guaranteed_used;
    logic [12:0] queue_total, guaranteed_total;

    assign queue_used       = charged.total - returned.total;
    assign guaranteed_used  = charged.guaranteed - returned.guaranteed;
    assign queue_total      = 13'(queue_used) + 13'(cells);
    assign guaranteed_total = 13'(guaranteed_used) + 13'(cells);
    assign queue_ok[e]             = queue_total <= 13'(config_i.queue_limit_cells[classified_i.traffic_class]);
    assign queue_ok_charged[e]     = queue_total + 13'(cells_q)
        <= 13'(config_i.queue_limit_cells[classified_i.traffic_class]);
    assign guarantee_ok[e]         = guaranteed_total <= 13'(config_i.queue_guarantee_cells);
    assign guarantee_ok_charged[e] = guaranteed_total + 13'(cells_q) <= 13'(config_i.queue_guarantee_cells);

    // Stage 2 of the frame before may write what is being read here: that is what the second comparison is for.
    assign charged_update.total      = charged_read.total + used_t'(cells_q);
    assign charged_update.guaranteed = charged_read.guaranteed + (guaranteed[e] ? used_t'(cells_q) : '0);

    for (genvar copy = 0; copy < 2; copy++) begin : gen_charged
      account_t read_data;
      pen_lutram_1r1w #(.WIDTH($bits(account_t)), .DEPTH(CLASSES)) u_memory (
        .clk_i,
        .write_i     (init_busy_i || accepted[e]),
        .write_addr_i(init_busy_i ? init_index_i[2:0] : frame_q.traffic_class),
        .write_data_i(init_busy_i ? '0 : charged_update),
        .read_addr_i (copy == 0 ? classified_i.traffic_class : frame_q.traffic_class),
        .read_data_o (read_data)
      );
    end
    assign charged      = gen_charged[0].read_data;
    assign charged_read = gen_charged[1].read_data;

    pen_lutram_1r1w #(.WIDTH($bits(account_t)), .DEPTH(CLASSES)) u_returned_class (
      .clk_i,
      .write_i     (init_busy_i || (release_q && release_turn_q == port_t'(e))),
      .write_addr_i(init_busy_i ? init_index_i[2:0] : release_class_q),
      .write_data_i(init_busy_i ? '0 : returned_update),
      .read_addr_i (classified_i.traffic_class),
      .read_data_o (returned)
    );
  end

  // --- reception ports ---
  for (genvar copy = 0; copy < 2; copy++) begin : gen_reception_returned
    wide_t read_data;
    pen_lutram_1r1w #(.WIDTH(WIDE_W), .DEPTH(MAX_PORTS)) u_memory (
      .clk_i,
      .write_i     (init_busy_i || (release_q && release_pool_q == POOL_RECEPTION)),
      .write_addr_i(init_busy_i ? init_index_i[2:0] : release_port_q),
      .write_data_i(init_busy_i ? '0 : gen_reception_returned[1].read_data + wide_t'(release_cells_q)),
      .read_addr_i (copy == 0 ? classified_i.port : release_port_q),
      .read_data_o (read_data)
    );
  end
  assign reception_returned = gen_reception_returned[0].read_data;

  pen_lutram_1r1w #(.WIDTH(WIDE_W), .DEPTH(MAX_PORTS)) u_reception_charged (
    .clk_i,
    .write_i     (init_busy_i || (reception_ok && (accepted & ~guaranteed) != '0)),
    .write_addr_i(init_busy_i ? init_index_i[2:0] : frame_q.port),
    .write_data_i(init_busy_i ? '0 : reception_charged_q + wide_t'(need)),
    .read_addr_i (classified_i.port),
    .read_data_o (reception_charged)
  );

  // --- classes ---
  for (genvar copy = 0; copy < 2; copy++) begin : gen_class_returned
    wide_t read_data;
    pen_lutram_1r1w #(.WIDTH(WIDE_W), .DEPTH(CLASSES)) u_memory (
      .clk_i,
      .write_i     (init_busy_i || release_q),
      .write_addr_i(init_busy_i ? init_index_i[2:0] : release_class_q),
      .write_data_i(init_busy_i ? '0 : gen_class_returned[1].read_data + wide_t'(release_cells_q)),
      .read_addr_i (copy == 0 ? frame_q.traffic_class : release_class_q),
      .read_data_o (read_data)
    );
  end
  assign class_returned = gen_class_returned[0].read_data;

  pen_lutram_1r1w #(.WIDTH(WIDE_W), .DEPTH(CLASSES)) u_class_charged (
    .clk_i,
    .write_i     (init_busy_i || accepted != '0),
    .write_addr_i(init_busy_i ? init_index_i[2:0] : frame_q.traffic_class),
    .write_data_i(init_busy_i ? '0 : class_charged + wide_t'(class_charge)),
    .read_addr_i (frame_q.traffic_class),
    .read_data_o (class_charged)
  );

  // --- the decision ---
  assign fit_queue     = {PORTS{accept_q}} & frame_q.destination[PORTS-1:0]
      & ((before_accepted_q & {PORTS{follows_q}} & queue_ok_charged_q)
         | (~(before_accepted_q & {PORTS{follows_q}}) & queue_ok_q));
  assign fit_guarantee = (before_guaranteed_q & {PORTS{follows_q}} & guarantee_ok_charged_q)
      | (~(before_guaranteed_q & {PORTS{follows_q}}) & guarantee_ok_q);
  assign guaranteed    = fit_queue & fit_guarantee;
  assign rest          = fit_queue & ~fit_guarantee;

  assign class_used    = class_charged - class_returned;
  assign class_ok      = (WIDE_W+1)'(class_used) + (WIDE_W+1)'(demand_q)
      <= (WIDE_W+1)'(config_i.class_limit_cells[frame_q.traffic_class]);
  assign need          = times(count_ports(port_mask_t'(rest)), cells_q);
  assign reception_ok  = $signed({1'b0, (WIDE_W+1)'(need)}) <= reception_room_q;
  assign shared_ok     = (WIDE_W+1)'(shared_used_q) + (WIDE_W+1)'(need)
      <= (WIDE_W+1)'(config_i.shared_limit_cells);
  assign store_ok      = reception_ok || shared_ok;
  assign rest_ok       = class_ok && store_ok;
  assign accepted      = guaranteed | (rest_ok ? rest : '0);

  assign refused       = {PORTS{accept_q}} & frame_q.destination[PORTS-1:0] & ~accepted;

  assign charge_all        = times(count_ports(port_mask_t'(fit_queue)), cells_q);
  assign charge_guaranteed = times(count_ports(port_mask_t'(guaranteed)), cells_q);
  assign class_charge      = rest_ok ? charge_all : charge_guaranteed;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      valid_q             <= 1'b0;
      accept_q            <= 1'b0;
      reclaim_q           <= 1'b0;
      before_accepted_q   <= '0;
      before_guaranteed_q <= '0;
      shared_used_q       <= '0;
    end else begin
      valid_q             <= classified_i.valid;
      accept_q            <= accept;
      reclaim_q           <= classified_i.valid && (accept || classified_i.has_cells);
      before_accepted_q   <= accepted;
      before_guaranteed_q <= accepted & guaranteed;
      shared_used_q       <= shared_used_q
          + (!reception_ok && (accepted & rest) != '0 ? wide_t'(need) : '0)
          - (release_q && release_pool_q == POOL_SHARED ? wide_t'(release_cells_q) : '0);
    end
    follows_q <= accept_q && frame_q.traffic_class == classified_i.traffic_class;
    if (classified_i.valid) begin
      frame_q                <= classified_i;
      cells_q                <= cells;
      demand_q               <= times(copies, cells);
      queue_ok_q             <= queue_ok;
      queue_ok_charged_q     <= queue_ok_charged;
      guarantee_ok_q         <= guarantee_ok;
      guarantee_ok_charged_q <= guarantee_ok_charged;
      reception_room_q       <= reception_room;
      reception_charged_q    <= reception_charged;
    end
  end

  // --- the outcome -----------------------------------------------------------------------------------------------
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      verdict_o.valid       <= 1'b0;
      reclaim_o.valid       <= 1'b0;
      enqueue_o.destination <= '0;
    end else begin
      verdict_o.valid       <= valid_q;
      reclaim_o.valid       <= reclaim_q && accepted == '0;
      enqueue_o.destination <= port_mask_t'(accepted);
    end
    if (valid_q) begin
      verdict_o.destination   <= port_mask_t'(accepted);
      verdict_o.refused       <= port_mask_t'(refused);
      verdict_o.port          <= frame_q.port;
      verdict_o.traffic_class <= frame_q.traffic_class;
      verdict_o.frame         <= frame_q.frame;
      verdict_o.length        <= frame_q.length;
      verdict_o.visible       <= frame_q.visible;
      verdict_o.reason        <= frame_q.reason;
      verdict_o.short_gap     <= frame_q.short_gap;
      verdict_o.is_stream     <= frame_q.is_stream;
      verdict_o.stream        <= frame_q.stream;
      verdict_o.shaped        <= frame_q.shaped;
      enqueue_o.traffic_class <= frame_q.traffic_class;
      enqueue_o.port          <= frame_q.port;
      enqueue_o.frame         <= frame_q.frame;
      enqueue_o.length        <= frame_q.length;
      enqueue_o.visible       <= frame_q.visible;
      reclaim_o.frame         <= frame_q.frame;
      reclaim_o.cells         <= cells_q;
      for (int unsigned e = 0; e < MAX_PORTS; e++) begin
        enqueue_o.pool[e]           <= POOL_QUEUE;
        verdict_o.refused_reason[e] <= REASON_NONE;
      end
      for (int unsigned e = 0; e < PORTS; e++) begin
        if (!guaranteed[e]) enqueue_o.pool[e] <= reception_ok ? POOL_RECEPTION : POOL_SHARED;
        if (refused[e])
          verdict_o.refused_reason[e] <=
              !fit_queue[e] ? REASON_QUEUE_FULL : !class_ok ? REASON_CLASS_FULL : REASON_STORE_FULL;
      end
    end
  end

  assign idle_o = !classified_i.valid && !valid_q && !verdict_o.valid && !release_q;

  logic unused;
  assign unused = &{1'b0, config_i, classified_i, frame_q, release_i, init_index_i, release_turn_q};
endmodule
