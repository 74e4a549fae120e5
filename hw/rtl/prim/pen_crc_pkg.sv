// SPDX-License-Identifier: Apache-2.0
// CRC-32 of IEEE 802.3: reflected polynomial EDB88320, initial value and final inversion all ones.
package pen_crc_pkg;

  // One byte, least significant bit first; the running value is kept uninverted from FFFFFFFF.
  function automatic logic [31:0] crc32_byte(input logic [31:0] crc, input logic [7:0] data);
    logic [31:0] value;
    value = crc ^ {24'b0, data};
    for (int unsigned i = 0; i < 8; i++) value = value[0] ? (value >> 1) ^ 32'hEDB88320 : value >> 1;
    return value;
  endfunction

  // Of a whole key of 14 bytes, first byte in bits 7:0; of shorter keys use `bytes`.
  function automatic logic [31:0] crc32_key(input logic [111:0] key, input int unsigned bytes);
    logic [31:0] value;
    value = '1;
    for (int unsigned i = 0; i < 14; i++) if (i < bytes) value = crc32_byte(value, key[8*i+:8]);
    return ~value;
  endfunction

endpackage
