// SPDX-License-Identifier: Apache-2.0
// Packs what was read of a frame, pads it to 60 bytes, appends its FCS, and writes it into the store.
//
// Bytes come in any lanes, eight a cycle at most, and lie in the store without gaps. What does not fill a word is taken up
// byte by byte at the end: with a frame of L bytes, FCS not counted, `done_o` comes 7 + 4 cycles after `end_i` at most, if
// L is 60 or more, and 65 - L if it is less.
//
// With prefix_i its first eight bytes are no part of it: they come out by themselves.
module pen_frame_writer
  import pen_pkg::*, pen_nic_pkg::*;
#(
  parameter int unsigned CELLS = 256
) (
  input  logic         clk_i,
  input  logic         rst_i,
  input  logic         start_i,       // a frame begins
  input  cell_t        cell_i,        // with start_i: its first cell; the others follow it
  input  logic         prefix_i,      // with start_i
  input  logic         beat_valid_i,
  input  dma_beat_t    beat_i,
  input  logic         end_i,         // all bytes have come, the last of them in the cycle before or earlier
  output logic         done_o,        // one cycle: the frame is in the store
  output length_t      length_o,      // with done_o, FCS included
  output logic [63:0]  prefix_o,      // with done_o: the first byte in bits 7:0
  output store_write_t store_o
);
  localparam length_t MIN_BYTES = 11'd60;
  localparam length_t PREFIX_BYTES = 11'd8;
  localparam int unsigned CELL_W = $clog2(CELLS);
  typedef logic [CELL_W-1:0] place_t;

  typedef enum logic [1:0] {PACK, TAIL, FCS, FLUSH} state_e;
  state_e          state_q;
  logic [7:0][7:0] partial_q, rotated, given;  // bytes that do not fill a word yet
  logic [2:0]      fill_q, at_q;               // of them; the next one of the tail
  logic [3:0]      fill;
  logic [2:0]      turn;
  logic [7:0][7:0] low, high;
  length_t         length_q;
  logic [31:0]     crc_q;
  logic [1:0]      fcs_q;
  logic [7:0]      words_q;
  logic            word_valid_q, packed_q;    // packed_q: the word is one of the frame, and not in crc_q yet
  logic [63:0]     word_q;
  logic [7:0]      tail_byte, out_byte;
  place_t          cell_q;
  logic            padding_q;                  // the partial word has gone
  logic            tail_over;
  logic            prefix_q;                   // it is still to come

  function automatic logic [31:0] crc32_word(input logic [31:0] crc, input logic [63:0] data);
    logic [31:0] value;
    value = crc;
    for (int unsigned i = 0; i < 8; i++) value = pen_crc_pkg::crc32_byte(value, data[8*i+:8]);
    return value;
  endfunction

  // Byte i of what follows the partial word comes from lane i + offset.
  assign given = beat_i.data;
  assign turn  = beat_i.offset - fill_q;
  assign fill  = {1'b0, fill_q} + beat_i.count;
  always_comb begin
    for (int unsigned i = 0; i < 8; i++) begin
      rotated[i] = given[3'(i) + turn];
      low[i]     = 3'(i) < fill_q ? partial_q[i] : rotated[i];
      high[i]    = rotated[i];
    end
  end

  // The tail: bytes of the partial word, then zeros, then the FCS.
  assign tail_byte = at_q < fill_q && state_q == TAIL && !padding_q ? partial_q[at_q] : 8'd0;
  assign out_byte  = state_q == FCS ? ~crc_q[7:0] : tail_byte;

  assign tail_over = length_q >= MIN_BYTES && (padding_q || at_q == fill_q);

  always_ff @(posedge clk_i) begin
    word_valid_q <= 1'b0;
    packed_q     <= 1'b0;
    done_o       <= 1'b0;
    unique case (state_q)
      PACK: begin
        if (beat_valid_i) begin
          length_q <= length_q + length_t'(beat_i.count);
          fill_q   <= fill[2:0];
          partial_q <= fill[3] ? high : low;
          if (fill[3] && prefix_q) begin
            prefix_q <= 1'b0;
            prefix_o <= low;
          end else if (fill[3]) begin
            word_valid_q <= 1'b1;
            packed_q     <= 1'b1;
            word_q       <= low;
          end
        end
        if (packed_q) crc_q <= crc32_word(crc_q, word_q);
        at_q      <= '0;
        fcs_q     <= '0;
        padding_q <= 1'b0;
        if (end_i) state_q <= TAIL;
      end
      TAIL: begin
        if (tail_over) state_q <= FCS;
        else begin
          crc_q <= pen_crc_pkg::crc32_byte(crc_q, tail_byte);
          word_q[8*at_q+:8] <= tail_byte;
          word_valid_q <= at_q == '1;
          at_q <= at_q + 1'b1;
          if (padding_q || at_q >= fill_q) begin
            padding_q <= 1'b1;
            length_q  <= length_q + 1'b1;
          end
        end
      end
      FCS: begin
        crc_q <= {8'hFF, crc_q[31:8]};
        word_q[8*at_q+:8] <= out_byte;
        word_valid_q <= at_q == '1;
        at_q     <= at_q + 1'b1;
        fcs_q    <= fcs_q + 1'b1;
        length_q <= length_q + 1'b1;
        if (fcs_q == '1) state_q <= FLUSH;
      end
      FLUSH: begin
        word_valid_q <= at_q != '0;
        done_o  <= 1'b1;
        state_q <= PACK;
      end
      default: state_q <= PACK;
    endcase
    if (word_valid_q) words_q <= words_q + 1'b1;
    if (start_i) begin
      state_q   <= PACK;
      cell_q    <= cell_i[CELL_W-1:0];
      words_q   <= '0;
      length_q  <= prefix_i ? -PREFIX_BYTES : '0;
      prefix_q  <= prefix_i;
      fill_q    <= '0;
      crc_q     <= '1;
    end
    if (rst_i) begin
      state_q      <= PACK;
      word_valid_q <= 1'b0;
      packed_q     <= 1'b0;
      done_o       <= 1'b0;
    end
  end

  assign length_o = length_q;

  place_t cell_now;
  assign cell_now = cell_q + place_t'(words_q[7:4]);
  assign store_o = '{
    valid: word_valid_q, cell_index: cell_t'(cell_now), word: words_q[3:0], data: word_q,
    link_valid: word_valid_q && words_q[3:0] == '0, link_from: cell_t'(cell_now), link_to: cell_t'(place_t'(cell_now + 1'b1))
  };

  logic unused;
  assign unused = &{1'b0, cell_i, beat_i.last, beat_i.error};
endmodule
