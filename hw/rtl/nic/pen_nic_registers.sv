// SPDX-License-Identifier: Apache-2.0
// AXI4-Lite to the registers of the network card, and to the chain of settings that it shares with the switch.
//
// One access at a time (pen_config_access). What the virtqueues are told and asked is answered by themselves.
module pen_nic_registers
  import pen_pkg::*, pen_nic_pkg::*, pen_config_pkg::*, pen_nic_map_pkg::*;
#(
  parameter int unsigned PORTS = 1,  // of the card, and which of them this is
  parameter int unsigned PORT = 0,
  parameter int unsigned PAIRS = 4,
  parameter int unsigned SLOTS = 4,
  parameter bit          ATS = 1
) (
  input  logic            clk_i,
  input  logic            rst_i,
  input  logic [15:0]     s_axil_awaddr_i,
  input  logic [2:0]      s_axil_awprot_i,
  input  logic            s_axil_awvalid_i,
  output logic            s_axil_awready_o,
  input  logic [31:0]     s_axil_wdata_i,
  input  logic [3:0]      s_axil_wstrb_i,
  input  logic            s_axil_wvalid_i,
  output logic            s_axil_wready_o,
  output logic [1:0]      s_axil_bresp_o,
  output logic            s_axil_bvalid_o,
  input  logic            s_axil_bready_i,
  input  logic [15:0]     s_axil_araddr_i,
  input  logic [2:0]      s_axil_arprot_i,
  input  logic            s_axil_arvalid_i,
  output logic            s_axil_arready_o,
  output logic [31:0]     s_axil_rdata_o,
  output logic [1:0]      s_axil_rresp_o,
  output logic            s_axil_rvalid_o,
  input  logic            s_axil_rready_i,
  input  time_ns_t        time_ns_i,
  input  logic            init_busy_i,        // tables are being cleared: writes wait
  output config_word_t    chain_o,
  input  config_word_t    chain_i,            // from the last node
  // Virtqueues
  output logic [31:0]     notify_o,           // one cycle
  output logic            start_o,            // held until command_ready_i, as stop_o
  output logic            stop_o,
  output virtqueue_t      queue_o,            // of start_o and stop_o, and whose state is asked
  output queue_settings_t settings_o,
  output logic            settings_good_o,
  input  logic            command_ready_i,
  input  logic [15:0]     next_available_i,   // with command_ready_i
  input  logic [31:0]     running_i,
  input  queue_error_e [31:0] error_i,
  input  logic [31:0]     interrupt_i,        // one cycle
  output window_range_t [WINDOWS-1:0] windows_o,
  output length_t         max_frame_bytes_o,
  output logic [MAX_QUEUES/2-1:0] launch_enable_o,
  output logic [MAX_QUEUES/2-1:0] launch_drop_o,
  output logic [31:0]     launch_horizon_ns_o,
  output logic [MAX_QUEUES/2-1:0] ats_enable_o,
  output logic [7:0]      ats_overhead_bytes_o
);
  pen_nic_regs_pkg::pen_nic__in_t  hwif_in;
  pen_nic_regs_pkg::pen_nic__out_t hwif_out;

  // ---- One access at a time -----------------------------------------------------------------------------------------
  logic        request, write, stall_write, stall_read, read_ack, read_error, write_ack, write_error;
  logic [15:0] address;
  logic [31:0] write_data, read_data;
  logic        of_unit, of_queues, queue_write, staged, setting, answered, walks, access_busy;

  // The settings that go on the chain after reset.
  localparam logic [15:0] WALK_FIRST = REG_ADMIN_BASE_TIME_SECONDS_LOW;
  localparam logic [15:0] WALK_END = REG_ROUND_ROBIN + 16'(4 * MAX_PORTS);
  logic [15:0] walk_address;
  logic        walk_skips;
  assign walk_skips = walk_address inside {REG_GATE_COMMIT, REG_CREDIT_ERRORS}
                      || !(walk_address inside {[WALK_FIRST:REG_GATE_COMMIT - 16'd1], [REG_ADMIN_GATE_STATES:REG_CBS_COUNT_GAP],
                                                [REG_ROUND_ROBIN:WALK_END - 16'd1]});

  assign staged  = address[15:4] == REG_TABLE_DATA[15:4] || address == REG_TABLE_INDEX
                   || (address >= REG_ADMIN_BASE_TIME_SECONDS_LOW && address <= REG_ADMIN_CONTROL_LIST_LENGTH);
  assign setting = address == REG_PORT_RESET || address >= REG_TABLE_DATA;

  pen_config_access #(.WALK_FIRST(WALK_FIRST), .WALK_END(WALK_END)) u_access (
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
    .init_busy_i,
    .busy_o        (access_busy),
    .request_o     (request),
    .write_o       (write),
    .address_o     (address),
    .data_o        (write_data),
    .stall_write_i (stall_write),
    .stall_read_i  (stall_read),
    .write_ack_i   (write_ack),
    .write_error_i (write_error),
    .read_ack_i    (read_ack),
    .read_error_i  (read_error),
    .read_data_i   (read_data),
    .setting_i     (setting),
    .staged_i      (staged),
    .of_unit_i     (of_unit),
    .aside_i       (of_queues),
    .aside_o       (queue_write),
    .aside_done_i  (hwif_in.queue_command.wr_ack),
    .answered_o    (answered),
    .walks_o       (walks),
    .walk_address_o(walk_address),
    .walk_skips_i  (walk_skips),
    .walk_next_i   (walk_address + 16'd4),
    .chain_o,
    .chain_i
  );

  // ---- Units on the chain -------------------------------------------------------------------------------------------
  assign of_unit = hwif_out.ptp.req || hwif_out.status_of.req || hwif_out.credit_errors.req || hwif_out.receive.req
                   || hwif_out.counters.req || hwif_out.slots_of.req || hwif_out.slot_order.req;
  assign hwif_in.table_commit.wr_ack   = answered && address == REG_TABLE_COMMIT;
  assign hwif_in.gate_commit.wr_ack    = answered && address == REG_GATE_COMMIT;
  logic of_ptp, of_status, of_receive, of_counters, of_slots, of_order;
  assign of_ptp      = address[15:8] == REG_PTP[15:8];
  assign of_status   = address[15:12] == REG_STATUS_OF[15:12];
  assign of_receive  = address[15:7] == REG_RECEIVE[15:7];
  assign of_counters = address[15:12] == REG_COUNTERS[15:12];
  assign of_slots    = address[15:8] == REG_SLOTS_OF[15:8];
  assign of_order    = address[15:7] == REG_SLOT_ORDER[15:7];
  assign hwif_in.ptp.wr_ack            = answered && write && of_ptp;
  assign hwif_in.status_of.wr_ack      = answered && write && of_status;
  assign hwif_in.receive.wr_ack        = answered && write && of_receive;
  assign hwif_in.counters.wr_ack       = answered && write && of_counters;
  assign hwif_in.slots_of.wr_ack       = answered && write && of_slots;
  assign hwif_in.slot_order.wr_ack     = answered && write && of_order;
  assign hwif_in.slots_of.rd_ack       = answered && !write && of_slots;
  assign hwif_in.slot_order.rd_ack     = answered && !write && of_order;
  assign hwif_in.slots_of.rd_data      = chain_i.data;
  assign hwif_in.slot_order.rd_data    = chain_i.data;
  assign hwif_in.ptp.rd_ack            = answered && !write && of_ptp;
  assign hwif_in.status_of.rd_ack      = answered && !write && of_status;
  assign hwif_in.receive.rd_ack        = answered && !write && of_receive;
  assign hwif_in.counters.rd_ack       = answered && !write && of_counters;
  assign hwif_in.credit_errors.rd_ack  = answered && !write && address == REG_CREDIT_ERRORS;
  assign hwif_in.ptp.rd_data           = chain_i.data;
  assign hwif_in.status_of.rd_data     = chain_i.data;
  assign hwif_in.receive.rd_data       = chain_i.data;
  assign hwif_in.counters.rd_data      = chain_i.data;
  assign hwif_in.credit_errors.rd_data = chain_i.data;

  // ---- Virtqueues ---------------------------------------------------------------------------------------------------
  logic [31:0] interrupts_q, errors;
  logic [15:0] stopped_at_q;
  logic        commanded_q;

  assign of_queues   = address == REG_QUEUE_COMMAND;
  assign queue_o     = hwif_out.queue_select.value.value;
  assign start_o     = queue_write && write_data[0] && !commanded_q;
  assign stop_o      = queue_write && !write_data[0] && !commanded_q;

  assign hwif_in.queue_command.wr_ack = queue_write && commanded_q;
  assign hwif_in.notify.wr_ack        = hwif_out.notify.req;
  assign hwif_in.interrupts.wr_ack    = hwif_out.interrupts.req && hwif_out.interrupts.req_is_wr;
  assign hwif_in.interrupts.rd_ack    = hwif_out.interrupts.req && !hwif_out.interrupts.req_is_wr;
  assign hwif_in.errors.rd_ack        = hwif_out.errors.req && !hwif_out.errors.req_is_wr;
  assign hwif_in.queue_state.rd_ack   = hwif_out.queue_state.req && !hwif_out.queue_state.req_is_wr;
  assign hwif_in.interrupts.rd_data.mask = interrupts_q;
  assign hwif_in.errors.rd_data.mask     = errors;
  assign hwif_in.queue_state.rd_data = '{
    _reserved_31_24: '0, error: error_i[queue_o], _reserved_19_17: '0, running: running_i[queue_o], available: stopped_at_q
  };

  always_comb begin
    notify_o = '0;
    if (hwif_out.notify.req && hwif_out.notify.req_is_wr) notify_o[hwif_out.notify.wr_data.virtqueue] = 1'b1;
    if (queue_write && commanded_q && write_data[0]) notify_o[queue_o] = 1'b1;  // it runs since this cycle
    for (int unsigned v = 0; v < 32; v++) errors[v] = error_i[v] != QUEUE_ERROR_NONE;
  end

  always_ff @(posedge clk_i) begin
    commanded_q <= queue_write && (commanded_q || command_ready_i);
    if (queue_write && command_ready_i && !commanded_q) stopped_at_q <= next_available_i;
    interrupts_q <= interrupts_q | interrupt_i;
    if (hwif_in.interrupts.wr_ack) interrupts_q <= (interrupts_q & ~hwif_out.interrupts.wr_data.mask) | interrupt_i;
    if (rst_i) begin
      commanded_q  <= 1'b0;
      interrupts_q <= '0;
      stopped_at_q <= '0;
    end
  end

  logic [15:0] size;
  logic [3:0]  size_log2;
  assign size = hwif_out.queue_size.value.value;
  always_comb begin
    size_log2 = '0;
    for (int unsigned n = 1; n < 16; n++) if (size[n]) size_log2 = 4'(n);
    settings_o = '{
      descriptors: {hwif_out.queue_descriptors[1].value.value[15:0], hwif_out.queue_descriptors[0].value.value},
      driver: {hwif_out.queue_driver[1].value.value[15:0], hwif_out.queue_driver[0].value.value},
      device: {hwif_out.queue_device[1].value.value[15:0], hwif_out.queue_device[0].value.value},
      size_log2: size_log2,
      next_available: hwif_out.queue_index.available.value,
      next_used: hwif_out.queue_index.used.value
    };
    settings_good_o = size == 16'd1 << size_log2 && size_log2 != '0 && hwif_out.queue_descriptors[0].value.value[3:0] == '0
                      && !hwif_out.queue_driver[0].value.value[0] && hwif_out.queue_device[0].value.value[1:0] == '0
                      && hwif_out.queue_descriptors[1].value.value[31:16] == '0
                      && hwif_out.queue_driver[1].value.value[31:16] == '0
                      && hwif_out.queue_device[1].value.value[31:16] == '0;
    for (int unsigned w = 0; w < WINDOWS; w++)
      windows_o[w] = '{last: hwif_out.window_last[w].page.value, first: hwif_out.window_first[w].page.value};
    max_frame_bytes_o = hwif_out.max_frame.bytes.value;
    if (hwif_out.max_frame.bytes.value > 11'd2000) max_frame_bytes_o = 11'd2000;
    if (hwif_out.max_frame.bytes.value < 11'd64) max_frame_bytes_o = 11'd64;
  end
  assign launch_enable_o     = hwif_out.launch_enable.mask.value;
  assign launch_drop_o       = hwif_out.launch_drop.mask.value;
  assign launch_horizon_ns_o = hwif_out.launch_horizon.ns.value;
  assign ats_enable_o         = hwif_out.ats_queues.mask.value;
  assign ats_overhead_bytes_o = hwif_out.ats_overhead.bytes.value;

  pen_nic_regs u_regs (
    .clk                 (clk_i),
    .rst                 (rst_i),
    .s_cpuif_req         (request),
    .s_cpuif_req_is_wr   (write),
    .s_cpuif_addr        (address),
    .s_cpuif_wr_data     (write_data),
    .s_cpuif_wr_biten    ('1),           // byte strobes count for nothing: see the RDL
    .s_cpuif_req_stall_wr(stall_write),
    .s_cpuif_req_stall_rd(stall_read),
    .s_cpuif_rd_ack      (read_ack),
    .s_cpuif_rd_err      (read_error),
    .s_cpuif_rd_data     (read_data),
    .s_cpuif_wr_ack      (write_ack),
    .s_cpuif_wr_err      (write_error),
    .hwif_in,
    .hwif_out
  );

  assign hwif_in.ports.value.next = PORTS;
  assign hwif_in.port.value.next = PORT;
  assign hwif_in.pairs.value.next = PAIRS;
  assign hwif_in.slots.value.next = SLOTS;
  assign hwif_in.schedulers.value.next = ATS ? PAIRS : 0;
  assign hwif_in.status.init_busy.next = init_busy_i;

  // Reading the low half latches the high half.
  logic [31:0] time_high_q;
  always_ff @(posedge clk_i) if (hwif_out.time_low.ns.swacc) time_high_q <= time_ns_i[63:32];
  assign hwif_in.time_low.ns.next = time_ns_i[31:0];
  assign hwif_in.time_high.ns.next = time_high_q;

  logic unused;
  assign unused = &{1'b0, access_busy, walks, hwif_out.table_commit.req, hwif_out.queue_command.req};
endmodule
