// SPDX-License-Identifier: Apache-2.0
// Counts the copies of each frame that are still to be sent; the last one gives its cells back.
//
// Two memories, each written by one side: the copies made at enqueue, and the number of the one that is done next.
//
//   release_i    | frame A | frame A |          |
//   memories     |         | A: 1    | A: stale |    the second uses what the first just wrote
//   reclaim_o    |         |         |          | A
module pen_references
  import pen_pkg::*;
  import pen_buffer_pkg::*;
#(
  parameter int unsigned CELLS = 1024
) (
  input  logic        clk_i,
  input  logic        rst_i,
  input  logic        init_busy_i,
  input  init_index_t init_index_i,
  input  enqueue_t    enqueue_i,
  input  release_t    release_i,       // of the egress port whose turn it is
  output reclaim_t    reclaim_o,
  output logic        idle_o           // no frame is queued
);
  localparam int unsigned CELL_W = $clog2(CELLS);

  logic              enqueue, clear;
  logic              valid_q;
  logic [CELL_W-1:0] frame_q;
  cell_count_t       cells_q;
  logic              forward_q;        // the release before was of the same frame
  logic [3:0]        copies, done_read, done, done_next, done_q;
  logic              last;             // copy of its frame
  logic [CELL_W:0]   frames_q;         // queued, being sent, or told in reclaim_o

  assign enqueue   = enqueue_i.destination != '0;
  assign clear     = init_busy_i && 32'(init_index_i) < CELLS;
  assign done      = forward_q ? done_q : done_read;
  assign last      = done == copies;
  assign done_next = last ? 4'd1 : done + 1'b1;
  assign idle_o    = frames_q == '0;

  // A copy is released only after the enqueue.
  pen_ram_1r1w #(.WIDTH(4), .DEPTH(CELLS), .READ_OLD(0)) u_copies (
    .clk_i,
    .write_i     (enqueue),
    .write_addr_i(enqueue_i.frame[CELL_W-1:0]),
    .write_data_i(count_ports(enqueue_i.destination)),
    .read_i      (release_i.valid),
    .read_addr_i (release_i.frame[CELL_W-1:0]),
    .read_data_o (copies)
  );

  // `forward_q`: the value just written is taken from `done_q`.
  pen_ram_1r1w #(.WIDTH(4), .DEPTH(CELLS), .READ_OLD(0)) u_done (
    .clk_i,
    .write_i     (clear || valid_q),
    .write_addr_i(clear ? init_index_i[CELL_W-1:0] : frame_q),
    .write_data_i(clear ? 4'd1 : done_next),
    .read_i      (release_i.valid),
    .read_addr_i (release_i.frame[CELL_W-1:0]),
    .read_data_o (done_read)
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      valid_q         <= 1'b0;
      reclaim_o.valid <= 1'b0;
      frames_q        <= '0;
    end else begin
      valid_q         <= release_i.valid;
      reclaim_o.valid <= valid_q && last;
      frames_q        <= frames_q + (CELL_W + 1)'(enqueue) - (CELL_W + 1)'(reclaim_o.valid);
    end
    forward_q <= valid_q && release_i.frame[CELL_W-1:0] == frame_q;
    if (release_i.valid) begin
      frame_q <= release_i.frame[CELL_W-1:0];
      cells_q <= cells_of(release_i.length);
    end
    if (valid_q) begin
      done_q          <= done_next;
      reclaim_o.frame <= cell_t'(frame_q);
      reclaim_o.cells <= cells_q;
    end
  end

  logic unused;
  assign unused = &{1'b0, enqueue_i, release_i, init_index_i};

`ifdef FORMAL
  // Contract, for an environment that queues no frame which is queued, and releases each copy once: 1. a frame is told to be
  // reclaimed once, two cycles after its last copy was released, and never before; 2. idle_o says that no frame is queued.
  logic                  f_past_q = 1'b0;
  logic [CELLS-1:0][3:0] f_left_q;         // copies of each frame that are still to be released
  logic [CELLS-1:0]      f_under_way, f_done_q;
  logic [CELL_W-1:0]     f_enqueued, f_released;
  logic [CELL_W:0]       f_queued;

  assign f_enqueued = enqueue_i.frame[CELL_W-1:0];
  assign f_released = release_i.frame[CELL_W-1:0];

  always_comb begin
    f_queued = '0;
    for (int unsigned c = 0; c < CELLS; c++) begin
      f_under_way[c] = valid_q && 32'(frame_q) == c;
      if (f_left_q[c] != '0 || f_under_way[c]) f_queued = f_queued + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    f_past_q <= 1'b1;
    f_done_q <= '0;
    for (int unsigned c = 0; c < CELLS; c++) begin
      if (f_under_way[c] && f_left_q[c] == '0) f_done_q[c] <= 1'b1;
      if (rst_i) f_left_q[c] <= '0;
      else if (enqueue && 32'(f_enqueued) == c) f_left_q[c] <= count_ports(enqueue_i.destination);
      else if (release_i.valid && 32'(f_released) == c) f_left_q[c] <= f_left_q[c] - 1'b1;
    end
    if (rst_i) f_done_q <= '0;
  end

  always_comb begin
    assume (rst_i == !f_past_q);
    assume (!init_busy_i);
    if (!f_past_q) begin
      assume (!release_i.valid && !enqueue && !valid_q);
      for (int unsigned c = 0; c < CELLS; c++) assume (u_done.memory[c] == 4'd1);  // as the initialization leaves it
    end else begin
      if (enqueue) assume (f_left_q[f_enqueued] == '0 && !f_under_way[f_enqueued]);
      if (release_i.valid) assume (f_left_q[f_released] != '0);

      assert (reclaim_o.valid == (f_done_q != '0));
      if (reclaim_o.valid) assert (f_done_q == CELLS'(1) << reclaim_o.frame);
      assert (frames_q == f_queued + (CELL_W + 1)'(reclaim_o.valid));
      for (int unsigned c = 0; c < CELLS; c++) begin
        assert (f_left_q[c] <= 4'd8 && u_done.memory[c] inside {[4'd1:4'd8]});
        if (f_left_q[c] == '0 && !f_under_way[c]) assert (u_done.memory[c] == 4'd1);
        else assert (u_copies.memory[c] <= 4'd8
            && 5'(u_done.memory[c]) + 5'(f_under_way[c]) + 5'(f_left_q[c]) == 5'(u_copies.memory[c]) + 5'd1);
        if (f_under_way[c])
          assert (copies == u_copies.memory[c] && (forward_q ? done_q : done_read) == u_done.memory[c]);
      end
      cover (reclaim_o.valid && forward_q);
    end
  end

  always_ff @(posedge clk_i) if (f_past_q) cover (idle_o && $past(f_past_q && !idle_o));
`endif
endmodule
