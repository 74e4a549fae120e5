// SPDX-License-Identifier: Apache-2.0
// Ethernet switch with asynchronous, time-aware and credit-based shapers, 2 to 8 ports of 1 Gb/s.
//
//   GMII ─► pen_mac_rx_fifo ─► pen_ingress ─► pen_buffer ─► pen_egress_port ─► GMII
//              (per port)      identify,      store,         (per port)
//                              forward, shape admit          queue, select, send
//
// Every frame is written once into one store; all else handles descriptors. Shared units serve port p in the cycles
// in which turn == p, so what one port does never moves another's frames in time.
module pen_switch
  import pen_pkg::*, pen_config_pkg::*;
#(
  parameter int unsigned PORTS       = 4,      // 2 to 8
  parameter int unsigned STREAMS     = 256,    // a power of two, 16 to 4096
  parameter int unsigned FDB_ENTRIES = 1024,   // a power of two, 64 or more
  parameter int unsigned STORE_BYTES = 131072, // a power of two, 32768 to 524288
  parameter bit          HOST        = 0,      // the last port is the host's: it has a stream instead of a wire
  parameter int unsigned GATE_ENTRIES = 128    // of a gate list; a power of two, 8 to 1024
) (
  input  logic                        clk_i,            // 125 MHz: core and transmit clock
  input  logic                        rst_i,
  // GMII
  input  logic [PORTS-1:0]            gmii_rx_clk_i,    // 125 MHz of each link partner
  input  logic [PORTS-1:0][7:0]       gmii_rxd_i,
  input  logic [PORTS-1:0]            gmii_rx_dv_i,
  input  logic [PORTS-1:0]            gmii_rx_er_i,
  output logic [PORTS-1:0][7:0]       gmii_txd_o,
  output logic [PORTS-1:0]            gmii_tx_en_o,
  output logic [PORTS-1:0]            gmii_tx_er_o,
  // Host port, AXI4-Stream; see pen_host_rx and pen_host_tx
  input  logic                        s_axis_host_tvalid_i,
  output logic                        s_axis_host_tready_o,
  input  logic [7:0]                  s_axis_host_tdata_i,
  input  logic                        s_axis_host_tlast_i,
  output logic                        m_axis_host_tvalid_o,
  input  logic                        m_axis_host_tready_i,
  output logic [7:0]                  m_axis_host_tdata_o,
  output logic                        m_axis_host_tlast_o,
  output logic                        m_axis_host_tuser_o,
  // AXI4-Lite, 32 bit
  input  logic [15:0]                 s_axil_awaddr_i,
  input  logic [2:0]                  s_axil_awprot_i,
  input  logic                        s_axil_awvalid_i,
  output logic                        s_axil_awready_o,
  input  logic [31:0]                 s_axil_wdata_i,
  input  logic [3:0]                  s_axil_wstrb_i,
  input  logic                        s_axil_wvalid_i,
  output logic                        s_axil_wready_o,
  output logic [1:0]                  s_axil_bresp_o,
  output logic                        s_axil_bvalid_o,
  input  logic                        s_axil_bready_i,
  input  logic [15:0]                 s_axil_araddr_i,
  input  logic [2:0]                  s_axil_arprot_i,
  input  logic                        s_axil_arvalid_i,
  output logic                        s_axil_arready_o,
  output logic [31:0]                 s_axil_rdata_o,
  output logic [1:0]                  s_axil_rresp_o,
  output logic                        s_axil_rvalid_o,
  input  logic                        s_axil_rready_i,
  // PTP clock
  output logic                        pps_o,            // high at the start of each second
  input  logic                        capture_i,        // of any clock: its rising edges get a time stamp
  output logic                        idle_o,           // nothing is inside; for simulation, low in hardware
  output time_ns_t                    time_ns_o,
  // What becomes of each frame, for observers
  output verdict_t                    verdict_o,
  output egress_event_t [PORTS-1:0]   egress_event_o
);
  localparam int unsigned CELLS = STORE_BYTES / CELL_BYTES;
  localparam int unsigned PORT_W = $clog2(PORTS);
  localparam logic [PORTS-1:0] WIRES = {PORTS{1'b1}} >> HOST;  // ports that have one

  // From the end of the last bit on the wire to its byte leaving the receive FIFO, with clocks of one phase; and from
  // there to the first cycle in which the frame can be selected. The sum is the constant processing delay.
  localparam int unsigned RX_LATENCY_NS = 4 * CYCLE_NS;
  localparam int unsigned VISIBLE_CYCLES = 2 * PORTS + 19;

  if (PORTS < 2 || PORTS > MAX_PORTS) $fatal(1, "pen_switch: PORTS must be 2 to 8, is %0d", PORTS);
  if (STREAMS < 16 || STREAMS > 4096 || 1 << $clog2(STREAMS) != STREAMS)
    $fatal(1, "pen_switch: STREAMS must be a power of two from 16 to 4096, is %0d", STREAMS);
  if (FDB_ENTRIES < 64 || FDB_ENTRIES > 8192 || 1 << $clog2(FDB_ENTRIES) != FDB_ENTRIES)
    $fatal(1, "pen_switch: FDB_ENTRIES must be a power of two from 64 to 8192, is %0d", FDB_ENTRIES);
  if (STORE_BYTES < 32768 || STORE_BYTES > 524288 || 1 << $clog2(STORE_BYTES) != STORE_BYTES)
    $fatal(1, "pen_switch: STORE_BYTES must be a power of two from 32768 to 524288, is %0d", STORE_BYTES);

  // Time, turns and the start of the tables.
  time_ns_t time_ns;
  port_t    turn;
  logic [PORTS-1:0] has_turn, comes_in;
  assign time_ns_o = time_ns;

  pen_timer #(.PORTS(PORTS)) u_timer (
    .clk_i, .rst_i, .time_ns_o(time_ns), .turn_o(turn), .has_turn_o(has_turn), .comes_in_o(comes_in)
  );

  // Every table within the count of the largest: the VLANs, or the slots of the streams.
  localparam int unsigned INIT_CYCLES = STREAMS > 2048 ? 2 * STREAMS : 4096;
  logic        init_busy_q;
  init_index_t init_index_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      init_busy_q  <= 1'b1;
      init_index_q <= '0;
    end else if (init_busy_q) begin
      init_index_q <= init_index_q + 1'b1;
      if (init_index_q == init_index_t'(INIT_CYCLES - 1)) init_busy_q <= 1'b0;
    end
  end

  // Clocks of what can rest; their gates stand at the end.
  logic             awake, config_clk, counters_clk, gate_config_clk, extremes_clk;
  logic [PORTS-1:0] gates_clk, egress_clk;

  // Registers, and the settings of each unit.
  ingress_port_config_t [PORTS-1:0] ingress_port_config;
  ingress_config_t                  ingress_config;
  buffer_config_t                   buffer_config;
  egress_port_config_t [PORTS-1:0]  egress_port_config;
  table_write_t                     ingress_table, buffer_table, shaper_table;
  logic                             ingress_table_ready, credit_table_ready, gate_table_ready;
  logic                             gate_commit, gate_commit_ready;
  gate_admin_t                      gate_admin;
  port_mask_t                       gate_enable;
  logic [PORTS-1:0]                 receive_reset, send_reset;
  logic                             config_busy;
  logic [15:0]                      credit_errors;
  logic [2:0]                       credit_error;
  logic                             counter_request, counter_ack;
  length_t [PORTS-1:0]              sent_length;
  logic [8:0]                       counter_addr;
  logic [31:0]                      counter_data;
  logic                             clock_request, clock_write, clock_ack;
  logic [5:0]                       clock_addr;
  logic [15:0]                      clock_wdata;
  logic [79:0]                      clock_staged;
  logic [31:0]                      clock_rdata;
  logic                             status_request, status_write, status_ack;
  logic [8:0]                       status_addr;
  logic [31:0]                      status_data;

  pen_config #(
    .PORTS                  (PORTS),
    .STREAMS                (STREAMS),
    .CELLS                  (CELLS),
    .FDB_SETS               (FDB_ENTRIES / 2),
    .HOST                   (HOST),
    .PROCESSING_DELAY_MAX_NS(RX_LATENCY_NS + CYCLE_NS * VISIBLE_CYCLES)
  ) u_config (
    .clk_i(config_clk),
    .rst_i,
    .s_axil_awaddr_i,
    .s_axil_awprot_i,
    .s_axil_awvalid_i,
    .s_axil_awready_o,
    .s_axil_wdata_i,
    .s_axil_wstrb_i,
    .s_axil_wvalid_i,
    .s_axil_wready_o,
    .s_axil_bresp_o,
    .s_axil_bvalid_o,
    .s_axil_bready_i,
    .s_axil_araddr_i,
    .s_axil_arprot_i,
    .s_axil_arvalid_i,
    .s_axil_arready_o,
    .s_axil_rdata_o,
    .s_axil_rresp_o,
    .s_axil_rvalid_o,
    .s_axil_rready_i,
    .time_ns_i            (time_ns),
    .init_busy_i          (init_busy_q),
    .busy_o               (config_busy),
    .ingress_port_config_o(ingress_port_config),
    .receive_reset_o      (receive_reset),
    .ingress_config_o     (ingress_config),
    .ingress_table_o      (ingress_table),
    .ingress_table_ready_i(ingress_table_ready),
    .buffer_config_o      (buffer_config),
    .buffer_table_o       (buffer_table),
    .gate_enable_o        (gate_enable),
    .shaper_table_o       (shaper_table),
    .entry_ready_i        (gate_table_ready),
    .credit_ready_i       (credit_table_ready),
    .gate_admin_o         (gate_admin),
    .gate_commit_o        (gate_commit),
    .gate_ready_i         (gate_commit_ready),
    .credit_errors_i      (credit_errors),
    .credit_error_i       (credit_error),
    .egress_port_config_o (egress_port_config),
    .send_reset_o         (send_reset),
    .clock_request_o      (clock_request),
    .clock_write_o        (clock_write),
    .clock_addr_o         (clock_addr),
    .clock_data_o         (clock_wdata),
    .clock_staged_o       (clock_staged),
    .clock_ack_i          (clock_ack),
    .clock_data_i         (clock_rdata),
    .counter_request_o    (counter_request),
    .counter_addr_o       (counter_addr),
    .counter_ack_i        (counter_ack),
    .counter_data_i       (counter_data),
    .status_request_o     (status_request),
    .status_write_o       (status_write),
    .status_addr_o        (status_addr),
    .status_ack_i         (status_ack),
    .status_data_i        (status_data)
  );

  logic unused_buffer_table;
  assign unused_buffer_table = &{1'b0, buffer_table};

  pen_counters #(.PORTS(PORTS)) u_counters (
    .clk_i(counters_clk),
    .rst_i,
    .init_busy_i   (init_busy_q),
    .init_index_i  (init_index_q),
    .verdict_i     (verdict_o),
    .egress_event_i(egress_event_o),
    .sent_length_i (sent_length),
    .request_i     (counter_request),
    .addr_i        (counter_addr),
    .ack_o         (counter_ack),
    .data_o        (counter_data)
  );

  // Receive.
  logic     [PORTS-1:0] beat_valid, beat_ready, delimiter;
  rx_beat_t [PORTS-1:0] beat;
  host_way_t            host_way;
  ptp_time_t            ptp_time, host_stamp;
  logic                 record;
  cell_t                record_frame;
  logic                 stamp_valid, stamp_ready;
  egress_stamp_t        stamp_told;
  logic [PORTS-1:0]      sent_stamped;
  logic [PORTS-1:0][7:0] sent_tag;
  for (genvar p = 0; p < PORTS; p++) begin : gen_receive
    rx_beat_t mac_beat;
    logic     mac_valid, mac_ready, reset;

    // Long enough for the receive side's own reset to be seen here before this one ends.
    logic [2:0] reset_q;
    always_ff @(posedge clk_i) reset_q <= rst_i ? '0 : {reset_q[1:0], receive_reset[p]};
    assign reset = receive_reset[p] || reset_q != '0;

    if (WIRES[p]) begin : gen_wire
      pen_mac_rx_fifo u_mac (
        .clk_i,
        .rst_i            (rst_i || reset),
        .gmii_rx_clk_i    (gmii_rx_clk_i[p]),
        .gmii_rxd_i       (gmii_rxd_i[p]),
        .gmii_rx_dv_i     (gmii_rx_dv_i[p]),
        .gmii_rx_er_i     (gmii_rx_er_i[p]),
        .max_frame_bytes_i(ingress_port_config[p].max_frame_bytes),
        .delimiter_o      (delimiter[p]),
        .beat_o           (mac_beat),
        .valid_o          (mac_valid),
        .ready_i          (mac_ready)
      );
    end else begin : gen_host
      pen_host_rx #(.PORTS(PORTS)) u_host (
        .clk_i,
        .rst_i,
        .cut_i            (reset),
        .s_axis_tvalid_i  (s_axis_host_tvalid_i),
        .s_axis_tready_o  (s_axis_host_tready_o),
        .s_axis_tdata_i   (s_axis_host_tdata_i),
        .s_axis_tlast_i   (s_axis_host_tlast_i),
        .max_frame_bytes_i(ingress_port_config[p].max_frame_bytes),
        .way_o            (host_way),
        .beat_o           (mac_beat),
        .valid_o          (mac_valid),
        .ready_i          (mac_ready)
      );

      assign delimiter[p] = 1'b0;

      logic unused;
      assign unused = &{1'b0, gmii_rx_clk_i[p], gmii_rxd_i[p], gmii_rx_dv_i[p], gmii_rx_er_i[p]};
    end

    pen_mac_rx_cut u_cut (
      .clk_i,
      .rst_i,
      .cut_i  (reset),
      .beat_i (mac_beat),
      .valid_i(mac_valid),
      .ready_o(mac_ready),
      .beat_o (beat[p]),
      .valid_o(beat_valid[p]),
      .ready_i(beat_ready[p])
    );
  end

  if (HOST) begin : gen_stamps
    logic [PORTS-1:0] last;
    always_comb begin
      for (int unsigned p = 0; p < PORTS; p++) last[p] = beat[p].last;
    end

    pen_frame_stamps #(.PORTS(PORTS), .CELLS(CELLS)) u_stamps (
      .clk_i,
      .rst_i,
      .turn_i        (turn),
      .time_i        (ptp_time),
      .delimiter_i   (delimiter),
      .taken_i       (beat_valid & beat_ready),
      .last_i        (last),
      .record_i      (record),
      .record_frame_i(record_frame),
      .read_i        (egress_event_o[PORTS-1].sent),
      .read_frame_i  (egress_event_o[PORTS-1].frame),
      .stamp_o       (host_stamp)
    );

    pen_egress_stamps #(.PORTS(PORTS)) u_egress_stamps (
      .clk_i,
      .rst_i,
      .turn_i        (turn),
      .time_i        (ptp_time),
      .stamped_i     (sent_stamped),
      .tag_i         (sent_tag),
      .gmii_txd_i    (gmii_txd_o),
      .gmii_tx_en_i  (gmii_tx_en_o),
      .valid_o       (stamp_valid),
      .stamp_o       (stamp_told),
      .ready_i       (stamp_ready)
    );
  end else begin : gen_no_host
    assign host_stamp           = '0;
    assign host_way             = '0;
    assign stamp_valid          = 1'b0;
    assign stamp_told           = '0;
    assign s_axis_host_tready_o = 1'b0;

    logic unused;
    assign unused = &{1'b0, s_axis_host_tvalid_i, s_axis_host_tdata_i, s_axis_host_tlast_i, m_axis_host_tready_i,
                      ptp_time, record, record_frame, sent_stamped, sent_tag, stamp_ready};
  end

  // Identify, forward, shape.
  store_write_t store_write;
  label_write_t frame_label;
  parsed_byte_t [PORTS-1:0] parsed;
  logic         alloc_valid, alloc_take;
  cell_t        alloc_cell;
  classified_t  classified;
  logic         ingress_idle;
  pen_ingress #(
    .PORTS         (PORTS),
    .STREAMS       (STREAMS),
    .FDB_SETS      (FDB_ENTRIES / 2),
    .HOST          (HOST),
    .RX_LATENCY_NS (RX_LATENCY_NS),
    .VISIBLE_CYCLES(VISIBLE_CYCLES)
  ) u_ingress (
    .clk_i,
    .rst_i,
    .init_busy_i  (init_busy_q),
    .init_index_i (init_index_q),
    .turn_i       (turn),
    .has_turn_i   (comes_in),
    .time_ns_i    (time_ns),
    .config_i     (ingress_config),
    .port_config_i(ingress_port_config),
    .table_i      (ingress_table),
    .table_ready_o(ingress_table_ready),
    .delimiter_i  (delimiter),
    .beat_i       (beat),
    .awake_i      (awake),
    .beat_valid_i (beat_valid),
    .beat_ready_o (beat_ready),
    .parsed_o     (parsed),
    .way_i        (host_way),
    .record_o     (record),
    .record_frame_o(record_frame),
    .store_write_o(store_write),
    .label_o      (frame_label),
    .alloc_valid_i(alloc_valid),
    .alloc_cell_i (alloc_cell),
    .alloc_take_o (alloc_take),
    .classified_o (classified),
    .idle_o       (ingress_idle)
  );

  // PTP clock. The gates run on its time, LEAD_CYCLES ahead.
  localparam int unsigned LEAD_CYCLES = 7;  // four from selection to wire, three in pen_gates
  logic [63:0] gate_time_next, gate_time_q;
  logic        stepped_next, stepped_q, clock_idle;
  always_ff @(posedge clk_i) begin
    gate_time_q <= gate_time_next;
    stepped_q   <= stepped_next;
  end

  // What the host gives to the switch has not been received.
  parsed_byte_t [PORTS-1:0] received;
  always_comb begin
    received = parsed;
    for (int unsigned p = 0; p < PORTS; p++) if (!WIRES[p]) received[p].valid = 1'b0;
  end

  pen_clock #(.PORTS(PORTS), .LEAD_CYCLES(LEAD_CYCLES)) u_clock (
    .clk_i,
    .rst_i,
    .awake_i         (awake),
    .request_i       (clock_request),
    .write_i         (clock_write),
    .addr_i          (clock_addr),
    .data_i          (clock_wdata),
    .command_data_i  (clock_staged),
    .ack_o           (clock_ack),
    .data_o          (clock_rdata),
    .delimiter_i     (delimiter),
    .received_i      (received),
    .gmii_txd_i      (gmii_txd_o),
    .gmii_tx_en_i    (gmii_tx_en_o),
    .gmii_tx_er_i    (gmii_tx_er_o),
    .capture_i,
    .pps_o,
    .time_o          (ptp_time),
    .gate_time_next_o(gate_time_next),
    .stepped_next_o  (stepped_next),
    .idle_o          (clock_idle)
  );

  // Gate lists, and the gates of each port.
  logic        [PORTS-1:0][CLASSES-1:0] gate_open, gate_open_next;
  logic        [PORTS-1:0]              gate_guard_next, gate_running, gate_pending, gate_changed, gate_locked;
  logic        [PORTS-1:0][15:0]        gate_remaining_next_ns;
  window_t     [PORTS-1:0][CLASSES-1:0] gate_after_next_ns, largest_window_ns;
  gate_config_t                         gate_config;
  logic                                 gate_read, gate_ready, gate_busy;
  port_t                                gate_port;
  gate_status_e                         gate_which;
  logic        [63:0]                   gate_value;
  logic        [15:0]                   gate_errors;
  gate_error_e                          gate_error;

  pen_gate_config #(.PORTS(PORTS), .ENTRIES(GATE_ENTRIES)) u_gate_config (
    .clk_i(gate_config_clk),
    .rst_i,
    .gate_time_i            (gate_time_q),
    .stepped_i              (stepped_q),
    .write_i                (shaper_table.valid && shaper_table.which == TABLE_GATE_ENTRY),
    .write_index_i          (shaper_table.index),
    .write_entry_i          (shaper_table.data[41:0]),
    .write_ready_o          (gate_table_ready),
    .admin_base_seconds_i   (gate_admin.base_seconds),
    .admin_base_nanoseconds_i(gate_admin.base_nanoseconds),
    .admin_cycle_time_ns_i  (gate_admin.cycle_time_ns),
    .admin_extension_ns_i   (gate_admin.extension_ns),
    .admin_length_i         (gate_admin.entries),
    .commit_i               (gate_commit),
    .commit_port_i          (gate_admin.port),
    .commit_ready_o         (gate_commit_ready),
    .config_o               (gate_config),
    .changed_i              (gate_changed),
    .locked_i               (gate_locked),
    .busy_o                 (gate_busy),
    .running_o              (gate_running),
    .pending_o              (gate_pending),
    .status_i               (gate_read),
    .status_port_i          (gate_port),
    .status_ready_o         (gate_ready),
    .status_which_i         (gate_which),
    .status_value_o         (gate_value),
    .status_errors_o        (gate_errors),
    .status_error_o         (gate_error)
  );

  for (genvar p = 0; p < PORTS; p++) begin : gen_gates
    pen_gates #(.PORT(p), .ENTRIES(GATE_ENTRIES)) u_gates (
      .clk_i(gates_clk[p]),
      .rst_i,
      .gate_time_next_i   (gate_time_next),
      .stepped_next_i     (stepped_next),
      .config_i           (gate_config),
      .enable_i           (egress_port_config[p].gate_enable),
      .initial_states_i   (egress_port_config[p].gate_states),
      .open_o             (gate_open[p]),
      .open_next_o        (gate_open_next[p]),
      .guard_next_o       (gate_guard_next[p]),
      .remaining_next_ns_o(gate_remaining_next_ns[p]),
      .after_next_ns_o    (gate_after_next_ns[p]),
      .largest_window_ns_o(largest_window_ns[p]),
      .changed_o          (gate_changed[p]),
      .locked_o           (gate_locked[p])
    );
  end

  // Store and admit.
  store_read_t [PORTS-1:0] store_read_of;
  release_t    [PORTS-1:0] release_of;
  store_read_t             store_read;
  port_t                   store_turn;
  release_t                release_q;
  port_t                   release_turn_q;
  store_data_t             store_data, store_answer;
  enqueue_t                enqueue;
  logic                    buffer_idle;

  // The way from the ports to the store and back has a register in each direction where the first word of a frame is still
  // there in time for the wire.
  if (waits_for_words(PORTS)) begin : gen_store_at_once
    assign store_read = store_read_of[turn[PORT_W-1:0]];
    assign store_turn = turn;
    assign store_data = store_answer;
  end else begin : gen_store_later
    always_ff @(posedge clk_i) begin
      store_read <= store_read_of[turn[PORT_W-1:0]];
      store_turn <= turn;
      store_data <= store_answer;
      if (rst_i) begin
        store_read.valid <= 1'b0;
        store_data.valid <= 1'b0;
      end
    end
  end

  // A register on the way from the ports to the accounts of the store.
  always_ff @(posedge clk_i) begin
    release_q      <= release_of[turn[PORT_W-1:0]];
    release_turn_q <= turn;
    if (rst_i) release_q.valid <= 1'b0;
  end

  pen_buffer #(.PORTS(PORTS), .CELLS(CELLS), .HOST(HOST)) u_buffer (
    .clk_i,
    .rst_i,
    .init_busy_i  (init_busy_q),
    .init_index_i (init_index_q),
    .turn_i       (store_turn),
    .config_i     (buffer_config),
    .max_sdu_write_i      (buffer_table.valid),
    .max_sdu_write_port_i (buffer_table.index[5:3]),
    .max_sdu_write_class_i(buffer_table.index[2:0]),
    .max_sdu_write_bytes_i(buffer_table.data[10:0]),
    .largest_window_ns_i  (largest_window_ns),
    .store_write_i(store_write),
    .label_i      (frame_label),
    .store_read_i (store_read),
    .store_data_o (store_answer),
    .alloc_valid_o(alloc_valid),
    .alloc_cell_o (alloc_cell),
    .alloc_take_i (alloc_take),
    .classified_i (classified),
    .enqueue_o    (enqueue),
    .verdict_o,
    .release_i    (release_q),
    .release_turn_i(release_turn_q),
    .idle_o       (buffer_idle)
  );

  // Queue, select, send.
  logic [PORTS-1:0]           egress_idle, credit_write;
  logic                       status_clear;
  class_t                     status_class;
  logic [PORTS-1:0]           overruns_read, overrun;
  class_t [PORTS-1:0]         overrun_class;
  logic                       overruns_ack;
  logic [15:0]                overruns_data;
  logic [PORTS-1:0]           credit_read, credit_sample_read, credit_sample_ready;
  credit_sample_t [PORTS-1:0] credit_sample;
  logic [1:0]                 credit_which;
  logic                       credit_ack;
  logic [31:0]                credit_data;

  pen_credit_config #(.PORTS(PORTS)) u_credit_config (
    .clk_i(config_clk),
    .rst_i,
    .init_busy_i  (init_busy_q),
    .init_index_i (init_index_q),
    .gate_enable_i(gate_enable),
    .valid_i      (shaper_table.valid && shaper_table.which == TABLE_CREDIT),
    .port_i       (shaper_table.index[15:3]),
    .class_i      (shaper_table.index[2:0]),
    .enable_i     (shaper_table.data[96]),
    .idle_slope_i (shaper_table.data[47:0]),
    .ready_o      (credit_table_ready),
    .write_o      (credit_write),
    .errors_o     (credit_errors),
    .error_o      (credit_error)
  );

  // The count of cycles and the start of the tables go from each egress port on to the next, so that none hangs on a wire
  // across the device. Each knows how late the count comes; the first frame comes long after the start.
  long_cycle_t [PORTS-1:0]  late_cycle_q;
  logic [PORTS-1:0]         late_busy_q;
  init_index_t [PORTS-1:0]  late_index_q;
  always_ff @(posedge clk_i) begin
    for (int unsigned p = 0; p < PORTS; p++) begin
      late_cycle_q[p] <= p == 0 ? time_ns[32:3] : late_cycle_q[p-1];
      late_busy_q[p]  <= rst_i || (p == 0 ? init_busy_q : late_busy_q[p-1]);
      late_index_q[p] <= p == 0 ? init_index_q : late_index_q[p-1];
    end
  end

  // A register on the way of what was taken to the shapers.
  logic [PORTS-1:0] credit_write_q;
  class_t           credit_class_q;
  logic             credit_enable_q;
  logic [27:0]      credit_idle_slope_q;
  always_ff @(posedge clk_i) begin
    credit_write_q      <= rst_i ? '0 : credit_write;
    credit_class_q      <= shaper_table.index[2:0];
    credit_enable_q     <= shaper_table.data[96];
    credit_idle_slope_q <= shaper_table.data[27:0];
  end

  logic [PORTS-1:0]      host_valid, host_last, host_user, host_stamp_ready;
  logic [PORTS-1:0][7:0] host_data;
  assign stamp_ready          = host_stamp_ready[PORTS-1];
  assign m_axis_host_tvalid_o = host_valid[PORTS-1];
  assign m_axis_host_tdata_o  = host_data[PORTS-1];
  assign m_axis_host_tlast_o  = host_last[PORTS-1];
  assign m_axis_host_tuser_o  = host_user[PORTS-1];

  for (genvar p = 0; p < PORTS; p++) begin : gen_egress
    pen_egress_port #(.PORTS(PORTS), .CELLS(CELLS), .PORT(p), .HOST(!WIRES[p]), .LATE(p + 1)) u_port (
      .clk_i(egress_clk[p]),
      .rst_i,
      .port_reset_i             (send_reset[p]),
      .init_busy_i              (late_busy_q[p]),
      .init_index_i             (late_index_q[p]),
      .has_turn_i               (has_turn[p]),
      .late_cycle_i             (late_cycle_q[p]),
      .enqueue_i                (enqueue),
      .open_i                   (gate_open[p]),
      .open_next_i              (gate_open_next[p]),
      .guard_next_i             (gate_guard_next[p]),
      .remaining_next_ns_i      (gate_remaining_next_ns[p]),
      .after_next_ns_i          (gate_after_next_ns[p]),
      .gate_enable_i            (egress_port_config[p].gate_enable),
      .largest_window_ns_i      (largest_window_ns[p]),
      .credit_write_i           (credit_write_q[p]),
      .credit_write_class_i     (credit_class_q),
      .credit_write_enable_i    (credit_enable_q),
      .credit_write_idle_slope_i(credit_idle_slope_q),
      .count_gap_i              (egress_port_config[p].cbs_count_gap),
      .round_robin_i            (egress_port_config[p].round_robin),
      .status_class_i           (status_class),
      .overrun_o                (overrun[p]),
      .overrun_class_o          (overrun_class[p]),
      .credit_read_i            (credit_sample_read[p]),
      .credit_sample_o          (credit_sample[p]),
      .credit_sample_ready_i    (credit_sample_ready[p]),
      .store_read_o             (store_read_of[p]),
      .store_data_i             (store_data),
      .release_o                (release_of[p]),
      .event_o                  (egress_event_o[p]),
      .sent_length_o            (sent_length[p]),
      .gmii_txd_o               (gmii_txd_o[p]),
      .gmii_tx_en_o             (gmii_tx_en_o[p]),
      .gmii_tx_er_o             (gmii_tx_er_o[p]),
      .stamped_o                (sent_stamped[p]),
      .stamp_tag_o              (sent_tag[p]),
      .stamp_i                  (host_stamp),
      .stamp_valid_i            (!WIRES[p] && stamp_valid),
      .stamp_told_i             (stamp_told),
      .stamp_ready_o            (host_stamp_ready[p]),
      .m_axis_tvalid_o          (host_valid[p]),
      .m_axis_tready_i          (m_axis_host_tready_i),
      .m_axis_tdata_o           (host_data[p]),
      .m_axis_tlast_o           (host_last[p]),
      .m_axis_tuser_o           (host_user[p]),
      .idle_o                   (egress_idle[p])
    );
  end

  pen_credit_extremes #(.PORTS(PORTS)) u_credit_extremes (
    .clk_i(extremes_clk),
    .rst_i,
    .init_busy_i   (init_busy_q),
    .init_index_i  (init_index_q),
    .has_turn_i    (has_turn),
    .sample_read_o (credit_sample_read),
    .sample_i      (credit_sample),
    .sample_ready_o(credit_sample_ready),
    .read_i        (credit_read),
    .clear_i       (status_clear),
    .read_which_i  (credit_which),
    .ack_o         (credit_ack),
    .data_o        (credit_data)
  );

  pen_overruns #(.PORTS(PORTS)) u_overruns (
    .clk_i(extremes_clk),
    .rst_i,
    .init_busy_i (init_busy_q),
    .init_index_i(init_index_q),
    .overrun_i   (overrun),
    .class_i     (overrun_class),
    .read_i      (overruns_read),
    .clear_i     (status_clear),
    .read_class_i(status_class),
    .ack_o       (overruns_ack),
    .data_o      (overruns_data)
  );

  pen_port_status #(.PORTS(PORTS)) u_status (
    .clk_i(config_clk),
    .rst_i,
    .request_i           (status_request),
    .write_i             (status_write),
    .addr_i              (status_addr),
    .ack_o               (status_ack),
    .data_o              (status_data),
    .overruns_read_o     (overruns_read),
    .credit_read_o       (credit_read),
    .clear_o             (status_clear),
    .credit_which_o      (credit_which),
    .class_o             (status_class),
    .overruns_ack_i      (overruns_ack),
    .overruns_data_i     (overruns_data),
    .credit_ack_i        (credit_ack),
    .credit_data_i       (credit_data),
    .gate_read_o         (gate_read),
    .gate_port_o         (gate_port),
    .gate_ready_i        (gate_ready),
    .gate_which_o        (gate_which),
    .gate_value_i        (gate_value),
    .gate_errors_i       (gate_errors),
    .gate_error_i        (gate_error),
    .gate_open_i         (gate_open),
    .gate_running_i      (gate_running),
    .gate_pending_i      (gate_pending),
    .gate_busy_i         (gate_busy)
  );

