pen_pkg.sv
prim/pen_crc_pkg.sv
prim/pen_ram_1r1w.sv
prim/pen_lutram_1r1w.sv
prim/pen_fifo.sv
