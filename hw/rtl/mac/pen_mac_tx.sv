// SPDX-License-Identifier: Apache-2.0
// Transmit side of the MAC: preamble, delimiter, the frame as it comes (its FCS included), and a gap of 12 bytes.
//
// `start_i` has to find `ready_o`. The reader needs to have the first byte nine cycles after the start, and from then
// on one in every cycle. With L bytes:
//
//     cycle         s    s+1  s+2  ..   s+8  s+9  s+10 ..   s+8+L s+9+L s+10+L ..   s+20+L s+22+L
//     start_i       1                                                               1
//     ready_o       1    0    0    0    0    0    0    0    0     0     0      0    1      0
//     data_ready_o  0    0    0    0    0    1    1    1    1     0     0      0    0      0
//     data_i                                 D0   D1   ..   DL-1
//     gmii_tx_en_o  0    0    1    1    1    1    1    1    1     1     0      0    0      1
//     gmii_txd_o              55   55   55   D5   D0   ..   ..    DL-1                     55
//
// A byte that is not there when it is due (`data_valid_i` low) goes out as an error (`gmii_tx_er_o`) and ends the
// frame; the rest of it is not asked for, and the gap follows as ever.
//
// With `silent_i` nothing goes out, and bytes are asked for all the same. A frame that it cuts ends in an error, or
// without one before its first byte. It has to stay high until the frame is over.
module pen_mac_tx
  import pen_pkg::*;
