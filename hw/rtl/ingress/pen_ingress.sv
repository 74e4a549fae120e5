// SPDX-License-Identifier: Apache-2.0
// The way in: from received bytes to frames in the store with destination, traffic class and eligibility time.
//
// The ports take turns at one pipeline; each turn carries one request. For the record of a frame whose last byte was
// taken in cycle c, the port's next turn is cycle 0 below, at most PORTS cycles after c:
//
//   cycle   0         1          2        3         4         5         6 .. 11         12
//           request   keys       stream table, VLAN table,    reason,   ATS scheduler   classified_o
//                     hashed     forwarding database          stream    6: its number
//
// It can be selected from cycle c + VISIBLE_CYCLES on, whatever the turns and the other ports are doing.
//
// During initialization beats are discarded.
module pen_ingress #(
  parameter int unsigned PORTS = 4,                     // 2 to 8
  parameter int unsigned STREAMS = 256,
  parameter int unsigned FDB_SETS = 512,
  parameter bit          HOST = 0,                      // the last port is the host's
  parameter int unsigned RX_LATENCY_NS = 48,            // from the last bit's end on the wire to its byte taken
  // From a frame's last byte: PORTS + 12 to classified_o, at most PORTS + 5 on to the queue, 2 in there.
  parameter int unsigned VISIBLE_CYCLES = 2 * PORTS + 19
) (
  input  logic                              clk_i,
  input  logic                              rst_i,
  input  logic                              init_busy_i,
  input  pen_pkg::init_index_t              init_index_i,
  input  pen_pkg::port_t                    turn_i,
  input  logic [PORTS-1:0]                  has_turn_i,      // the same
  input  pen_pkg::time_ns_t                 time_ns_i,
  input  pen_config_pkg::ingress_config_t   config_i,
  input  pen_config_pkg::ingress_port_config_t [PORTS-1:0] port_config_i,
  input  pen_pkg::table_write_t             table_i,         // held until table_ready_o
  output logic                              table_ready_o,
  input  logic                              awake_i,         // settings may change
  input  logic [PORTS-1:0]                  delimiter_i,     // see pen_mac_rx_fifo
  input  pen_pkg::rx_beat_t [PORTS-1:0]     beat_i,
  input  logic [PORTS-1:0]                  beat_valid_i,
  output logic [PORTS-1:0]                  beat_ready_o,
  output pen_pkg::parsed_byte_t [PORTS-1:0] parsed_o,        // see pen_ingress_port
  input  pen_pkg::host_way_t                way_i,           // with HOST: of the frame at the last port
  output logic                              record_o,        // in the turn of its port: a frame is whole, and stored
  output pen_pkg::cell_t                    record_frame_o,
  output pen_pkg::store_write_t             store_write_o,   // of all ports; a register, one cycle after the turn
  output pen_pkg::label_write_t             label_o,
  input  logic                              alloc_valid_i,
  input  pen_pkg::cell_t                    alloc_cell_i,
  output logic                              alloc_take_o,
  output pen_pkg::classified_t              classified_o,
  output logic                              idle_o
);
  import pen_pkg::*;
  import pen_ingress_pkg::*;

  localparam int unsigned STREAM_W = $clog2(STREAMS);
  localparam int unsigned PORT_W = $clog2(PORTS);
  if (PORTS < 2 || PORTS > MAX_PORTS) begin : gen_check_1
    $fatal(1, "pen_ingress: PORTS must be 2 to %0d, is %0d (%m)", MAX_PORTS, PORTS);
  end
  if (VISIBLE_CYCLES < PORTS + 14) begin : gen_check_2
    $fatal(1, "pen_ingress: VISIBLE_CYCLES must be PORTS + 14 or more, is %0d (%m)", VISIBLE_CYCLES);
  end

  localparam time_ns_t AGE_AT_5_NS = time_ns_t'(RX_LATENCY_NS) + time_ns_t'(5 * CYCLE_NS);
  localparam port_mask_t ALL_PORTS = port_mask_t'((1 << PORTS) - 1);
  localparam port_mask_t HOST_PORT = HOST ? port_mask_t'(1 << (PORTS - 1)) : '0;

  // ---- The ports
  store_write_t [PORTS-1:0] port_write;
  request_t [PORTS-1:0]     port_request;
  logic [PORTS-1:0]         port_take, port_found, port_idle, port_busy;
  store_write_t             write;
  request_t                 request;
  logic                     found;
  stream_t                  found_stream;

  for (genvar p = 0; p < PORTS; p++) begin : gen_port
    logic port_clk;

