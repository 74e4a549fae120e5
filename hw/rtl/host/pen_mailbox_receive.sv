// SPDX-License-Identifier: Apache-2.0
// Frames from a stream to registers: they wait whole, the oldest is read word by word until it is let go.
//
// Word n of the oldest frame is read with `read_index_i` n, its first byte the lowest one; its data is there in the cycle
// behind. What lies behind its last byte has no meaning. A release with its ordinal makes room for others; one with
// another ordinal came twice. While there is no room the stream waits. A frame that is cut, `tuser` with its last byte,
// is not kept, but counted. The stream ends in a register, as its bytes come from far, and gives a byte in every other cycle.
module pen_mailbox_receive #(
  parameter int unsigned BYTES = 4096,  // a power of two, 64 to 4096; a longer frame stops the stream for good
  parameter int unsigned FRAMES = 16    // that may wait; a power of two
) (
  input  logic        clk_i,
  input  logic        rst_i,
  input  logic        s_axis_tvalid_i,
  output logic        s_axis_tready_o,
  input  logic [7:0]  s_axis_tdata_i,
  input  logic        s_axis_tlast_i,
  input  logic        s_axis_tuser_i,   // with the last byte
  output logic [12:0] bytes_o,          // of the oldest frame; 0: there is none
  output logic [7:0]  ordinal_o,        // of the oldest frame, or of the next that comes
  output logic [15:0] cut_o,
  input  logic        read_i,
  input  logic [9:0]  read_index_i,
  output logic [31:0] read_data_o,
  input  logic        release_i,
  input  logic [7:0]  release_ordinal_i
);
  localparam int unsigned WORDS = BYTES / 4;
  localparam int unsigned ADDR_W = $clog2(WORDS);
  if (BYTES < 64 || BYTES > 4096 || BYTES != 1 << $clog2(BYTES))
    $fatal(1, "pen_mailbox_receive: BYTES must be a power of two from 64 to 4096, is %0d (%m)", BYTES);

  typedef logic [ADDR_W:0] place_t;  // one bit more than an address, so that full and empty differ

  place_t      first_q, word_q, oldest_q;  // first word of the frame that comes; its word that comes; of the oldest frame
  logic [12:0] count_q, length;            // bytes of the frame that comes
  logic [23:0] part_q;                     // bytes of its word that came, the last one highest
  logic        valid_q, last_q, user_q;    // the byte that came
  logic [7:0]  data_q;
  logic        take, full, lengths_ready, length_valid, due, kept;
  logic [31:0] word;

  assign full            = word_q - oldest_q == place_t'(WORDS);
  assign take            = valid_q && !full && lengths_ready;
  assign s_axis_tready_o = !valid_q;
  assign kept            = take && last_q && !user_q;

  // The word is written with each of its bytes, so that the last one is there however few it has.
  always_comb begin
    unique case (count_q[1:0])
      2'd0: word = {24'b0, data_q};
      2'd1: word = {16'b0, data_q, part_q[23:16]};
      2'd2: word = {8'b0, data_q, part_q[23:8]};
      2'd3: word = {data_q, part_q};
    endcase
  end

  pen_ram_1r1w #(.WIDTH(32), .DEPTH(WORDS), .READ_OLD(0)) u_memory (
    .clk_i,
    .write_i     (take),
    .write_addr_i(word_q[ADDR_W-1:0]),
    .write_data_i(word),
    .read_i,
    .read_addr_i (oldest_q[ADDR_W-1:0] + read_index_i[ADDR_W-1:0]),
    .read_data_o
  );

  pen_fifo #(.WIDTH(13), .DEPTH(FRAMES)) u_lengths (
    .clk_i,
    .rst_i,
    .valid_i(kept),
    .ready_o(lengths_ready),
    .data_i (count_q + 1'b1),
    .valid_o(length_valid),
    .ready_i(due),
    .data_o (length),
    /* verilator lint_off PINCONNECTEMPTY */
    .count_o()
    /* verilator lint_on PINCONNECTEMPTY */
  );

  assign due = release_i && release_ordinal_i == ordinal_o && bytes_o != '0;

  always_ff @(posedge clk_i) begin
    valid_q <= valid_q ? !take : s_axis_tvalid_i;
    if (!valid_q) begin
      data_q  <= s_axis_tdata_i;
      last_q  <= s_axis_tlast_i;
      user_q  <= s_axis_tuser_i;
    end
    if (take) begin
      part_q  <= {data_q, part_q[23:8]};
      count_q <= count_q + 1'b1;
      if (count_q[1:0] == 2'd3) word_q <= word_q + 1'b1;
      if (last_q) begin
        count_q <= '0;
        word_q  <= user_q ? first_q : word_q + 1'b1;
        first_q <= user_q ? first_q : word_q + 1'b1;
        if (user_q) cut_o <= cut_o + 1'b1;
      end
    end
    bytes_o <= length_valid && !due ? length : '0;
    if (due) begin
      oldest_q  <= oldest_q + place_t'((bytes_o + 13'd3) >> 2);
      ordinal_o <= ordinal_o + 1'b1;
    end
    if (rst_i) begin
      valid_q   <= 1'b0;
      bytes_o   <= '0;
      first_q   <= '0;
      word_q    <= '0;
      oldest_q  <= '0;
      count_q   <= '0;
      ordinal_o <= '0;
      cut_o     <= '0;
    end
  end

  logic unused;
  assign unused = &{1'b0, read_index_i};
endmodule
