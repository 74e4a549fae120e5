// SPDX-License-Identifier: Apache-2.0
// One port of the network card, with time-aware and credit-based shapers: split virtqueues over AXI4 on the host's side, GMII
// on the other. The card's time and its PTP clock come from outside: they are those of all ports.
//
//   host's memory ──► pen_dma_read ──► pen_virtqueue ──► pen_nic_transmit ──► pen_store ──► pen_egress_port ──► GMII
//                                      (all queues)      fetches ahead       (all ports)   queue, select, send
//                 ◄── pen_dma_write ◄── pen_used_ring ◄── chains that are done with
//                                  ▲
//                                  └── pen_nic_receive ◄── pen_receive_store ◄── pen_mac_rx_fifo ◄── GMII
//                                      fills buffers            └ pen_steering: which queue
//
// Transmit queue k of a port is its traffic class k, with the gates, credit and selection of the switch; 8 and up share the
// classes of 0 and up, frame by frame as they come from the host's memory.
module pen_nic_port
  import pen_pkg::*, pen_nic_pkg::*, pen_config_pkg::*, pen_nic_map_pkg::*;
#(
  parameter int unsigned PORTS = 1,            // of the card, and which of them this is: what registers say
  parameter int unsigned PORT = 0,
  parameter int unsigned PAIRS = 4,            // of virtqueues; 1 to 16
  parameter int unsigned SLOTS = 4,            // frames of each queue that are fetched ahead: 2, 4 or 8; not 8 with more than 8 pairs
  parameter int unsigned GATE_ENTRIES = 128,   // of a gate list; a power of two, 8 to 1024
  parameter int unsigned RECEIVE_WORDS = 2048, // of received frames that wait for the host, 8 bytes each; a power of two
  parameter bit          ATS = 1               // 0: no queue has it
) (
  input  logic                 clk_i,          // 125 MHz: core and transmit clock
  input  logic                 rst_i,
  // The card's time
  input  time_ns_t             time_ns_i,
  input  port_t                turn_i,         // of two
  input  logic                 has_turn_i,
  input  logic [63:0]          gate_time_next_i,  // in the next cycle, as the following
  input  logic                 stepped_next_i,
  // Registers of the PTP clock, which answers whoever has asked
  output config_access_t       clock_access_o, // zero but in the cycle of an access
  output logic [79:0]          clock_data_o,   // of a command; holds until it is answered
  input  logic                 clock_ack_i,
  input  logic [31:0]          clock_data_i,
  // The ATS schedulers of all ports
  output ats_request_t         ats_o,
  input  ats_answer_t          ats_i,
  output logic [7:0]           ats_overhead_bytes_o,
  output table_write_t         ats_table_o,    // of its tables, held until ats_table_ready_i
  input  logic                 ats_table_ready_i,
  // What the PTP clock stamps of the frames that come
  output logic                 delimiter_o,
  output parsed_byte_t         received_o,
  // GMII
  input  logic                 gmii_rx_clk_i,  // 125 MHz of the link partner
  input  logic [7:0]           gmii_rxd_i,
  input  logic                 gmii_rx_dv_i,
  input  logic                 gmii_rx_er_i,
  output logic [7:0]           gmii_txd_o,
  output logic                 gmii_tx_en_o,
  output logic                 gmii_tx_er_o,
  // AXI4 to the host's memory
  output logic [ADDRESS_W-1:0] m_axi_araddr_o,
  output logic [7:0]           m_axi_arlen_o,
  output logic                 m_axi_arvalid_o,
  input  logic                 m_axi_arready_i,
  input  logic [63:0]          m_axi_rdata_i,
  input  logic [1:0]           m_axi_rresp_i,
  input  logic                 m_axi_rlast_i,
  input  logic                 m_axi_rvalid_i,
  output logic                 m_axi_rready_o,
  output logic [ADDRESS_W-1:0] m_axi_awaddr_o,
  output logic [7:0]           m_axi_awlen_o,
  output logic                 m_axi_awvalid_o,
  input  logic                 m_axi_awready_i,
  output logic [63:0]          m_axi_wdata_o,
  output logic [7:0]           m_axi_wstrb_o,
  output logic                 m_axi_wlast_o,
  output logic                 m_axi_wvalid_o,
  input  logic                 m_axi_wready_i,
  input  logic [1:0]           m_axi_bresp_i,
  input  logic                 m_axi_bvalid_i,
  output logic                 m_axi_bready_o,
  output logic [31:0]          interrupt_o,    // one cycle; bit v: virtqueue v
  // AXI4-Lite, 32 bit
  input  logic [15:0]          s_axil_awaddr_i,
  input  logic [2:0]           s_axil_awprot_i,
  input  logic                 s_axil_awvalid_i,
  output logic                 s_axil_awready_o,
  input  logic [31:0]          s_axil_wdata_i,
  input  logic [3:0]           s_axil_wstrb_i,
  input  logic                 s_axil_wvalid_i,
  output logic                 s_axil_wready_o,
  output logic [1:0]           s_axil_bresp_o,
  output logic                 s_axil_bvalid_o,
  input  logic                 s_axil_bready_i,
  input  logic [15:0]          s_axil_araddr_i,
  input  logic [2:0]           s_axil_arprot_i,
  input  logic                 s_axil_arvalid_i,
  output logic                 s_axil_arready_o,
  output logic [31:0]          s_axil_rdata_o,
  output logic [1:0]           s_axil_rresp_o,
  output logic                 s_axil_rvalid_o,
  input  logic                 s_axil_rready_i,
  output logic                 idle_o,
  output egress_event_t        egress_event_o  // for observers
);
  localparam int unsigned TURNS = 2;           // the least that the timer has
  localparam int unsigned CELLS = 1 << $clog2(PAIRS * SLOTS * FRAME_CELLS);
  localparam int unsigned QUEUE_W = PAIRS > 1 ? $clog2(PAIRS) : 1;
  localparam int unsigned USED_W = $clog2(2 * PAIRS);
  localparam int unsigned LISTS = PAIRS > CLASSES ? 2 * SLOTS : SLOTS;  // of each class
  if (PAIRS < 1 || PAIRS > MAX_QUEUES / 2) $fatal(1, "pen_nic_port: PAIRS must be 1 to %0d, is %0d", MAX_QUEUES / 2, PAIRS);
  if (SLOTS < 2 || LISTS > MAX_PORTS || 1 << $clog2(SLOTS) != SLOTS)
    $fatal(1, "pen_nic_port: SLOTS must be 2, 4 or 8, and not 8 with more than 8 pairs, is %0d", SLOTS);

  localparam int unsigned INIT_CYCLES = CELLS > 1024 ? CELLS : 1024;
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

  // ---- Registers, and the chain of settings -----------------------------------------------------------------------
  localparam int unsigned NODES = 7;
  localparam int unsigned NODE_CLOCK = 0, NODE_SHAPER = 1, NODE_EGRESS_PORT = 2, NODE_STATUS = 3, NODE_RECEIVE = 4,
                          NODE_COUNTERS = 5, NODE_SLOTS = 6;
  config_word_t   [NODES:0]         chain;
  config_access_t [NODES-1:0]       node_access;
  logic           [NODES-1:0]       node_answer;
  logic           [NODES-1:0][31:0] node_data;

  logic [31:0]         notify, running, interrupt;
  queue_error_e [31:0] queue_error;
  logic                start, stop, settings_good, command_ready;
  virtqueue_t          command_queue;
  queue_settings_t     settings;
  logic [15:0]         next_available;
  window_range_t [WINDOWS-1:0] windows;
  length_t             max_frame_bytes;
  logic [MAX_QUEUES/2-1:0] launch_enable, launch_drop;
  logic [31:0]         launch_horizon_ns;
  logic [MAX_QUEUES/2-1:0] ats_enable;

  pen_nic_registers #(.PORTS(PORTS), .PORT(PORT), .PAIRS(PAIRS), .SLOTS(SLOTS), .ATS(ATS)) u_registers (
    .clk_i,
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
    .time_ns_i,
    .init_busy_i      (init_busy_q),
    .chain_o          (chain[0]),
    .chain_i          (chain[NODES]),
    .notify_o         (notify),
    .start_o          (start),
    .stop_o           (stop),
    .queue_o          (command_queue),
    .settings_o       (settings),
    .settings_good_o  (settings_good),
    .command_ready_i  (command_ready),
    .next_available_i (next_available),
    .running_i        (running),
    .error_i          (queue_error),
    .interrupt_i      (interrupt),
    .windows_o        (windows),
    .max_frame_bytes_o(max_frame_bytes),
    .launch_enable_o  (launch_enable),
    .launch_drop_o    (launch_drop),
    .launch_horizon_ns_o(launch_horizon_ns),
    .ats_enable_o     (ats_enable),
    .ats_overhead_bytes_o
  );

  for (genvar n = 0; n < NODES; n++) begin : gen_node
    pen_chain_node #(.POSITION(n), .NODES(NODES)) u_node (
      .clk_i,
      .rst_i,
      .chain_i      (chain[n]),
      .chain_o      (chain[n+1]),
      .access_o     (node_access[n]),
      .answer_i     (node_answer[n]),
      .answer_data_i(node_data[n])
    );
  end

  port_mask_t   gate_enable;
  table_write_t shaper_table;
  logic         credit_table_ready, gate_table_ready, gate_commit, gate_commit_ready;
  gate_admin_t  gate_admin;
  logic [15:0]  credit_errors;
  logic [2:0]   credit_error;
  // Each commit is answered, here or by the rules of reception.
  localparam logic [15:0] OTHER_TABLES =
      ~(16'd1 << TABLE_GATE_ENTRY | 16'd1 << TABLE_CREDIT | 16'd1 << TABLE_STEERING);
  logic of_ats, ats_written_q;                 // the schedulers are far: their answer has a register
  assign of_ats = ATS && shaper_table.which inside {TABLE_STREAM_RATE, TABLE_GROUP};
  always_comb begin
    ats_table_o       = shaper_table;
    ats_table_o.valid = shaper_table.valid && of_ats && !ats_written_q;
  end
  always_ff @(posedge clk_i) ats_written_q <= !rst_i && ats_table_o.valid && ats_table_ready_i;
  pen_shaper_settings #(.PORTS(1), .OTHERS(OTHER_TABLES)) u_shaper_settings (
    .clk_i,
    .rst_i,
    .access_i       (node_access[NODE_SHAPER]),
    .gate_enable_o  (gate_enable),
    .table_o        (shaper_table),
    .entry_ready_i  (gate_table_ready),
    .credit_ready_i (credit_table_ready),
    .other_ready_i  (ats_written_q || !of_ats),
    .gate_admin_o   (gate_admin),
    .gate_commit_o  (gate_commit),
    .gate_ready_i   (gate_commit_ready),
    .credit_errors_i(credit_errors),
    .credit_error_i (credit_error),
    .answer_o       (node_answer[NODE_SHAPER]),
    .answer_data_o  (node_data[NODE_SHAPER])
  );

  egress_port_config_t egress_settings, egress_config;
  logic                send_reset;
  pen_egress_port_settings #(.PORT(0)) u_egress_settings (
    .clk_i, .rst_i, .access_i(node_access[NODE_EGRESS_PORT]), .config_o(egress_settings), .port_reset_o(send_reset)
  );
  assign node_answer[NODE_EGRESS_PORT] = 1'b0;
  assign node_data[NODE_EGRESS_PORT]   = '0;

  // Slots keep the gates enabled, and write a gate list in place of the host.
  logic        slots_enable, slots_busy, slots_entry_valid, slots_commit;
  logic [15:0] slots_entry_index;
  logic [41:0] slots_entry;
  gate_admin_t slots_admin, list_admin;
  pen_slots #(
    .QUEUES(PAIRS > CLASSES ? CLASSES : PAIRS), .ENTRIES(GATE_ENTRIES), .PORT(0), .SLOTS_AT(32'(REG_SLOTS_OF)), .ORDER_AT(32'(REG_SLOT_ORDER))
  ) u_slots (
    .clk_i,
    .rst_i,
    .access_i         (node_access[NODE_SLOTS]),
    .answer_o         (node_answer[NODE_SLOTS]),
    .answer_data_o    (node_data[NODE_SLOTS]),
    .max_frame_bytes_i(max_frame_bytes),
    .enable_o         (slots_enable),
    .busy_o           (slots_busy),
    .entry_valid_o    (slots_entry_valid),
    .entry_index_o    (slots_entry_index),
    .entry_o          (slots_entry),
    .entry_ready_i    (gate_table_ready),
    .commit_o         (slots_commit),
    .admin_o          (slots_admin),
    .commit_ready_i   (gate_commit_ready)
  );
  assign list_admin = slots_busy ? slots_admin : gate_admin;
  always_comb begin
    egress_config = egress_settings;
    if (slots_enable) egress_config.gate_enable = 1'b1;
  end

  // ---- The PTP clock's registers -------------------------------------------------------------------------------------
  // What a command takes is staged here, so that of another port cannot get into it.
  config_access_t clock_access;
  table_write_t   clock_staged;
  logic           clock_staged_answer, clock_asked_q, clock_asks;
  assign clock_access = node_access[NODE_CLOCK];
  assign clock_asks   = (clock_access.read || clock_access.write) && clock_access.address[15:8] == REG_PTP[15:8];
  pen_table_shadow #(.TABLES('0)) u_clock_shadow (
    .clk_i, .rst_i, .access_i(clock_access), .table_o(clock_staged), .ready_i(1'b1), .answer_o(clock_staged_answer)
  );
  assign clock_access_o          = clock_asks ? clock_access : '0;
  assign clock_data_o            = clock_staged.data[79:0];
  assign node_answer[NODE_CLOCK] = clock_ack_i && clock_asked_q;
  assign node_data[NODE_CLOCK]   = clock_data_i;
  always_ff @(posedge clk_i) clock_asked_q <= !rst_i && (clock_asks || (clock_asked_q && !clock_ack_i));

  // ---- Gates and their lists -----------------------------------------------------------------------------------------
  logic [TURNS-1:0]    gate_running, gate_pending;
  logic                gate_changed, gate_locked, gate_guard_next, gate_read, gate_ready, gate_busy;
  logic [CLASSES-1:0]  gate_open, gate_open_next;
  logic [15:0]         gate_remaining_next_ns, gate_errors;
  window_t [CLASSES-1:0] gate_after_next_ns, largest_window_ns;
  gate_config_t        gate_config;
  port_t               gate_port;
  gate_status_e        gate_which;
  logic [63:0]         gate_value;
  gate_error_e         gate_error;
  logic [63:0]         gate_time_q;
  logic                stepped_q;
  always_ff @(posedge clk_i) begin
    gate_time_q <= gate_time_next_i;
    stepped_q   <= stepped_next_i;
  end

  pen_gate_config #(.PORTS(TURNS), .ENTRIES(GATE_ENTRIES)) u_gate_config (
    .clk_i,
    .rst_i,
    .gate_time_i             (gate_time_q),
    .stepped_i               (stepped_q),
    .write_i                 (slots_entry_valid || (shaper_table.valid && shaper_table.which == TABLE_GATE_ENTRY)),
    .write_index_i           (slots_busy ? slots_entry_index : shaper_table.index),
    .write_entry_i           (slots_busy ? slots_entry : shaper_table.data[41:0]),
    .write_ready_o           (gate_table_ready),
    .admin_base_seconds_i    (list_admin.base_seconds),
    .admin_base_nanoseconds_i(list_admin.base_nanoseconds),
    .admin_cycle_time_ns_i   (list_admin.cycle_time_ns),
    .admin_extension_ns_i    (list_admin.extension_ns),
    .admin_length_i          (list_admin.entries),
    .commit_i                (gate_commit || slots_commit),
    .commit_port_i           (list_admin.port),
    .commit_ready_o          (gate_commit_ready),
    .config_o                (gate_config),
    .changed_i               ({1'b0, gate_changed}),
    .locked_i                ({1'b0, gate_locked}),
    .busy_o                  (gate_busy),
    .running_o               (gate_running),
    .pending_o               (gate_pending),
    .status_i                (gate_read),
    .status_port_i           (gate_port),
    .status_ready_o          (gate_ready),
    .status_which_i          (gate_which),
    .status_value_o          (gate_value),
    .status_errors_o         (gate_errors),
    .status_error_o          (gate_error)
  );
  pen_gates #(.PORT(0), .ENTRIES(GATE_ENTRIES)) u_gates (
    .clk_i,
    .rst_i,
    .gate_time_next_i,
    .stepped_next_i,
    .config_i           (gate_config),
    .enable_i           (egress_config.gate_enable),
    .initial_states_i   (egress_config.gate_states),
    .open_o             (gate_open),
    .open_next_o        (gate_open_next),
    .guard_next_o       (gate_guard_next),
    .remaining_next_ns_o(gate_remaining_next_ns),
    .after_next_ns_o    (gate_after_next_ns),
    .largest_window_ns_o(largest_window_ns),
    .changed_o          (gate_changed),
    .locked_o           (gate_locked)
  );

  logic [TURNS-1:0] credit_write;
  pen_credit_config #(.PORTS(TURNS)) u_credit_config (
    .clk_i,
    .rst_i,
    .init_busy_i  (init_busy_q),
    .init_index_i (init_index_q),
    .gate_enable_i(gate_enable | port_mask_t'(slots_enable)),
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
  // The way to the port has a register, as in the switch.
  logic        credit_write_q, credit_enable_q;
  class_t      credit_class_q;
  logic [27:0] credit_idle_slope_q;
  always_ff @(posedge clk_i) begin
    credit_write_q      <= !rst_i && credit_write[0];
    credit_class_q      <= shaper_table.index[2:0];
    credit_enable_q     <= shaper_table.data[96];
    credit_idle_slope_q <= shaper_table.data[27:0];
  end

  // ---- Memory of the host: reads are looked up first ------------------------------------------------------------------
  logic [1:0]  window_ask, window_taken;
  page_t [1:0] window_page;
  logic        window_allowed;
  pen_dma_window u_window (
    .clk_i,
    .windows_i(windows),
    .ask_i    (window_ask),
    .page_i   (window_page),
    .taken_o  (window_taken),
    .allowed_o(window_allowed)
  );

  localparam int unsigned READ_QUEUE = 0, READ_FRAME = 1, READ_USED = 2, READ_RECEIVE = 3, READERS = 4;
  logic         [READERS-1:0] read_valid, read_ready, beat_valid;
  dma_request_t [READERS-1:0] read_request;
  dma_beat_t                  beat;
  pen_dma_read #(.CLIENTS(READERS)) u_dma_read (
    .clk_i,
    .rst_i,
    .ask_o          (window_ask[0]),
    .page_o         (window_page[0]),
    .taken_i        (window_taken[0]),
    .allowed_i      (window_allowed),
    .request_valid_i(read_valid),
    .request_ready_o(read_ready),
    .request_i      (read_request),
    .beat_valid_o   (beat_valid),
    .beat_o         (beat),
    .m_axi_araddr_o,
    .m_axi_arlen_o,
    .m_axi_arvalid_o,
    .m_axi_arready_i,
    .m_axi_rdata_i,
    .m_axi_rresp_i,
    .m_axi_rlast_i,
    .m_axi_rvalid_i,
    .m_axi_rready_o
  );

  localparam int unsigned WRITE_USED = 0, WRITE_FRAME = 1, WRITERS = 2;
  logic         [WRITERS-1:0] write_valid, write_ready, write_data_valid, write_data_ready;
  logic         [WRITERS:0]   write_settled, write_error;
  dma_request_t [WRITERS-1:0] write_request;
  logic         [WRITERS-1:0][63:0] write_data;
  pen_dma_write #(.CLIENTS(WRITERS)) u_dma_write (
    .clk_i,
    .rst_i,
    .ask_o          (window_ask[1]),
    .page_o         (window_page[1]),
    .taken_i        (window_taken[1]),
    .allowed_i      (window_allowed),
    .request_valid_i(write_valid),
    .request_ready_o(write_ready),
    .request_i      (write_request),
    .data_valid_i   (write_data_valid),
    .data_i         (write_data),
    .data_ready_o   (write_data_ready),
    .settled_o      (write_settled),
    .error_o        (write_error),
    .m_axi_awaddr_o,
    .m_axi_awlen_o,
    .m_axi_awvalid_o,
    .m_axi_awready_i,
    .m_axi_wdata_o,
    .m_axi_wstrb_o,
    .m_axi_wlast_o,
    .m_axi_wvalid_o,
    .m_axi_wready_i,
    .m_axi_bresp_i,
    .m_axi_bvalid_i,
    .m_axi_bready_o
  );

  // ---- Virtqueues ----------------------------------------------------------------------------------------------------
  logic [PAIRS-1:0]         transmit_running, transmit_fail, transmit_used_fail, transmit_notify;
  logic [PAIRS-1:0]         receive_running, receive_fail, receive_used_fail;
  queue_error_e [PAIRS-1:0] transmit_error, receive_error;
  queue_error_e             receive_fail_error;
  logic                     fetch_ready, fetch, failed, buffer_valid, buffer_ready;
  logic [PAIRS-1:0]         held;
  logic                     transmit_looked, receive_looked, undo_ready;  // nothing is being looked at
  logic [QUEUE_W-1:0]       fetch_queue, receive_queue, receive_used_queue;
  buffer_t                  fetched;
  logic [15:0]              head;
  logic                     transmit_busy, transmit_idle, receive_busy;
  used_t                    transmit_used, receive_used, used;
  logic                     transmit_used_valid, receive_used_valid, used_ready, used_idle;
  logic [2*PAIRS-1:0]       used_interrupt, used_fail;

  // A queue is started and stopped when nothing of any queue is under way in the card. What is quiet stays so while a command
  // is held, as nothing is begun then.
  logic [PAIRS-1:0] receive_held;
  logic             transmit_empty, transmit_undo_ready;  // of a direction that has none
  logic             quiet, is_queue, transmit_command_ready, receive_command_ready;
  logic             transmit_command, receive_command;  // registers, as the queue of a command comes from far
  logic [15:0]      transmit_next, receive_next;
  assign is_queue         = 32'(command_queue) < 2 * PAIRS;
  assign quiet            = !rst_i && (start || stop) && used_idle && write_settled == '1 && !transmit_busy && !receive_busy;
  always_ff @(posedge clk_i) begin
    transmit_command <= quiet && is_queue && command_queue[0];
    receive_command  <= quiet && is_queue && !command_queue[0];
  end
  assign command_ready    = !is_queue || (transmit_command && transmit_command_ready) || (receive_command && receive_command_ready);
  assign next_available   = command_queue[0] ? transmit_next : receive_next;

  pen_virtqueue #(.QUEUES(PAIRS), .RECEIVE(0)) u_transmit_queues (
    .clk_i,
    .rst_i,
    .start_i         (start && transmit_command),
    .stop_i          (stop && transmit_command),
    .command_queue_i (command_queue[QUEUE_W:1]),
    .settings_i      (settings),
    .settings_good_i (settings_good),
    .command_ready_o (transmit_command_ready),
    .next_available_o(transmit_next),
    .running_o       (transmit_running),
    .error_o         (transmit_error),
    .fail_i          (transmit_fail | transmit_used_fail),
    .fail_error_i    (QUEUE_ERROR_ACCESS),
    .notify_i        (transmit_notify),
    .idle_o          (transmit_looked),
    .held_o          (held),
    .ready_o         (fetch_ready),
    .fetch_i         (fetch),
    .fetch_queue_i   (fetch_queue),
    .empty_o         (transmit_empty),
    .failed_o        (failed),
    .valid_o         (buffer_valid),
    .buffer_o        (fetched),
    .head_o          (head),
    .ready_i         (buffer_ready),
    .undo_ready_o    (transmit_undo_ready),
    .undo_i          (1'b0),
    .undo_chains_i   ('0),
    .request_valid_o (read_valid[READ_QUEUE]),
    .request_o       (read_request[READ_QUEUE]),
    .request_ready_i (read_ready[READ_QUEUE]),
    .beat_valid_i    (beat_valid[READ_QUEUE]),
    .beat_i          (beat)
  );

  store_write_t store_write;
  enqueue_t     enqueue;
  release_t     released;
  logic         refused;
  logic         launch_late, launch_dropped, launch_beyond, residence;
  logic [QUEUE_W-1:0] sent_queue, fetched_queue;
  length_t      sent_length;                            // a cycle after the event
  pen_nic_transmit #(.QUEUES(PAIRS), .SLOTS(SLOTS), .CELLS(CELLS), .PORT(0), .ATS(ATS)) u_transmit (
    .clk_i,
    .rst_i,
    .max_frame_bytes_i(max_frame_bytes),
    .cycle_i          (time_ns_i[30:3]),
    .gate_time_i      (gate_time_q),
    .launch_enable_i  (launch_enable[PAIRS-1:0]),
    .launch_drop_i    (launch_drop[PAIRS-1:0]),
    .launch_horizon_ns_i(launch_horizon_ns),
    .event_i          (egress_event_o),
    .sent_queue_o     (sent_queue),
    .late_o           (launch_late),
    .dropped_o        (launch_dropped),
    .beyond_o         (launch_beyond),
    .fetched_queue_o  (fetched_queue),
    .ats_enable_i     (ats_enable[PAIRS-1:0]),
    .ats_o,
    .ats_i,
    .residence_o      (residence),
    .running_i        (transmit_running),
    .hold_i           (start || stop),
    .idle_o           (transmit_idle),
    .busy_o           (transmit_busy),
    .held_i           (held),
    .fetch_ready_i    (fetch_ready && !init_busy_q),
    .fetch_o          (fetch),
    .fetch_queue_o    (fetch_queue),
    .failed_i         (failed),
    .buffer_valid_i   (buffer_valid),
    .buffer_i         (fetched),
    .head_i           (head),
    .buffer_ready_o   (buffer_ready),
    .used_valid_o     (transmit_used_valid),
    .used_o           (transmit_used),
    .used_ready_i     (used_ready && !receive_used_valid),
    .fail_o           (transmit_fail),
    .read_valid_o     (read_valid[READ_FRAME]),
    .read_o           (read_request[READ_FRAME]),
    .read_ready_i     (read_ready[READ_FRAME]),
    .beat_valid_i     (beat_valid[READ_FRAME]),
    .beat_i           (beat),
    .store_o          (store_write),
    .enqueue_o        (enqueue),
    .release_i        (released),
    .refused_o        (refused)
  );

  // ---- Receive -------------------------------------------------------------------------------------------------------
  rx_beat_t         rx_beat;
  logic             rx_valid, rx_ready, parse_clear, parse_valid, decide, decided, accept;
  logic [7:0]       parse_byte;
  logic [3:0]       steered;
  steering_config_t steering;
  table_write_t     steering_table;
  logic             steering_answer, steering_table_answer;
  logic [31:0]      steering_data;
  pen_mac_rx_fifo u_mac_rx (
    .clk_i,
    .rst_i,
    .gmii_rx_clk_i,
    .gmii_rxd_i,
    .gmii_rx_dv_i,
    .gmii_rx_er_i,
    .max_frame_bytes_i(max_frame_bytes),
    .delimiter_o,
    .beat_o           (rx_beat),
    .valid_o          (rx_valid),
    .ready_i          (rx_ready)
  );
  header_t header;
  assign received_o = '{
    valid: parse_valid, last: rx_beat.last, good: rx_beat.reason == 3'(REASON_NONE), header: header
  };

  pen_receive_settings #(.PORT(0), .PORTS(1)) u_receive_settings (
    .clk_i,
    .rst_i,
    .access_i     (node_access[NODE_RECEIVE]),
    .config_o     (steering),
    .answer_o     (steering_answer),
    .answer_data_o(steering_data)
  );
  pen_table_shadow #(.TABLES(16'd1 << TABLE_STEERING)) u_steering_shadow (
    .clk_i,
    .rst_i,
    .access_i(node_access[NODE_RECEIVE]),
    .table_o (steering_table),
    .ready_i (1'b1),
    .answer_o(steering_table_answer)
  );
  assign node_answer[NODE_RECEIVE] = steering_answer || steering_table_answer;
  assign node_data[NODE_RECEIVE]   = steering_data;

  pen_steering #(.QUEUES(PAIRS)) u_steering (
    .clk_i,
    .rst_i,
    .config_i (steering),
    .table_i  (steering_table),
    .running_i(receive_running),
    .clear_i  (parse_clear),
    .valid_i  (parse_valid),
    .data_i   (parse_byte),
    .header_o (header),
    .decide_i (decide),
    .done_o   (decided),
    .accept_o (accept),
    .queue_o  (steered)
  );

  logic        frame_valid, frame_ready, frame_read, rx_bad, rx_unwanted, rx_full, rx_idle;
  logic [2:0]  rx_reason;
  logic [8:0]  frame_word;
  logic [63:0] frame_data;
  received_t   frame;
  pen_receive_store #(.WORDS(RECEIVE_WORDS)) u_receive_store (
    .clk_i,
    .rst_i,
    .beat_i       (rx_beat),
    .beat_valid_i (rx_valid),
    .beat_ready_o (rx_ready),
    .clear_o      (parse_clear),
    .byte_valid_o (parse_valid),
    .byte_o       (parse_byte),
    .decide_o     (decide),
    .decided_i    (decided),
    .accept_i     (accept),
    .queue_i      (steered),
    .frame_valid_o(frame_valid),
    .frame_o      (frame),
    .frame_ready_i(frame_ready),
    .read_i       (frame_read),
    .read_word_i  (frame_word),
    .read_data_o  (frame_data),
    .bad_o        (rx_bad),
    .reason_o     (rx_reason),
    .unwanted_o   (rx_unwanted),
    .full_o       (rx_full),
    .idle_o       (rx_idle)
  );

  logic        receive_fetch_ready, receive_fetch, receive_empty, receive_failed, receive_buffer_valid, receive_buffer_ready;
  logic        undo, received, received_ready, no_buffer;
  logic [15:0] receive_head, undo_chains;
  buffer_t     receive_buffer;
  pen_virtqueue #(.QUEUES(PAIRS), .RECEIVE(1)) u_receive_queues (
    .clk_i,
    .rst_i,
    .start_i         (start && receive_command),
    .stop_i          (stop && receive_command),
    .command_queue_i (command_queue[QUEUE_W:1]),
    .settings_i      (settings),
    .settings_good_i (settings_good),
    .command_ready_o (receive_command_ready),
    .next_available_o(receive_next),
    .running_o       (receive_running),
    .error_o         (receive_error),
    .fail_i          (receive_fail | receive_used_fail),
    .fail_error_i    (receive_fail != '0 ? receive_fail_error : QUEUE_ERROR_ACCESS),
    .notify_i        ('0),
    .idle_o          (receive_looked),
    .held_o          (receive_held),
    .ready_o         (receive_fetch_ready),
    .fetch_i         (receive_fetch),
    .fetch_queue_i   (receive_queue),
    .empty_o         (receive_empty),
    .failed_o        (receive_failed),
    .valid_o         (receive_buffer_valid),
    .buffer_o        (receive_buffer),
    .head_o          (receive_head),
    .ready_i         (receive_buffer_ready),
    .undo_ready_o    (undo_ready),
    .undo_i          (undo),
    .undo_chains_i   (undo_chains),
    .request_valid_o (read_valid[READ_RECEIVE]),
    .request_o       (read_request[READ_RECEIVE]),
    .request_ready_i (read_ready[READ_RECEIVE]),
    .beat_valid_i    (beat_valid[READ_RECEIVE]),
    .beat_i          (beat)
  );

  received_t received_frame;
  pen_nic_receive #(.QUEUES(PAIRS)) u_receive (
    .clk_i,
    .rst_i,
    .running_i      (receive_running),
    .hold_i         (start || stop),
    .busy_o         (receive_busy),
    .frame_valid_i  (frame_valid),
    .frame_i        (frame),
    .frame_ready_o  (frame_ready),
    .read_o         (frame_read),
    .read_word_o    (frame_word),
    .read_data_i    (frame_data),
    .fetch_ready_i  (receive_fetch_ready),
    .fetch_o        (receive_fetch),
    .queue_o        (receive_queue),
    .empty_i        (receive_empty),
    .failed_i       (receive_failed),
    .buffer_valid_i (receive_buffer_valid),
    .buffer_i       (receive_buffer),
    .head_i         (receive_head),
    .buffer_ready_o (receive_buffer_ready),
    .undo_ready_i   (undo_ready),
    .undo_o         (undo),
    .undo_chains_o  (undo_chains),
    .used_valid_o   (receive_used_valid),
    .used_queue_o   (receive_used_queue),
    .used_o         (receive_used),
    .used_ready_i   (used_ready),
    .fail_o         (receive_fail),
    .fail_error_o   (receive_fail_error),
    .write_valid_o  (write_valid[WRITE_FRAME]),
    .write_o        (write_request[WRITE_FRAME]),
    .write_ready_i  (write_ready[WRITE_FRAME]),
    .data_valid_o   (write_data_valid[WRITE_FRAME]),
    .data_o         (write_data[WRITE_FRAME]),
    .data_ready_i   (write_data_ready[WRITE_FRAME]),
    .settled_i      (write_settled[WRITE_FRAME+:2] & {2{received_ready}}),
    .error_i        (write_error[WRITE_FRAME+:2]),
    .received_o     (received),
    .received_frame_o(received_frame),
    .no_buffer_o    (no_buffer)
  );

  // ---- Chains that are done with -------------------------------------------------------------------------------------
  logic [2*PAIRS-1:0] failed_q;                // the host has been told
  logic [USED_W-1:0]  used_queue;
  logic               used_start_q;            // no chain is given back that soon, and what a command says stands still

  always_comb begin
    running   = '0;
    interrupt = '0;
    for (int unsigned v = 0; v < 32; v++) queue_error[v] = QUEUE_ERROR_NONE;
    for (int unsigned k = 0; k < PAIRS; k++) begin
      running[2*k]          = receive_running[k];
      running[2*k+1]        = transmit_running[k];
      queue_error[2*k]      = receive_error[k];
      queue_error[2*k+1]    = transmit_error[k];
      receive_used_fail[k]  = used_fail[2*k];
      transmit_used_fail[k] = used_fail[2*k+1];
      transmit_notify[k]    = notify[2*k+1];
    end
    for (int unsigned v = 0; v < 2 * PAIRS; v++) begin
      interrupt[v] = used_interrupt[v] || (queue_error[v] != QUEUE_ERROR_NONE && !failed_q[v]);
    end
  end
  always_ff @(posedge clk_i) begin
    for (int unsigned v = 0; v < 2 * PAIRS; v++) failed_q[v] <= queue_error[v] != QUEUE_ERROR_NONE && !rst_i;
    used_start_q <= start && is_queue && command_ready && !rst_i;
  end
  assign interrupt_o = interrupt;
  assign used        = receive_used_valid ? receive_used : transmit_used;
  assign used_queue  = receive_used_valid ? USED_W'({receive_used_queue, 1'b0}) : USED_W'({fetched_queue, 1'b1});

  pen_used_ring #(.QUEUES(2 * PAIRS)) u_used_ring (
    .clk_i,
    .rst_i,
    .start_i         (used_start_q),
    .start_queue_i   (command_queue[USED_W-1:0]),
    .start_settings_i(settings),
    .valid_i         (receive_used_valid || transmit_used_valid),
    .queue_i         (used_queue),
    .used_i          (used),
    .ready_o         (used_ready),
    .idle_o          (used_idle),
    .interrupt_o     (used_interrupt),
    .fail_o          (used_fail),
    .write_valid_o   (write_valid[WRITE_USED]),
    .write_o         (write_request[WRITE_USED]),
    .write_ready_i   (write_ready[WRITE_USED]),
    .data_valid_o    (write_data_valid[WRITE_USED]),
    .data_o          (write_data[WRITE_USED]),
    .data_ready_i    (write_data_ready[WRITE_USED]),
    .settled_i       (write_settled[WRITE_USED]),
    .error_i         (write_error[WRITE_USED]),
    .read_valid_o    (read_valid[READ_USED]),
    .read_o          (read_request[READ_USED]),
    .read_ready_i    (read_ready[READ_USED]),
    .beat_valid_i    (beat_valid[READ_USED]),
    .beat_i          (beat)
  );

  // ---- Store and port ------------------------------------------------------------------------------------------------
  store_read_t store_read;
  store_data_t store_data;
  logic        chain_ready;
  cell_t       chain_next;
  pen_store #(.CELLS(CELLS)) u_store (
    .clk_i,
    .rst_i,
    .turn_i,
    .write_i      (store_write),
    .label_i      ('0),
    .read_i       (store_read),
    .store_data_o (store_data),
    .chain_valid_i(1'b0),
    .chain_ready_o(chain_ready),
    .chain_cell_i ('0),
    .chain_next_o (chain_next)
  );

  logic             egress_idle, status_clear;
  class_t           status_class;
  logic [TURNS-1:0] overruns_read, credit_read;
  logic             overrun, overruns_ack;
  class_t           overrun_class;
  logic [15:0]      overruns_data;
  credit_sample_t   credit_sample;
  logic             credit_sample_read, credit_sample_ready, credit_ack;
  logic [1:0]       credit_which;
  logic [31:0]      credit_data;
  long_cycle_t      late_cycle_q;
  logic             stream_valid, stream_last, stream_user, stamped, stamp_ready;  // of a port that is a host's
  logic [7:0]       stamp_tag;
  logic [7:0]       stream_data;
  always_ff @(posedge clk_i) late_cycle_q <= time_ns_i[32:3];

  pen_egress_port #(.PORTS(LISTS), .CELLS(CELLS), .PORT(0), .FCS(1), .LATE(1)) u_port (
    .clk_i,
    .rst_i,
    .port_reset_i             (send_reset),
    .init_busy_i              (init_busy_q),
    .init_index_i             (init_index_q),
    .has_turn_i,
    .late_cycle_i             (late_cycle_q),
    .enqueue_i                (enqueue),
    .open_i                   (gate_open),
    .open_next_i              (gate_open_next),
    .guard_next_i             (gate_guard_next),
    .remaining_next_ns_i      (gate_remaining_next_ns),
    .after_next_ns_i          (gate_after_next_ns),
    .gate_enable_i            (egress_config.gate_enable),
    .largest_window_ns_i      (largest_window_ns),
    .credit_write_i           (credit_write_q),
    .credit_write_class_i     (credit_class_q),
    .credit_write_enable_i    (credit_enable_q),
    .credit_write_idle_slope_i(credit_idle_slope_q),
    .count_gap_i              (egress_config.cbs_count_gap),
    .round_robin_i            (egress_config.round_robin),
    .status_class_i           (status_class),
    .overrun_o                (overrun),
    .overrun_class_o          (overrun_class),
    .credit_read_i            (credit_sample_read),
    .credit_sample_o          (credit_sample),
    .credit_sample_ready_i    (credit_sample_ready),
    .store_read_o             (store_read),
    .store_data_i             (store_data),
    .release_o                (released),
    .stamped_o                (stamped),
    .stamp_tag_o              (stamp_tag),
    .stamp_i                  ('0),
    .stamp_valid_i            (1'b0),
    .stamp_told_i             ('0),
    .stamp_ready_o            (stamp_ready),
    .m_axis_tvalid_o          (stream_valid),
    .m_axis_tready_i          (1'b0),
    .m_axis_tdata_o           (stream_data),
    .m_axis_tlast_o           (stream_last),
    .m_axis_tuser_o           (stream_user),
    .event_o                  (egress_event_o),
    .sent_length_o            (sent_length),
    .gmii_txd_o,
    .gmii_tx_en_o,
    .gmii_tx_er_o,
    .idle_o                   (egress_idle)
  );

  pen_overruns #(.PORTS(1)) u_overruns (
    .clk_i,
    .rst_i,
    .init_busy_i (init_busy_q),
    .init_index_i(init_index_q),
    .overrun_i   (overrun),
    .class_i     (overrun_class),
    .read_i      (overruns_read[0]),
    .clear_i     (status_clear),
    .read_class_i(status_class),
    .ack_o       (overruns_ack),
    .data_o      (overruns_data)
  );

  pen_credit_extremes #(.PORTS(1)) u_credit_extremes (
    .clk_i,
    .rst_i,
    .init_busy_i   (init_busy_q),
    .init_index_i  (init_index_q),
    .has_turn_i    (1'b1),
    .sample_read_o (credit_sample_read),
    .sample_i      (credit_sample),
    .sample_ready_o(credit_sample_ready),
    .read_i        (credit_read[0]),
    .clear_i       (status_clear),
    .read_which_i  (credit_which),
    .ack_o         (credit_ack),
    .data_o        (credit_data)
  );

  config_access_t status_access;
  logic           status_ack;
  logic [31:0]    status_data;
  assign status_access = node_access[NODE_STATUS];
  pen_port_status #(.PORTS(TURNS)) u_status (
    .clk_i,
    .rst_i,
    .request_i     ((status_access.read || status_access.write) && status_access.address[15:11] == REG_STATUS_OF[15:11]),
    .write_i       (status_access.write),
    .addr_i        (status_access.address[10:2]),
    .ack_o         (status_ack),
    .data_o        (status_data),
    .overruns_read_o(overruns_read),
    .credit_read_o  (credit_read),
    .clear_o        (status_clear),
    .credit_which_o (credit_which),
    .class_o        (status_class),
    .overruns_ack_i (overruns_ack || overruns_read[1] || credit_read[1]),  // or of a port that there is not
    .overruns_data_i(overruns_data),
    .credit_ack_i   (credit_ack),
    .credit_data_i  (credit_data),
    .gate_read_o   (gate_read),
    .gate_port_o   (gate_port),
    .gate_ready_i  (gate_ready),
    .gate_which_o  (gate_which),
    .gate_value_i  (gate_value),
    .gate_errors_i (gate_errors),
    .gate_error_i  (gate_error),
    .gate_open_i   ({8'b0, gate_open}),
    .gate_running_i(gate_running),
    .gate_pending_i(gate_pending),
    .gate_busy_i   (gate_busy)
  );
  assign node_answer[NODE_STATUS] = status_ack;
  assign node_data[NODE_STATUS]   = status_data;

  logic       event_valid;
  nic_event_t counted_event;
  logic       sent_q, late_q;                             // in the cycle before
  logic [QUEUE_W-1:0] sent_queue_q;
  always_ff @(posedge clk_i) begin
    sent_q       <= egress_event_o.sent;
    late_q       <= launch_late;
    sent_queue_q <= sent_queue;
  end
  pen_nic_events u_events (
    .clk_i,
    .rst_i           (rst_i || init_busy_q),
    .lost_i          (rx_bad || rx_unwanted || rx_full),
    .lost_why_i      (rx_bad ? {1'b1, rx_reason} : rx_unwanted ? LOST_FILTERED : LOST_FULL),
    .no_buffer_i     (no_buffer),
    .received_ready_o(received_ready),
    .received_i      (received),
    .received_queue_i(received_frame.pair),
    .received_bytes_i(received_frame.length),
    .refused_i       (refused),
    .given_up_i      (egress_event_o.expired),
    .sent_i          (sent_q),
    .sent_queue_i    (4'(sent_queue_q)),
    .sent_bytes_i    (sent_length),
    .late_i          (late_q),
    .dropped_i       (launch_dropped),
    .beyond_i        (launch_beyond),
    .residence_i     (residence),
    .fetched_queue_i (4'(fetched_queue)),
    .valid_o         (event_valid),
    .event_o         (counted_event)
  );
  pen_nic_counters u_counters (
    .clk_i,
    .rst_i,
    .init_busy_i     (init_busy_q),
    .init_index_i    (init_index_q),
    .event_valid_i   (event_valid),
    .event_i         (counted_event),
    .access_i        (node_access[NODE_COUNTERS]),
    .answer_o        (node_answer[NODE_COUNTERS]),
    .answer_data_o   (node_data[NODE_COUNTERS])
  );

  always_ff @(posedge clk_i)
    idle_o <= !rst_i && !init_busy_q && transmit_looked && receive_looked && transmit_idle && used_idle && egress_idle
              && write_settled == '1 && !receive_busy && rx_idle;

  logic unused;
  assign unused = &{1'b0, clock_staged, clock_staged_answer, clock_access, status_access, chain_ready, chain_next,
                    credit_write[1], notify, running, released, node_access, launch_enable, launch_drop, ats_enable, stream_valid, stream_last,
                    stream_user, stamped, stamp_tag, stamp_ready, receive_held, transmit_empty, transmit_undo_ready,
                    stream_data};
endmodule
