// SPDX-License-Identifier: Apache-2.0
// Frees the cells of frames that are no longer needed, one cell in two cycles, following the chain.
//
// The requests wait in two small queues. Their depth covers the worst case: every port ends a frame of 16 cells at
// once and goes on with shortest frames, at most one each 84 cycles, while those chains are followed.
module pen_reclaim
  import pen_pkg::*;
  import pen_buffer_pkg::*;
#(
  parameter int unsigned CELLS = 1024,
  parameter int unsigned DEPTH = 64     // requests that can wait, of each kind; a power of two
) (
  input  logic     clk_i,
  input  logic     rst_i,
  input  reclaim_t dropped_i,           // refused at admission, or received in error
  input  reclaim_t released_i,          // its last copy was sent
  output logic     chain_valid_o,
  input  logic     chain_ready_i,
  output cell_t    chain_cell_o,
  input  cell_t    chain_next_i,        // in the cycle after chain_valid_o && chain_ready_i
  output logic     free_valid_o,
  output cell_t    free_cell_o,
  output logic     idle_o
);
  localparam int unsigned CELL_W = $clog2(CELLS);
  localparam int unsigned WIDTH = CELL_W + $bits(cell_count_t);

  reclaim_t [1:0]         request;
  logic [1:0]             request_ready, valid, take;
  logic [1:0][WIDTH-1:0]  waiting;
  logic [WIDTH-1:0]       chosen;
  logic [1:0][$clog2(DEPTH):0] count;

  assign request = {released_i, dropped_i};

  for (genvar i = 0; i < 2; i++) begin : gen_queue
    pen_fifo #(.WIDTH(WIDTH), .DEPTH(DEPTH)) u_fifo (
      .clk_i,
      .rst_i,
      .valid_i(request[i].valid),
      .ready_o(request_ready[i]),
      .data_i ({request[i].frame[CELL_W-1:0], request[i].cells}),
      .valid_o(valid[i]),
      .ready_i(take[i]),
      .data_o (waiting[i]),
      .count_o(count[i])
    );
  end

  typedef enum logic [1:0] {IDLE, FREE, FOLLOW} state_e;
  state_e            state_d, state_q;
  logic [CELL_W-1:0] cell_d, cell_q;
  cell_count_t       left_d, left_q;    // cells still to be freed
  logic              second, second_q;  // which queue is served, was served last

  assign second       = valid[1] && (!valid[0] || !second_q);  // in turns if both wait
  assign chosen       = second ? waiting[1] : waiting[0];
  assign chain_cell_o = cell_t'(cell_q);
  assign free_cell_o  = cell_t'(cell_q);
  assign idle_o       = state_q == IDLE && valid == '0;

  always_comb begin
    state_d       = state_q;
    cell_d        = cell_q;
    left_d        = left_q;
    take          = '0;
    chain_valid_o = 1'b0;
    free_valid_o  = 1'b0;
    unique case (state_q)
      FREE: begin
        if (left_q == 5'd1) begin
          free_valid_o = 1'b1;
          state_d      = IDLE;
        end else begin
          // The cell is freed when its link is read: it may be written again from the next cycle on.
          chain_valid_o = 1'b1;
          if (chain_ready_i) begin
            free_valid_o = 1'b1;
            left_d       = left_q - 1'b1;
            state_d      = FOLLOW;
          end
        end
      end
      FOLLOW: begin
        cell_d  = chain_next_i[CELL_W-1:0];
        state_d = FREE;
      end
      default: begin
        take             = {second, valid[0] && !second};
        {cell_d, left_d} = chosen;
        if (valid != '0) state_d = FREE;
      end
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) state_q <= IDLE;
    else state_q <= state_d;
    if (rst_i) second_q <= 1'b0;
    else if (take != '0) second_q <= second;
    if (state_q != IDLE || valid != '0) begin
      cell_q <= cell_d;
      left_q <= left_d;
    end
  end

`ifndef SYNTHESIS
  for (genvar i = 0; i < 2; i++) begin : gen_assert
    always_ff @(posedge clk_i) if (!rst_i) assert (!request[i].valid || request_ready[i]);
  end
`endif

  logic unused;
  assign unused = &{1'b0, request, request_ready, count, chain_next_i};

`ifdef FORMAL
  // Contract, with the FIFO's own (pen_fifo): 1. for each request that is taken as many cells are freed as it has, the first of
  // the frame and then each one's successor in the chain; 2. no cell is freed without a request; 3. of two requests that wait
  // none is passed over twice; 4. idle_o says that none waits or is worked on.
  logic              f_past_q = 1'b0;
  cell_count_t       f_left_q;             // cells of the request still to be freed
  logic [CELL_W-1:0] f_cell_q;             // the next one, unless its link is being read
  logic              f_link_q;             // chain_next_i is the next one
  logic              f_passed_q;           // the first kind waited while the second was served

  always_ff @(posedge clk_i) begin
    f_past_q <= 1'b1;
    f_link_q <= chain_valid_o && chain_ready_i;
    if (take != '0) {f_cell_q, f_left_q} <= take[1] ? waiting[1] : waiting[0];
    else begin
      if (f_link_q) f_cell_q <= chain_next_i[CELL_W-1:0];
      if (free_valid_o) f_left_q <= f_left_q - 1'b1;
    end
    if (take != '0) f_passed_q <= take[1] && valid[0];
    if (rst_i) begin
      f_left_q   <= '0;
      f_link_q   <= 1'b0;
      f_passed_q <= 1'b0;
    end
  end

  always_comb begin
    assume (rst_i == !f_past_q);
    for (int unsigned i = 0; i < 2; i++) if (valid[i]) assume (waiting[i][$bits(cell_count_t)-1:0] != '0);
    if (f_past_q) begin
      assert ((take & ~valid) == '0 && take != '1);
      if (take != '0) assert (f_left_q == '0 && !free_valid_o);
      if (free_valid_o) assert (f_left_q != '0 && !f_link_q && free_cell_o == cell_t'(f_cell_q));
      if (chain_valid_o) assert (chain_cell_o == cell_t'(f_cell_q) && free_valid_o == chain_ready_i);
      if (f_passed_q && take != '0) assert (take[0]);
      assert (!idle_o || (f_left_q == '0 && valid == '0));

      assert ((state_q == IDLE) == (f_left_q == '0) && (state_q == FOLLOW) == f_link_q);
      assert (state_q inside {IDLE, FREE, FOLLOW});
      if (state_q != IDLE) assert (left_q == f_left_q);
      if (state_q == FREE) assert (cell_q == f_cell_q);
      if (f_passed_q) assert (second_q && valid[0]);
      cover (f_passed_q && take[0]);
    end
  end

  always_ff @(posedge clk_i) if (f_past_q) cover (free_valid_o && f_left_q == 5'd1 && $past(f_link_q));
`endif
endmodule
