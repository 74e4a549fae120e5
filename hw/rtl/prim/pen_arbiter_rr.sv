// SPDX-License-Identifier: Apache-2.0
// Grants one requester at a time, the next in turn first.
//
// The grant holds until `done_i`, so that a frame is never cut in two. It comes one cycle after the request; after
// `done_i` the next one follows without a cycle in between.
//
//     req_i    | 01 | 11 | 11 | 11 | 10 | 00 |
//     done_i   |    |    |    |  1 |    |  1 |
//     grant_o  | 00 | 01 | 01 | 01 | 10 | 10 | 00
module pen_arbiter_rr #(
  parameter int unsigned N = 4  // requesters, 2 or more
) (
  input  logic         clk_i,
  input  logic         rst_i,    // synchronous; resets control state only
  input  logic [N-1:0] req_i,
  input  logic         done_i,   // last beat of the granted frame; no meaning without a grant
  output logic [N-1:0] grant_o   // one-hot, or zero
);
  if (N < 2) begin : gen_check_n
    $fatal(1, "pen_arbiter_rr: N must be 2 or more, is %0d (%m)", N);
  end

  logic [N-1:0] grant_q, grant_d;
  logic [N-1:0] after_q, after_d;  // the requesters behind the last one granted: bits above its own
  logic [N-1:0] eligible, pick;

  // The lowest requester behind the last one, else the lowest of all.
  assign eligible = |(req_i & after_q) ? req_i & after_q : req_i;
  assign pick     = eligible & (~eligible + 1'b1);

  always_comb begin
    grant_d = grant_q;
    after_d = after_q;
    if (grant_q == '0 || done_i) begin
      grant_d = pick;
      if (pick != '0) after_d = ~(pick | (pick - 1'b1));
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      grant_q <= '0;
      after_q <= '0;
    end else begin
      grant_q <= grant_d;
      after_q <= after_d;
    end
  end

  assign grant_o = grant_q;

`ifdef FORMAL
  // Contract: 1. never two grants; 2. a grant is held until done; 3. no requester waits for more than N-1 others;
  // 4. a grant goes to a requester, and at once if there is one.
  logic                 f_past_q = 1'b0;
  logic [$clog2(N)-1:0] f_index_q;  // an arbitrary requester
  int unsigned          f_waited_q;   // grants to others since it has been waiting
  int unsigned          f_ahead;      // requesters that would be served before it

  assign f_ahead = $countones(after_q) + 32'(f_index_q) - (after_q[f_index_q] ? N : 0);

  always_ff @(posedge clk_i) begin
    f_past_q  <= 1'b1;
    f_index_q <= f_index_q;
    if (rst_i || !req_i[f_index_q]) f_waited_q <= 0;
    else if (grant_q == '0 || done_i) f_waited_q <= pick[f_index_q] ? 0 : f_waited_q + 1;
  end

  always_comb begin
    assume (32'(f_index_q) < N);
    if (!f_past_q) assume (rst_i);
    else begin
      assert ((grant_o & (grant_o - 1'b1)) == '0);
      assert ((~after_q & (~after_q + 1'b1)) == '0);  // a run of ones, from the top
      if (grant_q != '0) assert (after_q == ~(grant_q | (grant_q - 1'b1)));
      assert (f_waited_q <= N - 1);
      assert (f_waited_q + f_ahead <= N - 1);
    end
  end

  always_ff @(posedge clk_i) begin
    if (f_past_q && !$past(rst_i)) begin
      if ($past(grant_o != '0 && !done_i)) assert (grant_o == $past(grant_o));
      else begin
        assert ((grant_o & ~$past(req_i)) == '0);
        assert ((grant_o != '0) == ($past(req_i) != '0));
      end
      cover (f_waited_q == N - 1);
    end
  end
`endif
endmodule
