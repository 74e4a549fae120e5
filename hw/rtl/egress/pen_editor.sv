// SPDX-License-Identifier: Apache-2.0
// Changes frames on their way out, byte by byte between reader and MAC: removes, inserts or rewrites the VLAN tag (802.1Q
// 6.9), and behind it removes or inserts the R-TAG (802.1CB 7.8). A VLAN tag that is written is that of the frame's VLAN, or
// what this is translated to. The correctionField of a PTP message is rewritten in its place, see pen_correction_end.
//
// The FCS is not computed anew over what passes, which would hide damage: it is changed by what the edit changes in it. The
// FCS is linear, so two frames that end with the same n bytes differ in it by D = x^n (crc(begin of one) + crc(begin of the
// other)), where x stands for one zero byte more. `difference_q` takes the begin of both, that of the frame as it came with
// the power of x by which it becomes longer or shorter on its way:
//
//   - Each byte of the frame as it goes, tags included, with the byte sent.
//   - Each byte of the frame as it came, up to its addresses or to the VLAN tag that stays, DELAY + growth bytes after it
//     was sent, with x^DELAY: `old_q` counts them, and they are kept so long. What is sent later than it came has the
//     power that it needs from its place, and what is sent sooner from the delay.
//   - Tags that are left out when their turn is by that count. Their bytes never pass here: the label has what they say.
//   - What a byte of the correctionField changes, as it is sent.
//
// Of what follows only the number of bytes counts. What was wrong with the frame, anywhere, is still wrong with it.
//
//   byte sent       0 .. 11          12 .. 15 or not   6 bytes or not   ..      with padding, before the FCS     FCS
//   goes            addresses        VLAN tag          new R-TAG        rest    zeros, FCS taken meanwhile       FCS + D
//                   and skip what is left out here, or behind the VLAN tag that stays
//                                                                       and of its first 16 bytes, the correctionField
//
// Padding goes through the CRC too. It replaces bytes of the old FCS one by one: they are taken into the difference, which
// then is the new FCS by itself.
//
// What is to be done with a byte is decided while the one before it is sent, and the difference takes what a byte changes
// while the one behind it is sent.
module pen_editor
  import pen_pkg::*;
