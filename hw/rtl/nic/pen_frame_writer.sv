// SPDX-License-Identifier: Apache-2.0
// Packs what was read of frames, and writes it into the store. Their FCS is computed when they leave.
//
// Bytes come in any lanes, eight a cycle at most, frame behind frame, and lie in the store without gaps. In the cycle behind a
// frame's last beat, in which none comes, what does not fill a word is written, with zeros behind it.
//
//   beat_i    | last |       | next |
//   done_o    |      |   1   |      |
//   store_o   |      | word  | rest |
//
// With prefix_i the frame's first eight bytes are no part of it: they come out by themselves.
module pen_frame_writer
  import pen_pkg::*, pen_nic_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_i,
  input  cell_t        cell_i,        // of the frame that comes: its first cell; the others follow it
  input  logic         prefix_i,
  input  logic         beat_valid_i,
  input  dma_beat_t    beat_i,        // the last of a frame is that with `mark` which ends its request
  input  logic         restart_i,     // what has come of a frame is forgotten
  output logic         done_o,        // one cycle: all of it has come
  output logic         prefix_valid_o,
  output logic [63:0]  prefix_o,      // the first byte in bits 7:0
  output store_write_t store_o        // without valid its data is zero
);
  localparam int unsigned CELL_W = $clog2(FRAME_CELLS);

  logic [7:0][7:0] partial_q, given, rotated, low;  // bytes that do not fill a word yet; what came, behind them
  logic [2:0]      fill_q, turn;                    // how many
  logic [3:0]      fill, word_at_q;
  logic [7:0]      words_q, place;                  // of the frame so far; where the next one lies
  logic            write, is_prefix, word_valid_q;
  logic [63:0]     word_q;
  cell_t           cell_q;

  // Byte i of what follows the partial word comes from lane i + offset. Nothing comes at the end.
  assign given = beat_i.data;
  assign turn  = beat_i.offset - fill_q;
  assign fill  = {1'b0, fill_q} + beat_i.count;
  always_comb begin
    for (int unsigned i = 0; i < 8; i++) begin
      rotated[i] = done_o ? 8'd0 : given[3'(i) + turn];
      low[i]     = 3'(i) < fill_q ? partial_q[i] : rotated[i];
    end
  end

  assign write          = done_o ? fill_q != '0 : beat_valid_i && fill[3];
  assign is_prefix      = prefix_i && words_q == '0;
  assign place          = words_q - 8'(prefix_i);
  assign prefix_valid_o = write && is_prefix;
  assign prefix_o       = low;

  always_ff @(posedge clk_i) begin
    done_o       <= beat_valid_i && beat_i.last && beat_i.mark;
    word_valid_q <= write && !is_prefix;
    word_q       <= write && !is_prefix ? low : '0;
    word_at_q    <= place[3:0];
    cell_q       <= cell_i | cell_t'(place[7:4]);
    if (write) words_q <= words_q + 1'b1;
    if (beat_valid_i) begin
      fill_q    <= fill[2:0];
      partial_q <= fill[3] ? rotated : low;
    end
    if (done_o || restart_i || rst_i) begin
      words_q <= '0;
      fill_q  <= '0;
    end
    if (rst_i) begin
      done_o       <= 1'b0;
      word_valid_q <= 1'b0;
    end
  end

  assign store_o = '{
    valid: word_valid_q, cell_index: cell_q, word: word_at_q, data: word_q,
    link_valid: word_valid_q && word_at_q == '0, link_from: cell_q,
    link_to: {cell_q[$high(cell_t):CELL_W], cell_q[CELL_W-1:0] + 1'b1}
  };

  logic unused;
  assign unused = &{1'b0, beat_i.error};
endmodule
