# SPDX-License-Identifier: Apache-2.0
# Tools that read SDC, for a whole design with clocks of at most 8 ns: what crosses between clocks takes one period at most.
# The clock of the core and those that the PHYs send have nothing to do with each other otherwise.
set crossing_ns 8.0

set_max_delay $crossing_ns -from [get_cells -hierarchical *write_gray_q*] -to [get_cells -hierarchical *u_sync_write*stage_q*]
set_max_delay $crossing_ns -from [get_cells -hierarchical *read_gray_q*] -to [get_cells -hierarchical *u_sync_read*stage_q*]
set_max_delay $crossing_ns -to [get_cells -hierarchical *u_sync_max*stage_q*]
set_false_path -to [get_pins -hierarchical *u_reset_sync*stage_q*/PRE]