#(
  parameter int unsigned LATE = 0   // by so many cycles the count of cycles comes late
) (
  input  logic       clk_i,
  input  logic       start_i,       // of a frame; what it needs holds until the next start
  input  edit_t      edit_i,
  input  logic       translate_i,   // as label_i; a VLAN tag that is written is what the VLAN is translated to
  input  label_t     label_i,       // needed from byte 2 on, until all that changes but the FCS has been sent
  input  long_cycle_t late_cycle_i,
  input  logic [3:0] pad_i,         // bytes of padding, 0 to 10
  // The frame as it came, of 64 bytes or more if it is changed
  input  logic       data_valid_i,
  input  logic [7:0] data_i,
  output logic       data_ready_o,
  output logic [3:0] skip_o,        // with data_ready_o: so many bytes behind the next one are left out
  // The frame as it goes
  output logic       data_valid_o,
  output logic [7:0] data_o,
  input  logic       data_ready_i,
  input  length_t    left_i         // bytes to be sent behind this one
);
  import pen_crc_pkg::*;

  localparam logic [15:0] TYPE_VLAN = 16'h8100;
  localparam int unsigned DELAY = 11;
  localparam logic [5:0] BEHIND = 6'd38;   // all tags and what changes of a correctionField
  localparam logic [5:0] CORRECTION_AT = 6'd22, CORRECTION_BYTES = 6'd6;
  localparam logic signed [5:0] OLD_TAG = 6'sd4, OLD_R_TAG = 6'sd8, OLD_BEGIN = 6'sd3, OLD_BEHIND = 6'sd19;

  logic [5:0]  position_q;          // of the byte sent; stays behind all that changes
  logic signed [5:0] old_q;         // of the frame as it came, see above; less OLD_BEGIN
  logic [31:0] difference_q, difference;  // without and with what the byte before changes
  logic [7:0]  change_q, came_q;
  logic        is_counted_q;        // all that changes is in difference_q, or nothing is yet
  logic        corrected_q;         // from the first byte of a correctionField on
  logic        keeps_tag, sends_tag, changes;
  logic        in_old, in_old_tag, in_old_r_tag;
  tag_e        tag;
  r_tag_e      r_tag;
  logic [15:0] tci, old_tci, new_tci;
  logic [7:0]  corrected, kept, sent, change;

  // Of the byte that is sent: decided with the one before.
  typedef struct packed {
    logic       is_own;             // `own` is sent: of a tag or padding
    logic [7:0] own;
    logic       takes;              // a byte of the frame as it came
    logic       is_begin;           // of the addresses or of tags
    logic       is_inverted;        // of the first four
    logic       in_correction;
    logic       in_padding;
    logic       in_fcs;
    logic [1:0] fcs_place;          // which byte of it
    logic       has_old_fcs;
    logic       leads_end;          // what is left out stands behind the byte that follows it
  } byte_t;
  localparam byte_t FIRST = '{takes: 1'b1, is_begin: 1'b1, is_inverted: 1'b1, has_old_fcs: 1'b1, default: '0};
  byte_t       now_q, next;
  logic [5:0]  ahead;               // position of the next byte
  logic        is_tag, is_r_tag;    // the next byte
  logic [5:0]  place_q;             // of the next byte in the correctionField, from byte 3 on; beyond it as the position

  assign tag         = edit_i.tag;
  assign r_tag       = edit_i.r_tag;
  assign changes     = tag != TAG_KEEP || r_tag != R_TAG_KEEP || corrected_q;
  assign keeps_tag   = label_i.has_tag && tag inside {TAG_KEEP, TAG_REWRITE};
  assign sends_tag   = keeps_tag || tag == TAG_INSERT;

  assign in_old       = old_q >= OLD_BEGIN && old_q < (keeps_tag ? OLD_BEHIND : OLD_BEHIND - 6'sd4);
  assign in_old_tag   = tag == TAG_REMOVE && old_q[5:2] == OLD_TAG[5:2];
  assign in_old_r_tag = r_tag == R_TAG_REMOVE && (label_i.has_tag ? old_q >= OLD_R_TAG && old_q < OLD_R_TAG + 6'sd6
                                                                  : old_q >= OLD_TAG && old_q < OLD_TAG + 6'sd6);

  assign tci     = {label_i.pcp, label_i.dei, label_i.vlan_id};
  assign old_tci = label_i.is_priority_tagged ? {label_i.pcp, label_i.dei, 12'b0} : tci;
  assign new_tci = translate_i ? {label_i.egress_pcp, label_i.dei, label_i.egress_vlan_id} : tci;

  function automatic logic [7:0] tag_byte(input logic [1:0] place, input logic [15:0] control);
    unique case (place)
      2'd0: return TYPE_VLAN[15:8];
      2'd1: return TYPE_VLAN[7:0];
      2'd2: return control[15:8];
      2'd3: return control[7:0];
    endcase
  endfunction

  function automatic logic [7:0] r_tag_byte(input logic [2:0] place, input logic [15:0] number);
    unique case (place)
      3'd0:    return TYPE_R_TAG[15:8];
      3'd1:    return TYPE_R_TAG[7:0];
      3'd4:    return number[15:8];
      3'd5:    return number[7:0];
      default: return '0;
    endcase
  endfunction

  // ---- The next byte. What came with an R-TAG has no correction.
  assign ahead            = position_q + 1'b1;
  assign is_tag           = ahead[5:2] == 4'd3;
  assign is_r_tag         = r_tag == R_TAG_INSERT && (sends_tag ? ahead inside {[6'd16:6'd21]} : ahead inside {[6'd12:6'd17]});
  always_comb begin
    next.in_correction = label_i.correction.is_due && place_q < CORRECTION_BYTES;
    next.in_fcs        = left_i <= length_t'(4);
    next.fcs_place     = -left_i[1:0];
    next.in_padding    = !next.in_fcs && left_i <= length_t'(4) + length_t'(pad_i);
    next.has_old_fcs   = left_i > length_t'(pad_i);
    next.is_begin      = ahead < 6'd12 || (is_tag && sends_tag) || is_r_tag;
    next.is_inverted   = ahead < 6'd4;
    next.leads_end     = ahead == (keeps_tag ? 6'd14 : 6'd10);
    next.takes         = !(tag == TAG_INSERT && is_tag) && !is_r_tag && (next.has_old_fcs || !(next.in_fcs || next.in_padding));
    next.is_own        = (tag inside {TAG_INSERT, TAG_REWRITE} && is_tag) || is_r_tag || next.in_padding;
    next.own           = tag_byte(ahead[1:0], new_tci);
    if (is_r_tag) next.own = r_tag_byte(ahead[2:0] ^ {!sends_tag, 2'b0}, label_i.sequence_number);
    if (next.in_padding) next.own = '0;
  end

  pen_lutram_1r1w #(.WIDTH(8), .DEPTH(16)) u_kept (
    .clk_i,
    .write_i     (data_ready_i && position_q[5:4] == '0),
    .write_addr_i(position_q[3:0]),
    .write_data_i(data_i),
    .read_addr_i (4'(old_q - OLD_BEGIN)),
    .read_data_o (kept)
  );

  pen_correction_end #(.LATE(LATE)) u_correction (
    .clk_i,
    .taken_i     (data_ready_i),
    .position_i  (position_q),
    .cycles_i    (label_i.correction.cycles),
    .is_carried_i(label_i.correction.is_carried),
    .late_cycle_i,
    .place_i     (place_q[2:0]),
    .data_i,
    .data_o      (corrected)
  );

  assign sent = now_q.is_own ? now_q.own : now_q.in_correction ? corrected : data_i;

  function automatic logic [31:0] delayed(input logic [7:0] octet);
    delayed = crc32_byte('0, octet);
    for (int unsigned i = 0; i < DELAY; i++) delayed = crc32_byte(delayed, '0);
  endfunction

  // The CRC's register is all ones at first, as if the first four bytes were inverted.
  always_comb begin
    change = '0;
    if (now_q.is_begin) change = sent ^ {8{now_q.is_inverted}};
    if (in_old_tag) change ^= tag_byte(old_q[1:0], old_tci);
    if (in_old_r_tag) change ^= r_tag_byte(old_q[2:0] ^ {!label_i.has_tag, 2'b0}, label_i.sequence_number);
    if (now_q.in_correction) change ^= sent ^ data_i;
    if (now_q.in_padding) change = now_q.has_old_fcs ? ~data_i : '0;
  end
  assign difference = crc32_byte(difference_q, change_q) ^ delayed(came_q);

  logic [7:0] fcs_difference;
  always_comb begin
    unique case (now_q.fcs_place)
      2'd0: fcs_difference = difference[7:0];
      2'd1: fcs_difference = difference_q[15:8];
      2'd2: fcs_difference = difference_q[23:16];
      2'd3: fcs_difference = difference_q[31:24];
    endcase
  end

  always_comb begin
    data_o = sent;
    if (changes && now_q.in_fcs) data_o = ~((now_q.has_old_fcs ? ~data_i : '0) ^ fcs_difference);
  end

  assign data_ready_o = data_ready_i && now_q.takes;
  assign data_valid_o = data_valid_i || !now_q.takes;

  always_comb begin
    skip_o = '0;
    if (now_q.leads_end) begin
      unique case ({tag == TAG_REMOVE, r_tag == R_TAG_REMOVE})
        2'b00: skip_o = '0;
        2'b01: skip_o = 4'd6;
        2'b10: skip_o = 4'd4;
        2'b11: skip_o = 4'd10;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      position_q   <= '0;
      place_q      <= '1;
      old_q        <= OLD_BEGIN - 6'(DELAY) - 6'(growth(edit_i));
      now_q        <= FIRST;
      difference_q <= '0;
      is_counted_q <= 1'b1;
      corrected_q  <= 1'b0;
    end else if (data_ready_i) begin
      if (position_q != BEHIND) position_q <= ahead;
      if (position_q == 6'd2)
        place_q <= 6'd4 - CORRECTION_AT - (sends_tag ? 6'd4 : 6'd0) - (r_tag == R_TAG_INSERT ? 6'd6 : 6'd0);
      else if (position_q > 6'd2 && position_q != BEHIND) place_q <= place_q + 1'b1;
      if (old_q != OLD_BEHIND) old_q <= old_q + 1'b1;
      now_q        <= next;
      change_q     <= change;
      came_q       <= in_old ? kept ^ {8{old_q < OLD_BEGIN + 6'sd4}} : '0;
      if (!is_counted_q) difference_q <= difference;
      is_counted_q <= now_q.in_fcs;
      if (now_q.in_correction) corrected_q <= 1'b1;
    end
  end

  logic unused;
  assign unused = &{1'b0, label_i.stamped, label_i.translate};

`ifdef FORMAL
  // Contract, of frames of any length and content, however the transmitter pauses: 1. each byte of the frame as it came is
  // taken once and leaves as it came, but for tags, what pen_correction_end gives for the bytes of a correctionField and, if
  // anything is edited, the FCS; a new VLAN tag stands behind the
  // addresses, a new R-TAG behind the VLAN tag or else the addresses, the padding before the FCS; 2. from where both frames are
  // at the same byte and all of their begins has been counted, with a difference of their CRC that is the D above, this stays what they differ by, up to the FCS, which takes it away: the remainder of the
  // CRC over the frame as it goes is that over the frame as it came. With padding the latter's difference from F_REMAINDER
  // is moved on by as many zero bytes, which never makes zero of what is not. So what was whole stays whole, and what was
  // damaged stays damaged. That D is right there is for the test bench to show.
  //
  // The difference of two CRC is the CRC of how the bytes differ.
`ifdef FORMAL_SHORT  // one frame, without a pause of the transmitter, so that it is soon over
  localparam length_t F_SHORTEST = 11'd36;
`else
  localparam length_t F_SHORTEST = 11'd64;  // of one that is changed
`endif
  localparam logic [31:0] F_REMAINDER = 32'hDEBB20E3;  // of a frame that is whole
  logic             f_past_q = 1'b0;
  edit_t            f_edit_q;
  label_t           f_label_q;
  logic             f_labelled_q;           // it is needed
  logic [3:0]       f_pad_q;
  logic             f_translate_q;
  length_t          f_to_send_q;            // bytes
  length_t          f_sent_q, f_taken_q;    // bytes; those that are left out count as taken
  length_t          f_length_q;             // as it goes
  logic [31:0]      f_apart_q;              // CRC of the frame as it goes less that as it came
  logic [31:0]      f_apart;                // and with the byte that is sent
  logic [3:0]       f_left_out_q;           // bytes of the tags that are left out: after f_pause
  logic [3:0]       f_left_out;             // all of them
  logic [3:0][7:0]  f_tag;
  logic [5:0][7:0]  f_r_tag;
  logic             f_pause, f_is_sent, f_joined, f_begins;
  growth_t          f_growth;
  length_t          f_head, f_r_tag_at;     // bytes before what is left out; before a new R-TAG
  length_t          f_correction_at;        // before a correctionField
  length_t          f_counted;              // bytes sent when the begins of both frames are in the difference
  length_t          f_not_came;             // bytes sent that are none of the frame as it came

  // By what the padding makes the difference wrong until the old FCS is used up: its bytes count inverted. Constants.
  function automatic logic [31:0] f_inverted(input int unsigned padding, input int unsigned to_send);
    f_inverted = '0;
    for (int unsigned n = 14; n > 0; n--) begin
      if (n > to_send && n > padding) begin
        if (n > 4 && n <= 4 + padding) f_inverted = crc32_byte(f_inverted, 8'hFF);
        else if (n <= 4) f_inverted = crc32_byte(f_inverted, 8'h00);
      end
      if (n == padding && to_send <= padding) f_inverted ^= F_REMAINDER;
      if (n > to_send && n <= padding) f_inverted = crc32_byte(f_inverted, n > 4 ? 8'h00 : 8'hFF);
    end
  endfunction

  assign f_growth   = growth(edit_i);
  assign f_head     = keeps_tag ? 11'd16 : 11'd12;
  assign f_r_tag_at = sends_tag ? 11'd16 : 11'd12;
  assign f_correction_at = f_r_tag_at + 11'd10 + (r_tag == R_TAG_INSERT ? 11'd6 : 11'd0);
  assign f_left_out = (tag == TAG_REMOVE ? 4'd4 : 4'd0) + (r_tag == R_TAG_REMOVE ? 4'd6 : 4'd0);
  assign f_is_sent  = data_ready_i && !start_i;
  assign f_pause    = f_sent_q >= f_head && f_left_out_q != f_left_out;
  assign f_tag      = {new_tci[7:0], new_tci[15:8], TYPE_VLAN[7:0], TYPE_VLAN[15:8]};
  assign f_r_tag    = {label_i.sequence_number[7:0], label_i.sequence_number[15:8], 16'b0, TYPE_R_TAG[7:0], TYPE_R_TAG[15:8]};

  function automatic length_t f_of(input length_t sent, input length_t from, input length_t bytes);
    if (sent <= from) return '0;
    return sent - from < bytes ? sent - from : bytes;
  endfunction

  always_comb begin
    f_not_came = f_to_send_q < length_t'(f_pad_q) ? length_t'(f_pad_q) - f_to_send_q : '0;
    if (tag == TAG_INSERT) f_not_came += f_of(f_sent_q, 11'd12, 11'd4);
    if (r_tag == R_TAG_INSERT) f_not_came += f_of(f_sent_q, f_r_tag_at, 11'd6);
  end

  // Or there is nothing that they differ by.
  assign f_counted = 11'd27 + length_t'(signed'(f_growth));
  assign f_joined  = !changes || f_sent_q >= f_counted;
  assign f_begins  = changes && f_sent_q == f_counted;

  // What has still to be taken away.
  logic [31:0] f_difference;
  assign f_difference = !is_counted_q ? difference : f_sent_q == '0 ? '0 : difference_q >> 8 * (3'd4 - f_to_send_q[2:0]);

  always_comb begin
    f_apart = crc32_byte(f_begins ? f_difference : f_apart_q, data_o ^ (data_ready_o ? data_i : '0));
    if (f_pad_q != '0 && data_ready_o && f_to_send_q == length_t'(f_pad_q) + 11'd1) f_apart ^= F_REMAINDER;
  end

  always_ff @(posedge clk_i) begin
    f_past_q     <= 1'b1;
    f_label_q    <= label_i;
    f_translate_q <= translate_i;
    f_labelled_q <= !start_i && f_sent_q >= 11'd2;
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
    if (start_i) begin
      assume (left_i >= (changes ? F_SHORTEST - 11'd1 : length_t'(19)) && left_i < length_t'(2010));
      assume (pad_i <= lost_bytes(edit_i) && r_tag inside {R_TAG_KEEP, R_TAG_INSERT, R_TAG_REMOVE});
    end
`ifdef FORMAL_SHORT
    assume (f_past_q ? !start_i && data_ready_i == (!f_pause && f_to_send_q != '0) : left_i == F_SHORTEST - 11'd1);
`endif
    assume (label_i.has_tag ? tag != TAG_INSERT : !(tag inside {TAG_REMOVE, TAG_REWRITE}));
    if (f_past_q && !start_i) begin
      assume (edit_i == f_edit_q && pad_i == f_pad_q);
      assume (!f_labelled_q || (label_i == f_label_q && translate_i == f_translate_q));
      assume (left_i == f_to_send_q - 1'b1);
`ifdef FORMAL_SHORT
      assume (!now_q.in_correction || !(now_q.in_padding || now_q.in_fcs));
`else
      assume (!label_i.correction.is_due || f_length_q >= F_SHORTEST);
`endif
      assume (!data_ready_i || f_to_send_q != '0);
      // Nothing moves but with a byte that is sent, so a pause in which the tag that is left out is counted changes nothing.
      assume (!f_pause || !data_ready_i);
    end

    if (f_past_q && !start_i) begin
      // 1.
      if (f_is_sent) begin
        assert (skip_o == (f_sent_q == f_head - 11'd2 ? f_left_out : '0));
        if (f_sent_q == f_head - 11'd2) assert (data_ready_o);
        if (f_sent_q >= 11'd12 && f_sent_q < 11'd16 && tag inside {TAG_INSERT, TAG_REWRITE})
          assert (data_o == f_tag[f_sent_q[1:0]] && data_ready_o == (tag == TAG_REWRITE));
        else if (r_tag == R_TAG_INSERT && f_sent_q >= f_r_tag_at && f_sent_q < f_r_tag_at + 11'd6)
          assert (data_o == f_r_tag[3'(f_sent_q - f_r_tag_at)] && !data_ready_o);
        else if (f_to_send_q > 11'd4 && f_to_send_q <= 11'd4 + length_t'(f_pad_q)) assert (data_o == '0);
        else if (f_to_send_q > 11'd4 || !changes) assert (data_o == (now_q.in_correction ? corrected : data_i) && data_ready_o);
      end
      if (f_to_send_q == '0) begin
        assert (f_taken_q == f_length_q - length_t'(f_pad_q) - length_t'(signed'(f_growth)));
      end
      // 2.
      if (f_to_send_q == '0) assert (f_apart_q == (f_pad_q != '0 ? F_REMAINDER : '0));
      // What makes it hold.
      assert (f_pad_q <= lost_bytes(edit_i) && r_tag inside {R_TAG_KEEP, R_TAG_INSERT, R_TAG_REMOVE});
      assert (f_sent_q + f_to_send_q == f_length_q && f_length_q <= 11'd2010);
      assert (f_length_q >= (changes ? F_SHORTEST : 11'd20));
      assert (f_sent_q <= f_length_q);
      assert (position_q == (f_sent_q > length_t'(BEHIND) ? BEHIND : f_sent_q[5:0]));
      assert (place_q == (f_sent_q < 11'd3 ? '1 : position_q + 6'd1 - f_correction_at[5:0]));
      assert (old_q == (f_sent_q >= f_counted ? OLD_BEHIND : 6'(f_sent_q) - 6'sd8 - 6'(f_growth)));
      assert (now_q.in_fcs == (f_to_send_q <= 11'd4) || f_to_send_q == '0);
      assert (f_to_send_q == '0 || now_q.in_padding == (f_to_send_q > 11'd4 && f_to_send_q <= 11'd4 + length_t'(f_pad_q)));
      assert (f_to_send_q == '0 || now_q.has_old_fcs == (f_to_send_q > length_t'(f_pad_q)));
      if (f_to_send_q != '0) begin
        if (f_sent_q >= 11'd12 && f_sent_q < 11'd16 && tag inside {TAG_INSERT, TAG_REWRITE})
          assert (now_q.is_own && now_q.own == f_tag[f_sent_q[1:0]] && now_q.takes == (tag == TAG_REWRITE));
        else if (r_tag == R_TAG_INSERT && f_sent_q >= f_r_tag_at && f_sent_q < f_r_tag_at + 11'd6)
          assert (now_q.is_own && now_q.own == f_r_tag[3'(f_sent_q - f_r_tag_at)] && !now_q.takes);
        else if (now_q.in_padding) assert (now_q.is_own && now_q.own == '0 && now_q.takes == now_q.has_old_fcs);
        else assert (!now_q.is_own && now_q.takes == (now_q.has_old_fcs || !now_q.in_fcs));
      end
      assert (now_q.is_inverted == (f_sent_q < 11'd4));
      assert (now_q.is_begin == (f_sent_q < 11'd12 || (sends_tag && f_sent_q < 11'd16)
                                 || (r_tag == R_TAG_INSERT && f_sent_q >= f_r_tag_at && f_sent_q < f_r_tag_at + 11'd6)));
      assert (now_q.leads_end == (f_sent_q == f_head - 11'd2));
      assert (is_counted_q == (f_sent_q == '0 || f_to_send_q < 11'd4));
      if (f_sent_q > f_counted) assert (came_q == '0);
      assert (corrected_q == (label_i.correction.is_due && f_sent_q > f_correction_at));
      assert (now_q.in_correction == (label_i.correction.is_due && f_sent_q >= f_correction_at && f_sent_q < f_correction_at + 11'd6));
      assert (f_left_out_q <= f_left_out);
      if (f_sent_q < 11'd12) assert (f_left_out_q == '0);
      if (f_sent_q >= 11'd2 && f_sent_q < f_head) assert (f_left_out_q == '0);
      if (f_sent_q > f_head) assert (f_left_out_q == f_left_out);
      assert (f_taken_q == f_sent_q - f_not_came + length_t'(f_left_out_q));
      if (!changes) assert (f_apart_q == '0);
      else if (f_joined && !f_begins)
        for (int unsigned pad = 0; pad < 11; pad++)
          for (int unsigned n = 0; n < 15; n++)
            if (f_pad_q == 4'(pad) && (f_to_send_q == length_t'(n) || (n == 14 && f_to_send_q > 11'd14)))
              assert (f_apart_q == (f_difference ^ f_inverted(pad, n)));
      if (f_to_send_q != '0 && now_q.in_fcs) assert (now_q.fcs_place == -f_to_send_q[1:0]);

      for (int unsigned each = 0; each < 4; each++)
        for (int unsigned other = 0; other < 3; other++)
          cover (tag == tag_e'(each) && r_tag == r_tag_e'(other) && f_to_send_q == '0 && f_pad_q == '0);
      for (int unsigned each = 0; each < 4; each++) cover (corrected_q && tag == tag_e'(each) && f_to_send_q == '0);
      for (int unsigned pad = 1; pad < 11; pad++) cover (f_pad_q == 4'(pad) && f_to_send_q == '0);
    end
  end
`endif
endmodule
