// SPDX-License-Identifier: Apache-2.0
// Reads the selected frame from the store and hands it to the MAC byte by byte.
//
//   cycle        |  n    | n+1   | n+2   | .. | n+11       | .. | n+20+L     | n+21+L | n+22+L       L: length
//   grant_i      | valid |       |       |    |            |    | next grant |
//   popped_i     |       | valid, with its first cell
//   store_read_o |       | from here on, in this port's turn
//   start_o      |       |       | valid |    |            |    |            |        | next start
//   data_ready_i |       |       |       |    | first byte |
//
// A word is read in every turn as long as the buffer of four words has room: with 8 ports that is just a word in the
// eight cycles that its bytes take, and the first one is there in time for the delimiter's end in the worst turn.
// The next frame is granted so early that its start follows the gap without delay.
//
// The byte that is offered stands in a register. With more than 4 ports the first byte of a word goes there from the store,
// as it is due in the cycle after; no later byte of a word is due so soon.
//
// A frame that loses a tag has its bytes behind that sooner. With more than 4 ports they are not there sooner, and the
// frame starts later by as many cycles as it becomes shorter; the next grant too.
module pen_egress_reader
  import pen_pkg::*;
#(
  parameter int unsigned PORTS = 4,
  parameter int unsigned CELLS = 1024,
  parameter int unsigned PORT  = 0
) (
  input  logic        clk_i,
  input  logic        rst_i,
  input  logic        has_turn_i,       // it is this port's turn
  output logic        tx_ready_o,       // a frame may be granted in this cycle
  input  logic        grant_i,
  input  release_t    popped_i,         // in the cycle after the grant; its pool and length a cycle later
  input  edit_t       popped_edit_i,    // with the length, as the following
  input  length_t     popped_slot_i,    // its length as it has the wire
  output store_read_t store_read_o,
  input  store_data_t store_data_i,
  output release_t    release_o,        // in this port's turn, when the whole frame has been read
  output length_t     slot_o,           // as it has the wire; from three cycles after the grant on, as length and edit
  output logic        start_o,
  output length_t     length_o,         // as it is sent
  output logic [3:0]  pad_o,            // bytes that it is padded with; another cycle later
  output edit_t       edit_o,
  output label_t      label_o,          // from before the first byte until tags have been sent
  output logic        data_valid_o,
  output logic [7:0]  data_o,
  input  logic        data_ready_i,
  input  logic        stall_i,          // the transmitter is held up: the next frame comes as much later
  input  logic [3:0]  skip_i,           // with data_ready_i: so many bytes behind the next one are left out
  output logic        idle_o
);
  localparam int unsigned CELL_W = $clog2(CELLS);
  localparam int unsigned BUFFER = 4;                  // words
  // From the fourth cycle after a grant to the next one, without the length: preamble, delimiter and gap, less five.
  localparam int unsigned OVERHEAD = 15;

  logic              free_q;                           // the transmitter
  length_t           count_q;                          // cycles until it is free again, less OVERHEAD
  logic              start_q;                          // two cycles after the grant
  edit_t             edit_q;
  logic              started_q;                        // three cycles after the grant
  label_t            label_q;
  release_t          frame_q;                          // being sent

  // Reading
  logic              reading_q, release_q;
  logic [CELL_W-1:0] cell_now, cell_q, next_cell_q;
  word_t             word_q;
  logic [7:0]        words_q;                          // read
  logic [7:0]        words;                            // of the frame, less one; from the third cycle after a grant
  logic              first_q;                          // the first cycle after the grant
  logic              read, last;
  word_t             received_q;                       // words, in all, modulo 16
  logic              receive;
  logic [2:0]        held;                             // words read and not yet consumed

  // Bytes on their way out
  logic [6:0]        next_q;                           // the byte behind the one offered, modulo 16 words
  word_t             word_now_q;                       // of the byte offered
  logic [63:0]       word;                             // of the byte behind it
  logic              has_word, has_first, take;

  assign words      = frame_q.length[10:3] - {7'b0, frame_q.length[2:0] == '0};
  assign last       = !first_q && !start_q && words_q == words;
  assign held       = 3'(word_q - word_now_q);
  assign read       = has_turn_i && reading_q && held != 3'(BUFFER);
  assign receive    = store_data_i.valid && store_data_i.port == port_t'(PORT);

  assign cell_now     = first_q ? popped_i.frame[CELL_W-1:0] : cell_q;
  assign store_read_o = '{valid: read, cell_index: cell_t'(cell_now), word: word_q};

  pen_lutram_1r1w #(.WIDTH(64), .DEPTH(BUFFER)) u_buffer (
    .clk_i,
    .write_i     (receive),
    .write_addr_i(received_q[1:0]),
    .write_data_i(store_data_i.data),
    .read_addr_i (next_q[4:3]),
    .read_data_o (word)
  );

  assign has_word  = received_q != next_q[6:3];
  assign has_first = receive && next_q[2:0] == '0;
  assign take      = (data_ready_i || !data_valid_o) && (has_word || has_first);

  assign label_o      = label_q;
  assign edit_o       = edit_q;

  if (waits_for_words(PORTS)) begin : gen_later
    // Bit i: a frame that starts in i+1 cycles.
    logic [9:0] later_q;
    logic [3:0] lost;
    assign lost = lost_bytes(start_q ? popped_edit_i : edit_q);
    always_ff @(posedge clk_i) begin
      later_q <= later_q >> 1;
      if (start_q && lost != '0) later_q[lost-1] <= 1'b1;
      if (rst_i) later_q <= '0;
    end
    assign start_o  = (start_q && lost == '0) || later_q[0];
    assign length_o = slot_o - length_t'(lost);
  end else begin : gen_at_once
    assign start_o  = start_q;
    assign length_o = slot_o;
  end

  assign tx_ready_o   = free_q;

  always_comb begin
    release_o       = frame_q;
    release_o.valid = has_turn_i && release_q;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      free_q    <= 1'b1;
      first_q   <= 1'b0;
      start_q   <= 1'b0;
      started_q <= 1'b0;
      reading_q <= 1'b0;
      release_q <= 1'b0;
    end else begin
      first_q <= grant_i;
      start_q <= first_q;
      started_q <= start_q;
      if (grant_i) free_q <= 1'b0;
      else if (!first_q && !start_q && !started_q && count_q == -length_t'(OVERHEAD) && !stall_i) free_q <= 1'b1;
      if (grant_i) reading_q <= 1'b1;
      else if (read && last) reading_q <= 1'b0;
      if (read && last) release_q <= 1'b1;
      else if (has_turn_i) release_q <= 1'b0;
    end

    pad_o <= length_o[3:0] - frame_q.length[3:0] - 4'(growth(edit_q));
    if (started_q) count_q <= slot_o;
    else if (!stall_i) count_q <= count_q - 1'b1;
    if (first_q) begin
      cell_q  <= cell_now;
      frame_q <= popped_i;
    end
    if (start_q) begin
      frame_q.pool   <= popped_i.pool;
      frame_q.length <= popped_i.length;
      edit_q         <= popped_edit_i;
      slot_o         <= popped_slot_i;
    end
    if (receive && received_q == '0) label_q <= store_data_i.label_of;

    // Up to the grant, which comes late: all of the frame before has been sent.
    if (free_q) begin
      word_q       <= '0;
      words_q      <= '0;
      received_q   <= '0;
      next_q       <= '0;
      word_now_q   <= '0;
      data_valid_o <= 1'b0;
    end else begin
      if (read) begin
        word_q  <= word_q + 1'b1;
        words_q <= words_q + 1'b1;
        if (word_q == '1) cell_q <= next_cell_q;
      end
      if (receive) begin
        received_q <= received_q + 1'b1;
        if (received_q == '0) next_cell_q <= store_data_i.next_cell[CELL_W-1:0];
      end
      if (take) next_q <= next_q + 7'd1 + (data_ready_i ? 7'(skip_i) : '0);
      if (data_ready_i) word_now_q <= next_q[6:3];
      if (take || data_ready_i) data_valid_o <= take;
    end
    if (data_ready_i || !data_valid_o) data_o <= has_word ? word[8*next_q[2:0]+:8] : store_data_i.data[7:0];
  end

  assign idle_o = free_q && !release_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      assert (!data_ready_i || data_valid_o);
      assert (!take || word_t'(received_q - next_q[6:3]) <= word_t'(BUFFER));
    end
  end
`endif

  logic unused;
  assign unused = &{1'b0, popped_i, frame_q.valid, store_data_i};
endmodule
