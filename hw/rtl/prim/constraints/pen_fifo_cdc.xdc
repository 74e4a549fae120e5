# SPDX-License-Identifier: Apache-2.0
# Vivado: read_xdc -ref pen_fifo_cdc pen_fifo_cdc.xdc
# The bits of a Gray pointer are apart by less than a period of the faster clock; a word is in the memory before its pointer
# has crossed.
set src_clk [get_clocks -of_objects [get_ports src_clk_i]]
set dst_clk [get_clocks -of_objects [get_ports dst_clk_i]]
set period [expr {min([get_property -min PERIOD $src_clk], [get_property -min PERIOD $dst_clk])}]

set_max_delay -datapath_only -from [get_cells {write_gray_q_reg[*]}] -to [get_cells {u_sync_write/stage_q_reg[0][*]}] $period
set_max_delay -datapath_only -from [get_cells {read_gray_q_reg[*]}] -to [get_cells {u_sync_read/stage_q_reg[0][*]}] $period
set_bus_skew -from [get_cells {write_gray_q_reg[*]}] -to [get_cells {u_sync_write/stage_q_reg[0][*]}] $period
set_bus_skew -from [get_cells {read_gray_q_reg[*]}] -to [get_cells {u_sync_read/stage_q_reg[0][*]}] $period
set_max_delay -datapath_only -from [get_cells -hierarchical -filter {NAME =~ u_memory/*}] -to $dst_clk $period
