# SPDX-License-Identifier: Apache-2.0
# Vivado: read_xdc -ref pen_sync -unmanaged pen_sync.xdc; for those outside pen_fifo_cdc and pen_sync_value, whose bits cross
# each by itself. ASYNC_REG, which keeps the stages together, stands in the source.
set_false_path -to [get_pins {stage_q_reg[0][*]/D}]
