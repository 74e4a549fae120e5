// SPDX-License-Identifier: Apache-2.0
// Changes frames on their way out: removes, inserts or rewrites the VLAN tag (802.1Q 6.9), byte by byte between reader and MAC.
// A tag that is written is that of the frame's VLAN, or what this is translated to.
//
// The FCS is not computed anew over what passes, which would hide damage: it is changed by what the edit changes in it. The
// FCS is linear: with A the addresses, T the tag, and B the n bytes behind it, the registers of the CRC over A T B and over
// A B differ by
//
//   D = x^n (crc(A T) + crc(A)) = x^n ((x^4 + 1) crc(A) + crc(T)),        x: one zero byte more
//
// `difference_q` takes (x^4 + 1) of each byte of A and, beside the last four of them, the bytes of T; of what follows only
// the number of bytes counts. What was wrong with the frame, anywhere, is still wrong with it.
//
//   byte sent       0 .. 10   11                12 .. 15     ..     with padding, before the FCS      FCS
//   TAG_INSERT      A         A                 T                                                     FCS + D
//   TAG_REMOVE      A         A, and skip T     what follows        zeros, FCS taken meanwhile        FCS + D
//   TAG_REWRITE     A         A                 new T                                                 FCS + D
//
// Padding goes through the CRC too. It replaces bytes of the old FCS one by one: they are taken into the difference, which
// then is the new FCS by itself.
module pen_editor
  import pen_pkg::*;
(
  input  logic       clk_i,
  input  logic       start_i,       // of a frame; what it needs holds until the next start
  input  edit_t      edit_i,
  input  label_t     label_i,       // needed from byte 8 on
  input  logic [2:0] pad_i,         // bytes of padding, 0 to 4; counts with TAG_REMOVE
  // The frame as it came
  input  logic       data_valid_i,
  input  logic [7:0] data_i,
  output logic       data_ready_o,
  output logic       skip_o,        // with data_ready_o: the four bytes behind this one are left out
  // The frame as it goes
  output logic       data_valid_o,
  output logic [7:0] data_o,
  input  logic       data_ready_i,
  input  length_t    left_i         // bytes to be sent behind this one
);
  import pen_crc_pkg::*;

  localparam int unsigned ADDRESS_BYTES = 12;
  localparam logic [15:0] TYPE_VLAN = 16'h8100;

  logic [4:0]  position_q;          // of the byte sent; stays behind the tag
  logic [31:0] difference_q, difference_d;
  logic [2:0]  pad;
  logic        in_addresses, in_tag, in_padding, in_fcs, has_old_fcs;
  logic        takes;               // a byte of the frame as it came
  tag_e        tag;
  logic [15:0] tci, old_tci, new_tci;
  logic [7:0]  tag_byte, change, old_fcs;

  assign tag          = edit_i.tag;
  assign pad          = tag == TAG_REMOVE ? pad_i : '0;
  assign in_addresses = position_q < 5'(ADDRESS_BYTES);
  assign in_tag       = position_q[4:2] == 3'd3;
  assign in_fcs       = left_i < length_t'(4);
  assign in_padding   = !in_fcs && left_i < length_t'(4) + length_t'(pad);
  assign has_old_fcs  = left_i >= length_t'(pad);

  assign tci     = {label_i.pcp, label_i.dei, label_i.vlan_id};
  assign old_tci = label_i.is_priority_tagged ? {label_i.pcp, label_i.dei, 12'b0} : tci;
  assign new_tci = edit_i.translate ? {label_i.egress_pcp, label_i.dei, label_i.egress_vlan_id} : tci;

  // The byte of the tag that goes or comes with this one or, with the last bytes of the addresses, four bytes later.
  always_comb begin
    unique case (position_q[1:0])
      2'd0: tag_byte = TYPE_VLAN[15:8];
      2'd1: tag_byte = TYPE_VLAN[7:0];
      2'd2: tag_byte = tag == TAG_REMOVE ? old_tci[15:8] : new_tci[15:8];
      2'd3: tag_byte = tag == TAG_REMOVE ? old_tci[7:0] : new_tci[7:0];
    endcase
  end

  // Bits of the addresses as they stand in the CRC, whose register is all ones at first.
  function automatic logic [31:0] four_bytes_later(input logic [7:0] octet);
    logic [31:0] value;
    value = crc32_byte('0, octet);
    for (int unsigned i = 0; i < 4; i++) value = crc32_byte(value, '0);
    return value ^ crc32_byte('0, octet);
  endfunction

  always_comb begin
    change = '0;
    if (position_q[4:2] == 3'd2 && tag != TAG_REWRITE) change = tag_byte;
    if (in_tag && tag == TAG_REWRITE) change = tag_byte ^ data_i;
    if (in_padding) change = has_old_fcs ? ~data_i : '0;
    old_fcs      = has_old_fcs ? ~data_i : '0;
    difference_d = crc32_byte(difference_q, change);
    if (in_addresses && tag != TAG_REWRITE)
      difference_d ^= four_bytes_later(data_i ^ {8{position_q < 5'd4}});
    if (in_fcs) difference_d = difference_q >> 8;
    if (tag == TAG_INSERT && in_tag) difference_d = difference_q;
  end

  always_comb begin
    data_o = data_i;
    if (tag == TAG_INSERT && in_tag) data_o = tag_byte;
    if (tag == TAG_REWRITE && in_tag) data_o = tag_byte;
    if (tag != TAG_KEEP && in_fcs) data_o = ~(old_fcs ^ difference_q[7:0]);
    if (in_padding) data_o = '0;
  end

  assign takes        = !(tag == TAG_INSERT && in_tag) && (has_old_fcs || !(in_fcs || in_padding));
  assign data_ready_o = data_ready_i && takes;
  assign data_valid_o = data_valid_i || !takes;
  assign skip_o       = tag == TAG_REMOVE && position_q == 5'(ADDRESS_BYTES - 1);

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      position_q   <= '0;
      difference_q <= '0;
    end else if (data_ready_i) begin
      if (!position_q[4]) position_q <= position_q + 1'b1;
      difference_q <= difference_d;
    end
  end
endmodule
