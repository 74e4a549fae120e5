// SPDX-License-Identifier: Apache-2.0
// What became of every frame, received and sent, one event a cycle.
//
// Events wait in a register each, and what has the least time is told first. None finds its register taken: a received frame is
// lost every third cycle at most, and a frame of the host not sent; none is given up within 8 cycles behind another one, nor sent
// within 84. One that is received waits for received_ready_o. Frames without a buffer, which may come in every cycle, are
// of one counter and told together.
module pen_nic_events
  import pen_pkg::*, pen_nic_pkg::*;
(
  input  logic       clk_i,
  input  logic       rst_i,
  // One cycle each
  input  logic       lost_i,          // a received frame
  input  logic [3:0] lost_why_i,      // number of the counter
  input  logic       no_buffer_i,
  output logic       received_ready_o,
  input  logic       received_i,
  input  logic [3:0] received_queue_i,
  input  length_t    received_bytes_i,
  input  logic       refused_i,       // a frame of the host that is none
  input  logic       given_up_i,      // one that was not sent in the end
  input  logic       sent_i,
  input  logic [3:0] sent_queue_i,
  input  length_t    sent_bytes_i,
  input  logic       late_i,          // after its launch time, of sent_queue_i too
  input  logic       dropped_i,       // not sent, as its launch time had passed
  input  logic       beyond_i,        // or was too far ahead
  input  logic       residence_i,     // or would have waited for its eligibility time for too long
  input  logic [3:0] fetched_queue_i, // of any of these
  // What is to be counted
  output logic       valid_o,
  output nic_event_t event_o
);
  // Of the whole port, lost_why_i among them, and by queue.
  localparam logic [3:0] GROUP_PORT = 4'd0, GROUP_RECEIVED = 4'd1, GROUP_SENT = 4'd2, GROUP_RECEIVED_BYTES = 4'd3,
                         GROUP_SENT_BYTES = 4'd4, GROUP_LATE = 4'd5, GROUP_DROPPED = 4'd6, GROUP_BEYOND = 4'd7,
                         GROUP_RESIDENCE = 4'd8;
  localparam logic [3:0] COUNTER_NO_BUFFER = 4'd0, COUNTER_REFUSED = 4'd1, COUNTER_GIVEN_UP = 4'd2;
  localparam int unsigned EVENTS = 9;
  localparam int unsigned LOST = 0, UNSENT = 1, GIVEN_UP = 2, SENT = 3, SENT_BYTES = 4, LATE = 5, NO_BUFFER = 6, RECEIVED = 7,
                          RECEIVED_BYTES = 8;
  localparam int unsigned SUM_W = 5;                   // of frames without a buffer

  logic       [EVENTS-1:0] comes, waits_q, served;
  nic_event_t [EVENTS-1:0] coming, waiting_q;
  nic_event_t              chosen;
  nic_counter_t            unsent;
  logic [SUM_W-1:0]        sum;

  always_comb begin
    unsent = {GROUP_PORT, COUNTER_REFUSED};
    if (dropped_i) unsent = {GROUP_DROPPED, fetched_queue_i};
    if (beyond_i) unsent = {GROUP_BEYOND, fetched_queue_i};
    if (residence_i) unsent = {GROUP_RESIDENCE, fetched_queue_i};

    comes[LOST]            = lost_i;
    comes[UNSENT]          = refused_i || dropped_i || beyond_i || residence_i;
    comes[GIVEN_UP]        = given_up_i;
    comes[SENT]            = sent_i;
    comes[SENT_BYTES]      = sent_i;
    comes[LATE]            = late_i;
    comes[NO_BUFFER]       = no_buffer_i;
    comes[RECEIVED]        = received_i;
    comes[RECEIVED_BYTES]  = received_i;

    coming[LOST]           = '{index: {GROUP_PORT, lost_why_i}, add: 1};
    coming[UNSENT]         = '{index: unsent, add: 1};
    coming[GIVEN_UP]       = '{index: {GROUP_PORT, COUNTER_GIVEN_UP}, add: 1};
    coming[SENT]           = '{index: {GROUP_SENT, sent_queue_i}, add: 1};
    coming[SENT_BYTES]     = '{index: {GROUP_SENT_BYTES, sent_queue_i}, add: sent_bytes_i};
    coming[LATE]           = '{index: {GROUP_LATE, sent_queue_i}, add: 1};
    coming[NO_BUFFER]      = '{index: {GROUP_PORT, COUNTER_NO_BUFFER}, add: 1};
    coming[RECEIVED]       = '{index: {GROUP_RECEIVED, received_queue_i}, add: 1};
    coming[RECEIVED_BYTES] = '{index: {GROUP_RECEIVED_BYTES, received_queue_i}, add: received_bytes_i};
  end

  assign served           = waits_q & -waits_q;
  assign sum              = waiting_q[NO_BUFFER].add[SUM_W-1:0] + 1'b1;
  assign received_ready_o = !waits_q[RECEIVED] && !waits_q[RECEIVED_BYTES];

  always_comb begin
    chosen = '0;
    for (int unsigned k = 0; k < EVENTS; k++) chosen |= served[k] ? waiting_q[k] : '0;
  end

  always_ff @(posedge clk_i) begin
    waits_q <= (waits_q & ~served) | comes;
    valid_o <= waits_q != '0;
    event_o <= chosen;
    for (int unsigned k = 0; k < EVENTS; k++) if (comes[k]) waiting_q[k] <= coming[k];
    if (comes[NO_BUFFER] && waits_q[NO_BUFFER] && !served[NO_BUFFER])
      waiting_q[NO_BUFFER].add <= length_t'(sum);
    if (rst_i) begin
      waits_q <= '0;
      valid_o <= 1'b0;
    end
  end

