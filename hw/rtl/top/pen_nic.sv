// SPDX-License-Identifier: Apache-2.0
// Network card with time-aware and credit-based shapers: split virtqueues over AXI4 on the host's side, GMII on the other.
//
//   host's memory ◄─► pen_dma_read ──► pen_virtqueue ──► pen_nic_transmit ──► pen_store ──► pen_egress_port ──► GMII
//                                       (all queues)     fetches ahead        (all ports)   queue, select, send
//                 ◄── pen_dma_write ◄── pen_used_ring ◄── what has been fetched
//
// Transmit queue k of a port is its traffic class k, with the gates, credit and selection of the switch.
module pen_nic
  import pen_pkg::*, pen_nic_pkg::*, pen_config_pkg::*, pen_nic_map_pkg::*;
#(
  parameter int unsigned PAIRS = 4,            // of virtqueues; 1 to 8
  parameter int unsigned SLOTS = 4,            // frames of each queue that are fetched ahead: 2, 4 or 8
  parameter int unsigned GATE_ENTRIES = 128    // of a gate list; a power of two, 8 to 1024
) (
  input  logic                 clk_i,          // 125 MHz: core and transmit clock
  input  logic                 rst_i,
  // GMII
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
  output logic                 pps_o,
  output logic                 idle_o,
  output time_ns_t             time_ns_o,
  output egress_event_t        egress_event_o  // for observers
);
  localparam int unsigned TURNS = 2;           // the least that the timer has
  localparam int unsigned SLOT_CELLS = 16;
  localparam int unsigned CELLS = 1 << $clog2(PAIRS * SLOTS * SLOT_CELLS);
  localparam int unsigned QUEUE_W = PAIRS > 1 ? $clog2(PAIRS) : 1;
  localparam int unsigned USED_W = $clog2(2 * PAIRS);
  if (PAIRS < 1 || PAIRS > CLASSES) $fatal(1, "pen_nic: PAIRS must be 1 to %0d, is %0d", CLASSES, PAIRS);
  if (SLOTS < 2 || SLOTS > MAX_PORTS || 1 << $clog2(SLOTS) != SLOTS)
    $fatal(1, "pen_nic: SLOTS must be 2, 4 or 8, is %0d", SLOTS);

  time_ns_t time_ns;
  port_t    turn;
  assign time_ns_o = time_ns;
  pen_timer #(.PORTS(TURNS)) u_timer (.clk_i, .rst_i, .time_ns_o(time_ns), .turn_o(turn));

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
  localparam int unsigned NODES = 4;
  localparam int unsigned NODE_CLOCK = 0, NODE_SHAPER = 1, NODE_EGRESS_PORT = 2, NODE_STATUS = 3;
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

  pen_nic_registers #(.PORTS(1), .PAIRS(PAIRS), .SLOTS(SLOTS)) u_registers (
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
    .time_ns_i        (time_ns),
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
    .max_frame_bytes_o(max_frame_bytes)
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
  pen_shaper_settings #(.PORTS(1)) u_shaper_settings (
    .clk_i,
    .rst_i,
    .access_i       (node_access[NODE_SHAPER]),
    .gate_enable_o  (gate_enable),
    .table_o        (shaper_table),
    .entry_ready_i  (gate_table_ready),
    .credit_ready_i (credit_table_ready),
    .gate_admin_o   (gate_admin),
    .gate_commit_o  (gate_commit),
    .gate_ready_i   (gate_commit_ready),
    .credit_errors_i(credit_errors),
    .credit_error_i (credit_error),
    .answer_o       (node_answer[NODE_SHAPER]),
    .answer_data_o  (node_data[NODE_SHAPER])
  );

  egress_port_config_t egress_config;
  logic                send_reset;
  pen_egress_port_settings #(.PORT(0)) u_egress_settings (
    .clk_i, .rst_i, .access_i(node_access[NODE_EGRESS_PORT]), .config_o(egress_config), .port_reset_o(send_reset)
  );
  assign node_answer[NODE_EGRESS_PORT] = 1'b0;
  assign node_data[NODE_EGRESS_PORT]   = '0;

  // ---- PTP clock, gates and their lists ------------------------------------------------------------------------------
  localparam int unsigned LEAD_CYCLES = 7;     // four from selection to wire, three in pen_gates
  config_access_t clock_access;
  table_write_t   clock_staged;
  logic           clock_staged_answer, stepped, clock_idle, clock_ack;
  logic [31:0]    clock_rdata;
  logic [63:0]    gate_time;
  ptp_time_t      clock_time;
  assign clock_access = node_access[NODE_CLOCK];
  pen_table_shadow #(.TABLES('0)) u_clock_shadow (
    .clk_i, .rst_i, .access_i(clock_access), .table_o(clock_staged), .ready_i(1'b1), .answer_o(clock_staged_answer)
  );
  pen_clock #(.PORTS(TURNS), .LEAD_CYCLES(LEAD_CYCLES)) u_clock (
    .clk_i,
    .rst_i,
    .awake_i       (1'b1),
    .request_i     ((clock_access.read || clock_access.write) && clock_access.address[15:8] == REG_PTP[15:8]),
    .write_i       (clock_access.write),
    .addr_i        (clock_access.address[7:2]),
    .data_i        (clock_access.data[4:0]),
    .command_data_i(clock_staged.data[79:0]),
    .ack_o         (clock_ack),
    .data_o        (clock_rdata),
    .delimiter_i   ('0),
    .beat_i        ('0),
    .beat_valid_i  ('0),
    .gmii_txd_i    ({8'b0, gmii_txd_o}),
    .gmii_tx_en_i  ({1'b0, gmii_tx_en_o}),
    .gmii_tx_er_i  ({1'b0, gmii_tx_er_o}),
    .capture_i     (1'b0),
    .pps_o,
    .time_o        (clock_time),
    .gate_time_o   (gate_time),
    .stepped_o     (stepped),
    .idle_o        (clock_idle)
  );
  assign node_answer[NODE_CLOCK] = clock_ack;
  assign node_data[NODE_CLOCK]   = clock_rdata;

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
  pen_gate_config #(.PORTS(TURNS), .ENTRIES(GATE_ENTRIES)) u_gate_config (
    .clk_i,
    .rst_i,
    .gate_time_i             (gate_time),
    .stepped_i               (stepped),
    .write_i                 (shaper_table.valid && shaper_table.which == TABLE_GATE_ENTRY),
    .write_index_i           (shaper_table.index),
    .write_entry_i           (shaper_table.data[41:0]),
    .write_ready_o           (gate_table_ready),
    .admin_base_seconds_i    (gate_admin.base_seconds),
    .admin_base_nanoseconds_i(gate_admin.base_nanoseconds),
    .admin_cycle_time_ns_i   (gate_admin.cycle_time_ns),
    .admin_extension_ns_i    (gate_admin.extension_ns),
    .admin_length_i          (gate_admin.entries),
    .commit_i                (gate_commit),
    .commit_port_i           (gate_admin.port),
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
    .gate_time_i        (gate_time),
    .stepped_i          (stepped),
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

  // ---- Memory of the host --------------------------------------------------------------------------------------------
  localparam int unsigned READ_QUEUE = 0, READ_FRAME = 1, READ_USED = 2, READERS = 3;
  logic         [READERS-1:0] read_valid, read_ready, beat_valid;
  dma_request_t [READERS-1:0] read_request;
  dma_beat_t                  beat;
  pen_dma_read #(.CLIENTS(READERS)) u_dma_read (
    .clk_i,
    .rst_i,
    .windows_i      (windows),
    .request_valid_i(read_valid),
    .request_ready_o(read_ready),
    .request_i      (read_request),
    .beat_valid_o   (beat_valid),
    .beat_o         (beat),
    .beat_ready_i   ('1),
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

  logic         write_valid, write_ready, write_data_valid, write_data_ready, write_settled, write_error;
  dma_request_t write_request;
  logic [63:0]  write_data;
  pen_dma_write #(.CLIENTS(1)) u_dma_write (
    .clk_i,
    .rst_i,
    .windows_i      (windows),
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
  logic [PAIRS-1:0]         transmit_running, transmit_fail, memory_fail, transmit_notify;
  queue_error_e [PAIRS-1:0] transmit_error;
  logic                     transmit_command, fetch_ready, fetch, empty, failed, buffer_valid, buffer_ready;
  logic [QUEUE_W-1:0]       fetch_queue;
  buffer_t                  fetched;
  logic [15:0]              head, used_head;
  logic                     used_valid, used_ready, used_idle, engine_command_ready, transmit_busy, transmit_idle;
  logic [2*PAIRS-1:0]       used_interrupt, used_fail;

  // A queue is started and stopped when nothing of any queue is under way in the card.
  assign transmit_command = command_queue[0] && 32'(command_queue) < 2 * PAIRS && used_idle && write_settled && !transmit_busy;
  assign command_ready    = transmit_command ? engine_command_ready
                                             : !command_queue[0] || 32'(command_queue) >= 2 * PAIRS;

  pen_virtqueue #(.QUEUES(PAIRS), .RECEIVE(0)) u_transmit_queues (
    .clk_i,
    .rst_i,
    .start_i         (start && transmit_command),
    .stop_i          (stop && transmit_command),
    .command_queue_i (command_queue[QUEUE_W:1]),
    .settings_i      (settings),
    .settings_good_i (settings_good),
    .command_ready_o (engine_command_ready),
    .next_available_o(next_available),
    .running_o       (transmit_running),
    .error_o         (transmit_error),
    .fail_i          (transmit_fail | memory_fail),
    .fail_error_i    (QUEUE_ERROR_ACCESS),
    .ready_o         (fetch_ready),
    .fetch_i         (fetch),
    .fetch_queue_i   (fetch_queue),
    .empty_o         (empty),
    .failed_o        (failed),
    .valid_o         (buffer_valid),
    .buffer_o        (fetched),
    .head_o          (head),
    .ready_i         (buffer_ready),
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
  pen_nic_transmit #(.QUEUES(PAIRS), .SLOTS(SLOTS), .CELLS(CELLS), .PORT(0)) u_transmit (
    .clk_i,
    .rst_i,
    .max_frame_bytes_i(max_frame_bytes),
    .cycle_i          (time_ns[30:3]),
    .notify_i         (transmit_notify),
    .running_i        (transmit_running),
    .hold_i           (start || stop),
    .idle_o           (transmit_idle),
    .busy_o           (transmit_busy),
    .fetch_ready_i    (fetch_ready && !init_busy_q),
    .fetch_o          (fetch),
    .fetch_queue_o    (fetch_queue),
    .empty_i          (empty),
    .failed_i         (failed),
    .buffer_valid_i   (buffer_valid),
    .buffer_i         (fetched),
    .head_i           (head),
    .buffer_ready_o   (buffer_ready),
    .used_valid_o     (used_valid),
    .used_head_o      (used_head),
    .used_ready_i     (used_ready),
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

  logic [QUEUE_W-1:0] fetch_queue_q;
  always_ff @(posedge clk_i) if (fetch) fetch_queue_q <= fetch_queue;

  logic [2*PAIRS-1:0] used_running;
  logic [PAIRS-1:0]   failed_q;                // the host has been told
  always_comb begin
    running     = '0;
    interrupt   = '0;
    for (int unsigned v = 0; v < 32; v++) queue_error[v] = QUEUE_ERROR_NONE;
    for (int unsigned k = 0; k < PAIRS; k++) begin
      running[2*k+1]      = transmit_running[k];
      queue_error[2*k+1]  = transmit_error[k];
      used_running[2*k]   = 1'b0;
      used_running[2*k+1] = transmit_running[k];
      memory_fail[k]      = used_fail[2*k+1];
      transmit_notify[k]  = notify[2*k+1];
      interrupt[2*k+1]    = used_interrupt[2*k+1] || (transmit_error[k] != QUEUE_ERROR_NONE && !failed_q[k]);
    end
  end
  always_ff @(posedge clk_i) begin
    for (int unsigned k = 0; k < PAIRS; k++) failed_q[k] <= transmit_error[k] != QUEUE_ERROR_NONE && !rst_i;
  end
  assign interrupt_o = interrupt;

  pen_used_ring #(.QUEUES(2 * PAIRS)) u_used_ring (
    .clk_i,
    .rst_i,
    .start_i         (start && transmit_command && engine_command_ready),
    .start_queue_i   (command_queue[USED_W-1:0]),
    .start_settings_i(settings),
    .valid_i         (used_valid),
    .queue_i         (USED_W'({fetch_queue_q, 1'b1})),
    .head_i          (used_head),
    .bytes_i         ('0),
    .ready_o         (used_ready),
    .running_i       (used_running),
    .idle_o          (used_idle),
    .interrupt_o     (used_interrupt),
    .fail_o          (used_fail),
    .write_valid_o   (write_valid),
    .write_o         (write_request),
    .write_ready_i   (write_ready),
    .data_valid_o    (write_data_valid),
    .data_o          (write_data),
    .data_ready_i    (write_data_ready),
    .settled_i       (write_settled),
    .error_i         (write_error),
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
    .turn_i       (turn),
    .write_i      (store_write),
    .read_i       (store_read),
    .store_data_o (store_data),
    .chain_valid_i(1'b0),
    .chain_ready_o(chain_ready),
    .chain_cell_i ('0),
    .chain_next_o (chain_next)
  );

  logic             egress_idle, port_clear;
  logic [TURNS-1:0] port_read, port_ack;
  logic [1:0]       port_which;
  class_t           port_class;
  logic [TURNS-1:0][31:0] port_data;
  cycle_t           late_cycle_q;
  logic             stream_valid, stream_last, stream_user;  // of a port that is a host's
  logic [7:0]       stream_data;
  always_ff @(posedge clk_i) late_cycle_q <= time_ns[30:3];
  assign port_ack[1]  = port_read[1];
  assign port_data[1] = '0;

  pen_egress_port #(.PORTS(SLOTS), .CELLS(CELLS), .PORT(0), .LATE(1)) u_port (
    .clk_i,
    .rst_i,
    .port_reset_i             (send_reset),
    .init_busy_i              (init_busy_q),
    .init_index_i             (init_index_q),
    .turn_i                   (turn),
    .late_cycle_i             (late_cycle_q),
    .enqueue_i                (enqueue),
    .open_i                   (gate_open),
    .open_next_i              (gate_open_next),
    .guard_next_i             (gate_guard_next),
    .remaining_next_ns_i      (gate_remaining_next_ns),
    .after_next_ns_i          (gate_after_next_ns),
    .gate_enable_i            (egress_config.gate_enable),
    .largest_window_ns_i      (largest_window_ns),
    .credit_write_i           (credit_write[0]),
    .credit_write_class_i     (shaper_table.index[2:0]),
    .credit_write_enable_i    (shaper_table.data[96]),
    .credit_write_idle_slope_i(shaper_table.data[27:0]),
    .count_gap_i              (egress_config.cbs_count_gap),
    .round_robin_i            (egress_config.round_robin),
    .status_read_i            (port_read[0]),
    .status_clear_i           (port_clear),
    .status_which_i           (port_which),
    .status_class_i           (port_class),
    .status_ack_o             (port_ack[0]),
    .status_data_o            (port_data[0]),
    .store_read_o             (store_read),
    .store_data_i             (store_data),
    .release_o                (released),
    .stamp_i                  ('0),
    .m_axis_tvalid_o          (stream_valid),
    .m_axis_tready_i          (1'b0),
    .m_axis_tdata_o           (stream_data),
    .m_axis_tlast_o           (stream_last),
    .m_axis_tuser_o           (stream_user),
    .event_o                  (egress_event_o),
    .gmii_txd_o,
    .gmii_tx_en_o,
    .gmii_tx_er_o,
    .idle_o                   (egress_idle)
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
    .read_o        (port_read),
    .clear_o       (port_clear),
    .which_o       (port_which),
    .class_o       (port_class),
    .ack_i         (port_ack),
    .data_i        (port_data),
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

  always_ff @(posedge clk_i)
    idle_o <= !rst_i && !init_busy_q && transmit_idle && used_idle && egress_idle && clock_idle && write_settled;

  logic unused;
  assign unused = &{1'b0, refused, clock_staged, clock_staged_answer, clock_access, status_access, chain_ready, chain_next,
                    credit_write[1], notify, running, released, node_access, clock_time, stream_valid, stream_last, stream_user,
                    stream_data};
endmodule
