// SPDX-License-Identifier: Apache-2.0
// A PHY at 1 Gb/s as its RGMII sees it: what a link partner sends comes as GMII, and so does what it would receive.
//
// It delays both clocks itself. Around every edge of a delayed clock the data stands for SETUP_NS before and HOLD_NS
// after; the rest of the time the lines carry noise, so that who samples at another time is found out.
`timescale 1ns / 1ps
module rgmii_phy #(
  parameter realtime DELAY_NS = 2.0,
  parameter realtime SETUP_NS = 1.0,
  parameter realtime HOLD_NS  = 1.0
) (
  input  logic       rst_ni,
  // Towards the link partner
  input  logic       partner_clk_i,
  input  logic [7:0] partner_rxd_i,    // changes with the rising edges of that clock
  input  logic       partner_rx_dv_i,
  input  logic       partner_rx_er_i,
  output logic       partner_tx_clk_o,
  output logic [7:0] partner_txd_o,
  output logic       partner_tx_en_o,
  output logic       partner_tx_er_o,
  // Towards the switch
  output logic       rgmii_rxc_o,
  output logic [3:0] rgmii_rxd_o,
  output logic       rgmii_rx_ctl_o,
  input  logic       rgmii_txc_i,
  input  logic [3:0] rgmii_txd_i,
  input  logic       rgmii_tx_ctl_i
);
  // ---- Receive ----------------------------------------------------------------------------------------------------
  logic [7:0] byte_q;
  logic       dv_q, er_q;
  logic [4:0] half;

  always @(posedge partner_clk_i) begin
    byte_q <= partner_rxd_i;
    dv_q   <= partner_rx_dv_i && rst_ni;
    er_q   <= partner_rx_er_i && rst_ni;
  end

  always @(partner_clk_i) rgmii_rxc_o <= #(DELAY_NS) partner_clk_i && rst_ni;

  // The half that belongs to an edge is put out ahead of the delayed clock, and taken away behind it.
  always @(posedge partner_clk_i or negedge partner_clk_i) begin
    if (partner_clk_i) half = {partner_rx_dv_i && rst_ni, partner_rxd_i[3:0]};
    else half = {dv_q ^ er_q, byte_q[7:4]};
    {rgmii_rx_ctl_o, rgmii_rxd_o} <= #(DELAY_NS - SETUP_NS) half;
    {rgmii_rx_ctl_o, rgmii_rxd_o} <= #(DELAY_NS + HOLD_NS) 5'($urandom);
  end

  // ---- Transmit ---------------------------------------------------------------------------------------------------
  logic       txc;
  logic [4:0] rise_q;

  always @(rgmii_txc_i) txc <= #(DELAY_NS) rgmii_txc_i;

  always @(posedge txc) rise_q <= {rgmii_tx_ctl_i, rgmii_txd_i};
  always @(negedge txc) begin
    partner_txd_o   <= {rgmii_txd_i, rise_q[3:0]};
    partner_tx_en_o <= rise_q[4] && rst_ni;
    partner_tx_er_o <= (rise_q[4] ^ rgmii_tx_ctl_i) && rst_ni;
  end
  assign partner_tx_clk_o = txc;  // its rising edges lie in the middle of the byte
endmodule