(
  input  logic       clk_i,
  input  logic       rst_i,
  input  logic       start_i,
  input  length_t    length_i,      // while the preamble is sent; 1 or more
  output logic       ready_o,
  input  logic       silent_i,
  output logic       sending_o,     // preamble, delimiter or data
  input  logic       data_valid_i,
  input  logic [7:0] data_i,
  output logic       data_ready_o,  // the byte is taken in this cycle
  output length_t    left_o,        // with data_ready_o: bytes of the frame behind this one
  output logic [7:0] gmii_txd_o,
  output logic       gmii_tx_en_o,
  output logic       gmii_tx_er_o
);
  localparam int unsigned PREAMBLE_BYTES = 7;
  localparam int unsigned GAP_CYCLES     = 11;  // and the one in which the next frame starts

  typedef enum logic [2:0] {IDLE, PREAMBLE, DELIMITER, DATA, GAP} state_e;

  state_e     state_q, state_d;
  logic [3:0] count_q, count_d;  // cycles left in PREAMBLE and GAP, after this one
  length_t    left_q, left_d;    // bytes left of the frame, after this one
  logic [7:0] txd_d;
  logic       tx_en_d, tx_er_d, silent_q;

  assign ready_o      = state_q == IDLE;
  assign data_ready_o = state_q == DATA;
  assign left_o       = left_q;
  assign sending_o    = state_q == PREAMBLE || state_q == DELIMITER || state_q == DATA;

  always_comb begin
    state_d = state_q;
    count_d = count_q - 1'b1;
    left_d  = left_q;
    txd_d   = 8'h00;
    tx_en_d = 1'b0;
    tx_er_d = 1'b0;
    case (state_q)
      IDLE: begin
        count_d = 4'(PREAMBLE_BYTES - 1);
        if (start_i) state_d = PREAMBLE;
      end
      PREAMBLE: begin
        tx_en_d = 1'b1;
        txd_d   = 8'h55;
        left_d  = length_i - 1'b1;
        if (count_q == '0) state_d = DELIMITER;
      end
      DELIMITER: begin
        tx_en_d = 1'b1;
        txd_d   = 8'hD5;
        state_d = DATA;
      end
      DATA: begin
        tx_en_d = 1'b1;
        txd_d   = data_valid_i ? data_i : 8'h00;
        tx_er_d = !data_valid_i;
        count_d = 4'(GAP_CYCLES - 1);
        left_d  = left_q - 1'b1;
        if (left_q == '0 || !data_valid_i) state_d = GAP;
      end
      GAP: if (count_q == '0) state_d = IDLE;
      default: state_d = IDLE;
    endcase
    if (silent_i) begin
      tx_en_d = state_q == DATA && !silent_q && gmii_tx_en_o;
      tx_er_d = tx_en_d;
      txd_d   = 8'h00;
    end
  end

  always_ff @(posedge clk_i) begin
    count_q    <= count_d;
    left_q     <= left_d;
    gmii_txd_o <= txd_d;
    silent_q   <= silent_i;
    if (rst_i) begin
      state_q      <= IDLE;
      gmii_tx_en_o <= 1'b0;
      gmii_tx_er_o <= 1'b0;
    end else begin
      state_q      <= state_d;
      gmii_tx_en_o <= tx_en_d;
      gmii_tx_er_o <= tx_er_d;
    end
  end

`ifdef FORMAL
  // Contract: 1. at least twelve cycles of silence lie between two frames; 2. a frame on the line is preamble,
  // delimiter and the bytes asked for at its start, unless it ends in an error or `silent_i` cut its preamble; 3. the
  // first byte of the preamble comes two cycles after the start; 4. all is silent two cycles after `silent_i`.
  logic        f_past_q = 1'b0;
  logic [3:0]  f_gap_q;    // silent cycles before this one, stands at 12
  logic [11:0] f_run_q;    // bytes on the line before this cycle
  logic [11:0] f_sent;     // with this cycle's
  length_t     f_length_q;
  logic        f_error_q;  // of the byte before
  logic        f_silent_q; // two cycles of silent_i, the last one before this cycle

  assign f_sent = f_run_q + 12'(gmii_tx_en_o);

  always_ff @(posedge clk_i) begin
    f_past_q  <= 1'b1;
    f_run_q   <= gmii_tx_en_o ? f_sent : '0;
    f_error_q <= gmii_tx_er_o;
    f_silent_q <= silent_i && silent_q && !rst_i;
    if (gmii_tx_en_o) f_gap_q <= '0;
    else if (f_gap_q != 4'd12) f_gap_q <= f_gap_q + 1'b1;
    if (state_q == PREAMBLE && count_q == 4'd6) f_length_q <= length_i;
    if (rst_i) begin
      f_gap_q   <= 4'd12;
      f_run_q   <= '0;
      f_error_q <= 1'b0;
    end
  end

  always_comb begin
    if (state_q == PREAMBLE) assume (length_i != '0 && (count_q == 4'd6 || length_i == f_length_q));
    if (!f_past_q) assume (rst_i);
    else begin
      assume (silent_i || !silent_q || state_q inside {IDLE, GAP});
      // The contract.
      if (gmii_tx_en_o && f_run_q == '0) assert (f_gap_q == 4'd12);
      if (!gmii_tx_en_o && f_run_q inside {[12'd1:12'd7]}) assert (silent_q);
      if (!gmii_tx_en_o && f_run_q >= 12'd8) assert (f_error_q || f_run_q == 12'(f_length_q) + 12'd8);
      if (f_silent_q) assert (!gmii_tx_en_o);
      if (gmii_tx_en_o && f_run_q < 12'd7) assert (gmii_txd_o == 8'h55 && !gmii_tx_er_o);
      if (gmii_tx_en_o && f_run_q == 12'd7) assert (gmii_txd_o == 8'hD5 && !gmii_tx_er_o);
      if (gmii_tx_er_o) assert (gmii_tx_en_o);
      // What makes it hold, state by state.
      assert (state_q inside {IDLE, PREAMBLE, DELIMITER, DATA, GAP});
      if (silent_q) assert (!gmii_tx_en_o || (gmii_tx_er_o && f_run_q >= 12'd8 && state_q inside {DATA, GAP}));
      case (state_q)
        IDLE: assert (!gmii_tx_en_o && f_gap_q >= 4'd10 && f_run_q == '0);
        PREAMBLE: begin
          assert (count_q <= 4'd6);
          if (!silent_q) begin
            assert (f_sent == 12'd6 - 12'(count_q));
            assert (gmii_tx_en_o == (count_q != 4'd6));
            if (count_q == 4'd6) assert (f_gap_q >= 4'd11 && f_run_q == '0);
            else if (count_q == 4'd5) assert (f_gap_q == 4'd12);
            if (!gmii_tx_en_o) assert (f_run_q == '0);
          end
        end
        DELIMITER: if (!silent_q) assert (gmii_tx_en_o && f_sent == 12'd7);
        DATA: begin
          assert (left_q < f_length_q);
          if (!silent_q) assert (gmii_tx_en_o && f_sent == 12'd8 + 12'(f_length_q) - 12'd1 - 12'(left_q));
        end
        GAP: begin
          assert (count_q <= 4'd10);
          if (count_q != 4'd10) assert (!gmii_tx_en_o && f_gap_q >= 4'd9 - count_q);
          else if (!silent_q) assert (gmii_tx_en_o && (f_sent == 12'd8 + 12'(f_length_q) || gmii_tx_er_o));
        end
        default: ;
      endcase
      if (state_q == DELIMITER || (state_q == PREAMBLE && count_q != 4'd6)) assert (left_q == f_length_q - 1'b1);
      if (state_q inside {DELIMITER, DATA} || (state_q == PREAMBLE && count_q != 4'd6)) assert (f_length_q != '0 && (silent_q || !gmii_tx_er_o));
    end
  end

  always_ff @(posedge clk_i) begin
    if (f_past_q && !$past(rst_i)) begin
      if ($past(f_past_q && start_i && ready_o)) assert (state_q == PREAMBLE && count_q == 4'd6);  // on the line next
      cover (gmii_tx_en_o && f_run_q == '0 && f_length_q == 3 && $past(f_length_q, 2) == 2);
    end
  end
`endif
endmodule
