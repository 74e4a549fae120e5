// SPDX-License-Identifier: Apache-2.0
// Packs what was read of a frame, pads it, and writes it into the store. Its FCS counts, and is computed when it leaves.
//
// Bytes come in any lanes, eight a cycle at most, and lie in the store without gaps. What does not fill a word is written
// at the end, and words of zeros up to the shortest frame: `done_o` comes three cycles after `end_i` at most, and up to
// eight later if the frame is padded.
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
  input  logic         end_i,         // all bytes have come
  output logic         done_o,        // one cycle: the frame is in the store
  output length_t      length_o,      // with done_o, FCS included
  output logic [63:0]  prefix_o,      // with done_o: the first byte in bits 7:0
  output store_write_t store_o
);
  localparam length_t MIN_BYTES = 11'd64;
  localparam length_t PREFIX_BYTES = 11'd8;
  localparam length_t FCS_BYTES = 11'd4;
  localparam int unsigned MIN_WORDS = 8;
  localparam int unsigned CELL_W = $clog2(CELLS);
  typedef logic [CELL_W-1:0] place_t;

  typedef enum logic [1:0] {PACK, PAD, DONE} state_e;
  state_e          state_q;
  logic [7:0][7:0] partial_q, given, rotated, low;  // bytes that do not fill a word yet; what came, behind them
  logic [2:0]      fill_q, turn;                    // how many
  logic [3:0]      fill;
  length_t         length_q;
  logic [7:0]      words_q, words;
  logic            write, word_valid_q;
  logic [63:0]     word_q;
  place_t          cell_q, cell_now;
  logic            prefix_q;                        // it is still to come

  // Byte i of what follows the partial word comes from lane i + offset. Nothing comes at the end.
  assign given = beat_i.data;
  assign turn  = beat_i.offset - fill_q;
  assign fill  = {1'b0, fill_q} + beat_i.count;
  always_comb begin
    for (int unsigned i = 0; i < 8; i++) begin
      rotated[i] = state_q == PACK ? given[3'(i) + turn] : 8'd0;
      low[i]     = 3'(i) < fill_q ? partial_q[i] : rotated[i];
    end
  end

  assign words = words_q + 8'(word_valid_q);
  assign write = state_q == PAD ? fill_q != '0 || words < 8'(MIN_WORDS) : state_q == PACK && beat_valid_i && fill[3];

  always_ff @(posedge clk_i) begin
    done_o       <= 1'b0;
    words_q      <= words;
    word_valid_q <= write && !prefix_q && !start_i;
    if (write) begin
      word_q <= low;
      if (prefix_q) prefix_o <= low;
      prefix_q <= 1'b0;
    end
    unique case (state_q)
      PACK: begin
        if (beat_valid_i) begin
          length_q  <= length_q + length_t'(beat_i.count);
          fill_q    <= fill[2:0];
          partial_q <= fill[3] ? rotated : low;
        end
        if (end_i) state_q <= PAD;
      end
      PAD: begin
        fill_q <= '0;
        if (!write) state_q <= DONE;
      end
      default: ;
    endcase
    if (state_q == PAD && !write) done_o <= 1'b1;
    if (start_i) begin
      state_q  <= PACK;
      cell_q   <= cell_i[CELL_W-1:0];
      words_q  <= '0;
      length_q <= prefix_i ? FCS_BYTES - PREFIX_BYTES : FCS_BYTES;
      prefix_q <= prefix_i;
      fill_q   <= '0;
    end
    if (rst_i) begin
      state_q      <= PACK;
      word_valid_q <= 1'b0;
      done_o       <= 1'b0;
    end
  end

  assign length_o = length_q < MIN_BYTES ? MIN_BYTES : length_q;

  assign cell_now = cell_q + place_t'(words_q[7:4]);
  assign store_o = '{
    valid: word_valid_q, cell_index: cell_t'(cell_now), word: words_q[3:0], data: word_q,
    link_valid: word_valid_q && words_q[3:0] == '0, link_from: cell_t'(cell_now), link_to: cell_t'(place_t'(cell_now + 1'b1))
  };

  logic unused;
  assign unused = &{1'b0, cell_i, beat_i.last, beat_i.error};
endmodule