`ifdef SYNTHESIS  // no clock rests
    assign port_clk = clk_i;

    logic unused;
    assign unused = &{1'b0, awake_i, port_busy[p]};
`else
    pen_clock_gate u_gate (.clk_i, .active_i(awake_i || port_busy[p]), .clk_o(port_clk));
`endif

    // Its first byte comes later, and the next delimiter long after the field.
    long_cycle_t arrival_q;
    always_ff @(posedge clk_i) if (delimiter_i[p]) arrival_q <= time_ns_i[32:3];

    host_way_t way;
    pen_config_pkg::ingress_port_config_t port_config;

    always_comb begin
      way = '{port: port_t'(p), default: '0};
      port_config = port_config_i[p];
      if (HOST_PORT[p]) begin
        way = way_i;
        port_config.port_vlan_id = port_config_i[way_i.port[PORT_W-1:0]].port_vlan_id;
      end
    end

    pen_ingress_port #(.HOST(HOST_PORT[p])) u_port (
      .clk_i(port_clk),
      .rst_i,
      .init_busy_i,
      .turn_i        (has_turn_i[p]),
      .config_i      (port_config),
      .beat_i        (beat_i[p]),
      .beat_valid_i  (beat_valid_i[p]),
      .arrival_i     (arrival_q),
      .way_i         (way),
      .beat_ready_o  (beat_ready_o[p]),
      .write_o       (port_write[p]),
      .alloc_valid_i,
      .alloc_cell_i,
      .alloc_take_o  (port_take[p]),
      .parsed_o      (parsed_o[p]),
      .request_o     (port_request[p]),
      .found_i       (port_found[p]),
      .found_stream_i(found_stream),
      .busy_o        (port_busy[p]),
      .idle_o        (port_idle[p])
    );
  end

  assign write        = port_write[turn_i[PORT_W-1:0]];
  assign request      = port_request[turn_i[PORT_W-1:0]];
  assign alloc_take_o = |port_take;

  assign record_o       = request.operation == OPERATION_RECORD && request.has_cells;
  assign record_frame_o = request.frame;

  always_ff @(posedge clk_i) begin
    store_write_o <= write;
    if (rst_i) {store_write_o.valid, store_write_o.link_valid} <= '0;
  end

  // ---- Cycle 1: what is asked, and of which unit. Index i below: in cycle i.
  request_t         request_1_q;
  operation_e [5:1] operation_q;
  port_t [5:1]      port_q;
  port_t [5:1]      from_q;                // as if received there
  logic [13:1]      busy_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      operation_q <= '0;
      busy_q      <= '0;
    end else begin
      operation_q <= {operation_q[4:1], request.operation};
      busy_q      <= {busy_q[12:1], request.operation != OPERATION_NONE};
    end
    port_q <= {port_q[4:1], turn_i};
    from_q <= {from_q[4:1], request.way.port};
    request_1_q <= request;
  end

  typedef struct packed {
    logic [2:0] mac_reason;
    logic       disabled;
    logic       store_full;
    logic       reserved_address;
    logic       reserved_vlan;
    logic       direct;                // to `ports`, whatever its VLAN and address lead to
    port_mask_t ports;
    logic       short_gap;
    logic       has_cells;
    logic       has_tag;
    logic       is_priority_tagged;
    logic       has_r_tag;
    logic [15:0] sequence_number;
    logic       stamped;
    correction_t correction;
    logic [3:0] pcp_dei;
    logic [11:0] vlan_id;
    class_t     traffic_class;
    cell_t      frame;
    length_t    length;
    logic [3:0] age;
    logic       is_stream;
    stream_t    stream;
  } record_t;

  logic        record_1, learn_1, whole_1, look_1;
  logic        look_ipv4_1;
  stream_key_t key_1;
  record_t     record_1_d, record_5;
  logic        record_5_valid;

  assign record_1    = operation_q[1] == OPERATION_RECORD;
  assign learn_1     = operation_q[1] == OPERATION_LEARN;
  assign whole_1     = record_1 && request_1_q.mac_reason == '0;
  assign look_ipv4_1 = whole_1 && request_1_q.ipv4 && config_i.identify_ipv4;
  assign look_1      = look_ipv4_1 || operation_q[1] == OPERATION_DESTINATION || operation_q[1] == OPERATION_SOURCE;

  always_comb begin
    key_1 = '{identify: IDENTIFY_IPV4, port: port_q[1], fields: request_1_q.ipv4_fields & config_i.identify_ipv4_mask};
    if (!request_1_q.has_ports) key_1.fields[31:0] = '0;
    if (operation_q[1] == OPERATION_DESTINATION) begin
      key_1.identify = IDENTIFY_DESTINATION;
      key_1.fields   = {44'b0, request_1_q.vlan_id, request_1_q.destination_address};
    end
    if (operation_q[1] == OPERATION_SOURCE) begin
      key_1.identify = IDENTIFY_SOURCE;
      key_1.fields   = {44'b0, request_1_q.vlan_id, request_1_q.source_address};
    end
  end

  // Frames to reserved addresses go no further, unless they are the host's business.
  logic reserved_1, to_host_1;
  assign reserved_1 = request_1_q.destination_address[47:4] == 44'h0180C200000;
  assign to_host_1  = HOST && reserved_1 && config_i.reserved_to_host[request_1_q.destination_address[3:0]];

  assign record_1_d = '{
    mac_reason:       request_1_q.mac_reason,
    disabled:         !config_i.port_enable[port_q[1]],
    store_full:       request_1_q.store_full,
    reserved_address: reserved_1 && !request_1_q.way.direct && !to_host_1,
    reserved_vlan:    request_1_q.vlan_id == '1,
    direct:           request_1_q.way.direct || to_host_1,
    ports:            request_1_q.way.direct ? request_1_q.way.ports : HOST_PORT,
    short_gap:        request_1_q.short_gap,
    has_cells:        request_1_q.has_cells,
    has_tag:          request_1_q.has_tag,
    is_priority_tagged: request_1_q.is_priority_tagged,
    has_r_tag:        request_1_q.has_r_tag,
    sequence_number:  request_1_q.sequence_number,
    stamped:          request_1_q.way.stamped,
    correction:       request_1_q.correction,
    pcp_dei:          request_1_q.pcp_dei,
    vlan_id:          request_1_q.vlan_id,
    traffic_class:    request_1_q.way.direct ? request_1_q.way.traffic_class : request_1_q.traffic_class,
    frame:            request_1_q.frame,
    length:           request_1_q.store_full ? {request_1_q.words, 3'b0} : request_1_q.length,
    age:              request_1_q.age,
    is_stream:        request_1_q.is_stream,
    stream:           request_1_q.stream
  };

  // ---- Cycles 1 to 5: tables
  logic       stream_valid_5, stream_hit_5, fdb_hit_5;
  stream_t    stream_found_5;
  port_mask_t fdb_ports_5;
  vlan_entry_t vlan_3, vlan_4_q, vlan_5_q;
  logic       fdb_idle, fdb_ready, rate_ready, write_table;

  assign write_table = table_i.valid && !init_busy_i;

  always_comb begin
    case (table_i.which)
      TABLE_FDB:         table_ready_o = fdb_ready;
      TABLE_STREAM_RATE: table_ready_o = rate_ready;
      default:           table_ready_o = !init_busy_i;
    endcase
  end

  pen_delay #(.WIDTH($bits(record_t)), .CYCLES(4)) u_record (
    .clk_i, .rst_i, .valid_i(record_1), .data_i(record_1_d), .valid_o(record_5_valid), .data_o(record_5)
  );

  pen_stream_table #(.STREAMS(STREAMS)) u_streams (
    .clk_i,
    .rst_i,
    .init_busy_i,
    .init_index_i,
    .valid_i      (look_1),
    .key_i        (key_1),
    .valid_o      (stream_valid_5),
    .hit_o        (stream_hit_5),
    .stream_o     (stream_found_5),
    .write_i      (write_table && table_i.which == TABLE_STREAM_KEY),
    .write_table_i(table_i.index[15]),
    .write_index_i(table_i.index[14:0]),
    .write_data_i (table_i.data[121:0])
  );

  pen_vlan_table #(.PORTS(PORTS)) u_vlans (
    .clk_i,
    .init_busy_i,
    .init_index_i,
    .read_i       (whole_1 || learn_1),
    .vlan_id_i    (request_1_q.vlan_id),
    .entry_o      (vlan_3),
    .write_i      (write_table && table_i.which == TABLE_VLAN),
    .write_index_i(table_i.index[11:0]),
    .write_data_i (vlan_entry_t'(table_i.data[31:0]))
  );

  pen_fdb #(.SETS(FDB_SETS)) u_fdb (
    .clk_i,
    .rst_i,
    .init_busy_i,
    .init_index_i,
    .time_ns_i,
    .aging_period_ms_i(config_i.aging_period_ms),
    .aging_period_is_new_i(config_i.aging_period_is_new),
    .lookup_i         (whole_1),
    .learn_i          (learn_1 && request_1_q.vlan_id != '1),
    .port_i           (from_q[1]),
    .address_i        (learn_1 ? request_1_q.source_address : request_1_q.destination_address),
    .vlan_id_i        (request_1_q.vlan_id),
    .learn_allow_i    (vlan_3.members[from_q[3]]),
    .hit_o            (fdb_hit_5),
    .ports_o          (fdb_ports_5),
    .write_i          (table_i.valid && table_i.which == TABLE_FDB),
    .write_way_i      (table_i.index[15]),
    .write_index_i    (table_i.index[14:0]),
    .write_data_i     (table_i.data[71:0]),
    .write_ready_o    (fdb_ready),
    .idle_o           (fdb_idle)
  );

  always_ff @(posedge clk_i) begin
    if (operation_q[3] == OPERATION_RECORD) vlan_4_q <= vlan_3;
    if (operation_q[4] == OPERATION_RECORD) vlan_5_q <= vlan_4_q;
  end

  // Answers to lookups by address go back to the port.
  assign found        = stream_valid_5 && stream_hit_5 && operation_q[5] != OPERATION_RECORD;
  assign found_stream = stream_found_5;
  always_comb begin
    for (int unsigned p = 0; p < PORTS; p++) port_found[p] = found && port_q[5] == port_t'(p);
  end

  // ---- Cycle 5: decide; IPv4 comes before the address functions
  logic       is_stream_5;
  stream_t    stream_5;
  port_mask_t destination_5, not_from_5;
  reason_e    reason_5;

  assign is_stream_5   = (stream_valid_5 && stream_hit_5) || record_5.is_stream;
  assign stream_5      = stream_valid_5 && stream_hit_5 ? stream_found_5 : record_5.stream;
  assign destination_5 = (record_5.direct ? record_5.ports : (fdb_hit_5 ? fdb_ports_5 : '1) & vlan_5_q.members & not_from_5)
                         & config_i.port_enable & ALL_PORTS & ~(port_mask_t'(1) << port_q[5]);
  assign not_from_5    = ~(port_mask_t'(1) << from_q[5]);

  always_comb begin
    reason_5 = REASON_NONE;
    if (record_5.mac_reason != '0) reason_5 = reason_e'({2'b0, record_5.mac_reason});
    else if (record_5.disabled) reason_5 = REASON_PORT_DISABLED;
    else if (record_5.store_full) reason_5 = REASON_STORE_FULL;
    else if (record_5.reserved_address) reason_5 = REASON_RESERVED_ADDRESS;
    else if (!record_5.direct && (record_5.reserved_vlan || !vlan_5_q.members[from_q[5]])) reason_5 = REASON_VLAN;
    else if (destination_5 == '0) reason_5 = REASON_NO_DESTINATION;
  end

  // What is led is the host's business or that of a neighbour, and no VLAN's.
  edit_t [MAX_PORTS-1:0] edit_5;
  always_comb begin
    for (int unsigned p = 0; p < MAX_PORTS; p++) begin
      edit_5[p] = '{tag: TAG_KEEP, r_tag: R_TAG_KEEP};
      if (p < PORTS && config_i.vlan_tagging[p] && !record_5.direct) begin
        if (record_5.has_tag) edit_5[p].tag = vlan_5_q.untagged[p] ? TAG_REMOVE : TAG_REWRITE;
        else if (!vlan_5_q.untagged[p]) edit_5[p].tag = TAG_INSERT;
      end
    end
  end

  correction_t correction_5;
  always_comb begin
    correction_5 = record_5.correction;
    if (record_5.direct || !config_i.ptp_correction[port_q[5]]) correction_5.is_due = 1'b0;
  end

  label_write_t label_5;
  assign label_5 = '{
    valid: record_5_valid && record_5.mac_reason == '0 && !record_5.store_full,
    frame: record_5.frame,
    value: '{
      stamped:            record_5.stamped,
      correction:         correction_5,
      translate:          config_i.vlan_translation,
      has_tag:            record_5.has_tag,
      sequence_number:    record_5.sequence_number,
      is_priority_tagged: record_5.is_priority_tagged,
      pcp:                record_5.pcp_dei[3:1],
      dei:                record_5.pcp_dei[0],
      vlan_id:            record_5.vlan_id,
      egress_pcp:         vlan_5_q.sets_pcp ? vlan_5_q.egress_pcp : record_5.pcp_dei[3:1],
      egress_vlan_id:     vlan_5_q.egress_vlan_id != '0 ? vlan_5_q.egress_vlan_id : record_5.vlan_id
    }
  };

  // ---- Cycle 6: everything but the eligibility time is known
  classified_t classified_6_q;
  time_ns_t    arrival_ns_6_q;
  logic        may_number_6_q, has_r_tag_6_q;
  port_mask_t  r_tag_removal_6_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) classified_6_q.valid <= 1'b0;
    else classified_6_q.valid <= record_5_valid;
    if (record_5_valid) begin
      classified_6_q.reason        <= reason_5;
      classified_6_q.short_gap     <= record_5.short_gap;
      classified_6_q.has_cells     <= record_5.has_cells;
      classified_6_q.port          <= port_q[5];
      classified_6_q.destination   <= reason_5 == REASON_NONE ? destination_5 : '0;
      classified_6_q.edit          <= edit_5;
      classified_6_q.traffic_class <= record_5.traffic_class;
      classified_6_q.frame         <= record_5.frame;
      classified_6_q.length        <= record_5.length;
      classified_6_q.visible       <= '0;
      classified_6_q.is_stream     <= is_stream_5 && record_5.mac_reason == '0;
      classified_6_q.stream        <= stream_5;
      classified_6_q.shaped        <= is_stream_5 && config_i.ats_classes[record_5.traffic_class]
                                      && reason_5 == REASON_NONE;
      // The time now, less the way from the wire to this place.
      may_number_6_q  <= reason_5 == REASON_NONE && is_stream_5 && !record_5.has_r_tag && !record_5.direct;
      has_r_tag_6_q   <= record_5.has_r_tag && !record_5.direct;
      r_tag_removal_6_q <= config_i.r_tag_removal;
      arrival_ns_6_q <= time_ns_i - AGE_AT_5_NS - time_ns_t'({record_5.age, 3'b0});
    end
  end

  // Its number, the same for all copies. One that came with an R-TAG keeps its own.
  logic         stream_numbered_6, numbered_6;
  logic [15:0]  number_6;
  label_write_t label_6_q;
  edit_t [MAX_PORTS-1:0] edit_6;

  assign numbered_6 = classified_6_q.valid && may_number_6_q && stream_numbered_6;

  pen_sequence_generator #(.STREAMS(STREAMS)) u_numbers (
    .clk_i,
    .init_busy_i,
    .init_index_i,
    .read_i          (record_5_valid && is_stream_5),
    .stream_i        (STREAM_W'(stream_5)),
    .numbered_o      (stream_numbered_6),
    .number_o        (number_6),
    .take_i          (numbered_6),
    .write_i         (write_table && table_i.which == TABLE_NUMBERING),
    .write_index_i   (table_i.index),
    .write_numbered_i(table_i.data[0])
  );

  always_comb begin
    edit_6 = classified_6_q.edit;
    for (int unsigned p = 0; p < PORTS; p++) begin
      if (r_tag_removal_6_q[p] ? has_r_tag_6_q : numbered_6)
        edit_6[p].r_tag = r_tag_removal_6_q[p] ? R_TAG_REMOVE : R_TAG_INSERT;
    end
  end

  // What frames say of themselves is stored long before they can be sent.
  always_ff @(posedge clk_i) begin
    if (rst_i) label_6_q.valid <= 1'b0;
    else label_6_q.valid <= label_5.valid;
    if (label_5.valid) begin
      label_6_q.frame <= label_5.frame;
      label_6_q.value <= label_5.value;
    end
  end

  always_comb begin
    label_o = label_6_q;
    if (numbered_6) label_o.value.sequence_number = number_6;
  end

  // ---- Cycles 6 to 12: shape
  typedef struct packed {
    reason_e    reason;
    logic       short_gap;
    logic       has_cells;
    port_t      port;
    port_mask_t destination;
    edit_t [MAX_PORTS-1:0] edit;
    class_t     traffic_class;
    cell_t      frame;
    length_t    length;
    logic       is_stream;
    stream_t    stream;
    logic       shaped;
  } waiting_t;

  waiting_t waiting_6, waiting_12;
  logic     waiting_12_valid, pass_12, valid_12;
  cycle_t   visible_12;

  assign waiting_6 = '{
    reason:        classified_6_q.reason,
    short_gap:     classified_6_q.short_gap,
    has_cells:     classified_6_q.has_cells,
    port:          classified_6_q.port,
    destination:   classified_6_q.destination,
    edit:          edit_6,
    traffic_class: classified_6_q.traffic_class,
    frame:         classified_6_q.frame,
    length:        classified_6_q.length,
    is_stream:     classified_6_q.is_stream,
    stream:        classified_6_q.stream,
    shaped:        classified_6_q.shaped
  };

  pen_delay #(.WIDTH($bits(waiting_t)), .CYCLES(6)) u_waiting (
    .clk_i, .rst_i, .valid_i(classified_6_q.valid), .data_i(waiting_6), .valid_o(waiting_12_valid), .data_o(waiting_12)
  );

  pen_ats #(
    .PORTS      (PORTS),
    .STREAMS    (STREAMS),
    .EARLIEST_NS(RX_LATENCY_NS + CYCLE_NS * VISIBLE_CYCLES)
  ) u_ats (
    .clk_i,
    .rst_i,
    .init_busy_i,
    .init_index_i,
    .overhead_bytes_i         (config_i.ats_overhead_bytes),
    .processing_delay_max_ns_i(config_i.processing_delay_max_ns),
    .may_read_i               (record_5_valid),
    .read_i                   (record_5_valid && is_stream_5),
    .stream_i                 (STREAM_W'(stream_5)),
    .valid_i                  (classified_6_q.valid),
    .shape_i                  (classified_6_q.shaped),
    .port_i                   (classified_6_q.port),
    .traffic_class_i          (classified_6_q.traffic_class),
    .length_i                 (classified_6_q.length),
    .arrival_ns_i             (arrival_ns_6_q),
    .valid_o                  (valid_12),
    .pass_o                   (pass_12),
    .visible_o                (visible_12),
    .write_rate_i             (write_table && table_i.which == TABLE_STREAM_RATE),
    .write_rate_index_i       (table_i.index),
    .write_ns_per_byte_i      (table_i.data[43:0]),
    .write_empty_to_full_i    (table_i.data[95:44]),
    .write_rate_ready_o       (rate_ready),
    .write_group_i            (write_table && table_i.which == TABLE_GROUP),
    .write_group_port_i       (table_i.index[5:3]),
    .write_group_class_i      (table_i.index[2:0]),
    .write_residence_ns_i     (table_i.data[31:0])
  );

  always_comb begin
    classified_o = '0;
    if (valid_12) begin
      classified_o = '{
        valid:         1'b1,
        reason:        waiting_12.reason == REASON_NONE && !pass_12 ? REASON_RESIDENCE : waiting_12.reason,
        short_gap:     waiting_12.short_gap,
        has_cells:     waiting_12.has_cells,
        port:          waiting_12.port,
        destination:   pass_12 ? waiting_12.destination : '0,
        edit:          waiting_12.edit,
        traffic_class: waiting_12.traffic_class,
        frame:         waiting_12.frame,
        length:        waiting_12.length,
        visible:       visible_12,
        is_stream:     waiting_12.is_stream,
        stream:        waiting_12.stream,
        shaped:        waiting_12.shaped
      };
    end
  end

  assign idle_o = &port_idle && busy_q == '0 && fdb_idle && !init_busy_i && !table_i.valid && !store_write_o.valid;

  logic unused;
  assign unused = ^{table_i.data[127:122], waiting_12_valid, classified_6_q.visible, request_1_q};
endmodule
