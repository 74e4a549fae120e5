# SPDX-License-Identifier: Apache-2.0
# Vivado: read_xdc -ref pen_sync_value pen_sync_value.xdc
# All bits of a change are seen in one sample or the next: apart by less than a period of the destination.
set period [get_property -min PERIOD [get_clocks -of_objects [get_ports clk_i]]]

set_max_delay -datapath_only -from [all_clocks] -to [get_cells {u_sync/stage_q_reg[0][*]}] $period
set_bus_skew -from [all_registers -clock [all_clocks]] -to [get_cells {u_sync/stage_q_reg[0][*]}] $period
