// SPDX-License-Identifier: Apache-2.0
// Lattice ECP5-5G Versa (LFE5UM5G-45F): a switch of the board's two gigabit ports and a host port; registers, and by them
// the host port's frames, over its USB serial line.
//
//   100 MHz ─► pen_pll ─► 125 MHz ─► pen_board_reset ─► core, PHYs
//   PHY 0, 1 ◄─► pen_rgmii_rx, pen_rgmii_tx ◄─► pen_switch ◄─AXI4-Lite─┬─ pen_axil_split ◄─ pen_uart_axi ◄─► USB
//                                               host port ◄─► pen_host_mailbox ◄─┘
//
// The PHYs (88E1512) delay the clocks of both directions themselves, as they do after reset.
module pen_versa_ecp5
  import pen_pkg::*;
#(
  parameter int unsigned STREAMS          = 64,
  parameter int unsigned FDB_ENTRIES      = 256,
  parameter int unsigned STORE_BYTES      = 65536,      // half of it leaves the host port's queues no room
  parameter int unsigned GATE_ENTRIES     = 16,
  parameter int unsigned BIT_CYCLES       = 125,        // 1 Mbaud
  parameter int unsigned IDLE_CYCLES      = 12_500_000, // 100 ms
  parameter int unsigned PHY_RESET_CYCLES = 2_500_000   // 20 ms; the PHY needs 10 ms
) (
  input  logic            clk100_i,
  input  logic            button_ni,
  // RGMII
  output logic [1:0]      phy_rst_no,
  input  logic [1:0]      rgmii_rxc_i,
  input  logic [1:0][3:0] rgmii_rxd_i,
  input  logic [1:0]      rgmii_rx_ctl_i,
  output logic [1:0]      rgmii_txc_o,
  output logic [1:0][3:0] rgmii_txd_o,
  output logic [1:0]      rgmii_tx_ctl_o,
  // Serial line to the host: 8 data bits, no parity, 1 stop bit
  input  logic            serial_i,
  output logic            serial_o,
  // PTP clock
  output logic            pps_o,
  input  logic            capture_i,
  output logic [7:0]      led_no         // running, second, serial in, out, port 0 in, out, port 1 in, out
);
  localparam int unsigned PORTS = 2;  // with a wire

  logic clk, locked, rst, phy_rst_n;

  pen_pll_100_125 u_pll (.clk_i(clk100_i), .clk_o(clk), .locked_o(locked));

  pen_board_reset #(.PHY_RESET_CYCLES(PHY_RESET_CYCLES)) u_reset (
    .clk_i(clk), .locked_i(locked), .button_ni, .rst_o(rst), .phy_rst_no(phy_rst_n)
  );
  assign phy_rst_no = {PORTS{phy_rst_n}};

  // ---- Ports ------------------------------------------------------------------------------------------------------
  logic [PORTS-1:0]      rx_dv, rx_er, tx_en, tx_er;
  logic [PORTS-1:0][7:0] rxd, txd;

  for (genvar p = 0; p < PORTS; p++) begin : gen_port
    pen_rgmii_rx u_rx (
      .rgmii_rxc_i   (rgmii_rxc_i[p]),
      .rgmii_rxd_i   (rgmii_rxd_i[p]),
      .rgmii_rx_ctl_i(rgmii_rx_ctl_i[p]),
      .gmii_rxd_o    (rxd[p]),
      .gmii_rx_dv_o  (rx_dv[p]),
      .gmii_rx_er_o  (rx_er[p])
    );

    pen_rgmii_tx u_tx (
      .clk_i         (clk),
      .gmii_txd_i    (txd[p]),
      .gmii_tx_en_i  (tx_en[p]),
      .gmii_tx_er_i  (tx_er[p]),
      .rgmii_txc_o   (rgmii_txc_o[p]),
      .rgmii_txd_o   (rgmii_txd_o[p]),
      .rgmii_tx_ctl_o(rgmii_tx_ctl_o[p])
    );
  end

  // ---- Registers --------------------------------------------------------------------------------------------------
  logic [15:0] axil_awaddr, axil_araddr;
  logic [2:0]  axil_awprot, axil_arprot;
  logic [31:0] axil_wdata, axil_rdata;
  logic [3:0]  axil_wstrb;
  logic [1:0]  axil_bresp, axil_rresp;
  logic        axil_awvalid, axil_awready, axil_wvalid, axil_wready, axil_bvalid, axil_bready;
  logic        axil_arvalid, axil_arready, axil_rvalid, axil_rready;

  // Of the switch, and of the mailbox.
  logic [1:0]       to_awvalid, to_awready, to_wvalid, to_wready, to_bvalid, to_arvalid, to_arready, to_rvalid;
  logic [1:0][1:0]  to_bresp, to_rresp;
  logic [1:0][31:0] to_rdata;

  pen_uart_axi #(.BIT_CYCLES(BIT_CYCLES), .IDLE_CYCLES(IDLE_CYCLES)) u_uart_axi (
    .clk_i           (clk),
    .rst_i           (rst),
    .serial_i,
    .serial_o,
    .m_axil_awaddr_o (axil_awaddr),
    .m_axil_awprot_o (axil_awprot),
    .m_axil_awvalid_o(axil_awvalid),
    .m_axil_awready_i(axil_awready),
    .m_axil_wdata_o  (axil_wdata),
    .m_axil_wstrb_o  (axil_wstrb),
    .m_axil_wvalid_o (axil_wvalid),
    .m_axil_wready_i (axil_wready),
    .m_axil_bresp_i  (axil_bresp),
    .m_axil_bvalid_i (axil_bvalid),
    .m_axil_bready_o (axil_bready),
    .m_axil_araddr_o (axil_araddr),
    .m_axil_arprot_o (axil_arprot),
    .m_axil_arvalid_o(axil_arvalid),
    .m_axil_arready_i(axil_arready),
    .m_axil_rdata_i  (axil_rdata),
    .m_axil_rresp_i  (axil_rresp),
    .m_axil_rvalid_i (axil_rvalid),
    .m_axil_rready_o (axil_rready)
  );

  pen_axil_split u_split (
    .s_axil_awaddr_i (axil_awaddr),
    .s_axil_awvalid_i(axil_awvalid),
    .s_axil_awready_o(axil_awready),
    .s_axil_wvalid_i (axil_wvalid),
    .s_axil_wready_o (axil_wready),
    .s_axil_bresp_o  (axil_bresp),
    .s_axil_bvalid_o (axil_bvalid),
    .s_axil_araddr_i (axil_araddr),
    .s_axil_arvalid_i(axil_arvalid),
    .s_axil_arready_o(axil_arready),
    .s_axil_rdata_o  (axil_rdata),
    .s_axil_rresp_o  (axil_rresp),
    .s_axil_rvalid_o (axil_rvalid),
    .m_axil_awvalid_o(to_awvalid),
    .m_axil_awready_i(to_awready),
    .m_axil_wvalid_o (to_wvalid),
    .m_axil_wready_i (to_wready),
    .m_axil_bresp_i  (to_bresp),
    .m_axil_bvalid_i (to_bvalid),
    .m_axil_arvalid_o(to_arvalid),
    .m_axil_arready_i(to_arready),
    .m_axil_rdata_i  (to_rdata),
    .m_axil_rresp_i  (to_rresp),
    .m_axil_rvalid_i (to_rvalid)
  );

  // ---- Frames of the host -----------------------------------------------------------------------------------------
  logic       to_host_valid, to_host_ready, to_host_last, to_host_user, from_host_valid, from_host_ready, from_host_last;
  logic [7:0] to_host_data, from_host_data;

  pen_host_mailbox u_mailbox (
    .clk_i           (clk),
    .rst_i           (rst),
    .s_axil_awaddr_i ({1'b0, axil_awaddr[14:0]}),
    .s_axil_awprot_i (axil_awprot),
    .s_axil_awvalid_i(to_awvalid[1]),
    .s_axil_awready_o(to_awready[1]),
    .s_axil_wdata_i  (axil_wdata),
    .s_axil_wstrb_i  (axil_wstrb),
    .s_axil_wvalid_i (to_wvalid[1]),
    .s_axil_wready_o (to_wready[1]),
    .s_axil_bresp_o  (to_bresp[1]),
    .s_axil_bvalid_o (to_bvalid[1]),
    .s_axil_bready_i (axil_bready),
    .s_axil_araddr_i ({1'b0, axil_araddr[14:0]}),
    .s_axil_arprot_i (axil_arprot),
    .s_axil_arvalid_i(to_arvalid[1]),
    .s_axil_arready_o(to_arready[1]),
    .s_axil_rdata_o  (to_rdata[1]),
    .s_axil_rresp_o  (to_rresp[1]),
    .s_axil_rvalid_o (to_rvalid[1]),
    .s_axil_rready_i (axil_rready),
    .m_axis_tvalid_o (from_host_valid),
    .m_axis_tready_i (from_host_ready),
    .m_axis_tdata_o  (from_host_data),
    .m_axis_tlast_o  (from_host_last),
    .s_axis_tvalid_i (to_host_valid),
    .s_axis_tready_o (to_host_ready),
    .s_axis_tdata_i  (to_host_data),
    .s_axis_tlast_i  (to_host_last),
    .s_axis_tuser_i  (to_host_user)
  );

  // ---- The switch -------------------------------------------------------------------------------------------------
  logic          pps;
  /* verilator lint_off UNUSEDSIGNAL */  // for the lamps it is enough that a frame has come
  verdict_t      verdict;
  logic [7:0]    no_txd;  // the host port has no wire
  logic          no_tx_en, no_tx_er;
  /* verilator lint_on UNUSEDSIGNAL */

  pen_switch #(
    .PORTS       (PORTS + 1),
    .HOST        (1'b1),
    .STREAMS     (STREAMS),
    .FDB_ENTRIES (FDB_ENTRIES),
    .STORE_BYTES (STORE_BYTES),
    .GATE_ENTRIES(GATE_ENTRIES)
  ) u_switch (
    .clk_i           (clk),
    .rst_i           (rst),
    .gmii_rx_clk_i   ({clk, rgmii_rxc_i}),
    .gmii_rxd_i      ({8'b0, rxd}),
    .gmii_rx_dv_i    ({1'b0, rx_dv}),
    .gmii_rx_er_i    ({1'b0, rx_er}),
    .gmii_txd_o      ({no_txd, txd}),
    .gmii_tx_en_o    ({no_tx_en, tx_en}),
    .gmii_tx_er_o    ({no_tx_er, tx_er}),
    .s_axil_awaddr_i (axil_awaddr),
    .s_axil_awprot_i (axil_awprot),
    .s_axil_awvalid_i(to_awvalid[0]),
    .s_axil_awready_o(to_awready[0]),
    .s_axil_wdata_i  (axil_wdata),
    .s_axil_wstrb_i  (axil_wstrb),
    .s_axil_wvalid_i (to_wvalid[0]),
    .s_axil_wready_o (to_wready[0]),
    .s_axil_bresp_o  (to_bresp[0]),
    .s_axil_bvalid_o (to_bvalid[0]),
    .s_axil_bready_i (axil_bready),
    .s_axil_araddr_i (axil_araddr),
    .s_axil_arprot_i (axil_arprot),
    .s_axil_arvalid_i(to_arvalid[0]),
    .s_axil_arready_o(to_arready[0]),
    .s_axil_rdata_o  (to_rdata[0]),
    .s_axil_rresp_o  (to_rresp[0]),
    .s_axil_rvalid_o (to_rvalid[0]),
    .s_axil_rready_i (axil_rready),
    .pps_o           (pps),
    .capture_i,
    .s_axis_host_tvalid_i(from_host_valid),
    .s_axis_host_tready_o(from_host_ready),
    .s_axis_host_tdata_i (from_host_data),
    .s_axis_host_tlast_i (from_host_last),
    .m_axis_host_tvalid_o(to_host_valid),
    .m_axis_host_tready_i(to_host_ready),
    .m_axis_host_tdata_o (to_host_data),
    .m_axis_host_tlast_o (to_host_last),
    .m_axis_host_tuser_o (to_host_user),
    /* verilator lint_off PINCONNECTEMPTY */  // for simulation and observers
    .idle_o          (),
    .time_ns_o       (),
    .egress_event_o  (),
    /* verilator lint_on PINCONNECTEMPTY */
    .verdict_o       (verdict)
  );
  assign pps_o = pps;

  // ---- Lamps ------------------------------------------------------------------------------------------------------
  logic [7:0] events, lamps;

  assign events = {
    tx_en[1], verdict.valid && verdict.port == 3'd1,
    tx_en[0], verdict.valid && verdict.port == 3'd0,
    !serial_o, axil_awvalid || axil_arvalid,
    pps, 1'b1
  };

  pen_lamps u_lamps (.clk_i(clk), .rst_i(rst), .events_i(events), .lamps_o(lamps));
  assign led_no = ~lamps;
endmodule
