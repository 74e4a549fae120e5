// SPDX-License-Identifier: Apache-2.0
// Which class is served (802.1Q 8.6.8): the highest that may send, or that whose turn it is.
//
// Classes that `round_robin_i` names, bit k for class k, share one level, whose rank is that of its highest member. Of
// the members that may send the next one below the member served last is served, after the lowest the highest; at first
// the highest. All other classes are strict by their number. Only a frame that is served takes a turn, and a change of the
// members keeps the turn. Members act a cycle later, whose turn it is three cycles after a frame was served.
module pen_selection
  import pen_pkg::*;
(
  input  logic clk_i,
  input  logic rst_i,
  input  logic               enable_i,        // the transmitter takes a frame
  input  logic [CLASSES-1:0] round_robin_i,
  input  logic [CLASSES-1:0] ready_i,         // per class: its first frame is eligible
  input  logic [CLASSES-1:0] fits_i,          // its gate is open until the frame has ended
  input  logic [CLASSES-1:0] credit_i,        // its credit is not negative, or it needs none
  output logic               grant_o,
  output logic [CLASSES-1:0] chosen_o         // with grant_o: one bit
);
  // Served first: classes above the level and members that have their turn before it begins anew, by number; then the
  // other members; then the classes below. Who goes before whom is known a cycle before somebody may send.
  logic [CLASSES-1:0]              member_q, first, may_send, goes_first;
  logic [CLASSES-1:0][CLASSES-1:0] above_d, above_q;    // bit k of j, for j below k: class k goes before class j
  logic [CLASSES-1:0][CLASSES-1:0] ahead;               // bit j of k: class j goes before class k
  logic                            granted_q;           // in the cycle before, as the next two
  logic [CLASSES-1:0]              chosen_q, was_member_q;
  class_t                          last_q;              // the member served last
  logic                            takes_turn;          // that class was one

  assign may_send = ready_i & fits_i & credit_i;

  always_comb begin
    for (int unsigned k = 0; k < CLASSES; k++) begin
      first[k] = round_robin_i[k] ? 32'(last_q) > k : round_robin_i >> k == '0;
    end
    above_d = '0;
    ahead   = '0;
    for (int unsigned k = 0; k < CLASSES; k++) begin
      for (int unsigned j = 0; j < k; j++) begin
        above_d[j][k] = first[k] || (!first[j] && (round_robin_i[k] || !round_robin_i[j]));
        ahead[j][k]   = above_q[j][k];
        ahead[k][j]   = !above_q[j][k];
      end
    end
    for (int unsigned k = 0; k < CLASSES; k++) begin
      goes_first[k] = may_send[k] && (may_send[k/4*4+:4] & ahead[k][k/4*4+:4]) == '0;
      chosen_o[k]   = goes_first[k] && (may_send[4-k/4*4+:4] & ahead[k][4-k/4*4+:4]) == '0;
    end
  end

  assign grant_o    = enable_i && may_send != '0;
  assign takes_turn = granted_q && (chosen_q & was_member_q) != '0;

  always_ff @(posedge clk_i) begin
    member_q     <= round_robin_i;
    was_member_q <= member_q;
    above_q      <= above_d;
    granted_q    <= grant_o && !rst_i;
    chosen_q     <= chosen_o;
    if (rst_i) last_q <= '0;
    else if (takes_turn) last_q <= class_of(chosen_q);
  end

`ifdef FORMAL
  // Contract: 1. the class served is eligible, fits its gate and has credit; 2. nothing is served while the transmitter
  // is busy; 3. whenever one may send, one is served; 4. no class of a higher rank that may send is passed over; 5. while
  // a member may send no other member is served twice, so it waits for one frame of each at most.
  logic               f_past_q = 1'b0;
  logic [1:0]         f_granted_q;            // in the last two cycles
  class_t             f_last, f_chosen;
  class_t             f_class;                // any
  logic [CLASSES-1:0] f_served_q;             // members, while that class could have been served
  logic               f_waits;
  logic [CLASSES-1:0] f_first;

  assign f_chosen = class_of(chosen_o);
  assign f_last  = takes_turn ? class_of(chosen_q) : last_q;
  assign f_waits = may_send[f_class] && member_q[f_class];

  // How many turns are before that of a class.
  function automatic class_t f_turns(input class_t k);
    return f_last - k - 3'd1;
  endfunction

  function automatic logic [3:0] f_rank(input class_t k);
    logic [3:0] rank;
    rank = {1'b0, k};
    for (int unsigned i = 0; i < CLASSES; i++) if (member_q[k] && member_q[i]) rank = 4'(i);
    return rank;
  endfunction

  always_ff @(posedge clk_i) begin
    f_past_q    <= 1'b1;
    f_class     <= f_class;
    f_granted_q <= {f_granted_q[0], grant_o || rst_i};
    if (rst_i || !f_waits || round_robin_i != member_q) f_served_q <= '0;
    else if (grant_o && member_q[f_chosen]) f_served_q <= f_served_q | (CLASSES'(1) << f_chosen);
    if (grant_o && f_chosen == f_class) f_served_q <= '0;
  end

  always_comb begin
    assume (f_past_q || rst_i);
    assume (!(grant_o && f_past_q && f_granted_q != '0));
    for (int unsigned k = 0; k < CLASSES; k++) begin
      f_first[k] = member_q[k] ? 32'(last_q) > k : member_q >> k == '0;
      assert (!f_past_q || !ahead[k][k]);
      for (int unsigned j = 0; j < k; j++) begin
        assert (!f_past_q || ahead[k][j] == !ahead[j][k]);
        if (f_past_q && f_granted_q == '0)
          assert (ahead[j][k] == (f_first[k] || (!f_first[j] && (member_q[k] || !member_q[j]))));
      end
      if (f_past_q && f_served_q[k])
        assert (member_q[k] && k != 32'(f_class) && f_turns(class_t'(k)) > f_turns(f_class));
    end
    if (grant_o && f_past_q) begin
      assert (enable_i && ready_i[f_chosen] && fits_i[f_chosen] && credit_i[f_chosen]);
      assert (chosen_o == CLASSES'(1) << f_chosen);
      for (int unsigned k = 0; k < CLASSES; k++) assert (!may_send[k] || f_rank(class_t'(k)) <= f_rank(f_chosen));
      assert (!(f_waits && f_served_q[f_chosen]));
    end
    if (!grant_o) assert (!enable_i || may_send == '0);
    cover (grant_o && f_past_q && f_waits && f_served_q != '0 && f_chosen == f_class);
  end
`endif
endmodule
