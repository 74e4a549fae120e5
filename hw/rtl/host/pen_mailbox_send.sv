// SPDX-License-Identifier: Apache-2.0
// Frames from registers to a stream: the words of a frame are written one by one, and it goes when it is committed.
//
// Word n of the next frame is written with `write_index_i` n, in any order and as often as one likes. `room_bytes_o` says
// how many bytes the frame may have. It knows of a commit in the third cycle behind it, as no access that waits for the
// answer to that comes before. A commit with the frame's ordinal gives its first `commit_bytes_i` bytes to the stream, lowest
// byte of a word first; it is refused and counted if there are none, too many, or if a word was written beyond the room of
// that time. A commit with another ordinal is one that came twice.
module pen_mailbox_send #(
  parameter int unsigned BYTES = 4096,  // a power of two, 64 to 4096
  parameter int unsigned FRAMES = 16    // that may wait; a power of two
) (
  input  logic        clk_i,
  input  logic        rst_i,
  input  logic        write_i,
  input  logic [9:0]  write_index_i,
  input  logic [31:0] write_data_i,
  input  logic        commit_i,
  input  logic [12:0] commit_bytes_i,
  input  logic [7:0]  commit_ordinal_i,
  output logic [12:0] room_bytes_o,
  output logic [7:0]  ordinal_o,        // of the next frame
  output logic [15:0] refused_o,
  output logic        m_axis_tvalid_o,
  input  logic        m_axis_tready_i,
  output logic [7:0]  m_axis_tdata_o,
  output logic        m_axis_tlast_o
);
  localparam int unsigned WORDS = BYTES / 4;
  localparam int unsigned ADDR_W = $clog2(WORDS);
  if (BYTES < 64 || BYTES > 4096 || BYTES != 1 << $clog2(BYTES))
    $fatal(1, "pen_mailbox_send: BYTES must be a power of two from 64 to 4096, is %0d (%m)", BYTES);

  typedef logic [ADDR_W:0] place_t;  // one bit more than an address, so that full and empty differ

  // ---- What is written ----------------------------------------------------------------------------------------------
  place_t      next_q, taken_q, room_q; // first word of the next frame; of what is still to be sent; words between
  logic        spilled_q;               // a word of the next frame was written where there was no room
  logic        write, due, accepted, lengths_ready;

  assign room_bytes_o = 13'({room_q, 2'b00});
  assign write        = write_i && 32'(write_index_i) < 32'(room_q);
  assign due          = commit_i && commit_ordinal_i == ordinal_o;
  assign accepted     = due && commit_bytes_i != '0 && commit_bytes_i <= room_bytes_o && !spilled_q;

  always_ff @(posedge clk_i) begin
    room_q <= lengths_ready ? place_t'(WORDS) - (next_q - taken_q) : '0;
    if (write_i && !write) spilled_q <= 1'b1;
    if (due) spilled_q <= 1'b0;
    if (due && !accepted) refused_o <= refused_o + 1'b1;
    if (accepted) begin
      next_q    <= next_q + place_t'((commit_bytes_i + 13'd3) >> 2);
      ordinal_o <= ordinal_o + 1'b1;
    end
    if (rst_i) begin
      next_q    <= '0;
      ordinal_o <= '0;
      refused_o <= '0;
      spilled_q <= 1'b0;
    end
  end

  // ---- What is sent -------------------------------------------------------------------------------------------------
  //
  //     state_q  WAIT  FETCH  SEND  SEND  SEND  SEND  FETCH ..
  //     stream                D0    D1    D2    D3
  typedef enum logic [1:0] {WAIT, FETCH, SEND} state_e;
  state_e      state_q;
  logic [12:0] length, left_q;           // left: bytes after the one on the stream
  logic [1:0]  byte_q;
  logic        length_valid, moves;
  logic [31:0] word;

  pen_fifo #(.WIDTH(13), .DEPTH(FRAMES)) u_lengths (
    .clk_i,
    .rst_i,
    .valid_i(accepted),
    .ready_o(lengths_ready),
    .data_i (commit_bytes_i),
    .valid_o(length_valid),
    .ready_i(state_q == WAIT),
    .data_o (length),
    /* verilator lint_off PINCONNECTEMPTY */
    .count_o()
    /* verilator lint_on PINCONNECTEMPTY */
  );

  pen_ram_1r1w #(.WIDTH(32), .DEPTH(WORDS), .READ_OLD(0)) u_memory (
    .clk_i,
    .write_i     (write),
    .write_addr_i(next_q[ADDR_W-1:0] + write_index_i[ADDR_W-1:0]),
    .write_data_i,
    .read_i      (state_q == FETCH),
    .read_addr_i (taken_q[ADDR_W-1:0]),
    .read_data_o (word)
  );

  assign m_axis_tvalid_o = state_q == SEND;
  assign m_axis_tdata_o  = word[8*byte_q+:8];
  assign m_axis_tlast_o  = left_q == '0;
  assign moves           = m_axis_tvalid_o && m_axis_tready_i;

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      WAIT: if (length_valid) begin
        left_q  <= length - 1'b1;
        state_q <= FETCH;
      end
      FETCH: begin
        byte_q  <= '0;
        state_q <= SEND;
      end
      SEND: if (moves) begin
        byte_q <= byte_q + 1'b1;
        left_q <= left_q - 1'b1;
        if (m_axis_tlast_o || byte_q == 2'd3) begin
          taken_q <= taken_q + 1'b1;
          state_q <= m_axis_tlast_o ? WAIT : FETCH;
        end
      end
      default: state_q <= WAIT;
    endcase
    if (rst_i) begin
      state_q <= WAIT;
      taken_q <= '0;
    end
  end
endmodule
