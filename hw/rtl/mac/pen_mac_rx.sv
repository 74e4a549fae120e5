// SPDX-License-Identifier: Apache-2.0
// Receive side of the MAC: finds the frame in the byte stream of the PHY, checks it, and hands it on byte by byte.
//
// There is no back-pressure. The FCS stays in the frame. Every carrier event (a run of `gmii_rx_dv_i`) gives exactly
// one beat with `last`, and that beat says what was wrong; the first that applies of:
//
//     REASON_PREAMBLE  no start-of-frame delimiter was found; one beat of no meaning
//     REASON_RX_ER     the PHY signalled an error within the frame
//     REASON_GIANT     cut after max_frame_bytes + 1 bytes, and the rest of the carrier is swallowed
//     REASON_RUNT      below 64 bytes; a delimiter at the very end of the carrier gives one beat of no meaning
//     REASON_FCS       the frame check sequence is wrong
//
// The preamble may have any length, also none, and any content; it ends with the first D5 received without rx_er.
// One cycle without carrier separates two frames. A carrier that is under way at the end of the reset is ignored.
//
//     cycle          | b-1  |  b   | b+1  | b+2  |
//     gmii_rx_dv_i   |  1   |  1   |  0   |  0   |
//     gmii_rxd_i     | F..  | last |      |      |
//     valid_o, beat_o              | F..  | last |
module pen_mac_rx
  import pen_pkg::*;