`ifdef FORMAL
  // Contract: as long as events come no faster than is said above, each is told.
  localparam int unsigned SPACED = 6;                  // of the events
  localparam int unsigned CYCLES[SPACED] = '{3, 3, 8, 84, 84, 84};
  localparam int unsigned WAIT[EVENTS] = '{1, 2, 3, 12, 15, 18, 24, 127, 127};
  logic                   f_past_q = 1'b0;
  logic [EVENTS-1:0][6:0] f_since_q;                   // the event came, of those that are told together the first
  logic [6:0]             f_sum_q;                     // of those that are told together

  always_ff @(posedge clk_i) begin
    f_past_q <= 1'b1;
    f_sum_q  <= rst_i ? '0 : (served[NO_BUFFER] ? '0 : f_sum_q) + 7'(comes[NO_BUFFER]);
    for (int unsigned k = 0; k < EVENTS; k++) begin
      f_since_q[k] <= comes[k] && !(k == NO_BUFFER && waits_q[k] && !served[k]) ? 7'd1
          : f_since_q[k] == '1 ? '1 : f_since_q[k] + 1'b1;
      if (rst_i) f_since_q[k] <= '1;
    end
  end

  always_comb begin
    assume (rst_i == !f_past_q);
    assume ($onehot0({refused_i, dropped_i, beyond_i, residence_i}));
    for (int unsigned k = 0; k < SPACED; k++) assume (!comes[k] || 32'(f_since_q[k]) >= CYCLES[k]);
    assume (!received_i || received_ready_o);
  end

  always_ff @(posedge clk_i) begin
    if (f_past_q) begin
      for (int unsigned k = 0; k < EVENTS; k++) if (k != NO_BUFFER) assert (!comes[k] || !waits_q[k] || served[k]);
      for (int unsigned k = 0; k < EVENTS; k++) assert (!waits_q[k] || 32'(f_since_q[k]) <= WAIT[k]);
      assert (f_sum_q == (waits_q[NO_BUFFER] ? waiting_q[NO_BUFFER].add : '0));
      assert (!waits_q[NO_BUFFER] || f_sum_q <= f_since_q[NO_BUFFER]);
      cover (waits_q[LATE:LOST] == '1);
      cover (waits_q[NO_BUFFER] && waiting_q[NO_BUFFER].add == 5);
      cover (waits_q[RECEIVED]);
    end
  end
`endif
endmodule
