// SPDX-License-Identifier: Apache-2.0
// Transmit side of RGMII 2.0 at 1 Gb/s: a byte in two halves, bits 3:0 while the clock is high and 7:4 while it is low.
//
// Clock and data leave together: the PHY has to delay the clock, so that its edges lie in the middle of the data.
module pen_rgmii_tx (
  input  logic       clk_i,           // 125 MHz
  input  logic [7:0] gmii_txd_i,
  input  logic       gmii_tx_en_i,
  input  logic       gmii_tx_er_i,
  output logic       rgmii_txc_o,
  output logic [3:0] rgmii_txd_o,
  output logic       rgmii_tx_ctl_o
);
  logic [4:0] rise_q, fall_q;

  always_ff @(posedge clk_i) begin
    rise_q <= {gmii_tx_en_i, gmii_txd_i[3:0]};
    fall_q <= {gmii_tx_en_i ^ gmii_tx_er_i, gmii_txd_i[7:4]};
  end

  // The clock goes the same way as the data, through the same kind of register at its pin.
  pen_ddr_out #(.WIDTH(6)) u_pins (
    .clk_i,
    .rise_i({1'b1, rise_q}),
    .fall_i({1'b0, fall_q}),
    .pin_o ({rgmii_txc_o, rgmii_tx_ctl_o, rgmii_txd_o})
  );
endmodule
