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
endmodule
