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
module pen_mac_tx
  import pen_pkg::*;
(
  input  logic       clk_i,
  input  logic       rst_i,
  input  logic       start_i,
  input  length_t    length_i,      // with start_i; 1 or more
  output logic       ready_o,
  input  logic       data_valid_i,
  input  logic [7:0] data_i,
  output logic       data_ready_o,  // the byte is taken in this cycle
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
  logic       tx_en_d, tx_er_d;

  assign ready_o      = state_q == IDLE;
  assign data_ready_o = state_q == DATA;

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
        left_d  = length_i - 1'b1;
        if (start_i) state_d = PREAMBLE;
      end
      PREAMBLE: begin
        tx_en_d = 1'b1;
        txd_d   = 8'h55;
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
  end

  always_ff @(posedge clk_i) begin
    count_q    <= count_d;
    left_q     <= left_d;
    gmii_txd_o <= txd_d;
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
endmodule
