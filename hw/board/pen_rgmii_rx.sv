// SPDX-License-Identifier: Apache-2.0
// Receive side of RGMII 2.0 at 1 Gb/s as GMII, two cycles of its clock later.
//
// A byte comes in two halves: bits 3:0 at the rising edge, 7:4 at the falling. The control line says `dv` at the rising
// edge and `dv ^ er` at the falling. The PHY has to delay its clock, so that its edges lie in the middle of the data.
module pen_rgmii_rx (
  input  logic       rgmii_rxc_i,     // 125 MHz of the link partner; may stand still
  input  logic [3:0] rgmii_rxd_i,
  input  logic       rgmii_rx_ctl_i,
  output logic [7:0] gmii_rxd_o,      // of that clock
  output logic       gmii_rx_dv_o,
  output logic       gmii_rx_er_o
);
  logic [4:0] rise, fall;

  pen_ddr_in #(.WIDTH(5)) u_pins (
    .clk_i (rgmii_rxc_i),
    .pin_i ({rgmii_rx_ctl_i, rgmii_rxd_i}),
    .rise_o(rise),
    .fall_o(fall)
  );

  always_ff @(posedge rgmii_rxc_i) begin
    gmii_rxd_o   <= {fall[3:0], rise[3:0]};
    gmii_rx_dv_o <= rise[4];
    gmii_rx_er_o <= rise[4] ^ fall[4];
  end
endmodule
