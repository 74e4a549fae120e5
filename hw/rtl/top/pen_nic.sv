// SPDX-License-Identifier: Apache-2.0
// Network card of one to four ports, each with virtqueues, queues and a schedule of its own: a virtio-net device each.
//
//   host's memory ◄─► pen_axi_read, pen_axi_write ◄─┬─► pen_nic_port 0 ◄─► GMII 0
//                                                   ├─► pen_nic_port 1 ◄─► GMII 1
//   registers ──────► pen_nic_access ───────────────┘      ...
//                                    pen_clock ────────────┤  one PTP clock, which stamps what all of them send and receive
//                                    pen_nic_ats ──────────┘  ATS schedulers, one for each transmit queue
module pen_nic
  import pen_pkg::*, pen_nic_pkg::*, pen_config_pkg::*;
#(
  parameter int unsigned PORTS = 1,            // 1 to 4
  parameter int unsigned PAIRS = 4,            // of virtqueues, of each port; 1 to 16
  parameter int unsigned SLOTS = 4,            // frames of each queue that are fetched ahead: 2, 4 or 8; not 8 with more than 8 pairs
  parameter int unsigned GATE_ENTRIES = 128,   // of a gate list; a power of two, 8 to 1024
  parameter int unsigned RECEIVE_WORDS = 2048, // of a port's received frames that wait for the host, 8 bytes each; a power of two
  parameter bit          ATS = 1               // 0: no queue has it
) (
  input  logic                   clk_i,          // 125 MHz: core and transmit clock
  input  logic                   rst_i,
  // GMII
  input  logic [PORTS-1:0]       gmii_rx_clk_i,  // 125 MHz of each link partner
  input  logic [PORTS-1:0][7:0]  gmii_rxd_i,
  input  logic [PORTS-1:0]       gmii_rx_dv_i,
  input  logic [PORTS-1:0]       gmii_rx_er_i,
  output logic [PORTS-1:0][7:0]  gmii_txd_o,
  output logic [PORTS-1:0]       gmii_tx_en_o,
  output logic [PORTS-1:0]       gmii_tx_er_o,
  // AXI4 to the host's memory, which answers in the order of its addresses
  output logic [ADDRESS_W-1:0]   m_axi_araddr_o,
  output logic [7:0]             m_axi_arlen_o,
  output logic                   m_axi_arvalid_o,
  input  logic                   m_axi_arready_i,
  input  logic [63:0]            m_axi_rdata_i,
  input  logic [1:0]             m_axi_rresp_i,
  input  logic                   m_axi_rlast_i,
  input  logic                   m_axi_rvalid_i,
  output logic                   m_axi_rready_o,
  output logic [ADDRESS_W-1:0]   m_axi_awaddr_o,
  output logic [7:0]             m_axi_awlen_o,
  output logic                   m_axi_awvalid_o,
  input  logic                   m_axi_awready_i,
  output logic [63:0]            m_axi_wdata_o,
  output logic [7:0]             m_axi_wstrb_o,
  output logic                   m_axi_wlast_o,
  output logic                   m_axi_wvalid_o,
  input  logic                   m_axi_wready_i,
  input  logic [1:0]             m_axi_bresp_i,
  input  logic                   m_axi_bvalid_i,
  output logic                   m_axi_bready_o,
  output logic [PORTS-1:0][31:0] interrupt_o,    // one cycle; bit v: virtqueue v of the port
  // AXI4-Lite, 32 bit: registers of port p from p * 0x10000 on
  input  logic [17:0]            s_axil_awaddr_i,
  input  logic [2:0]             s_axil_awprot_i,
  input  logic                   s_axil_awvalid_i,
  output logic                   s_axil_awready_o,
  input  logic [31:0]            s_axil_wdata_i,
  input  logic [3:0]             s_axil_wstrb_i,
  input  logic                   s_axil_wvalid_i,
  output logic                   s_axil_wready_o,
  output logic [1:0]             s_axil_bresp_o,
  output logic                   s_axil_bvalid_o,
  input  logic                   s_axil_bready_i,
  input  logic [17:0]            s_axil_araddr_i,
  input  logic [2:0]             s_axil_arprot_i,
  input  logic                   s_axil_arvalid_i,
  output logic                   s_axil_arready_o,
  output logic [31:0]            s_axil_rdata_o,
  output logic [1:0]             s_axil_rresp_o,
  output logic                   s_axil_rvalid_o,
  input  logic                   s_axil_rready_i,
  output logic                   pps_o,
  output logic                   idle_o,
  output time_ns_t               time_ns_o,
  output egress_event_t [PORTS-1:0] egress_event_o  // for observers
);
  localparam int unsigned TURNS = 2;           // the least that timer and clock have
  localparam int unsigned STAMPED = PORTS > TURNS ? PORTS : TURNS;
  localparam int unsigned LEAD_CYCLES = 7;     // four from selection to wire, three in pen_gates
  if (PORTS < 1 || PORTS > 4) $fatal(1, "pen_nic: PORTS must be 1 to 4, is %0d", PORTS);

  port_t turn;
  logic [TURNS-1:0] has_turn;
  /* verilator lint_off PINCONNECTEMPTY */
  pen_timer #(.PORTS(TURNS)) u_timer (
    .clk_i, .rst_i, .time_ns_o, .turn_o(turn), .has_turn_o(has_turn), .comes_in_o()
  );
  /* verilator lint_on PINCONNECTEMPTY */

  // ---- The PTP clock of all ports ------------------------------------------------------------------------------------
  config_access_t [PORTS-1:0]       clock_access;
  logic           [PORTS-1:0][79:0] clock_command;
  logic           [79:0]            clock_command_data;
  config_access_t                   asked;
  logic                             clock_ack, stepped_next, clock_idle;
  logic           [31:0]            clock_data;
  logic           [63:0]            gate_time_next;
  ptp_time_t                        clock_time;
  logic     [STAMPED-1:0]           delimiter, tx_en, tx_er;
  logic     [STAMPED-1:0][7:0]      txd;
  parsed_byte_t [STAMPED-1:0]       received;
  logic     [1:0]                   asker, asker_q;  // holds until the next access: what a command takes is its

  always_comb begin
    asked = '0;
    asker = asker_q;
    for (int unsigned p = 0; p < PORTS; p++) begin
      asked |= clock_access[p];
      if (clock_access[p].read || clock_access[p].write) asker = 2'(p);
    end
    clock_command_data = '0;
    for (int unsigned p = 0; p < PORTS; p++) if (asker_q == 2'(p)) clock_command_data = clock_command[p];
  end
  always_ff @(posedge clk_i) asker_q <= rst_i ? '0 : asker;

  pen_clock #(.PORTS(STAMPED), .LEAD_CYCLES(LEAD_CYCLES)) u_clock (
    .clk_i,
    .rst_i,
    .awake_i         (1'b1),
    .request_i       (asked.read || asked.write),
    .write_i         (asked.write),
    .addr_i          (asked.address[7:2]),
    .data_i          (asked.data[15:0]),
    .command_data_i  (clock_command_data),
    .ack_o           (clock_ack),
    .data_o          (clock_data),
    .delimiter_i     (delimiter),
    .received_i      (received),
    .gmii_txd_i      (txd),
    .gmii_tx_en_i    (tx_en),
    .gmii_tx_er_i    (tx_er),
    .capture_i       (1'b0),
    .pps_o,
    .time_o          (clock_time),
    .gate_time_next_o(gate_time_next),
    .stepped_next_o  (stepped_next),
    .idle_o          (clock_idle)
  );
  for (genvar p = 0; p < STAMPED; p++) begin : gen_stamped
    if (p < PORTS) begin : gen_there
      assign {txd[p], tx_en[p], tx_er[p]} = {gmii_txd_o[p], gmii_tx_en_o[p], gmii_tx_er_o[p]};
    end else begin : gen_nobody
      assign {txd[p], tx_en[p], tx_er[p]} = '0;
      assign delimiter[p]  = 1'b0;
      assign received[p]   = '0;
    end
  end

  // ---- Registers -----------------------------------------------------------------------------------------------------
  logic [PORTS-1:0]       wvalid, wready, awready, bvalid, bready, arvalid, arready, rvalid, rready;
  logic [PORTS-1:0][1:0]  bresp, rresp;
  logic [PORTS-1:0][31:0] rdata;
  pen_nic_access #(.PORTS(PORTS)) u_access (
    .clk_i,
    .rst_i,
    .awport_i (s_axil_awaddr_i[17:16]),
    .awvalid_i(s_axil_awvalid_i),
    .wvalid_i (s_axil_wvalid_i),
    .wready_o (s_axil_wready_o),
    .bresp_o  (s_axil_bresp_o),
    .bvalid_o (s_axil_bvalid_o),
    .bready_i (s_axil_bready_i),
    .arport_i (s_axil_araddr_i[17:16]),
    .arvalid_i(s_axil_arvalid_i),
    .arready_o(s_axil_arready_o),
    .rdata_o  (s_axil_rdata_o),
    .rresp_o  (s_axil_rresp_o),
    .rvalid_o (s_axil_rvalid_o),
    .rready_i (s_axil_rready_i),
    .wvalid_o (wvalid),
    .wready_i (wready),
    .bresp_i  (bresp),
    .bvalid_i (bvalid),
    .arvalid_o(arvalid),
    .arready_i(arready),
    .rdata_i  (rdata),
    .rresp_i  (rresp),
    .rvalid_i (rvalid)
  );
  assign s_axil_awready_o = s_axil_wready_o;
  assign bready           = {PORTS{s_axil_bready_i}};
  assign rready           = {PORTS{s_axil_rready_i}};

  // ---- Memory of the host --------------------------------------------------------------------------------------------
  logic [PORTS-1:0][ADDRESS_W-1:0] m_araddr, m_awaddr;
  logic [PORTS-1:0][7:0]           m_arlen, m_awlen, m_wstrb;
  logic [PORTS-1:0][63:0]          m_wdata;
  logic [PORTS-1:0]                m_arvalid, m_arready, m_rvalid, m_rready;
  logic [PORTS-1:0]                m_awvalid, m_awready, m_wlast, m_wvalid, m_wready, m_bvalid, m_bready;
  pen_axi_read #(.MASTERS(PORTS)) u_read (
    .clk_i,
    .rst_i,
    .araddr_i (m_araddr),
    .arlen_i  (m_arlen),
    .arvalid_i(m_arvalid),
    .arready_o(m_arready),
    .rvalid_o (m_rvalid),
    .rready_i (m_rready),
    .m_axi_araddr_o,
    .m_axi_arlen_o,
    .m_axi_arvalid_o,
    .m_axi_arready_i,
    .m_axi_rlast_i,
    .m_axi_rvalid_i,
    .m_axi_rready_o
  );
  pen_axi_write #(.MASTERS(PORTS)) u_write (
    .clk_i,
    .rst_i,
    .awaddr_i (m_awaddr),
    .awlen_i  (m_awlen),
    .awvalid_i(m_awvalid),
    .awready_o(m_awready),
    .wdata_i  (m_wdata),
    .wstrb_i  (m_wstrb),
    .wlast_i  (m_wlast),
    .wvalid_i (m_wvalid),
    .wready_o (m_wready),
    .bvalid_o (m_bvalid),
    .m_axi_awaddr_o,
    .m_axi_awlen_o,
    .m_axi_awvalid_o,
    .m_axi_awready_i,
    .m_axi_wdata_o,
    .m_axi_wstrb_o,
    .m_axi_wlast_o,
    .m_axi_wvalid_o,
    .m_axi_wready_i,
    .m_axi_bvalid_i,
    .m_axi_bready_o
  );

  // ---- ATS -----------------------------------------------------------------------------------------------------------
  ats_request_t [PORTS-1:0]      ats_request;
  ats_answer_t  [PORTS-1:0]      ats_answer;
  logic         [PORTS-1:0][7:0] ats_overhead_bytes;
  table_write_t [PORTS-1:0]      ats_table;
  logic         [PORTS-1:0]      ats_table_ready;
  if (ATS) begin : gen_ats
    pen_nic_ats #(.PORTS(PORTS), .QUEUES(PAIRS)) u_ats (
      .clk_i,
      .rst_i,
      .time_ns_i       (time_ns_o),
      .request_i       (ats_request),
      .overhead_bytes_i(ats_overhead_bytes),
      .answer_o        (ats_answer),
      .table_i         (ats_table),
      .table_ready_o   (ats_table_ready)
    );
  end else begin : gen_no_ats
    assign ats_answer      = '0;
    assign ats_table_ready = '1;
    logic unused_ats;
    assign unused_ats = &{1'b0, ats_request, ats_overhead_bytes, ats_table};
  end

  // ---- Ports ---------------------------------------------------------------------------------------------------------
  logic [PORTS-1:0] port_idle;
  for (genvar p = 0; p < PORTS; p++) begin : gen_port
    pen_nic_port #(
      .PORTS(PORTS), .PORT(p), .PAIRS(PAIRS), .SLOTS(SLOTS), .GATE_ENTRIES(GATE_ENTRIES), .RECEIVE_WORDS(RECEIVE_WORDS),
      .ATS(ATS)
    ) u_port (
      .clk_i,
      .rst_i,
      .time_ns_i       (time_ns_o),
      .turn_i          (turn),
      .has_turn_i      (has_turn[0]),
      .gate_time_next_i(gate_time_next),
      .stepped_next_i  (stepped_next),
      .clock_access_o  (clock_access[p]),
      .clock_data_o    (clock_command[p]),
      .clock_ack_i     (clock_ack),
      .clock_data_i    (clock_data),
      .ats_o           (ats_request[p]),
      .ats_i           (ats_answer[p]),
      .ats_overhead_bytes_o(ats_overhead_bytes[p]),
      .ats_table_o     (ats_table[p]),
      .ats_table_ready_i(ats_table_ready[p]),
      .delimiter_o     (delimiter[p]),
      .received_o      (received[p]),
      .gmii_rx_clk_i   (gmii_rx_clk_i[p]),
      .gmii_rxd_i      (gmii_rxd_i[p]),
      .gmii_rx_dv_i    (gmii_rx_dv_i[p]),
      .gmii_rx_er_i    (gmii_rx_er_i[p]),
      .gmii_txd_o      (gmii_txd_o[p]),
      .gmii_tx_en_o    (gmii_tx_en_o[p]),
      .gmii_tx_er_o    (gmii_tx_er_o[p]),
      .m_axi_araddr_o  (m_araddr[p]),
      .m_axi_arlen_o   (m_arlen[p]),
      .m_axi_arvalid_o (m_arvalid[p]),
      .m_axi_arready_i (m_arready[p]),
      .m_axi_rdata_i,
      .m_axi_rresp_i,
      .m_axi_rlast_i,
      .m_axi_rvalid_i  (m_rvalid[p]),
      .m_axi_rready_o  (m_rready[p]),
      .m_axi_awaddr_o  (m_awaddr[p]),
      .m_axi_awlen_o   (m_awlen[p]),
      .m_axi_awvalid_o (m_awvalid[p]),
      .m_axi_awready_i (m_awready[p]),
      .m_axi_wdata_o   (m_wdata[p]),
      .m_axi_wstrb_o   (m_wstrb[p]),
      .m_axi_wlast_o   (m_wlast[p]),
      .m_axi_wvalid_o  (m_wvalid[p]),
      .m_axi_wready_i  (m_wready[p]),
      .m_axi_bresp_i,
      .m_axi_bvalid_i  (m_bvalid[p]),
      .m_axi_bready_o  (m_bready[p]),
      .interrupt_o     (interrupt_o[p]),
      .s_axil_awaddr_i (s_axil_awaddr_i[15:0]),
      .s_axil_awprot_i,
      .s_axil_awvalid_i(wvalid[p]),
      .s_axil_awready_o(awready[p]),
      .s_axil_wdata_i,
      .s_axil_wstrb_i,
      .s_axil_wvalid_i (wvalid[p]),
      .s_axil_wready_o (wready[p]),
      .s_axil_bresp_o  (bresp[p]),
      .s_axil_bvalid_o (bvalid[p]),
      .s_axil_bready_i (bready[p]),
      .s_axil_araddr_i (s_axil_araddr_i[15:0]),
      .s_axil_arprot_i,
      .s_axil_arvalid_i(arvalid[p]),
      .s_axil_arready_o(arready[p]),
      .s_axil_rdata_o  (rdata[p]),
      .s_axil_rresp_o  (rresp[p]),
      .s_axil_rvalid_o (rvalid[p]),
      .s_axil_rready_i (rready[p]),
      .idle_o          (port_idle[p]),
      .egress_event_o  (egress_event_o[p])
    );
  end
  always_ff @(posedge clk_i) idle_o <= !rst_i && &port_idle && clock_idle;

  logic unused;
  assign unused = &{1'b0, clock_time, awready, m_bready, asked.stage, asked.address, asked.data, has_turn};
endmodule
