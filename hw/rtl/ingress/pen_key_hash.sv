// SPDX-License-Identifier: Apache-2.0
// Some bits of the CRC-32 of a whole key, in one step.
//
// A CRC is linear: each bit of it is the parity of those key bits that a constant mask selects. Written that way it
// becomes balanced trees of exclusive-or gates in place of a chain of as many as the key has bits.
module pen_key_hash #(
  parameter int unsigned BYTES = 14,  // of the key, at most 14
  parameter int unsigned LOW = 0,     // lowest bit of the CRC that is wanted
  parameter int unsigned WIDTH = 9    // how many
) (
  input  logic [8*BYTES-1:0] key_i,   // first byte in bits 7:0
  output logic [WIDTH-1:0]   hash_o
);
  if (BYTES < 1 || BYTES > 14) begin : gen_check_1
    $fatal(1, "pen_key_hash: BYTES must be 1 to 14, is %0d (%m)", BYTES);
  end
  if (LOW + WIDTH > 32) begin : gen_check_2
    $fatal(1, "pen_key_hash: LOW + WIDTH must be 32 or less, is %0d (%m)", LOW + WIDTH);
  end

  typedef logic [WIDTH-1:0][8*BYTES-1:0] masks_t;

  // The last bit of the key passes through one step, the one before it through two, ...
  function automatic masks_t make_masks();
    masks_t      masks;
    logic [31:0] value;
    value = 32'hEDB88320;
    for (int unsigned i = 0; i < 8 * BYTES; i++) begin
      for (int unsigned b = 0; b < WIDTH; b++) masks[b][8*BYTES-1-i] = value[LOW+b];
      value = value[0] ? (value >> 1) ^ 32'hEDB88320 : value >> 1;
    end
    return masks;
  endfunction

  localparam masks_t MASKS = make_masks();
  localparam logic [31:0] OF_ZERO = pen_crc_pkg::crc32_key('0, BYTES);

  for (genvar b = 0; b < WIDTH; b++) begin : gen_bit
    assign hash_o[b] = OF_ZERO[LOW+b] ^ (^(key_i & MASKS[b]));
  end
endmodule
