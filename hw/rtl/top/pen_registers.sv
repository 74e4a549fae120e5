// SPDX-License-Identifier: Apache-2.0
// AXI4-Lite registers of the switch: settings, table commits, time and counters.
//
// The register block itself is generated from hw/regs/pen_switch.rdl. A table entry is staged in registers and leaves
// in one cycle; the bus waits meanwhile, so that neither the entry nor its successor can be torn.
module pen_registers
  import pen_pkg::*;
#(
  parameter int unsigned PORTS = 4,
  parameter int unsigned STREAMS = 256,
  parameter int unsigned CELLS = 1024,
  parameter int unsigned FDB_SETS = 512,
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
  input  logic         init_busy_i,            // tables are being cleared: commits wait

  output config_t      config_o,
  output logic         busy_o,                 // an access is on its way, or its answer is
  output logic [PORTS-1:0] port_reset_o,       // of the MACs of each port
  output table_write_t table_o,                // held until table_ready_i; its data are zero while init_busy_i
  input  logic         table_ready_i,

  output logic         clock_request_o,        // one cycle; the answer may take any time
  output logic         clock_write_o,
  output logic [5:0]   clock_addr_o,           // word; this and the data are held until the answer
  output logic [4:0]   clock_data_o,           // all that its registers take
  output logic [79:0]  clock_staged_o,         // what a command takes from where table entries are staged
  input  logic         clock_ack_i,
  input  logic [31:0]  clock_data_i,

  output logic         counter_request_o,      // one cycle; the answer may take any time
  output logic [8:0]   counter_addr_o,         // {port, word}; held until the answer
  input  logic         counter_ack_i,
  input  logic [31:0]  counter_data_i,

  // Gates and credit
  output logic [PORTS-1:0][7:0] gate_states_o, // before the first list of a port acts
  output gate_admin_t  gate_admin_o,           // with gate_commit_o
  output logic         gate_commit_o,          // held until gate_ready_i
  input  logic         gate_ready_i,
  input  logic [15:0]  credit_errors_i,
  input  logic [2:0]   credit_error_i,
  output logic         status_request_o,       // as for counters
  output logic         status_write_o,
  output logic [8:0]   status_addr_o,
  input  logic         status_ack_i,
  input  logic [31:0]  status_data_i
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

  localparam length_t MAX_FRAME_BYTES = 2000;
  localparam port_mask_t ALL_PORTS = port_mask_t'((1 << PORTS) - 1);
  localparam logic [3:0] COMMIT_IDENTIFY_MASK = 4'd5;  // beside the values of table_e

  pen_switch_regs_pkg::pen_switch__in_t  hwif_in;
  pen_switch_regs_pkg::pen_switch__out_t hwif_out;

  pen_switch_regs u_regs (
    .clk           (clk_i),
    .rst           (rst_i),
    .s_axil_awready(s_axil_awready_o),
    .s_axil_awvalid(s_axil_awvalid_i),
    .s_axil_awaddr (s_axil_awaddr_i),
    .s_axil_awprot (s_axil_awprot_i),
    .s_axil_wready (s_axil_wready_o),
    .s_axil_wvalid (s_axil_wvalid_i),
    .s_axil_wdata  (s_axil_wdata_i),
    .s_axil_wstrb  (s_axil_wstrb_i),
    .s_axil_bready (s_axil_bready_i),
    .s_axil_bvalid (s_axil_bvalid_o),
    .s_axil_bresp  (s_axil_bresp_o),
    .s_axil_arready(s_axil_arready_o),
    .s_axil_arvalid(s_axil_arvalid_i),
    .s_axil_araddr (s_axil_araddr_i),
    .s_axil_arprot (s_axil_arprot_i),
    .s_axil_rready (s_axil_rready_i),
    .s_axil_rvalid (s_axil_rvalid_o),
    .s_axil_rdata  (s_axil_rdata_o),
    .s_axil_rresp  (s_axil_rresp_o),
    .hwif_in,
    .hwif_out
  );

  assign hwif_in.ports.value.next = PORTS;
  assign hwif_in.streams.value.next = STREAMS;
  assign hwif_in.cells.value.next = CELLS;
  assign hwif_in.fdb_sets.value.next = FDB_SETS;
  assign hwif_in.status.init_busy.next = init_busy_i;

  // ---- Time: reading the low half latches the high half ----------------------------------------------------------
  logic [31:0] time_high_q;

  always_ff @(posedge clk_i) begin
    if (hwif_out.time_low.ns.swacc) time_high_q <= time_ns_i[63:32];
  end

  assign hwif_in.time_low.ns.next = time_ns_i[31:0];
  assign hwif_in.time_high.ns.next = time_high_q;

  // ---- Settings whose value after reset depends on parameters: loaded in the first cycle -------------------------
  logic load_q;

  always_ff @(posedge clk_i) load_q <= rst_i;

  assign hwif_in.processing_delay_max.ns.next = PROCESSING_DELAY_MAX_NS;
  assign hwif_in.processing_delay_max.ns.we = load_q;
  assign hwif_in.queue_guarantee.cells.next = 12'(QUEUE_GUARANTEE);
  assign hwif_in.queue_guarantee.cells.we = load_q;
  assign hwif_in.reception_guarantee.cells.next = 12'(RECEPTION_GUARANTEE);
  assign hwif_in.reception_guarantee.cells.we = load_q;
  assign hwif_in.shared_limit.cells.next = 12'(CELLS - TAKEN);
  assign hwif_in.shared_limit.cells.we = load_q;

  // ---- Table commits -----------------------------------------------------------------------------------------------
  logic         commit_q, commit_done, commit_go;
  logic [3:0]   which_q;
  logic         to_table;
  logic [127:0] staged, entry_q;
  logic         staged_q;                      // entry_q is what was staged
  logic [103:0] identify_mask_q;

  for (genvar w = 0; w < 4; w++) begin : gen_words
    assign staged[32*w+:32] = hwif_out.table_data[w].value.value;
    assign hwif_in.identify_ipv4_mask[w].mask.next = 32'(identify_mask_q >> 32 * w);
  end

  always_comb begin
    table_o = '0;
    table_o.which = table_e'(which_q);
    table_o.index = hwif_out.table_index.value.value;
    table_o.data = entry_q;
    table_o.valid = commit_go && to_table;
  end

  assign to_table    = which_q <= TABLE_MAX_SDU && which_q != COMMIT_IDENTIFY_MASK;
  assign commit_go   = commit_q && staged_q && !init_busy_i;
  assign commit_done = commit_go && (!to_table || table_ready_i);

  assign hwif_in.table_commit.wr_ack = commit_done;

  // What was staged is there before its commit, but for one that waits for the initialization.
  always_ff @(posedge clk_i) begin
    entry_q  <= rst_i || init_busy_i ? '0 : staged;
    staged_q <= !rst_i && !init_busy_i;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      commit_q        <= 1'b0;
      identify_mask_q <= '1;
    end else begin
      if (hwif_out.table_commit.req && hwif_out.table_commit.req_is_wr) commit_q <= 1'b1;
      else if (commit_done) commit_q <= 1'b0;
      if (commit_go && which_q == COMMIT_IDENTIFY_MASK) identify_mask_q <= staged[103:0];
    end
    if (hwif_out.table_commit.req) which_q <= hwif_out.table_commit.wr_data.which;
  end

  // ---- PTP clock: its registers stand elsewhere, its commands are staged as table entries are ---------------------
  always_ff @(posedge clk_i) begin
    clock_request_o <= hwif_out.ptp.req && !rst_i;
    if (hwif_out.ptp.req) begin
      clock_write_o <= hwif_out.ptp.req_is_wr;
      clock_addr_o  <= hwif_out.ptp.addr[7:2];
      clock_data_o  <= hwif_out.ptp.wr_data[4:0];
    end
  end

  assign clock_staged_o = staged[79:0];
  assign hwif_in.ptp.rd_ack = clock_ack_i && !clock_write_o;
  assign hwif_in.ptp.rd_data = clock_data_i;
  assign hwif_in.ptp.wr_ack = clock_ack_i && clock_write_o;

  // ---- Counters: read elsewhere, writes have no effect -----------------------------------------------------------
  always_ff @(posedge clk_i) begin
    counter_request_o <= hwif_out.counters.req && !hwif_out.counters.req_is_wr && !rst_i;
    if (hwif_out.counters.req) counter_addr_o <= hwif_out.counters.addr[10:2];
  end

  assign hwif_in.counters.rd_ack = counter_ack_i;
  assign hwif_in.counters.rd_data = counter_data_i;
  assign hwif_in.counters.wr_ack = hwif_out.counters.req && hwif_out.counters.req_is_wr;

  // ---- Gate lists ------------------------------------------------------------------------------------------------
  logic  gate_commit_q;
  port_t gate_port_q;

  assign gate_commit_o = gate_commit_q && !init_busy_i;
  assign hwif_in.gate_commit.wr_ack = gate_commit_o && gate_ready_i;
  assign gate_admin_o = '{
    base_seconds: {hwif_out.admin_base_time_seconds_high.value.value, hwif_out.admin_base_time_seconds_low.value.value},
    base_nanoseconds: hwif_out.admin_base_time_nanoseconds.ns.value,
    cycle_time_ns: hwif_out.admin_cycle_time.ns.value,
    extension_ns: hwif_out.admin_cycle_time_extension.ns.value,
    entries: hwif_out.admin_control_list_length.entries.value,
    port: gate_port_q
  };

  always_ff @(posedge clk_i) begin
    if (rst_i) gate_commit_q <= 1'b0;
    else if (hwif_out.gate_commit.req && hwif_out.gate_commit.req_is_wr) gate_commit_q <= 1'b1;
    else if (gate_commit_o && gate_ready_i) gate_commit_q <= 1'b0;
    if (hwif_out.gate_commit.req) gate_port_q <= hwif_out.gate_commit.wr_data.port;
  end

  // ---- Status of the ports ---------------------------------------------------------------------------------------
  always_ff @(posedge clk_i) begin
    status_request_o <= hwif_out.status_of.req && !rst_i;
    if (hwif_out.status_of.req) begin
      status_write_o <= hwif_out.status_of.req_is_wr;
      status_addr_o  <= hwif_out.status_of.addr[10:2];
    end
  end

  assign hwif_in.status_of.rd_ack = status_ack_i && !status_write_o;
  assign hwif_in.status_of.wr_ack = status_ack_i && status_write_o;
  assign hwif_in.status_of.rd_data = status_data_i;
  assign hwif_in.credit_errors.count.next = credit_errors_i;
  assign hwif_in.credit_errors.code.next = credit_error_i;

  // ---- Asked of other units and not answered yet ------------------------------------------------------------------
