// SPDX-License-Identifier: Apache-2.0
// The ATS schedulers (802.1Q-2022, 8.6.11.3): when does each frame become eligible for transmission?
//
// One scheduler per stream, one group per reception port and traffic class; one pipeline serves all, a frame a cycle.
//
//   cycle    0          1         2          3        4            5         6            7        8         9
//            stream_i   valid_i   operands   partial  recovery     stream's  comparisons  valid_o  new       stored
//            read_i     ...                  products              time                   ...      state
//
// Times are signed fixed-point nanoseconds, FRACTION_W bits of fraction ("ticks"). Per stream, software gives
//   ns_per_byte   = floor(8e9 * 2^RATE_FRACTION_W / CIR)         nanoseconds, RATE_FRACTION_W bits of fraction
//   empty_to_full = ceil(CBS * ns_per_byte / 2^(RATE_FRACTION_W - FRACTION_W))                         ticks
// and the length recovery duration is floor(length * ns_per_byte / 2^(RATE_FRACTION_W - FRACTION_W)) ticks: all
// roundings are towards a higher rate, so that a stream that keeps to its rate is never held. The state changes only
// with frames that pass.
//
// MaxResidenceTime and ProcessingDelayMax act up to a limit: no frame is due further ahead than half the range of
// visible_o, so that the sign of a difference tells what is earlier.
//
// A stream belongs to one port, and a port's frames are further apart than the pipeline is long. So no frame can read
// a state that one before it has still to write.
//
// The widths are parameters for the sake of the proof.
module pen_ats #(
  parameter int unsigned PORTS = 4,
  parameter int unsigned STREAMS = 256,          // a power of two
  parameter int unsigned EARLIEST_NS = 160,      // from arrival to the first cycle in which a frame can be visible
  parameter int unsigned TIME_W = 64,
  parameter int unsigned NEAR_W = 36,            // of times not before an arrival, or shortly before, as far as they count
  parameter int unsigned FRACTION_W = 16,
  parameter int unsigned LENGTH_W = 12,          // frame and overhead
  parameter int unsigned RATE_W = 44,            // at most 54
  parameter int unsigned RATE_FRACTION_W = 24,
  parameter int unsigned FULL_W = 52,
  parameter int unsigned RESIDENCE_W = 32,
  parameter int unsigned MAX_RESIDENCE_NS = 1_000_000_000,     // what is set beyond it acts as this
  parameter int unsigned MAX_DELAY_NS = 2**26 - 1,             // likewise; a power of two less one
  parameter int unsigned CYCLE_W = 28
) (
  input  logic                       clk_i,
  input  logic                       rst_i,
  input  logic                       init_busy_i,
  input  pen_pkg::init_index_t       init_index_i,
  input  logic [7:0]                 overhead_bytes_i,
  input  logic [RESIDENCE_W-1:0]     processing_delay_max_ns_i,
  input  logic                       may_read_i,    // with read_i at least
  input  logic                       read_i,        // a frame of stream_i may follow in the next cycle
  input  logic [$clog2(STREAMS)-1:0] stream_i,
  input  logic                       valid_i,
  input  logic                       shape_i,       // else the frame is visible as early as can be
  input  pen_pkg::port_t             port_i,
  input  pen_pkg::class_t            traffic_class_i,
  input  logic [LENGTH_W-2:0]        length_i,
  input  logic [TIME_W-1:0]          arrival_ns_i,
  output logic                       valid_o,
  output logic                       pass_o,        // else MaxResidenceTime would be exceeded
  output logic [CYCLE_W-1:0]         visible_o,     // first cycle in which the frame may be selected
  input  logic                       write_rate_i,  // held until write_rate_ready_o; the bucket becomes full
  input  logic [15:0]                write_rate_index_i,     // there a cycle before write_rate_i
  input  logic [RATE_W-1:0]          write_ns_per_byte_i,    // zero while init_busy_i, as all that is written
  input  logic [FULL_W-1:0]          write_empty_to_full_i,
  output logic                       write_rate_ready_o,
  input  logic                       write_group_i,
  input  pen_pkg::port_t             write_group_port_i,
  input  pen_pkg::class_t            write_group_class_i,
  input  logic [RESIDENCE_W-1:0]     write_residence_ns_i
);
  import pen_pkg::*;

  localparam int unsigned TICK_W = TIME_W + FRACTION_W;
  localparam int unsigned GROUPS = PORTS * CLASSES;
  localparam int unsigned GROUP_W = $clog2(GROUPS);
  localparam int unsigned STREAM_W = $clog2(STREAMS);
  localparam int unsigned PRODUCT_W = RATE_W + LENGTH_W;
  localparam int unsigned DROP_W = RATE_FRACTION_W - FRACTION_W;
  localparam int unsigned VISIBLE_W = CYCLE_W + 3 + FRACTION_W;
  localparam int unsigned RECOVERY_W = PRODUCT_W - DROP_W;
  localparam int unsigned OVER_W = (FULL_W > RECOVERY_W ? FULL_W : RECOVERY_W) + 1;
  localparam int unsigned PART = 18;  // multiplier input of the small FPGA families
  if (RATE_W > 3 * PART) begin : gen_check_1
    $fatal(1, "pen_ats: RATE_W must be %0d or less, is %0d (%m)", 3 * PART, RATE_W);
  end
  if (LENGTH_W > PART) begin : gen_check_2
    $fatal(1, "pen_ats: LENGTH_W must be %0d or less, is %0d (%m)", PART, LENGTH_W);
  end
  if (DROP_W < 1 || DROP_W > PART) begin : gen_check_3
    $fatal(1, "pen_ats: RATE_FRACTION_W - FRACTION_W must be 1 to 18 (%m)");
  end
  // An eligibility time is less than twice the longest residence and one recovery duration after the arrival.
  if (RECOVERY_W > RESIDENCE_W + FRACTION_W + 1) begin : gen_check_4
    $fatal(1, "pen_ats: a recovery duration must be below 2^%0d ns (%m)", RESIDENCE_W + 1);
  end
  if (NEAR_W < RESIDENCE_W + 4 || NEAR_W < CYCLE_W + 3 || NEAR_W > TIME_W) begin : gen_check_5
    $fatal(1, "pen_ats: NEAR_W must be RESIDENCE_W + 4 and CYCLE_W + 3 or more, TIME_W at most, is %0d (%m)", NEAR_W);
  end

  localparam int unsigned KEPT_RESIDENCE_W = $clog2(MAX_RESIDENCE_NS + 1);
  localparam int unsigned DELAY_W = $clog2(MAX_DELAY_NS + 1);
  if (KEPT_RESIDENCE_W > RESIDENCE_W || DELAY_W >= RESIDENCE_W || 1 << DELAY_W != MAX_DELAY_NS + 1) begin : gen_check_6
    $fatal(1, "pen_ats: MAX_RESIDENCE_NS and MAX_DELAY_NS must fit RESIDENCE_W, MAX_DELAY_NS be 2^n - 1 (%m)");
  end
  if (longint'(MAX_RESIDENCE_NS) + longint'(MAX_DELAY_NS) >= longint'(8) << (CYCLE_W - 1)) begin : gen_check_7
    $fatal(1, "pen_ats: MAX_RESIDENCE_NS + MAX_DELAY_NS must be below 2^%0d ns (%m)", CYCLE_W + 2);
  end

  typedef logic signed [TICK_W-1:0] ticks_t;
  typedef logic signed [TIME_W-1:0] ns_t;
  typedef logic signed [NEAR_W-1:0] near_ns_t;
  typedef logic [NEAR_W+FRACTION_W-1:0] near_t;
  typedef logic signed [OVER_W-1:0] over_t;
  typedef logic [GROUP_W-1:0]       group_t;
  typedef logic [STREAM_W-1:0]      handle_t;
  typedef logic [CYCLE_W-1:0]       visible_t;
  typedef logic [KEPT_RESIDENCE_W-1:0] residence_t;

  localparam ticks_t LONG_AGO = {2'b11, {(TICK_W - 2) {1'b0}}};

  function automatic ticks_t ticks(input ns_t ns);
    return {ns, {FRACTION_W{1'b0}}};
  endfunction

  // The sign of the difference.
  function automatic logic is_before(input near_t a, input near_t b);
    return a[$high(near_t)] ^ b[$high(near_t)] ^ (a[$high(near_t)-1:0] < b[$high(near_t)-1:0]);
  endfunction

  // Index i: in cycle i of the pipeline above.
  logic    [8:1] valid_q, shape_q, stream_valid_q;
  handle_t [8:1] stream_q;
  group_t  [8:2] group_q;

  // ---- State
  logic [RATE_W-1:0] ns_per_byte_1;
  logic [FULL_W-1:0] empty_to_full_1;
  ticks_t            bucket_empty_1, bucket_new_q, group_2, group_new_q;
  residence_t        residence_2, write_residence_ns;
  logic [DELAY_W-1:0] delay_ns;
  logic              store_q;
  logic              write_rate;
  handle_t           write_handle;
  group_t            write_group;
  logic              init_stream, init_group;

  assign init_stream  = init_busy_i && 16'(init_index_i) < 16'(STREAMS);
  assign init_group   = init_busy_i && 16'(init_index_i) < 16'(GROUPS);
  assign write_handle = handle_t'(write_rate_index_i);
  assign write_group  = group_t'({write_group_port_i, write_group_class_i});
  assign write_residence_ns = init_busy_i || write_residence_ns_i > RESIDENCE_W'(MAX_RESIDENCE_NS)
      ? residence_t'(MAX_RESIDENCE_NS) : residence_t'(write_residence_ns_i);
  assign delay_ns     = processing_delay_max_ns_i[DELAY_W-1:0]
      | {DELAY_W{processing_delay_max_ns_i[RESIDENCE_W-1:DELAY_W] != '0}};
  assign write_rate   = write_rate_i && write_rate_ready_o && 32'(write_rate_index_i) < STREAMS;

  // A stream's rate and its bucket. The rate waits while a frame of the stream is on its way, and its frames keep their
  // distance.
  pen_ram_parts_1r1w #(.WIDTH_A(RATE_W + FULL_W), .WIDTH_B(TICK_W), .DEPTH(STREAMS)) u_streams (
    .clk_i,
    .write_a_i     (init_stream || write_rate),
    .write_b_i     (init_stream || write_rate || store_q),
    .write_addr_i  (init_busy_i ? handle_t'(init_index_i) : store_q ? stream_q[8] : write_handle),
    .write_data_a_i({write_empty_to_full_i, write_ns_per_byte_i}),
    .write_data_b_i(bucket_new_q),
    .read_i,
    .read_addr_i   (stream_i),
    .read_data_a_o ({empty_to_full_1, ns_per_byte_1}),
    .read_data_b_o (bucket_empty_1)
  );

  pen_lutram_1r1w #(.WIDTH(TICK_W), .DEPTH(GROUPS)) u_groups (
    .clk_i,
    .write_i     (init_group || store_q),
    .write_addr_i(init_busy_i ? group_t'(init_index_i) : group_q[8]),
    .write_data_i(group_new_q),
    .read_addr_i (group_q[2]),
    .read_data_o (group_2)
  );

  pen_lutram_1r1w #(.WIDTH(KEPT_RESIDENCE_W), .DEPTH(GROUPS)) u_residences (
    .clk_i,
    .write_i     (init_group || (write_group_i && 32'(write_group_port_i) < PORTS)),
    .write_addr_i(init_busy_i ? group_t'(init_index_i) : write_group),
    .write_data_i(write_residence_ns),
    .read_addr_i (group_q[2]),
    .read_data_o (residence_2)
  );

  // A rate is committed between two frames of its stream: not while one is on its way and would write its state back. Who
  // is on its way is known two cycles before, as the stream's number is there before its commit, of the youngest frames one.
  logic [7:2] matches_q;
  logic       on_way_q;
  always_ff @(posedge clk_i) begin
    for (int unsigned i = 2; i < 8; i++) begin
      matches_q[i] <= stream_q[i-1] == write_handle && stream_valid_q[i-1] && (i != 2 || (valid_i && shape_i));
    end
    on_way_q <= (read_i && stream_i == write_handle)
        || (stream_valid_q[1] && valid_i && shape_i && stream_q[1] == write_handle)
        || matches_q != '0;
    if (rst_i) begin
      matches_q <= '0;
      on_way_q  <= 1'b0;
    end
  end
  assign write_rate_ready_o = !init_busy_i && !store_q && !on_way_q
      && !may_read_i;  // whether it is read, and of which stream, comes late

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      valid_q        <= '0;
      shape_q        <= '0;
      stream_valid_q <= '0;
    end else begin
      valid_q        <= {valid_q[7:2], valid_i, 1'b0};
      shape_q        <= {shape_q[7:2], valid_i && shape_i, 1'b0};
      stream_valid_q <= {stream_valid_q[7:2], stream_valid_q[1] && valid_i && shape_i, read_i};
    end
    stream_q <= {stream_q[7:1], stream_i};
    group_q  <= {group_q[7:2], group_t'({port_i, traffic_class_i})};
  end

  // ---- Cycle 2: operands
  ns_t                 arrival_2_q;
  logic [LENGTH_W-1:0] length_2_q;
  logic [3*PART-1:0]   ns_per_byte_2_q;
  logic [FULL_W-1:0]   empty_to_full_2_q;
  ticks_t              bucket_empty_2_q;

  always_ff @(posedge clk_i) begin
    if (valid_i) arrival_2_q <= arrival_ns_i;
    if (valid_i && shape_i) begin
      length_2_q        <= LENGTH_W'(length_i) + LENGTH_W'(overhead_bytes_i);
      ns_per_byte_2_q   <= (3 * PART)'(ns_per_byte_1);
      empty_to_full_2_q <= empty_to_full_1;
      bucket_empty_2_q  <= bucket_empty_1;
    end
  end

  // ---- Cycle 3: partial products
  logic [2:0][PART+LENGTH_W-1:0] part_3_q;
  ns_t                           arrival_3_q;
  near_ns_t                      earliest_3_q;
  ticks_t                        bucket_empty_3_q, bucket_full_3_q, group_3_q;
  residence_t                    residence_3_q;

  always_ff @(posedge clk_i) begin
    if (valid_q[2]) earliest_3_q <= near_ns_t'(arrival_2_q) + near_ns_t'(EARLIEST_NS);
    if (shape_q[2]) begin
      for (int unsigned i = 0; i < 3; i++) begin
        part_3_q[i] <= (PART + LENGTH_W)'(ns_per_byte_2_q[i*PART+:PART]) * (PART + LENGTH_W)'(length_2_q);
      end
      arrival_3_q      <= arrival_2_q;
      bucket_empty_3_q <= bucket_empty_2_q;
      bucket_full_3_q  <= bucket_empty_2_q + ticks_t'({1'b0, empty_to_full_2_q});
      group_3_q        <= group_2;
      residence_3_q    <= residence_2;
    end
  end

  // ---- Cycle 4: recovery, and the limits that the eligibility time is held against
  localparam int unsigned SUM_W = 3 * PART + LENGTH_W;
  logic [SUM_W-1:0]              outer_3, inner_3;
  logic [SUM_W-DROP_W-1:0]       sum_3;
  logic [RECOVERY_W-1:0]         recovery_4_q;
  visible_t                      earliest_4_q;
  logic [DELAY_W-1:0]            delay_4_q, delay_5_q;  // what is compared with here is added in cycle 7
  ns_t                           arrival_4_q;
  near_ns_t                      limit_4_q, late_4_q;
  ticks_t                        bucket_empty_4_q, bucket_full_4_q, group_4_q;
  logic                          group_later_4_q;

  // The outer two products do not overlap: PART + LENGTH_W is at most 2 * PART. The inner one has nothing to drop.
  assign outer_3 = {part_3_q[2], {(PART - LENGTH_W) {1'b0}}, part_3_q[0]};
  assign inner_3 = {PART'(0), part_3_q[1], PART'(0)};
  assign sum_3   = outer_3[SUM_W-1:DROP_W] + inner_3[SUM_W-1:DROP_W];

  always_ff @(posedge clk_i) begin
    if (valid_q[3]) earliest_4_q <= earliest_3_q[3+:CYCLE_W];
    if (shape_q[3]) begin
      recovery_4_q     <= sum_3[RECOVERY_W-1:0];
      arrival_4_q      <= arrival_3_q;
      limit_4_q        <= near_ns_t'(arrival_3_q) + near_ns_t'({1'b0, residence_3_q});
      late_4_q         <= earliest_3_q - near_ns_t'({1'b0, delay_ns});
      delay_4_q        <= delay_ns;
      bucket_empty_4_q <= bucket_empty_3_q;
      bucket_full_4_q  <= bucket_full_3_q;
      group_4_q        <= group_3_q;
      group_later_4_q  <= group_3_q > ticks(arrival_3_q);
    end
  end

  // ---- Cycle 5: the two candidates for the eligibility time
  ticks_t   stream_5_q, other_5_q, bucket_full_5_q;
  near_ns_t limit_5_q, late_5_q;
  visible_t earliest_5_q;

  always_ff @(posedge clk_i) begin
    if (valid_q[4]) earliest_5_q <= earliest_4_q;
    if (shape_q[4]) begin
      stream_5_q      <= bucket_empty_4_q + ticks_t'({1'b0, recovery_4_q});
      other_5_q       <= group_later_4_q ? group_4_q : ticks(arrival_4_q);
      bucket_full_5_q <= bucket_full_4_q;
      limit_5_q       <= limit_4_q;
      late_5_q        <= late_4_q;
      delay_5_q       <= delay_4_q;
    end
  end

  // ---- Cycle 6: everything for both, so that one choice is left. Index 0: the stream's time, which counts only where
  // it is later than the other and so not long ago, 1: the other.
  near_t [1:0]          near_5;
  ticks_t               stream_6_q, other_6_q, bucket_full_6_q;
  over_t                over_6_q;          // the stream's time beyond a full bucket
  logic                 stream_later_6_q, other_below_full_6_q;
  logic [1:0]           pass_6_q, late_6_q;
  visible_t             earliest_6_q;
  logic [VISIBLE_W-1:0] delay_6_q;

  assign near_5 = {near_t'(other_5_q), near_t'(stream_5_q)};

  always_ff @(posedge clk_i) begin
    if (valid_q[5]) earliest_6_q <= earliest_5_q;
    if (shape_q[5]) begin
      stream_6_q       <= stream_5_q;
      other_6_q        <= other_5_q;
      bucket_full_6_q  <= bucket_full_5_q;
      over_6_q         <= stream_5_q[OVER_W-1:0] - bucket_full_5_q[OVER_W-1:0];
      // To the end of the cycle that the eligibility time falls into.
      delay_6_q        <= VISIBLE_W'({delay_5_q, {FRACTION_W{1'b0}}}) + VISIBLE_W'((1 << (3 + FRACTION_W)) - 1);
      stream_later_6_q <= stream_5_q > other_5_q;
      other_below_full_6_q <= other_5_q < bucket_full_5_q;
      for (int unsigned i = 0; i < 2; i++) begin
        pass_6_q[i] <= !is_before({limit_5_q, {FRACTION_W{1'b0}}}, near_5[i]);
        late_6_q[i] <= is_before({late_5_q, {FRACTION_W{1'b0}}}, near_5[i]);
      end
    end
  end

  // ---- Cycle 7: the choice
  ticks_t               eligible_6, eligible_7_q, bucket_full_7_q;
  over_t                over_7_q;
  logic                 below_full_7_q, chosen;
  logic [VISIBLE_W-1:0] visible_6;

  assign chosen     = !stream_later_6_q;
  assign eligible_6 = stream_later_6_q ? stream_6_q : other_6_q;
  assign visible_6  = delay_6_q + eligible_6[VISIBLE_W-1:0];
  assign valid_o    = valid_q[7];

  always_ff @(posedge clk_i) begin
    if (valid_q[6]) begin
      pass_o    <= !shape_q[6] || pass_6_q[chosen];
      visible_o <= shape_q[6] && late_6_q[chosen] ? visible_6[VISIBLE_W-1-:CYCLE_W] : earliest_6_q;
    end
    if (shape_q[6]) begin
      eligible_7_q    <= eligible_6;
      bucket_full_7_q <= bucket_full_6_q;
      over_7_q        <= over_6_q;
      below_full_7_q  <= stream_later_6_q ? over_6_q[$high(over_t)] : other_below_full_6_q;
    end
  end

  // ---- Cycle 8: the new state, stored at its end. The bucket is empty at the stream's time, or later if it was full.
  // Without a frame it is the state that a stream or a group begins with.
  always_ff @(posedge clk_i) begin
    if (shape_q[7] && pass_o && !rst_i) begin
      store_q      <= 1'b1;
      group_new_q  <= eligible_7_q;
      bucket_new_q <= ticks_t'(over_7_q) + (below_full_7_q ? bucket_full_7_q : eligible_7_q);
    end else begin
      store_q      <= 1'b0;
      group_new_q  <= LONG_AGO;
      bucket_new_q <= LONG_AGO;
    end
  end

  logic unused;
  assign unused = ^{valid_q[1], valid_q[8], shape_q[1], shape_q[8], outer_3, sum_3, inner_3, earliest_3_q, visible_6};

`ifdef FORMAL
  // Contract, for frames that keep their distance: 1. no frame is eligible before it has arrived, nor visible before it
  // is eligible, nor later than MAX_RESIDENCE_NS and MAX_DELAY_NS after its arrival; 2. the eligibility times of a group never go back; 3. what a stream sends in any window stays within
  // CBS + CIR * t: from a frame i to a frame j, the recovery durations of all its frames that pass add up to no more
  // than empty_to_full + eligibility(j) - eligibility(i). Stream, group and frame i are arbitrary.
  localparam ticks_t F_LATEST = ticks_t'(2 ** FRACTION_W * (32 + MAX_RESIDENCE_NS));  // no overflow below this
  localparam ns_t F_LATEST_VISIBLE = ns_t'(MAX_RESIDENCE_NS + MAX_DELAY_NS > EARLIEST_NS
      ? MAX_RESIDENCE_NS + MAX_DELAY_NS + 7 : EARLIEST_NS);
  localparam ticks_t F_RECOVERY = ticks_t'(2 ** (PRODUCT_W - DROP_W));

  logic              f_past_q = 1'b0;
  handle_t           f_stream_q;
  group_t            f_group_q;
  ns_t    [7:2]      f_arrival_q;
  ticks_t [8:5]      f_recovery_q;
  ticks_t            f_recovery_4, f_eligible_8_q, f_bucket, f_group, f_full, f_delay;
  ticks_t [7:4]      f_delay_q;       // as it was compared with
  logic              f_begin, f_open_q, f_stored_q;
  handle_t           f_stored_stream_q;
  logic   [15:0]     f_write_rate_index_q, f_write_rate_index_2_q;
  ticks_t            f_floor_q;
  logic   [8:2]      f_mine, f_ours;  // a frame of the stream, of the group, in this stage

  (* anyseq *) logic f_any;
  assign f_begin      = f_any;
  assign f_recovery_4 = ticks_t'({1'b0, recovery_4_q});
  assign f_bucket     = u_streams.memory[f_stream_q][RATE_W+FULL_W+:TICK_W];
  assign f_group      = u_groups.memory[f_group_q];
  assign f_full       = ticks_t'({1'b0, u_streams.memory[f_stream_q][RATE_W+:FULL_W]});
  assign f_delay      = ticks(ns_t'(processing_delay_max_ns_i > RESIDENCE_W'(MAX_DELAY_NS)
      ? RESIDENCE_W'(MAX_DELAY_NS) : processing_delay_max_ns_i));

  always_comb begin
    for (int unsigned i = 2; i <= 8; i++) begin
      f_mine[i] = shape_q[i] && stream_q[i] == f_stream_q;
      f_ours[i] = shape_q[i] && group_q[i] == f_group_q;
    end
  end

  always_ff @(posedge clk_i) begin
    f_past_q          <= 1'b1;
    f_stream_q        <= f_stream_q;
    f_group_q         <= f_group_q;
    f_arrival_q       <= {f_arrival_q[6:2], ns_t'(arrival_ns_i)};
    f_recovery_q      <= {f_recovery_q[7:5], f_recovery_4};
    f_delay_q         <= {f_delay_q[6:4], f_delay};
    f_eligible_8_q    <= eligible_7_q;
    f_stored_q        <= store_q && !rst_i;
    f_stored_stream_q <= stream_q[8];
    f_write_rate_index_q   <= write_rate_index_i;
    f_write_rate_index_2_q <= f_write_rate_index_q;
    if (rst_i || (write_rate && write_handle == f_stream_q)) f_open_q <= 1'b0;
    else if (store_q && f_mine[8] && (f_open_q || f_begin)) begin
      f_open_q  <= 1'b1;
      f_floor_q <= (f_open_q ? f_floor_q : f_eligible_8_q - f_full) + f_recovery_q[8];
    end
  end

  always_comb begin
    assume (rst_i == !f_past_q);
    assume (!init_busy_i);
    if (!f_past_q) begin  // as the initialization leaves it
      assume (!store_q);
      assume (bucket_new_q == LONG_AGO && group_new_q == LONG_AGO);
      assume (f_bucket == LONG_AGO);
      assume (f_group == LONG_AGO);
      for (int unsigned g = 0; g < GROUPS; g++) assume (u_residences.memory[g] == residence_t'(MAX_RESIDENCE_NS));
    end
    assume (!read_i || may_read_i);
    if (f_past_q && write_rate_i) begin
      assume (write_rate_index_i == f_write_rate_index_q && write_rate_index_i == f_write_rate_index_2_q);
    end
    assume (arrival_ns_i < 32);
    assume (((32'(arrival_ns_i) + EARLIEST_NS) & 7) == 0);
    assume (32'(port_i) < PORTS);
    // Frames of a stream or a group do not meet in the pipeline.
    if (valid_i && shape_i) begin
      assume (stream_valid_q[1]);
      assume (!(f_stored_q && f_stored_stream_q == stream_q[1]));
      for (int unsigned i = 2; i <= 8; i++) begin
        assume (!(shape_q[i] && stream_q[i] == stream_q[1]));
        assume (!(shape_q[i] && group_q[i] == group_t'({port_i, traffic_class_i})));
      end
    end
  end

  // The properties.
  always_comb begin
    if (f_past_q) begin
      if (shape_q[7]) assert (eligible_7_q >= ticks(f_arrival_q[7]));
      if (valid_q[7] && pass_o) begin
        assert (ns_t'({1'b0, visible_o, 3'b0}) >= f_arrival_q[7] + ns_t'(EARLIEST_NS));
        assert (ns_t'({1'b0, visible_o, 3'b0}) <= f_arrival_q[7] + F_LATEST_VISIBLE);
        if (shape_q[7]) assert (ticks(ns_t'({1'b0, visible_o, 3'b0})) >= eligible_7_q + f_delay_q[7]);
      end
      if (store_q && f_ours[8]) assert (group_new_q >= f_group);
      if (store_q && f_mine[8] && f_open_q) assert (f_eligible_8_q >= f_floor_q + f_recovery_q[8]);
      cover (store_q && f_mine[8] && f_open_q && f_eligible_8_q == f_floor_q + f_recovery_q[8]);
      cover (shape_q[7] && !pass_o);
      cover (shape_q[7] && pass_o && ns_t'({1'b0, visible_o, 3'b0}) == f_arrival_q[7] + F_LATEST_VISIBLE);
    end
  end

  // What holds in between, so that the proof goes by induction.
  always_comb begin
    if (f_past_q) begin
      assert (f_bucket >= LONG_AGO && f_bucket <= F_LATEST + F_RECOVERY);
      assert (f_group >= LONG_AGO && f_group <= F_LATEST);
      assert (stream_valid_q[8:2] == shape_q[8:2]);
      assert ((shape_q[8:2] & ~valid_q[8:2]) == '0 && !shape_q[1]);
      assert ((f_mine & (f_mine - 7'd1)) == '0 && (f_ours & (f_ours - 7'd1)) == '0);
      assert (!(f_stored_q && f_stored_stream_q == f_stream_q && |f_mine));
      assert (!store_q || shape_q[8]);
      assert (store_q || (bucket_new_q == LONG_AGO && group_new_q == LONG_AGO));
      if (f_open_q) assert (f_bucket >= f_floor_q && f_floor_q >= LONG_AGO + LONG_AGO / 2);
      if (stream_valid_q[1] && stream_q[1] == f_stream_q && !f_stored_q) begin
        assert (bucket_empty_1 == f_bucket && empty_to_full_1 == f_full[FULL_W-1:0]);
      end
      if (stream_valid_q[1] && stream_q[1] == f_stream_q && f_stored_stream_q != f_stream_q) begin
        assert (bucket_empty_1 == f_bucket && empty_to_full_1 == f_full[FULL_W-1:0]);
      end
      for (int unsigned i = 2; i <= 7; i++) begin
        if (valid_q[i]) begin
          assert (f_arrival_q[i] >= 0 && f_arrival_q[i] < 32);
          assert (((f_arrival_q[i] + ns_t'(EARLIEST_NS)) & 7) == 0);
        end
      end
      if (valid_q[2]) assert (arrival_2_q == f_arrival_q[2]);
      if (valid_q[3]) assert (earliest_3_q == f_arrival_q[3] + ns_t'(EARLIEST_NS));
      if (valid_q[4]) assert (earliest_4_q == visible_t'((f_arrival_q[4] + ns_t'(EARLIEST_NS)) >> 3));
      if (valid_q[5]) assert (earliest_5_q == visible_t'((f_arrival_q[5] + ns_t'(EARLIEST_NS)) >> 3));
      if (valid_q[6]) assert (earliest_6_q == visible_t'((f_arrival_q[6] + ns_t'(EARLIEST_NS)) >> 3));
      if (f_mine[2]) assert (bucket_empty_2_q == f_bucket && empty_to_full_2_q == f_full[FULL_W-1:0]);
      if (f_mine[3]) assert (bucket_empty_3_q == f_bucket && bucket_full_3_q == f_bucket + f_full);
      if (f_mine[4]) assert (bucket_empty_4_q == f_bucket && bucket_full_4_q == f_bucket + f_full);
      if (f_mine[5]) assert (stream_5_q == f_bucket + f_recovery_q[5] && bucket_full_5_q == f_bucket + f_full);
      if (f_mine[6]) begin
        assert (stream_6_q == f_bucket + f_recovery_q[6] && over_6_q == f_recovery_q[6] - f_full);
        assert (bucket_full_6_q == f_bucket + f_full);
        assert (other_below_full_6_q == (other_6_q < f_bucket + f_full));
      end
      if (f_mine[7]) begin
        assert (bucket_full_7_q == f_bucket + f_full && over_7_q == f_recovery_q[7] - f_full);
        assert (below_full_7_q == (eligible_7_q < f_bucket + f_full));
        assert (eligible_7_q >= f_bucket + f_recovery_q[7]);
        assert (!pass_o || eligible_7_q <= F_LATEST);
      end
      if (f_mine[8] && store_q) begin
        assert (f_eligible_8_q >= f_bucket + f_recovery_q[8] && f_eligible_8_q <= F_LATEST);
        assert (bucket_new_q == (f_eligible_8_q < f_bucket + f_full ? f_bucket + f_recovery_q[8]
                                 : f_recovery_q[8] - f_full + f_eligible_8_q));
      end
      for (int unsigned i = 5; i <= 8; i++) begin
        if (shape_q[i]) assert (f_recovery_q[i] >= 0 && f_recovery_q[i] <= F_RECOVERY);
      end
      if (f_ours[3]) assert (group_3_q == f_group);
      if (f_ours[4]) assert (group_4_q == f_group);
      if (f_ours[5]) assert (other_5_q >= f_group && other_5_q <= F_LATEST);
      if (f_ours[6]) assert (other_6_q >= f_group && other_6_q <= F_LATEST);
      if (f_ours[7]) assert (eligible_7_q >= f_group && (!pass_o || eligible_7_q <= F_LATEST));
      if (f_ours[8] && store_q) assert (group_new_q >= f_group && group_new_q <= F_LATEST);
      for (int unsigned g = 0; g < GROUPS; g++) assert (u_residences.memory[g] <= residence_t'(MAX_RESIDENCE_NS));
      if (shape_q[3]) assert (arrival_3_q == f_arrival_q[3] && residence_3_q <= residence_t'(MAX_RESIDENCE_NS));
      if (shape_q[4]) begin
        assert (arrival_4_q == f_arrival_q[4] && group_later_4_q == (group_4_q > ticks(arrival_4_q)));
        assert (limit_4_q >= arrival_4_q && limit_4_q <= arrival_4_q + ns_t'(MAX_RESIDENCE_NS));
        assert (ticks(late_4_q) == ticks(f_arrival_q[4] + ns_t'(EARLIEST_NS)) - f_delay_q[4]);
        assert (ticks(ns_t'(delay_4_q)) == f_delay_q[4]);
      end
      if (shape_q[5]) begin
        assert (other_5_q >= ticks(f_arrival_q[5]));
        assert (limit_5_q >= f_arrival_q[5] && limit_5_q <= f_arrival_q[5] + ns_t'(MAX_RESIDENCE_NS));
        assert (ticks(late_5_q) == ticks(f_arrival_q[5] + ns_t'(EARLIEST_NS)) - f_delay_q[5]);
        assert (ticks(ns_t'(delay_5_q)) == f_delay_q[5]);
      end
      if (shape_q[6]) begin
        assert (other_6_q >= ticks(f_arrival_q[6]) && stream_later_6_q == (stream_6_q > other_6_q));
        assert (!stream_later_6_q || !pass_6_q[0] || stream_6_q <= ticks(f_arrival_q[6] + ns_t'(MAX_RESIDENCE_NS)));
        assert (!pass_6_q[1] || other_6_q <= ticks(f_arrival_q[6] + ns_t'(MAX_RESIDENCE_NS)));
        assert (late_6_q[chosen] == (eligible_6 > ticks(f_arrival_q[6] + ns_t'(EARLIEST_NS)) - f_delay_q[6]));
        assert (delay_6_q == VISIBLE_W'(f_delay_q[6]) + VISIBLE_W'((1 << (3 + FRACTION_W)) - 1));
      end
      if (shape_q[7] && pass_o) assert (eligible_7_q <= ticks(f_arrival_q[7] + ns_t'(MAX_RESIDENCE_NS)));
    end
  end
`elsif SYNTHESIS
`else
  logic    stored_q;  // in the last cycle; one read then has read the old state
  handle_t stored_stream_q, write_handle_q, write_handle_2_q;

  always_ff @(posedge clk_i) begin
    write_handle_q  <= write_handle;
    write_handle_2_q <= write_handle_q;
    stored_q        <= store_q && !rst_i;
    stored_stream_q <= stream_q[8];
    for (int unsigned i = 2; i <= 8; i++) begin
      if (!rst_i && valid_i && shape_i && shape_q[i]) begin
        assert (stream_q[i] != stream_q[1])
        else $error("pen_ats: frames of stream %0d too close to each other", stream_q[1]);
        assert (group_q[i] != group_t'({port_i, traffic_class_i}))
        else $error("pen_ats: frames of port %0d too close to each other", port_i);
      end
    end
    if (!rst_i && valid_i && shape_i && stored_q) begin
      assert (stored_stream_q != stream_q[1])
      else $error("pen_ats: frames of stream %0d too close to each other", stream_q[1]);
    end
    if (!rst_i && write_rate_i) begin
      assert (write_handle == write_handle_q && write_handle == write_handle_2_q)
      else $error("pen_ats: the number of stream %0d comes with its rate, not two cycles before", write_handle);
    end
  end
`endif
endmodule
