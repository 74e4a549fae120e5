// SPDX-License-Identifier: Apache-2.0
// The board: its FPGA and two PHYs, whose link partners a cocotb test plays.
`timescale 1ns / 1ps
module pen_versa_ecp5_tb #(
  parameter int unsigned BIT_CYCLES       = 8,
  parameter int unsigned PHY_RESET_CYCLES = 200
) (
  input  logic       clk100,
  input  logic       button_n,
  output logic       partner_clk  [2],
  input  logic [7:0] partner_rxd  [2],
  input  logic       partner_rx_dv[2],
  input  logic       partner_rx_er[2],
  output logic       partner_tx_clk[2],
  output logic [7:0] partner_txd  [2],
  output logic       partner_tx_en[2],
  output logic       partner_tx_er[2],
  input  logic       serial_in,
  output logic       serial_out,
  output logic [1:0] phy_rst_n,
  output logic       pps,
  output logic [7:0] led_n
);
  // 50 ppm slow and fast: no edge is at a whole picosecond for long, but the sum is right.
  localparam real HALF_NS[2] = '{4.0002, 3.9998};

  logic [1:0]      rxc, rx_ctl, txc, tx_ctl;
  logic [1:0][3:0] rxd, txd;

  for (genvar p = 0; p < 2; p++) begin : gen_phy
    initial begin
      real due_ns;
      partner_clk[p] = 1'b0;
      due_ns         = real'($urandom_range(7999, 1)) / 1000.0;
      forever begin
        #(due_ns - $realtime) partner_clk[p] = ~partner_clk[p];
        due_ns += HALF_NS[p];
      end
    end

    rgmii_phy u_phy (
      .rst_ni          (phy_rst_n[p]),
      .partner_clk_i   (partner_clk[p]),
      .partner_rxd_i   (partner_rxd[p]),
      .partner_rx_dv_i (partner_rx_dv[p]),
      .partner_rx_er_i (partner_rx_er[p]),
      .partner_tx_clk_o(partner_tx_clk[p]),
      .partner_txd_o   (partner_txd[p]),
      .partner_tx_en_o (partner_tx_en[p]),
      .partner_tx_er_o (partner_tx_er[p]),
      .rgmii_rxc_o     (rxc[p]),
      .rgmii_rxd_o     (rxd[p]),
      .rgmii_rx_ctl_o  (rx_ctl[p]),
      .rgmii_txc_i     (txc[p]),
      .rgmii_txd_i     (txd[p]),
      .rgmii_tx_ctl_i  (tx_ctl[p])
    );
  end

  pen_versa_ecp5 #(
    .BIT_CYCLES      (BIT_CYCLES),
    .IDLE_CYCLES     (100 * BIT_CYCLES),
    .PHY_RESET_CYCLES(PHY_RESET_CYCLES)
  ) u_board (
    .clk100_i      (clk100),
    .button_ni     (button_n),
    .phy_rst_no    (phy_rst_n),
    .rgmii_rxc_i   (rxc),
    .rgmii_rxd_i   (rxd),
    .rgmii_rx_ctl_i(rx_ctl),
    .rgmii_txc_o   (txc),
    .rgmii_txd_o   (txd),
    .rgmii_tx_ctl_o(tx_ctl),
    .serial_i      (serial_in),
    .serial_o      (serial_out),
    .pps_o         (pps),
    .capture_i     (1'b0),
    .led_no        (led_n)
  );
endmodule