`ifdef SYNTHESIS  // no clock rests
  assign busy_o = 1'b1;
`else
  logic asked_q;

  always_ff @(posedge clk_i) begin
    if (rst_i || clock_ack_i || counter_ack_i || status_ack_i) asked_q <= 1'b0;
    else if (clock_request_o || counter_request_o || status_request_o) asked_q <= 1'b1;
  end

  assign busy_o = s_axil_bvalid_o || s_axil_rvalid_o || commit_q || gate_commit_q || port_reset_o != '0
      || clock_request_o || counter_request_o || status_request_o || asked_q;
`endif

  // ---- Settings ----------------------------------------------------------------------------------------------------
  always_comb begin
    config_o.port_enable = hwif_out.port_enable.mask.value & ALL_PORTS;
    port_reset_o = PORTS'(hwif_out.port_reset.mask.value);
    config_o.max_frame_bytes = hwif_out.max_frame.bytes.value;
    if (hwif_out.max_frame.bytes.value > MAX_FRAME_BYTES) config_o.max_frame_bytes = MAX_FRAME_BYTES;
    config_o.class_of_pcp = {
      hwif_out.class_of_pcp.pcp7.value,
      hwif_out.class_of_pcp.pcp6.value,
      hwif_out.class_of_pcp.pcp5.value,
      hwif_out.class_of_pcp.pcp4.value,
      hwif_out.class_of_pcp.pcp3.value,
      hwif_out.class_of_pcp.pcp2.value,
      hwif_out.class_of_pcp.pcp1.value,
      hwif_out.class_of_pcp.pcp0.value
    };
    config_o.class_of_untagged = hwif_out.class_of_untagged.value.value;
    config_o.ats_classes = hwif_out.ats_classes.mask.value;
    config_o.ats_overhead_bytes = hwif_out.ats_overhead.bytes.value;
    config_o.processing_delay_max_ns = hwif_out.processing_delay_max.ns.value;
    config_o.learning_enable = hwif_out.learning.enable.value;
    config_o.aging_period_ms = hwif_out.aging_period.ms.value;
    config_o.identify_enable = {
      hwif_out.identify.source.value, hwif_out.identify.destination.value, hwif_out.identify.ipv4.value
    };
    config_o.identify_ipv4_mask = identify_mask_q;
    config_o.gate_enable = hwif_out.gate_enable.mask.value & ALL_PORTS;
    config_o.cbs_count_gap = hwif_out.cbs_count_gap.enable.value;
    config_o.queue_guarantee_cells = hwif_out.queue_guarantee.cells.value;
    config_o.reception_guarantee_cells = hwif_out.reception_guarantee.cells.value;
    config_o.shared_limit_cells = hwif_out.shared_limit.cells.value;
    for (int p = 0; p < MAX_PORTS; p++) config_o.port_vlan_id[p] = hwif_out.port_vlan[p].vlan.value;
    for (int p = 0; p < MAX_PORTS; p++) config_o.round_robin[p] = hwif_out.round_robin[p].mask.value;
    for (int p = 0; p < PORTS; p++) gate_states_o[p] = hwif_out.admin_gate_states[p].mask.value;
    for (int k = 0; k < CLASSES; k++) begin
      config_o.queue_limit_cells[k] = hwif_out.queue_limit[k].cells.value;
      config_o.class_limit_cells[k] = hwif_out.class_limit[k].cells.value;
    end
  end
endmodule
