pen_pkg.sv
prim/pen_crc_pkg.sv
prim/pen_ram_1r1w.sv
prim/pen_lutram_1r1w.sv
prim/pen_fifo.sv
top/pen_registers.sv
top/pen_counter_bank.sv
top/pen_counters.sv
