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

`ifdef FORMAL
  // Contract, of frames of any length and content, however the transmitter pauses: 1. each byte of the frame as it came is
  // taken once and leaves as it came, but for the tag and, if anything is edited, the FCS; the new tag stands behind the
  // addresses, the padding before the FCS; 2. from where both frames are at the same byte behind the tag, with a difference of
  // their CRC that is the D above, this stays what they differ by, up to the FCS, which takes it away: the remainder of the
  // CRC over the frame as it goes is that over the frame as it came. With padding the latter's difference from F_REMAINDER
  // is moved on by as many zero bytes, which never makes zero of what is not. So what was whole stays whole, and what was
  // damaged stays damaged. That D is right there is for the test bench to show.
  //
  // The difference of two CRC is the CRC of how the bytes differ.
  localparam logic [31:0] F_REMAINDER = 32'hDEBB20E3;  // of a frame that is whole
  logic             f_past_q = 1'b0;
  edit_t            f_edit_q;
  label_t           f_label_q;
  logic             f_labelled_q;           // it is needed
  logic [2:0]       f_pad_q;
  length_t          f_to_send_q;            // bytes
  length_t          f_sent_q, f_taken_q;    // bytes; those that are left out count as taken
  length_t          f_length_q;             // as it goes
  logic [31:0]      f_apart_q;              // CRC of the frame as it goes less that as it came
  logic [31:0]      f_apart;                // and with the byte that is sent
  logic [2:0]       f_left_out_q;           // bytes of the tag that is left out, up to 4: after f_pause
  logic [3:0][7:0]  f_tag;
  logic             f_pause, f_is_sent, f_joined, f_begins;
  logic [2:0]       f_pad;
  length_t          f_not_came;             // bytes sent that are none of the frame as it came

  // By what the padding makes the difference wrong until the old FCS is used up: its bytes count inverted. Constants.
  function automatic logic [31:0] f_inverted(input int unsigned padding, input int unsigned to_send);
    f_inverted = '0;
    for (int unsigned n = 8; n > 0; n--) begin
      if (n > to_send && n > padding) begin
        if (n > 4 && n <= 4 + padding) f_inverted = crc32_byte(f_inverted, 8'hFF);
        else if (n <= 4) f_inverted = crc32_byte(f_inverted, 8'h00);
      end
      if (n == padding && to_send <= padding) f_inverted ^= F_REMAINDER;
      if (n > to_send && n <= padding) f_inverted = crc32_byte(f_inverted, 8'hFF);
    end
  endfunction

  assign f_pad     = f_edit_q.tag == TAG_REMOVE ? f_pad_q : '0;
  assign f_is_sent = data_ready_i && !start_i;
  assign f_pause   = f_edit_q.tag == TAG_REMOVE && f_sent_q >= length_t'(ADDRESS_BYTES) && f_left_out_q != 3'd4;
  assign f_tag     = {tag == TAG_REMOVE ? old_tci[7:0] : new_tci[7:0], tag == TAG_REMOVE ? old_tci[15:8] : new_tci[15:8],
                      TYPE_VLAN[7:0], TYPE_VLAN[15:8]};
  always_comb begin
    f_not_came = f_to_send_q < length_t'(f_pad) ? length_t'(f_pad) - f_to_send_q : '0;
    if (tag == TAG_INSERT && f_sent_q > 11'd12) f_not_came = f_sent_q > 11'd16 ? 11'd4 : f_sent_q - 11'd12;
  end

  // The two frames are at the same byte behind the tag, or have none to differ by.
  assign f_joined = tag inside {TAG_KEEP, TAG_REWRITE} || (tag == TAG_INSERT && f_sent_q >= 11'd16)
                    || (tag == TAG_REMOVE && f_sent_q >= 11'd12 && !f_pause);

  assign f_begins = (tag == TAG_INSERT && f_sent_q == 11'd16) || (tag == TAG_REMOVE && f_sent_q == 11'd12);

  always_comb begin
    f_apart = crc32_byte(f_begins ? difference_q : f_apart_q, data_o ^ (data_ready_o ? data_i : '0));
    if (f_pad != '0 && data_ready_o && f_to_send_q == length_t'(f_pad) + 11'd1) f_apart ^= F_REMAINDER;
  end

  always_ff @(posedge clk_i) begin
    f_past_q     <= 1'b1;
    f_label_q    <= label_i;
    f_labelled_q <= !start_i && f_sent_q >= 11'd8;
    if (start_i) begin
      f_edit_q     <= edit_i;
      f_pad_q      <= pad_i;
      f_to_send_q  <= left_i + 1'b1;
      f_length_q   <= left_i + 1'b1;
      f_sent_q     <= '0;
      f_taken_q    <= '0;
      f_apart_q    <= '0;
      f_left_out_q <= '0;
    end else if (f_pause) begin
      f_left_out_q <= f_left_out_q + 1'b1;
      f_taken_q    <= f_taken_q + 1'b1;
    end else if (f_is_sent) begin
      f_to_send_q <= f_to_send_q - 1'b1;
      f_sent_q    <= f_sent_q + 1'b1;
      if (f_joined) f_apart_q <= f_apart;
      if (data_ready_o) f_taken_q <= f_taken_q + 1'b1;
    end
  end

  always_comb begin
    // Reader and MAC.
    assume (f_past_q || start_i);
    if (start_i) assume (left_i >= length_t'(19) && left_i < length_t'(2010) && pad_i <= 3'd4);
    if (f_past_q && !start_i) begin
      assume (edit_i == f_edit_q && pad_i == f_pad_q && (!f_labelled_q || label_i == f_label_q));
      assume (left_i == f_to_send_q - 1'b1);
      assume (!data_ready_i || f_to_send_q != '0);
      // Nothing moves but with a byte that is sent, so a pause in which the tag that is left out is counted changes nothing.
      assume (!f_pause || !data_ready_i);
    end

    if (f_past_q && !start_i) begin
      // 1.
      if (f_is_sent) begin
        assert (skip_o == (tag == TAG_REMOVE && f_sent_q == length_t'(ADDRESS_BYTES - 1)));
        if (f_sent_q >= 11'd12 && f_sent_q < 11'd16 && tag inside {TAG_INSERT, TAG_REWRITE})
          assert (data_o == f_tag[f_sent_q[1:0]] && data_ready_o == (tag == TAG_REWRITE));
        else if (f_to_send_q > 11'd4 && f_to_send_q <= 11'd4 + length_t'(f_pad)) assert (data_o == '0);
        else if (f_to_send_q > 11'd4) assert (data_o == data_i && data_ready_o);
        if (tag == TAG_KEEP) assert (data_o == data_i && data_ready_o);
      end
      if (f_to_send_q == '0) begin
        if (tag == TAG_INSERT) assert (f_taken_q == f_length_q - 11'd4);
        else if (tag == TAG_REMOVE) assert (f_taken_q == f_length_q - length_t'(f_pad) + 11'd4);
        else assert (f_taken_q == f_length_q);
      end
      // 2.
      if (f_to_send_q == '0) assert (f_apart_q == (f_pad != '0 ? F_REMAINDER : '0));
      // What makes it hold.
      assert (f_pad_q <= 3'd4);
      assert (f_sent_q + f_to_send_q == f_length_q && f_length_q >= 11'd20 && f_length_q <= 11'd2010);
      assert (f_sent_q <= f_length_q);
      assert (position_q == (f_sent_q > 11'd16 ? 5'd16 : f_sent_q[4:0]));
      assert (f_left_out_q <= 3'd4);
      if (tag != TAG_REMOVE || f_sent_q < 11'd12) assert (f_left_out_q == '0);
      if (tag == TAG_REMOVE && f_sent_q > 11'd12) assert (f_left_out_q == 3'd4);
      assert (f_taken_q == f_sent_q - f_not_came + length_t'(f_left_out_q));
      if (tag == TAG_KEEP) assert (f_apart_q == '0);
      else if (f_joined && !f_begins)
        for (int unsigned pad = 0; pad < 5; pad++)
          for (int unsigned n = 0; n < 9; n++)
            if (f_pad == 3'(pad) && (f_to_send_q == length_t'(n) || (n == 8 && f_to_send_q > 11'd8)))
              assert (f_apart_q == (difference_q ^ f_inverted(pad, n)));
      if (tag != TAG_KEEP)
        for (int unsigned n = 0; n < 4; n++) if (f_to_send_q == length_t'(n)) assert (difference_q >> 8 * n == '0);

      for (int unsigned each = 0; each < 4; each++) cover (tag == tag_e'(each) && f_to_send_q == '0 && f_pad == '0);
      for (int unsigned pad = 1; pad < 5; pad++) cover (f_pad == 3'(pad) && f_to_send_q == '0);
    end
  end
`endif
endmodule
