// SPDX-License-Identifier: Apache-2.0
// Small memory in lookup tables with several read ports, for each of which synthesis keeps it once: where one address comes
// late, the others do not stand in its way.
module pen_lutram_nr1w #(
  parameter int unsigned READS = 2,
  parameter int unsigned WIDTH = 32,
  parameter int unsigned DEPTH = 32
) (
  input  logic                                clk_i,
  input  logic                                write_i,
  input  logic [$clog2(DEPTH)-1:0]            write_addr_i,
  input  logic [WIDTH-1:0]                    write_data_i,
  input  logic [READS-1:0][$clog2(DEPTH)-1:0] read_addr_i,
  output logic [READS-1:0][WIDTH-1:0]         read_data_o
);
  if (READS < 2) begin : gen_check_reads
    $fatal(1, "pen_lutram_nr1w: READS must be 2 or more, is %0d (%m)", READS);
  end
  if (WIDTH < 1) begin : gen_check_width
    $fatal(1, "pen_lutram_nr1w: WIDTH must be 1 or more, is %0d (%m)", WIDTH);
  end
  if (DEPTH < 2) begin : gen_check_depth
    $fatal(1, "pen_lutram_nr1w: DEPTH must be 2 or more, is %0d (%m)", DEPTH);
  end

  (* ram_style = "distributed" *) logic [WIDTH-1:0] memory[DEPTH];

  always_ff @(posedge clk_i) begin
    if (write_i) memory[write_addr_i] <= write_data_i;
  end

  for (genvar k = 0; k < READS; k++) begin : gen_read
    assign read_data_o[k] = memory[read_addr_i[k]];
  end
endmodule