(
  input  logic       clk_i,              // receive clock of the PHY
  input  logic       rst_i,
  input  logic [7:0] gmii_rxd_i,
  input  logic       gmii_rx_dv_i,
  input  logic       gmii_rx_er_i,
  input  length_t    max_frame_bytes_i,  // of this clock; read at the delimiter
  output logic       delimiter_o,        // found; the byte behind it stands at the pins in this cycle
  output rx_beat_t   beat_o,
  output logic       valid_o
);
  localparam logic [7:0]  DELIMITER = 8'hD5;
  localparam logic [31:0] RESIDUE   = 32'hDEBB20E3;  // what the CRC of a whole frame, FCS included, comes to
  localparam int unsigned MIN_BYTES = 64;
  localparam int unsigned MIN_GAP   = 12;

  typedef enum logic [1:0] {
    IDLE,      // no carrier
    SEARCH,    // carrier, no delimiter yet
    FRAME,     // behind the delimiter
    SWALLOW    // the rest of a carrier that has had its last beat
  } state_e;

  // First stage: the pins. Second stage: the byte on its way out, and all that is known with that byte included. The
  // first stage without carrier tells that the byte in the second stage is the last one.
  logic [7:0] rxd_q, byte_q;
  logic       rx_dv_q, rx_er_q;
  state_e     state_q, state_d;
  logic       byte_valid_q, byte_valid_d;

  logic [31:0]                  crc_q;
  length_t                      room_q;       // bytes that may still come
  logic [$clog2(MIN_BYTES)-1:0] count_q;      // stands at MIN_BYTES - 1
  logic                         giant_q, runt_q, error_q;
  logic [$clog2(MIN_GAP+1)-1:0] gap_q;        // cycles without carrier, stands at MIN_GAP
  logic                         short_gap_q;

  logic delimiter, start, take;
  assign delimiter_o = start;
  assign delimiter = rx_dv_q && !rx_er_q && rxd_q == DELIMITER;

  always_comb begin
    state_d      = state_q;
    start        = 1'b0;
    take         = 1'b0;
    byte_valid_d = 1'b0;
    unique case (state_q)
      IDLE, SEARCH: begin
        start   = delimiter;
        state_d = !rx_dv_q ? IDLE : delimiter ? FRAME : SEARCH;
      end
      FRAME: begin
        take         = rx_dv_q && !giant_q;
        byte_valid_d = take;
        state_d      = !rx_dv_q ? IDLE : giant_q ? SWALLOW : FRAME;
      end
      SWALLOW: if (!rx_dv_q) state_d = IDLE;
    endcase
  end

  always_ff @(posedge clk_i) begin
    rxd_q   <= gmii_rxd_i;
    rx_er_q <= gmii_rx_er_i;
    byte_q  <= rxd_q;
    if (rst_i) begin
      rx_dv_q      <= 1'b1;  // with SWALLOW: wait for the end of what may be under way
      state_q      <= SWALLOW;
      byte_valid_q <= 1'b0;
      gap_q        <= '0;
    end else begin
      rx_dv_q      <= gmii_rx_dv_i;
      state_q      <= state_d;
      byte_valid_q <= byte_valid_d;
      if (rx_dv_q) gap_q <= '0;
      else if (gap_q != $bits(gap_q)'(MIN_GAP)) gap_q <= gap_q + 1'b1;
    end
  end

  // All of this is set at the start of a frame, and so needs no reset.
  always_ff @(posedge clk_i) begin
    if (state_q == IDLE && rx_dv_q) short_gap_q <= gap_q != $bits(gap_q)'(MIN_GAP);
    if (start) begin
      crc_q   <= '1;
      room_q  <= max_frame_bytes_i;
      count_q <= '0;
      giant_q <= 1'b0;
      runt_q  <= 1'b1;
      error_q <= 1'b0;
    end else if (take) begin
      crc_q   <= pen_crc_pkg::crc32_byte(crc_q, rxd_q);
      room_q  <= room_q - 1'b1;
      giant_q <= room_q == '0;
      error_q <= error_q || rx_er_q;
      if (count_q == $bits(count_q)'(MIN_BYTES - 1)) runt_q <= 1'b0;
      else count_q <= count_q + 1'b1;
    end
  end

  logic       end_of_carrier, last;
  logic [2:0] reason;

  assign end_of_carrier = !rx_dv_q && (state_q == SEARCH || state_q == FRAME);
  assign last           = end_of_carrier || (state_q == FRAME && giant_q);
  assign valid_o        = byte_valid_q || end_of_carrier;

  always_comb begin
    reason = 3'(REASON_NONE);
    if (state_q == SEARCH) reason = 3'(REASON_PREAMBLE);
    else if (error_q) reason = 3'(REASON_RX_ER);
    else if (giant_q) reason = 3'(REASON_GIANT);
    else if (runt_q) reason = 3'(REASON_RUNT);
    else if (crc_q != RESIDUE) reason = 3'(REASON_FCS);

    beat_o.last      = last;
    beat_o.short_gap = last && short_gap_q;
    beat_o.reason    = last ? reason : 3'd0;
    beat_o.data      = byte_q;
  end

`ifdef FORMAL
  // Contract: 1. every carrier that begins gives one beat with `last`, at its end or before, and no beat comes outside
  // of a carrier; 2. a frame without fault has from 64 bytes to the limit; 3. none has more than limit + 1.
  logic        f_past_q = 1'b0;
  logic        f_carrier_q;  // the cycle before had carrier
  logic        f_owed_q;     // the carrier has not had its last beat
  logic [11:0] f_bytes_q;    // behind the delimiter, the byte on its way out included
  length_t     f_limit_q;

  always_ff @(posedge clk_i) begin
    f_past_q    <= 1'b1;
    f_carrier_q <= rx_dv_q;
    if (rx_dv_q && !f_carrier_q) f_owed_q <= 1'b1;
    else if (valid_o && beat_o.last) f_owed_q <= 1'b0;
    if (start) begin
      f_bytes_q <= '0;
      f_limit_q <= max_frame_bytes_i;
    end else if (take) begin
      f_bytes_q <= f_bytes_q + 1'b1;
    end
    if (rst_i) begin
      f_carrier_q <= 1'b1;
      f_owed_q    <= 1'b0;
    end
  end

  always_comb begin
    if (!f_past_q) assume (rst_i);
    else begin
      // The contract.
      if (valid_o) assert (f_owed_q);
      if (f_owed_q && !rx_dv_q) assert (valid_o && beat_o.last);
      if (valid_o && state_q == FRAME) assert (f_bytes_q <= 12'(f_limit_q) + 1'b1);
      if (valid_o && beat_o.last && beat_o.reason == 3'(REASON_NONE))
        assert (state_q == FRAME && f_bytes_q >= 12'd64 && f_bytes_q <= 12'(f_limit_q));
      // What makes it hold.
      assert (f_owed_q == (state_q == SEARCH || state_q == FRAME));
      assert (f_carrier_q == (state_q != IDLE));
      if (byte_valid_q) assert (state_q == FRAME);
      if (state_q == FRAME) begin
        assert (byte_valid_q == (f_bytes_q != '0));
        assert (giant_q == (f_bytes_q == 12'(f_limit_q) + 1'b1));
        if (!giant_q) assert (f_bytes_q <= 12'(f_limit_q) && room_q == f_limit_q - length_t'(f_bytes_q));
        assert (runt_q == (f_bytes_q < 12'd64));
        assert (count_q == (runt_q ? $bits(count_q)'(f_bytes_q) : '1));
      end
      cover (state_q == SWALLOW && f_bytes_q == 12'd3);
      cover (valid_o && beat_o.last && beat_o.short_gap && beat_o.reason == 3'(REASON_RUNT) && f_bytes_q == 12'd3);
    end
  end
`endif
endmodule
