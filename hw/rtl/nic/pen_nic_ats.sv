// SPDX-License-Identifier: Apache-2.0
// The ATS schedulers of all ports of a card, one for each transmit queue; a group for each port and traffic class. The
// arithmetic is pen_ats, a frame a cycle, which the ports use in turn.
//
//   cycle       | 0        | 1                 | 2 .. 6  | 7            of a port, from its turn on
//   request_i   | valid    | valid: it arrives | valid   | valid
//   answer_o    |          |                   |         | valid
//
// A port asks for its next frame once it has the answer, and so a scheduler has stored what it needs for the next one.
module pen_nic_ats
  import pen_pkg::*, pen_nic_pkg::*, pen_config_pkg::*;
#(
  parameter int unsigned PORTS  = 1,
  parameter int unsigned QUEUES = 4               // of each port, 1 to 16
) (
  input  logic                     clk_i,
  input  logic                     rst_i,
  input  time_ns_t                 time_ns_i,
  input  ats_request_t [PORTS-1:0] request_i,     // of queues that are there
  input  logic [PORTS-1:0][7:0]    overhead_bytes_i,
  output ats_answer_t  [PORTS-1:0] answer_o,
  // Entries of TABLE_STREAM_RATE, by queue, and TABLE_GROUP, by class: each of a port's own
  input  table_write_t [PORTS-1:0] table_i,       // held until table_ready_o
  output logic [PORTS-1:0]         table_ready_o
);
  localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1;
  localparam int unsigned PORT_W = PORTS > 1 ? $clog2(PORTS) : 1;
  localparam int unsigned STREAMS = 1 << ((PORTS > 1 ? PORT_W : 0) + QUEUE_W);
  localparam int unsigned ANSWERED = 7;
  // From its arrival to the first cycle in which a frame may be selected. As ProcessingDelayMax it comes to all eligibility
  // times, so that a frame which is not held leaves no later behind its own than others.
  localparam int unsigned PROCESSING_NS = 8 * 10;

  typedef logic [PORT_W-1:0]          index_t;
  typedef logic [$clog2(STREAMS)-1:0] stream_t;

  // ---- After reset all buckets are full
  localparam init_index_t INIT_LAST = init_index_t'(STREAMS > PORTS * CLASSES ? STREAMS - 1 : PORTS * CLASSES - 1);
  logic        init_busy_q;
  init_index_t init_index_q;
  always_ff @(posedge clk_i) begin
    init_index_q <= init_index_q + 1'b1;
    if (init_index_q == INIT_LAST) init_busy_q <= 1'b0;
    if (rst_i) begin
      init_busy_q  <= 1'b1;
      init_index_q <= '0;
    end
  end

  // ---- Frames
  index_t                turn_q;
  index_t [ANSWERED:1]   port_q;                  // whose frame is in that cycle
  logic   [PORTS-1:0]    busy_q;                  // it waits for its answer
  logic                  take, valid_q, valid, pass;
  cycle_t                visible;
  ats_request_t          arrived;

  assign take    = !init_busy_q && request_i[turn_q].valid && !busy_q[turn_q];
  assign arrived = request_i[port_q[1]];

  always_ff @(posedge clk_i) begin
    turn_q  <= turn_q == index_t'(PORTS - 1) ? '0 : turn_q + 1'b1;
    port_q  <= {port_q[ANSWERED-1:1], turn_q};
    valid_q <= take;
    if (valid) busy_q[port_q[ANSWERED]] <= 1'b0;
    if (take) busy_q[turn_q] <= 1'b1;
    if (rst_i) begin
      turn_q  <= '0;
      valid_q <= 1'b0;
      busy_q  <= '0;
    end
  end

  always_comb begin
    for (int unsigned p = 0; p < PORTS; p++)
      answer_o[p] = '{valid: valid && port_q[ANSWERED] == index_t'(p), pass: pass, visible: visible};
  end

  // ---- Tables: those of the first port that has one, chosen a cycle before, as pen_ats asks for
  index_t       first, writer_q;
  table_write_t entry;
  logic         stands_q, is_rate, is_there, rate_ready;
  always_comb begin
    first = '0;
    for (int unsigned p = PORTS; p >= 1; p--) if (table_i[p-1].valid) first = index_t'(p - 1);
    entry    = table_i[writer_q];
    entry.valid = entry.valid && stands_q;
    is_rate  = entry.which == TABLE_STREAM_RATE;
    is_there = is_rate ? 32'(entry.index) < QUEUES : entry.index[15:3] == '0;
  end
  always_ff @(posedge clk_i) begin
    writer_q <= first;
    stands_q <= first == writer_q;
  end
  for (genvar p = 0; p < PORTS; p++) begin : gen_ready
    assign table_ready_o[p] = writer_q == index_t'(p) && stands_q && !init_busy_q && (!is_rate || !is_there || rate_ready);
  end

  pen_ats #(
    .PORTS      (PORTS),
    .STREAMS    (STREAMS),
    .EARLIEST_NS(PROCESSING_NS)
  ) u_ats (
    .clk_i,
    .rst_i,
    .init_busy_i              (init_busy_q),
    .init_index_i             (init_index_q),
    .overhead_bytes_i         (overhead_bytes_i[port_q[1]]),
    .processing_delay_max_ns_i(32'(PROCESSING_NS)),
    .may_read_i               (take),
    .read_i                   (take),
    .stream_i                 (stream_t'({turn_q, request_i[turn_q].of_queue[QUEUE_W-1:0]})),
    .valid_i                  (valid_q),
    .shape_i                  (1'b1),
    .port_i                   (port_t'(port_q[1])),
    .traffic_class_i          (arrived.of_queue[2:0]),
    .length_i                 (arrived.length),
    .arrival_ns_i             (time_ns_i),
    .valid_o                  (valid),
    .pass_o                   (pass),
    .visible_o                (visible),
    .write_rate_i             (entry.valid && is_rate && is_there),
    .write_rate_index_i       (16'(stream_t'({writer_q, entry.index[QUEUE_W-1:0]}))),
    .write_ns_per_byte_i      (entry.data[43:0]),
    .write_empty_to_full_i    (entry.data[95:44]),
    .write_rate_ready_o       (rate_ready),
    .write_group_i            (entry.valid && !is_rate && is_there && !init_busy_q),
    .write_group_port_i       (port_t'(writer_q)),
    .write_group_class_i      (entry.index[2:0]),
    .write_residence_ns_i     (entry.data[31:0])
  );

  logic unused;
  assign unused = &{1'b0, table_i, arrived, entry};

`ifdef FORMAL_TURNS
  // Contract, of any port: 1. a frame is answered once, ANSWERED cycles after its turn, and that turn comes at most PORTS cycles after it has
  // asked; what pen_ats has of it is the port's; 2. no state is read while one before it has still to be stored; 3. of tables
  // each entry that is taken goes to the port's own queue or class, and none else is written.
  logic                f_past_q = 1'b0, f_answered_q;
  logic   [ANSWERED:1] f_taken_q;                 // the port's frame is in that cycle
  logic   [PORT_W:0]   f_waits_q;                 // cycles in which it has asked in vain
  index_t              f_port_q;                  // any, and always the same
  ats_request_t        f_request_q;
  table_write_t        f_table_q;
  logic                f_table_waits_q, f_takes, f_writes;
  stream_t             f_stream, f_write_handle_q;
  logic   [PORTS-1:0][15:0] f_index_q;

  assign f_takes  = take && turn_q == f_port_q;
  assign f_stream = stream_t'({turn_q, request_i[turn_q].of_queue[QUEUE_W-1:0]});
  assign f_writes = u_ats.write_rate || u_ats.write_group_i;

  always_ff @(posedge clk_i) begin
    f_past_q        <= 1'b1;
    f_port_q        <= f_port_q;
    f_taken_q       <= {f_taken_q[ANSWERED-1:1], f_takes};
    f_request_q     <= request_i[f_port_q];
    f_answered_q    <= answer_o[f_port_q].valid;
    f_waits_q       <= request_i[f_port_q].valid && !init_busy_q && f_taken_q == '0 && !f_takes ? f_waits_q + 1'b1 : '0;
    f_table_q       <= table_i[f_port_q];
    f_write_handle_q <= u_ats.write_handle;
    for (int unsigned p = 0; p < PORTS; p++) f_index_q[p] <= table_i[p].index;
    f_table_waits_q <= table_i[f_port_q].valid && !table_ready_o[f_port_q];
    if (rst_i) begin
      f_taken_q       <= '0;
      f_answered_q    <= 1'b0;
      f_waits_q       <= '0;
      f_table_waits_q <= 1'b0;
    end
  end

  // What it asks of a port: it keeps to its request until the answer and has none in the cycle behind; entries are kept likewise.
  logic f_asked_q;
  always_ff @(posedge clk_i) f_asked_q <= !rst_i && request_i[f_port_q].valid && !answer_o[f_port_q].valid;
  always_comb begin
    if (!f_past_q) assume (rst_i);
    else begin
      assume (32'(f_port_q) < PORTS);
      if (f_asked_q) assume (request_i[f_port_q] == f_request_q);
      if (f_answered_q) assume (!request_i[f_port_q].valid);
      if (f_table_waits_q) assume (table_i[f_port_q] == f_table_q);
      for (int unsigned p = 0; p < PORTS; p++) if (table_i[p].valid) assume (table_i[p].index == f_index_q[p]);
      if (u_ats.write_rate_i) assert (u_ats.write_handle == f_write_handle_q);
      for (int unsigned p = 0; p < PORTS; p++) if (request_i[p].valid) assume (32'(request_i[p].of_queue) < QUEUES);
      // The contract.
      assert (answer_o[f_port_q].valid == f_taken_q[ANSWERED]);
      assert (32'(f_waits_q) < PORTS);
      if (f_taken_q[1]) begin
        assert (valid_q && u_ats.valid_i && 32'(u_ats.port_i) == 32'(f_port_q));
        assert (arrived == request_i[f_port_q] && arrived == f_request_q);
        assert (u_ats.stream_q[1] == stream_t'({f_port_q, arrived.of_queue[QUEUE_W-1:0]}));
      end
      if (f_takes) begin
        for (int unsigned i = 1; i <= 8; i++) if (u_ats.stream_valid_q[i]) assert (u_ats.stream_q[i] != f_stream);
      end
      if (f_writes) assert (entry.valid && table_ready_o[writer_q] && is_there);
      if (f_writes && writer_q == f_port_q) begin
        assert (entry == table_i[f_port_q]);
        if (is_rate) assert (!u_ats.write_group_i && u_ats.write_handle == stream_t'({f_port_q, entry.index[QUEUE_W-1:0]}));
        else assert (!u_ats.write_rate && 32'(u_ats.write_group) == 32'({f_port_q, entry.index[2:0]}));
      end
      if (table_i[f_port_q].valid && table_ready_o[f_port_q] && is_there) assert (writer_q == f_port_q && f_writes);
      // What makes it hold.
      if (f_taken_q != '0) assert (request_i[f_port_q].valid && !f_answered_q && (f_taken_q & (f_taken_q - 1'b1)) == '0);
      assert (busy_q[f_port_q] == (f_taken_q != '0));
      cover (answer_o[f_port_q].valid && f_port_q == index_t'(PORTS - 1));
      cover (f_writes && is_rate && f_taken_q != '0);
    end
  end
`endif
endmodule
