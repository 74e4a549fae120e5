// SPDX-License-Identifier: Apache-2.0
// Computes the FCS of a frame on its way to the transmitter, and puts it into the last four bytes, whatever they are.
module pen_fcs
  import pen_pkg::*, pen_crc_pkg::*;
(
  input  logic       clk_i,
  input  logic       start_i,       // of a frame
  input  logic [7:0] data_i,
  output logic [7:0] data_o,
  input  logic       data_ready_i,  // the byte is taken in this cycle
  input  length_t    left_i         // bytes to be sent behind this one
);
  logic [31:0] crc_q;
  logic        in_fcs;

  assign in_fcs = left_i < length_t'(4);
  assign data_o = in_fcs ? ~crc_q[7:0] : data_i;

  always_ff @(posedge clk_i) begin
    if (start_i) crc_q <= '1;
    else if (data_ready_i) crc_q <= in_fcs ? crc_q >> 8 : crc32_byte(crc_q, data_i);
  end
endmodule
