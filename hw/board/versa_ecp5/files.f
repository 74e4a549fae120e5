// Of hw/board, beside hw/rtl/files.f
ecp5/pen_ddr_in.sv
ecp5/pen_ddr_out.sv
ecp5/pen_pll_100_125.sv
pen_rgmii_rx.sv
pen_rgmii_tx.sv
pen_board_reset.sv
pen_lamps.sv
versa_ecp5/pen_versa_ecp5.sv
