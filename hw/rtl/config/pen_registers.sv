// SPDX-License-Identifier: Apache-2.0
// AXI4-Lite registers of the switch, one access at a time (pen_config_access), generated from hw/regs/pen_switch.rdl.
module pen_registers
  import pen_pkg::*, pen_config_pkg::*, pen_switch_map_pkg::*;
#(
  parameter int unsigned PORTS = 4,
  parameter int unsigned STREAMS = 256,
  parameter int unsigned CELLS = 1024,
  parameter int unsigned FDB_SETS = 512,
  parameter bit          HOST = 0,
  parameter int unsigned PROCESSING_DELAY_MAX_NS = 400  // what the register says after reset
) (
  input  logic         clk_i,
  input  logic         rst_i,

  input  logic [15:0]  s_axil_awaddr_i,
  input  logic [2:0]   s_axil_awprot_i,
  input  logic         s_axil_awvalid_i,
  output logic         s_axil_awready_o,
  input  logic [31:0]  s_axil_wdata_i,
  input  logic [3:0]   s_axil_wstrb_i,
  input  logic         s_axil_wvalid_i,
  output logic         s_axil_wready_o,
  output logic [1:0]   s_axil_bresp_o,
  output logic         s_axil_bvalid_o,
  input  logic         s_axil_bready_i,
  input  logic [15:0]  s_axil_araddr_i,
  input  logic [2:0]   s_axil_arprot_i,
  input  logic         s_axil_arvalid_i,
  output logic         s_axil_arready_o,
  output logic [31:0]  s_axil_rdata_o,
  output logic [1:0]   s_axil_rresp_o,
  output logic         s_axil_rvalid_o,
  input  logic         s_axil_rready_i,

  input  time_ns_t     time_ns_i,
  input  logic         init_busy_i,            // tables are being cleared: writes wait
  output logic         busy_o,                 // an access is on its way, or its answer is
  output config_word_t chain_o,
  input  config_word_t chain_i                 // from the last node
);
  if (PORTS < 2 || PORTS > MAX_PORTS)
    $fatal(1, "pen_registers: PORTS must be 2 to %0d, is %0d (%m)", MAX_PORTS, PORTS);
  if (CELLS < 256 || CELLS > 4096) $fatal(1, "pen_registers: CELLS must be 256 to 4096, is %0d (%m)", CELLS);

  // The shares after reset. A frame of 1522 bytes takes 12 cells: each queue is guaranteed one and each reception port
  // two, as long as that leaves a quarter of the store to all. Of each port, cells are set aside for a frame being
  // received, one that has been sent and is still to be reclaimed, and the first cells of the next.
  localparam int unsigned TRANSIT_CELLS = 36;
  localparam int unsigned RECEPTION_GUARANTEE = 24;
  localparam int unsigned PER_PORT = TRANSIT_CELLS + RECEPTION_GUARANTEE;
  localparam int unsigned ROOM = 3 * CELLS / 4 > PORTS * PER_PORT ? 3 * CELLS / 4 - PORTS * PER_PORT : 0;
  localparam int unsigned FAIR = ROOM / (PORTS * CLASSES);
  localparam int unsigned QUEUE_GUARANTEE = FAIR > 12 ? 12 : FAIR;
  localparam int unsigned TAKEN = PORTS * (PER_PORT + CLASSES * QUEUE_GUARANTEE);
  if (TAKEN >= CELLS)
    $fatal(1, "pen_registers: CELLS must be above %0d for %0d ports, is %0d (%m)", TAKEN, PORTS, CELLS);
  if (HOST && QUEUE_GUARANTEE == 0)  // the host port's queues have no room but this
    $fatal(1, "pen_registers: CELLS must be at least %0d for %0d ports with a host port, is %0d (%m)",
           4 * PORTS * (PER_PORT + CLASSES) / 3, PORTS, CELLS);

  pen_switch_regs_pkg::pen_switch__in_t  hwif_in;
  pen_switch_regs_pkg::pen_switch__out_t hwif_out;

  // ---- One access at a time -----------------------------------------------------------------------------------------
  logic        request, write, stall_write, stall_read, read_ack, read_error, write_ack, write_error;
  logic [15:0] address;
  logic [31:0] write_data, read_data;
  logic        of_unit, staged, setting, answered, load, aside, access_busy;

  // The settings that go on the chain after reset.
  localparam logic [15:0] WALK_GAP = REG_TABLE_DATA;     // from here
  localparam logic [15:0] WALK_REST = REG_ADMIN_BASE_TIME_SECONDS_LOW;
  logic [15:0] walk_address, walk_next;
  logic        walk_skips;
  assign walk_next  = walk_address + 16'd4 == WALK_GAP ? WALK_REST : walk_address + 16'd4;
  assign walk_skips = walk_address inside {REG_GATE_COMMIT, REG_CREDIT_ERRORS}
                      || walk_address[15:4] == REG_IDENTIFY_IPV4_MASK[15:4];

  assign staged  = address[15:4] == REG_TABLE_DATA[15:4] || address == REG_TABLE_INDEX
                   || (address >= REG_ADMIN_BASE_TIME_SECONDS_LOW && address <= REG_ADMIN_CONTROL_LIST_LENGTH);
  assign setting = address >= REG_PORT_ENABLE;

  pen_config_access #(
    .WALK_FIRST(REG_PORT_ENABLE),
    .WALK_END  (REG_ROUND_ROBIN + 16'(4 * MAX_PORTS))
  ) u_access (
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
    .aside_i       (1'b0),
    .aside_o       (aside),
    .aside_done_i  (1'b0),
    .answered_o    (answered),
    .load_o        (load),
    .walk_address_o(walk_address),
    .walk_skips_i  (walk_skips),
    .walk_next_i   (walk_next),
    .chain_o,
    .chain_i
  );

  // What is asked of units. The block waits for the answer with its own side of the access.
  assign of_unit = hwif_out.ptp.req || hwif_out.counters.req || hwif_out.status_of.req || hwif_out.credit_errors.req
                   || hwif_out.identify_ipv4_mask[0].req || hwif_out.identify_ipv4_mask[1].req
                   || hwif_out.identify_ipv4_mask[2].req || hwif_out.identify_ipv4_mask[3].req;

  assign hwif_in.table_commit.wr_ack = answered && address == REG_TABLE_COMMIT;
  assign hwif_in.gate_commit.wr_ack  = answered && address == REG_GATE_COMMIT;
  assign hwif_in.ptp.wr_ack          = answered && write && address[15:8] == REG_PTP[15:8];
  assign hwif_in.counters.wr_ack     = answered && write && address[15:12] == REG_COUNTERS[15:12];
  assign hwif_in.status_of.wr_ack    = answered && write && address[15:12] == REG_STATUS_OF[15:12];
  assign hwif_in.ptp.rd_ack           = answered && !write && address[15:8] == REG_PTP[15:8];
  assign hwif_in.counters.rd_ack      = answered && !write && address[15:12] == REG_COUNTERS[15:12];
  assign hwif_in.status_of.rd_ack     = answered && !write && address[15:12] == REG_STATUS_OF[15:12];
  assign hwif_in.credit_errors.rd_ack = answered && !write && address == REG_CREDIT_ERRORS;
  assign hwif_in.ptp.rd_data           = chain_i.data;
  assign hwif_in.counters.rd_data      = chain_i.data;
  assign hwif_in.status_of.rd_data     = chain_i.data;
  assign hwif_in.credit_errors.rd_data = chain_i.data;
  for (genvar w = 0; w < 4; w++) begin : gen_mask
    assign hwif_in.identify_ipv4_mask[w].rd_ack  = answered && !write
                                                   && address == REG_IDENTIFY_IPV4_MASK + 16'(4 * w);
    assign hwif_in.identify_ipv4_mask[w].rd_data = chain_i.data;
  end

  pen_switch_regs u_regs (
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
  assign hwif_in.streams.value.next = STREAMS;
  assign hwif_in.cells.value.next = CELLS;
  assign hwif_in.fdb_sets.value.next = FDB_SETS;
  assign hwif_in.status.init_busy.next = init_busy_i;
  assign hwif_in.host.present.next = HOST;

  // ---- Time: reading the low half latches the high half ----------------------------------------------------------
  logic [31:0] time_high_q;

  always_ff @(posedge clk_i) begin
    if (hwif_out.time_low.ns.swacc) time_high_q <= time_ns_i[63:32];
  end

  assign hwif_in.time_low.ns.next = time_ns_i[31:0];
  assign hwif_in.time_high.ns.next = time_high_q;

  // ---- Settings whose value after reset depends on parameters: loaded in the first cycle -------------------------
  assign hwif_in.processing_delay_max.ns.next = PROCESSING_DELAY_MAX_NS;
  assign hwif_in.processing_delay_max.ns.we = load;
  assign hwif_in.queue_guarantee.cells.next = 12'(QUEUE_GUARANTEE);
  assign hwif_in.queue_guarantee.cells.we = load;
  assign hwif_in.reception_guarantee.cells.next = 12'(RECEPTION_GUARANTEE);
  assign hwif_in.reception_guarantee.cells.we = load;
  assign hwif_in.shared_limit.cells.next = 12'(CELLS - TAKEN);
  assign hwif_in.shared_limit.cells.we = load;

  // ---- What is on its way -----------------------------------------------------------------------------------------
  assign busy_o = access_busy || hwif_out.port_reset.mask.value != '0;

  logic unused;
  assign unused = &{1'b0, aside, hwif_out.table_commit.req};
endmodule
