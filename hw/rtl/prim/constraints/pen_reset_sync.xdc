# SPDX-License-Identifier: Apache-2.0
# Vivado: read_xdc -ref pen_reset_sync pen_reset_sync.xdc
# Asserted at any time; the stages make the release synchronous.
set_false_path -to [get_pins {stage_q_reg[*]/PRE}]
