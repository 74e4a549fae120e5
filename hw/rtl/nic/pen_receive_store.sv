// SPDX-License-Identifier: Apache-2.0
// Received frames on their way to the host, in the order in which they came: whole, good and wanted ones only.
//
// A frame lies in the memory as the host gets it, behind the last four bytes of its header, so that words need not be
// shifted (virtio_net_hdr_v1 with num_buffers 1; VIRTIO 1.2, 5.1.6):
//
//     word   lane 0  1  2  3  4 .. 7      8 ..
//     0           0  0  1  0  bytes 0 to 3 of the frame
//     1           bytes 4 to 11                         ...
//
// What turns out to be bad, unwanted, or too much is forgotten by going back to where it began. The FCS is not told.
module pen_receive_store
  import pen_pkg::*, pen_nic_pkg::*;
#(
  parameter int unsigned WORDS  = 2048,         // of 8 bytes; a power of two, 512 or more
  parameter int unsigned FRAMES = 64            // a power of two
) (
  input  logic             clk_i,
  input  logic             rst_i,
  input  rx_beat_t         beat_i,
  input  logic             beat_valid_i,
  output logic             beat_ready_o,
  // Who wants it; see pen_steering
  output logic             clear_o,
  output logic             byte_valid_o,
  output logic [7:0]       byte_o,
  output logic             decide_o,
  input  logic             decided_i,
  input  logic             accept_i,
  input  logic [3:0]       queue_i,
  // The oldest frame
  output logic             frame_valid_o,
  output received_t        frame_o,
  input  logic             frame_ready_i,       // done with: what it took is free again
  input  logic             read_i,
  input  logic [8:0]       read_word_i,         // of that frame
  output logic [63:0]      read_data_o,         // in the next cycle
  // One cycle each
  output logic             bad_o,               // why: reason_o
  output logic [2:0]       reason_o,
  output logic             unwanted_o,
  output logic             full_o,
  output logic             idle_o               // no frame is coming, and none is here
);
  localparam int unsigned ADDRESS_BITS = $clog2(WORDS);
  localparam int unsigned FCS_BYTES = 4;
  if (WORDS < 512 || WORDS != 1 << ADDRESS_BITS) begin : gen_check_words
    $fatal(1, "pen_receive_store: WORDS must be a power of two, 512 or more, is %0d (%m)", WORDS);
  end

  typedef logic [ADDRESS_BITS:0] place_t;       // one bit more than an address, so that full and empty differ
  typedef enum logic [1:0] {FRAME, WRITE, DECIDE, CLEAR} state_e;

  state_e          state_q;
  length_t         length_q;                    // FCS included
  logic [7:0][7:0] word_q;
  logic            word_valid_q, lost_q;
  place_t          begin_q, write_q, read_q;    // of this frame; the next word; of the oldest frame
  logic [2:0]      reason_q, lane;
  logic            take, full, push, push_ready;
  received_t       pushed;
  logic [$clog2(FRAMES):0] count;

  assign take = beat_valid_i && beat_ready_o;
  assign lane = length_q[2:0] + 3'd4;
  assign full = write_q - read_q == place_t'(WORDS);

  assign beat_ready_o = state_q == FRAME;
  assign byte_valid_o = take;
  assign byte_o       = beat_i.data;
  assign clear_o      = state_q == CLEAR;
  assign decide_o     = state_q == WRITE && reason_q == '0;

  always_ff @(posedge clk_i) begin
    word_valid_q <= 1'b0;
    bad_o        <= 1'b0;
    unwanted_o   <= 1'b0;
    full_o       <= 1'b0;
    if (word_valid_q) begin
      if (full) lost_q <= 1'b1;
      else write_q <= write_q + 1'b1;
    end
    unique case (state_q)
      FRAME: if (take) begin
        if (length_q == '0) word_q <= 64'h0000_0000_0001_0000;
        word_q[lane] <= beat_i.data;
        word_valid_q <= lane == '1 || beat_i.last;
        length_q     <= length_q + 1'b1;
        reason_q     <= beat_i.reason;
        if (beat_i.last) state_q <= WRITE;
      end
      WRITE: state_q <= reason_q == '0 ? DECIDE : CLEAR;
      DECIDE: if (decided_i) state_q <= CLEAR;
      CLEAR: begin
        length_q <= '0;
        lost_q   <= 1'b0;
        begin_q  <= write_q;
        state_q  <= FRAME;
      end
    endcase
    if (state_q == WRITE && reason_q != '0) begin
      bad_o    <= 1'b1;
      reason_o <= reason_q;
    end
    if (state_q == DECIDE && decided_i) begin
      unwanted_o <= !accept_i;
      full_o     <= accept_i && !push;
    end
    if ((state_q == WRITE && reason_q != '0) || (state_q == DECIDE && decided_i && !push)) write_q <= begin_q;
    if (rst_i) begin
      state_q      <= CLEAR;
      word_valid_q <= 1'b0;
      bad_o        <= 1'b0;
      unwanted_o   <= 1'b0;
      full_o       <= 1'b0;
      write_q      <= '0;
    end
  end

  assign push   = state_q == DECIDE && decided_i && accept_i && !lost_q && push_ready;
  assign pushed = '{pair: queue_i, length: length_q - length_t'(FCS_BYTES)};
  pen_fifo #(.WIDTH($bits(received_t)), .DEPTH(FRAMES)) u_frames (
    .clk_i,
    .rst_i,
    .valid_i(push),
    .ready_o(push_ready),
    .data_i (pushed),
    .valid_o(frame_valid_o),
    .ready_i(frame_ready_i),
    .data_o (frame_o),
    .count_o(count)
  );

  // Words that the oldest frame takes: its FCS and the part of the header with it.
  length_t whole;
  assign whole = frame_o.length + length_t'(FCS_BYTES + 4 + 7);
  always_ff @(posedge clk_i) begin
    if (frame_valid_o && frame_ready_i) read_q <= read_q + place_t'(whole[10:3]);
    if (rst_i) read_q <= '0;
  end

  pen_ram_1r1w #(.WIDTH(64), .DEPTH(WORDS), .READ_OLD(0)) u_memory (
    .clk_i,
    .write_i     (word_valid_q && !full),
    .write_addr_i(write_q[ADDRESS_BITS-1:0]),
    .write_data_i(word_q),
    .read_i,
    .read_addr_i (read_q[ADDRESS_BITS-1:0] + ADDRESS_BITS'(read_word_i)),
    .read_data_o
  );

  assign idle_o = state_q == FRAME && length_q == '0 && !beat_valid_i && !frame_valid_o;

  logic unused;
  assign unused = &{1'b0, beat_i.short_gap, count, whole[2:0]};
endmodule
