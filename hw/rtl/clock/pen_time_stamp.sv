// SPDX-License-Identifier: Apache-2.0
// Time stamps of PTP event messages, or of all frames, received and sent, and of edges of an input.
//
// A stamp is the time T of the cycle in which the first byte behind the delimiter stands at the pins (see below for the
// receive side). The time of the last 256 cycles is kept, so an event has to remember only its cycle until the message
// has been recognized. The sources take turns:
//
//     cycle    |  0              |  1          |  2
//              |  source: found  |  time read  |  record written behind the queue of its source
//     or       |  source: good   |             |  the record joins the queue, or is lost if the queue is full
//
// Sources: reception at port p, sending from port p, the input. A queue holds 15 stamps and keeps the oldest.
//
//     cycle                | b     | b+1   | b+2   | b+3   |     b: first byte at the pins
//     pins                 | first |
//     toggle (rx clock)            | new   |
//     delimiter_i                                  |   1   |     time of b: three cycles before
//
// With a receive clock of another phase, b is the cycle of clk_i that begins up to 8 ns before the byte does: the stamp
// is never late and less than one cycle early. The same holds for edges of the input.
module pen_time_stamp
  import pen_pkg::*;
#(
  parameter int unsigned PORTS = 4
) (
  input  logic                  clk_i,
  input  logic                  rst_i,
  input  logic                  awake_i,         // after reset, for a while
  input  ptp_time_t             time_i,
  input  logic [2*PORTS-1:0]    all_i,           // sources of which every frame is stamped
  // Receive
  input  logic [PORTS-1:0]      delimiter_i,
  input  parsed_byte_t [PORTS-1:0] received_i,   // as they are taken; the first one after its delimiter
  // Send: at the pins
  input  logic [PORTS-1:0][7:0] gmii_txd_i,
  input  logic [PORTS-1:0]      gmii_tx_en_i,
  input  logic [PORTS-1:0]      gmii_tx_er_i,
  // Edges of an input of any clock
  input  logic                  capture_i,
  // Reading
  output logic [2*PORTS:0]      waiting_o,       // sources that have a stamp: received, sent, input
  output logic [2*PORTS:0]      lost_o,          // sources that lost one
  input  logic                  clear_lost_i,
  input  logic                  take_i,          // the oldest stamp of a source; in stamp_o from the next cycle on
  input  logic [4:0]            take_source_i,   // 0 to 2*PORTS
  output stamp_t                stamp_o
);
  if (PORTS < 2 || PORTS > MAX_PORTS) begin : gen_check_ports
    $fatal(1, "pen_time_stamp: PORTS must be 2 to %0d, is %0d (%m)", MAX_PORTS, PORTS);
  end

  localparam int unsigned SOURCES = 2 * PORTS + 1;
  localparam int unsigned SOURCE_W = $clog2(SOURCES);
  localparam logic [7:0]  RECEIVE_CYCLES = 8'd3;  // from the first byte to delimiter_i
  localparam logic [7:0]  SEND_CYCLES = 8'd1;     // from the first byte to its copy below
  localparam logic [7:0]  CAPTURE_CYCLES = 8'd2;  // from an edge to its synchronized copy

  typedef logic [SOURCE_W-1:0] source_t;
  typedef logic [3:0]          place_t;

  // What is kept of a time: 72 bits fit one block RAM.
  typedef struct packed {
    logic [33:0] seconds;
    logic [29:0] ns;
    logic [7:0]  fraction;
  } kept_t;

  typedef struct packed {
    kept_t       moment;
    logic        other;
    logic [1:0]  message_type;
    logic [15:0] sequence_id;
  } record_t;

  logic [7:0]                    index_q;         // of this cycle in the memory of times
  stamp_request_t                request[SOURCES];
  logic [SOURCES-1:0]            serve;

  always_ff @(posedge clk_i) index_q <= rst_i ? '0 : index_q + 1'b1;

  // ---- Receive ----------------------------------------------------------------------------------------------------
  for (genvar p = 0; p < PORTS; p++) begin : gen_receive
    logic [7:0] delimiter_index_q;
    logic       parser_clk;

    pen_clock_gate u_gate (
      .clk_i,
      .active_i(awake_i || received_i[p].valid || request[p].found || request[p].good),
      .clk_o   (parser_clk)
    );

    always_ff @(posedge clk_i) if (delimiter_i[p]) delimiter_index_q <= index_q - RECEIVE_CYCLES;

    // A frame's first byte comes 64 bytes before the next delimiter.
    pen_ptp_parser u_parser (
      .clk_i    (parser_clk),
      .rst_i,
      .all_i    (all_i[p]),
      .byte_i   (received_i[p]),
      .index_i  (delimiter_index_q),
      .request_o(request[p]),
      .serve_i  (serve[p])
    );
  end

  // ---- Send -------------------------------------------------------------------------------------------------------
  for (genvar p = 0; p < PORTS; p++) begin : gen_send
    logic         inside_q, valid_q, error_q, parser_clk;
    logic [7:0]   data_q;
    header_t      header;

    // One byte late, when it is known whether it is the last one.
    always_ff @(posedge clk_i) begin
      inside_q <= gmii_tx_en_i[p] && (inside_q || gmii_txd_i[p] == 8'hD5) && !rst_i;
      valid_q  <= gmii_tx_en_i[p] && inside_q && !rst_i;
      data_q   <= gmii_txd_i[p];
      error_q  <= gmii_tx_er_i[p];
    end

    pen_clock_gate u_gate (
      .clk_i,
      .active_i(awake_i || valid_q || request[PORTS+p].found || request[PORTS+p].good),
      .clk_o   (parser_clk)
    );

    pen_header_parser u_header (
      .clk_i   (parser_clk),
      .clear_i (rst_i || (valid_q && !gmii_tx_en_i[p])),
      .valid_i (valid_q),
      .data_i  (data_q),
      .header_o(header)
    );

    pen_ptp_parser u_parser (
      .clk_i    (parser_clk),
      .rst_i,
      .all_i    (all_i[PORTS+p]),
      .byte_i   ('{valid: valid_q, last: !gmii_tx_en_i[p], good: !error_q, header: header}),
      .index_i  (index_q - SEND_CYCLES),
      .request_o(request[PORTS+p]),
      .serve_i  (serve[PORTS+p])
    );
  end

  // ---- Edges of the input -----------------------------------------------------------------------------------------
  logic        capture, capture_q, edge_new, edge_found_q, edge_good_q, edge_lost;
  logic [7:0]  edge_index_q;
  logic [15:0] edge_count_q, edge_sequence_q;

  pen_sync u_sync_capture (.clk_i, .rst_i, .data_i(capture_i), .data_o(capture));

  assign edge_new  = capture && !capture_q;
  assign edge_lost = edge_new && (edge_found_q || edge_good_q);  // the one before has not been served

  always_ff @(posedge clk_i) begin
    capture_q <= capture;
    if (serve[2*PORTS]) begin
      edge_found_q <= 1'b0;
      edge_good_q  <= edge_found_q;
    end
    if (edge_new) edge_count_q <= edge_count_q + 1'b1;
    if (edge_new && !edge_lost) begin
      edge_found_q    <= 1'b1;
      edge_index_q    <= index_q - CAPTURE_CYCLES;
      edge_sequence_q <= edge_count_q;
    end
    if (rst_i) begin
      capture_q    <= 1'b1;
      edge_found_q <= 1'b0;
      edge_good_q  <= 1'b0;
      edge_count_q <= '0;
    end
  end

  assign request[2*PORTS] = '{
    found: edge_found_q, good: edge_good_q, index: edge_index_q, other: 1'b0, message_type: '0,
    sequence_id: edge_sequence_q
  };

  // ---- In turn: cycle 0 -------------------------------------------------------------------------------------------
  source_t        source_q, chosen_source_q;
  stamp_request_t chosen_q;
  logic           joins_q, full_q, was_full_q;
  place_t [SOURCES-1:0] write_q, read_q;

  always_comb begin
    serve = '0;
    serve[source_q] = 1'b1;
  end

  always_ff @(posedge clk_i) begin
    source_q        <= rst_i || source_q == source_t'(SOURCES - 1) ? '0 : source_q + 1'b1;
    chosen_source_q <= source_q;
    chosen_q        <= request[source_q];
    if (rst_i) {chosen_q.found, chosen_q.good} <= '0;
  end

  // ---- Cycles 1 and 2: the record is written where the next of its source belongs -----------------------------------
  kept_t       now, moment;
  logic        record_q;
  source_t     record_source_q;
  logic        other_q;
  logic [1:0]  message_type_q;
  logic [15:0] sequence_id_q;
  record_t     record, taken;
  logic        taken_valid_q;
  source_t     take_source;

  assign now = '{seconds: time_i.seconds[33:0], ns: time_i.ns, fraction: time_i.fraction[31:24]};

  // The time of a cycle is asked for three cycles later at the earliest.
  pen_ram_1r1w #(.WIDTH($bits(kept_t)), .DEPTH(256), .READ_OLD(0)) u_times (
    .clk_i,
    .write_i     (1'b1),
    .write_addr_i(index_q),
    .write_data_i(now),
    .read_i      (chosen_q.found),
    .read_addr_i (chosen_q.index),
    .read_data_o (moment)
  );

  assign record      = '{moment: moment, other: other_q, message_type: message_type_q, sequence_id: sequence_id_q};
  assign take_source = take_source_i < 5'(SOURCES) ? source_t'(take_source_i) : '0;

  // A record that is read has joined its queue before.
  pen_ram_1r1w #(.WIDTH($bits(record_t)), .DEPTH(16 * SOURCES), .READ_OLD(0)) u_records (
    .clk_i,
    .write_i     (record_q),
    .write_addr_i({record_source_q, write_q[record_source_q]}),
    .write_data_i(record),
    .read_i      (take_i),
    .read_addr_i ({take_source, read_q[take_source]}),
    .read_data_o (taken)
  );

  always_comb begin
    for (int unsigned s = 0; s < SOURCES; s++) waiting_o[s] = write_q[s] != read_q[s];
  end

  always_ff @(posedge clk_i) begin
    // A place that becomes free in this very cycle comes too late.
    full_q          <= place_t'(write_q[source_q] + 1'b1) == read_q[source_q];
    record_q        <= chosen_q.found;
    record_source_q <= chosen_source_q;
    other_q         <= chosen_q.other;
    message_type_q  <= chosen_q.message_type;
    sequence_id_q   <= chosen_q.sequence_id;
    if (take_i) begin
      taken_valid_q <= take_source_i < 5'(SOURCES) && waiting_o[take_source];
      if (take_source_i < 5'(SOURCES) && waiting_o[take_source]) read_q[take_source] <= read_q[take_source] + 1'b1;
    end
    if (clear_lost_i) lost_o <= '0;
    joins_q    <= chosen_q.good && !chosen_q.found;
    was_full_q <= full_q;
    if (joins_q) begin
      if (was_full_q) lost_o[record_source_q] <= 1'b1;
      else write_q[record_source_q] <= write_q[record_source_q] + 1'b1;
    end
    if (edge_lost) lost_o[2*PORTS] <= 1'b1;
    if (rst_i) begin
      full_q        <= 1'b0;
      joins_q       <= 1'b0;
      record_q      <= 1'b0;
      taken_valid_q <= 1'b0;
      lost_o        <= '0;
      write_q       <= '0;
      read_q        <= '0;
    end
  end

  assign stamp_o = '{
    valid: taken_valid_q,
    other: taken.other,
    message_type: taken.message_type,
    sequence_id: taken.sequence_id,
    moment: '{seconds: 48'(taken.moment.seconds), ns: taken.moment.ns, fraction: {taken.moment.fraction, 24'd0}}
  };

  logic unused;
  assign unused = &{1'b0, time_i};
endmodule
