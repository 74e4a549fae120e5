pen_pkg.sv