`ifdef SYNTHESIS  // no clock rests
  assign awake           = 1'b1;
  assign config_clk      = clk_i;
  assign counters_clk    = clk_i;
  assign gate_config_clk = clk_i;
  assign gates_clk       = {PORTS{clk_i}};
  assign egress_clk      = {PORTS{clk_i}};
  assign extremes_clk    = clk_i;

  logic unused;
  assign unused = &{1'b0, config_busy};
`else
  // What the bus sets or asks is awake with it.
  assign awake = rst_i || init_busy_q || s_axil_awvalid_i || s_axil_wvalid_i || s_axil_arvalid_i || config_busy;
  pen_clock_gate u_config_gate (.clk_i, .active_i(awake), .clk_o(config_clk));

  // An event waits for the slots of its port, nine for each.
  logic [PORTS-1:0] has_event;
  always_comb begin
    for (int unsigned p = 0; p < PORTS; p++) has_event[p] = egress_event_o[p].sent || egress_event_o[p].expired;
  end
  pen_clock_gate #(.HOLD(9 * PORTS + 24)) u_counters_gate (
    .clk_i, .active_i(awake || verdict_o.valid || has_event != '0), .clk_o(counters_clk)
  );

  logic [PORTS-1:0] has_sample;
  always_comb begin
    for (int unsigned p = 0; p < PORTS; p++) has_sample[p] = credit_sample[p].valid;
  end
  pen_clock_gate u_extremes_gate (.clk_i, .active_i(awake || has_sample != '0 || overrun != '0), .clk_o(extremes_clk));

  // Gate lists run from their first use on.
  logic [PORTS-1:0] gates_used_q;
  always_ff @(posedge clk_i) begin
    for (int unsigned p = 0; p < PORTS; p++) begin
      if (rst_i) gates_used_q[p] <= 1'b0;
      else if (gate_enable[p] || (gate_commit && gate_admin.port == port_t'(p))) gates_used_q[p] <= 1'b1;
    end
  end
  pen_clock_gate u_gate_config_gate (.clk_i, .active_i(awake || gates_used_q != '0), .clk_o(gate_config_clk));

  // A frame is classified six to thirteen cycles before it is queued. Credit is settled soon after a port is idle.
  for (genvar p = 0; p < PORTS; p++) begin : gen_rest
    pen_clock_gate u_gates_gate (.clk_i, .active_i(awake || gates_used_q[p]), .clk_o(gates_clk[p]));
    pen_clock_gate u_egress_gate (
      .clk_i,
      .active_i(awake || gates_used_q[p] || !egress_idle[p] || (classified.valid && classified.destination[p])),
      .clk_o   (egress_clk[p])
    );
  end
`endif

`ifdef SYNTHESIS  // nothing leaps over idle time
  assign idle_o = 1'b0;
`else
  always_ff @(posedge clk_i) begin
    idle_o <= !rst_i && !init_busy_q && ingress_idle && buffer_idle && &egress_idle && beat_valid == '0 && clock_idle;
  end
`endif
endmodule
