// SPDX-License-Identifier: Apache-2.0
// pen_crc_pkg::crc32_key with ports, so that a test can call it.
module crc32_key_tb (
  input  logic [111:0] key_i,
  input  logic [3:0]   bytes_i,
  output logic [31:0]  crc_o
);
  assign crc_o = pen_crc_pkg::crc32_key(key_i, 32'(bytes_i));
endmodule
