// SPDX-License-Identifier: Apache-2.0
// Takes a setting of several bits, which changes rarely, into another clock domain.
//
// A change may be seen with some bits old and some new, but in one sample only, as the bits' delays differ by less than
// a cycle. The output therefore follows when two samples agree, and is never a mixture.
module pen_sync_value #(
  parameter int unsigned      WIDTH       = 8,
  parameter logic [WIDTH-1:0] RESET_VALUE = '0
) (
  input  logic             clk_i,  // of the destination
  input  logic             rst_i,
  input  logic [WIDTH-1:0] data_i,
  output logic [WIDTH-1:0] data_o
);
  logic [WIDTH-1:0] sample, sample_q;

  pen_sync #(.WIDTH(WIDTH), .RESET_VALUE(RESET_VALUE)) u_sync (.clk_i, .rst_i, .data_i, .data_o(sample));

  always_ff @(posedge clk_i) begin
    sample_q <= sample;
    if (rst_i) data_o <= RESET_VALUE;
    else if (sample == sample_q) data_o <= sample;
  end
endmodule
