// SPDX-License-Identifier: Apache-2.0
// The switch with its ports as unpacked arrays, which a cocotb test can address one by one.
module pen_switch_tb
  import pen_pkg::*;
#(
  parameter int unsigned PORTS = 4
) (
  input  logic        clk,
  input  logic        rst,
  input  logic        gmii_rx_clk[PORTS],
  input  logic [7:0]  gmii_rxd   [PORTS],
  input  logic        gmii_rx_dv [PORTS],
  input  logic        gmii_rx_er [PORTS],
  output logic [7:0]  gmii_txd   [PORTS],
  output logic        gmii_tx_en [PORTS],
  output logic        gmii_tx_er [PORTS],
  input  logic [15:0] s_axil_awaddr,
  input  logic [2:0]  s_axil_awprot,
  input  logic        s_axil_awvalid,
  output logic        s_axil_awready,
  input  logic [31:0] s_axil_wdata,
  input  logic [3:0]  s_axil_wstrb,
  input  logic        s_axil_wvalid,
  output logic        s_axil_wready,
  output logic [1:0]  s_axil_bresp,
  output logic        s_axil_bvalid,
  input  logic        s_axil_bready,
  input  logic [15:0] s_axil_araddr,
  input  logic [2:0]  s_axil_arprot,
  input  logic        s_axil_arvalid,
  output logic        s_axil_arready,
  output logic [31:0] s_axil_rdata,
  output logic [1:0]  s_axil_rresp,
  output logic        s_axil_rvalid,
  input  logic        s_axil_rready,
  output logic        pps,
  input  logic        capture
);
  // Inputs start with random values too: what looks like a clock edge before the first real one is not passed on.
  logic started = 1'b0;
  always_ff @(negedge clk) started <= 1'b1;

  logic [PORTS-1:0]      rx_clk, rx_dv, rx_er, tx_en, tx_er;
  logic [PORTS-1:0][7:0] rxd, txd;
  for (genvar p = 0; p < PORTS; p++) begin : gen_port
    assign rx_clk[p]     = gmii_rx_clk[p];
    assign rxd[p]        = gmii_rxd[p];
    assign rx_dv[p]      = gmii_rx_dv[p];
    assign rx_er[p]      = gmii_rx_er[p];
    assign gmii_txd[p]   = txd[p];
    assign gmii_tx_en[p] = tx_en[p];
    assign gmii_tx_er[p] = tx_er[p];
  end

  pen_switch #(.PORTS(PORTS)) u_switch (
    .clk_i           (clk && started),
    .rst_i           (rst),
    .gmii_rx_clk_i   (rx_clk),
    .gmii_rxd_i      (rxd),
    .gmii_rx_dv_i    (rx_dv),
    .gmii_rx_er_i    (rx_er),
    .gmii_txd_o      (txd),
    .gmii_tx_en_o    (tx_en),
    .gmii_tx_er_o    (tx_er),
    .s_axil_awaddr_i (s_axil_awaddr),
    .s_axil_awprot_i (s_axil_awprot),
    .s_axil_awvalid_i(s_axil_awvalid),
    .s_axil_awready_o(s_axil_awready),
    .s_axil_wdata_i  (s_axil_wdata),
    .s_axil_wstrb_i  (s_axil_wstrb),
    .s_axil_wvalid_i (s_axil_wvalid),
    .s_axil_wready_o (s_axil_wready),
    .s_axil_bresp_o  (s_axil_bresp),
    .s_axil_bvalid_o (s_axil_bvalid),
    .s_axil_bready_i (s_axil_bready),
    .s_axil_araddr_i (s_axil_araddr),
    .s_axil_arprot_i (s_axil_arprot),
    .s_axil_arvalid_i(s_axil_arvalid),
    .s_axil_arready_o(s_axil_arready),
    .s_axil_rdata_o  (s_axil_rdata),
    .s_axil_rresp_o  (s_axil_rresp),
    .s_axil_rvalid_o (s_axil_rvalid),
    .s_axil_rready_i (s_axil_rready),
    .pps_o           (pps),
    .capture_i       (capture),
    .s_axis_host_tvalid_i(1'b0),
    .s_axis_host_tdata_i ('0),
    .s_axis_host_tlast_i (1'b0),
    .m_axis_host_tready_i(1'b1),
    .s_axis_host_tready_o(),
    .m_axis_host_tvalid_o(),
    .m_axis_host_tdata_o (),
    .m_axis_host_tlast_o (),
    .m_axis_host_tuser_o (),
    .idle_o          (),
    .time_ns_o       (),
    .verdict_o       (),
    .egress_event_o  ()
  );
endmodule
