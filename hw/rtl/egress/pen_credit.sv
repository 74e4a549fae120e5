// SPDX-License-Identifier: Apache-2.0
// Credit-based shaper (802.1Q 8.6.8.2) of all classes of one egress port.
//
// Credit counts bits with FRACTION_W bits of fraction. In each cycle that of a class changes by
//
//   idleSlope - portTransmitRate   while one of its frames is transmitted
//   nothing                        while its gate is closed
//   idleSlope                      while a frame waits, or credit is negative; without a frame not above zero
//
// and it is zero when no frame waits and it would be positive. A class that is not shaped has no credit and may always
// send. A frame selected in cycle n is transmitted from n to n + length + 7, or to n + length + 19 if the gap counts:
//
//   cycle         | n                     | n+1                       | n+2 .. n+length+7    | n+length+8
//   granted_i     | its class             |                           |                      |
//   selected_i    |                       | valid                     | length_i is in n+3   |
//   credit        | + idleSlope           | + idleSlope - rate        | the same, at first   | waits again
//                 |                       |                           | + idleSlope - 2 rate |
//
// The selection is known too late for the sum of its own cycle, which is made good in n+2, while no frame can be selected.
// Credit rises no further from 2^(CREDIT_W - 2) on. It needs no such limit below zero: a frame is selected with credit only, so
// it never falls by more than the longest transmission takes.
module pen_credit
  import pen_pkg::*;
#(
  parameter int unsigned CREDIT_W = 48,
  parameter int unsigned FRACTION_W = 24,
  parameter int unsigned RATE_W = 27             // portTransmitRate is 2^RATE_W a cycle: 8 bits in 8 ns
) (
  input  logic               clk_i,
  input  logic               rst_i,
  input  logic               write_i,            // settings of a class; its credit becomes zero
  input  class_t             write_class_i,
  input  logic               write_enable_i,
  input  logic [RATE_W:0]    write_idle_slope_i, // not above portTransmitRate
  input  logic               count_gap_i,
  input  logic [CLASSES-1:0] waiting_i,          // a frame could be selected but for gates and credit
  input  logic [CLASSES-1:0] open_i,             // gate states
  input  logic [CLASSES-1:0] granted_i,          // a frame of that class is selected; one bit at most
  input  logic               selected_i,         // in the cycle after the grant
  input  length_t            length_i,           // of the frame selected, two cycles after selected_i
  output logic [CLASSES-1:0] ready_o,            // credit is not negative
  output logic               idle_o,             // no credit changes before a gate does
  output logic [CLASSES-1:0] sending_o,          // bit k: a frame of class k is being transmitted
  output class_t             sending_class_o,    // of that frame, also in the cycle after
  // What is observed, see pen_credit_extremes
  input  logic               read_i,             // a sample is wanted; until one is taken
  input  class_t             read_class_i,
  output credit_sample_t     sample_o,
  input  logic               sample_ready_i      // every 16 cycles or more often
);
  localparam int unsigned BITS_W = CREDIT_W - FRACTION_W;
  localparam length_t PREAMBLE_BYTES = 8;
  localparam length_t GAP_BYTES = 12;
  if (RATE_W <= FRACTION_W || CREDIT_W < RATE_W + 4 || BITS_W > CREDIT_BITS_W) begin : gen_check
    $fatal(1, "pen_credit: RATE_W must be above FRACTION_W, CREDIT_W RATE_W + 4 or more; are %0d, %0d, %0d (%m)",
           RATE_W, FRACTION_W, CREDIT_W);
  end

  typedef logic signed [CREDIT_W-1:0] credit_t;
  typedef logic signed [BITS_W-1:0]   bits_t;    // whole ones

  // --- transmission ------------------------------------------------------------------------------------------------
  logic    sending_q, sending;
  class_t  sending_class;
  logic    selected_q, starts_q, gap_q;          // the count starts two cycles late, as the length does
  class_t  class_q;                              // of the frame sent, from n+2 on
  logic [CLASSES-1:0] transmits_q;               // bit k: a frame of class k is transmitted; it comes into many sums
  length_t count_q, end_count;                   // cycles still to come, less those beside the frame's own
  logic    ends;                                 // the last cycle of the transmission

  assign sending = selected_i || sending_q;
  assign end_count = gap_q ? -(PREAMBLE_BYTES - 5 + GAP_BYTES) : -(PREAMBLE_BYTES - 5);
  assign ends    = sending_q && !selected_q && !starts_q && count_q == end_count;

  always_ff @(posedge clk_i) begin
    if (rst_i) sending_q <= 1'b0;
    else if (selected_i) sending_q <= 1'b1;
    else if (ends) sending_q <= 1'b0;
    selected_q <= selected_i && !rst_i;
    starts_q   <= selected_q && !rst_i;
    if (selected_i) gap_q <= count_gap_i;
    count_q <= starts_q ? length_i : count_q - 1'b1;
    transmits_q <= granted_i | (ends ? '0 : transmits_q);
    if (rst_i) transmits_q <= '0;
    if (sending) class_q <= sending_class;
  end

  assign sending_class = class_of(transmits_q);

  // --- credit ------------------------------------------------------------------------------------------------------
  logic    [CLASSES-1:0] enable_q;
  credit_t [CLASSES-1:0] credit_q;
  (* use_dsp = "yes" *)                         // a family that has adders of CREDIT_W bits beside its LUTs takes these
  credit_t [CLASSES-1:0] next;
  logic    [CLASSES-1:0] moving;

  for (genvar k = 0; k < CLASSES; k++) begin : gen_class
    logic [RATE_W:0] slope_q;
    logic            write, negative, idles, zero;
    logic            written_q;                  // in the cycle before, with which its credit was set to zero
    logic            owes_q;                     // what the cycle of its selection cost
    logic            ready_q;                    // !negative, in a flip-flop of its own for the way to the selection
    credit_t         change;

    assign write     = write_i && write_class_i == class_t'(k);
    assign negative  = credit_q[k][CREDIT_W-1];
    assign idles     = open_i[k] && (negative || (waiting_i[k] && !credit_q[k][CREDIT_W-2]));

    // The slope less none, one or two times 2^RATE_W.
    assign change[RATE_W-1:0]          = slope_q[RATE_W-1:0];
    assign change[RATE_W]              = slope_q[RATE_W] ^ (transmits_q[k] && !owes_q);
    assign change[CREDIT_W-1:RATE_W+1] = {(CREDIT_W - RATE_W - 1) {transmits_q[k] && (owes_q || !slope_q[RATE_W])}};
    assign next[k]                     = credit_q[k] + change;

    assign zero = write || !enable_q[k]
        || (!transmits_q[k] && !waiting_i[k] && (!negative || (open_i[k] && !next[k][CREDIT_W-1])));

    always_ff @(posedge clk_i) begin
      if (rst_i) enable_q[k] <= 1'b0;
      else if (write) enable_q[k] <= write_enable_i;
      if (write) slope_q <= write_idle_slope_i;
      written_q <= write;
      owes_q    <= selected_i && transmits_q[k] && !written_q && !write && !rst_i;
      if (rst_i || zero) begin
        credit_q[k] <= '0;
        ready_q     <= 1'b1;
      end else if (transmits_q[k] || idles) begin
        credit_q[k] <= next[k];
        ready_q     <= !next[k][CREDIT_W-1];
      end
    end

    assign moving[k]  = negative && open_i[k];
    assign ready_o[k] = ready_q;
  end

  assign idle_o    = moving == '0 && !sending;
  assign sending_o = transmits_q;
  assign sending_class_o = class_q;

  // --- observation -------------------------------------------------------------------------------------------------
  // Credit is highest when a frame is selected and lowest when its transmission has ended.
  //
  //   cycle        | x    | x+1                                   | x+2                          | x+3
  //   ends         | 1    |                                       | what is left is in before_q  | is the sample
  //   grant_i      | 1    | what there was is in before_q; stays  |
  //                       | there until it can be the sample      |
  //
  // That of an end finds at most one of a read before it, which gives way and is made anew.
  bits_t [CLASSES-1:0] before_q;                 // of each class in the cycle before
  bits_t [CLASSES-1:0] looked_q;                 // of the class of the sample, the others are zero
  logic                valid_q;
  credit_sample_e      kind_q;
  class_t              look_class, looked_class_q, low_class_q;
  logic [2:1]          ended_q;                  // a transmission, so many cycles before
  logic                low, high, reads;         // what is looked at
  logic                due, late_q;              // the class that was selected has not been looked at yet

  assign low        = ended_q[2];
  assign due        = selected_i || late_q;
  assign high       = due && !low && !valid_q;  // what is taken in this cycle comes late
  assign reads      = read_i && !low && !due && !valid_q;
  assign look_class = low ? low_class_q : due ? sending_class : read_class_i;

  always_ff @(posedge clk_i) begin
    if (ends) low_class_q <= sending_class;
    if (!due || high) begin
      for (int unsigned k = 0; k < CLASSES; k++) before_q[k] <= credit_q[k][CREDIT_W-1:FRACTION_W];
    end
    if (low || high || reads) begin
      for (int unsigned k = 0; k < CLASSES; k++) looked_q[k] <= look_class == class_t'(k) ? before_q[k] : '0;
      kind_q         <= low ? CREDIT_LOW : high ? CREDIT_HIGH : CREDIT_READ;
      looked_class_q <= look_class;
    end
    if (rst_i) begin
      ended_q <= '0;
      late_q  <= 1'b0;
      valid_q <= 1'b0;
    end else begin
      ended_q <= {ended_q[1], ends};
      late_q  <= due && !high;
      valid_q <= low || high || reads || (valid_q && !sample_ready_i);
    end
  end

  always_comb begin
    sample_o = '{valid: valid_q, kind: kind_q, traffic_class: looked_class_q, bits: '0};
    for (int unsigned k = 0; k < CLASSES; k++) sample_o.bits |= CREDIT_BITS_W'($signed(looked_q[k]));
  end

`ifndef SYNTHESIS
`ifndef FORMAL
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      assert (!(low && (late_q || (valid_q && kind_q != CREDIT_READ && !sample_ready_i))));
      assert (!(selected_i && late_q));
    end
  end
`endif
`endif

`ifdef FORMAL
  // Contract, for frames of F_SHORTEST to F_LONGEST bytes, a class being set while nothing is sent: 1. credit never
  // falls below what the longest transmission costs; 2. where the gate is open and the class goes before all others,
  // credit never rises above what it gains while the longest frame of another class passes, given that it gains less in
  // the gap than a transmission takes (idleSlope is half the rate or less); 3. each selection and each end has a sample
  // that is taken, given that none waits for more than F_WAIT cycles, which fits into the shortest transmission.
  localparam length_t F_LONGEST  = 8;
  localparam length_t F_SHORTEST = 4;
  localparam int unsigned F_WIRE = 32'(F_LONGEST) + 20;
  localparam class_t F_CLASS = 5;
  localparam credit_t F_RATE = credit_t'(1) << RATE_W;

  logic    f_started_q = 1'b0, f_grant_q;
  logic    [5:0] f_busy_q;                       // cycles until the next frame may be selected
  credit_t f_credit, f_idle, f_cost, f_highest;
  logic    f_mine;
  (* anyseq *) length_t f_any;
  length_t f_length, f_length_q;                 // of the frame that may be selected in this cycle, and that was last

  assign f_credit  = credit_q[F_CLASS];
  assign f_idle    = credit_t'({1'b0, gen_class[F_CLASS].slope_q});
  assign f_cost    = F_RATE - f_idle;
  assign f_highest = f_idle * credit_t'(F_WIRE);
  assign f_mine    = transmits_q[F_CLASS];

  always_ff @(posedge clk_i) begin
    f_started_q <= 1'b1;
    f_grant_q   <= granted_i != '0 && !rst_i;
    f_length    <= f_any;
    if (selected_i) f_length_q <= f_length;
    if (rst_i) f_busy_q <= '0;
    else if (selected_i) f_busy_q <= 6'(f_length) + 6'd18;
    else if (f_busy_q != '0) f_busy_q <= f_busy_q - 1'b1;
  end

  always_comb begin
    assume (f_started_q || rst_i);
    assume (selected_i == f_grant_q);
    assume (f_length >= F_SHORTEST && f_length <= F_LONGEST);
    assume (!starts_q || length_i == f_length_q);
    assume (granted_i == '0 || (f_busy_q == '0 && !selected_i));
    assume ($onehot0(granted_i) && (granted_i & ~(waiting_i & open_i & ready_o)) == '0);
    assume (!write_i || write_class_i != F_CLASS || (f_busy_q == '0 && !selected_i && granted_i == '0));
    assume (f_idle > '0 && f_idle <= F_RATE / 2);
`ifdef FORMAL_HIGHEST
    assume (open_i[F_CLASS]);
    assume (f_busy_q != '0 || selected_i || !waiting_i[F_CLASS] || !ready_o[F_CLASS]
            || granted_i[F_CLASS]);
`endif
  end

  // What is still to come, also before the count has begun.
  length_t f_count;
  assign f_count = selected_q || starts_q
      ? f_length_q + (PREAMBLE_BYTES - 3) - 11'(starts_q) + (gap_q ? GAP_BYTES : '0) : count_q - end_count;

  // 3. What was looked at is taken before the next look, which is told by the cycles since the selection and the end.
  localparam logic [2:0] F_WAIT = 3'd3;
  logic [2:0] f_waited_q;                        // by the sample
  logic [3:0] f_begun_q, f_ended_q;              // cycles since the last selected_i, and since the last look at an end
  always_ff @(posedge clk_i) begin
    f_waited_q <= rst_i || !valid_q || sample_ready_i ? '0 : f_waited_q + 1'b1;
    f_begun_q  <= rst_i ? '1 : selected_i ? '0 : f_begun_q != '1 ? f_begun_q + 1'b1 : f_begun_q;
    f_ended_q  <= rst_i ? '1 : low ? '0 : f_ended_q != '1 ? f_ended_q + 1'b1 : f_ended_q;
  end
  always_comb begin
    assume (!valid_q || sample_ready_i || f_waited_q < F_WAIT);
    if (f_started_q && !rst_i) begin
      assert (!low || (!late_q && (!valid_q || sample_ready_i || kind_q == CREDIT_READ)));
      assert (!selected_i || !late_q);
      // What makes it hold.
      assert (!valid_q || kind_q inside {CREDIT_LOW, CREDIT_HIGH, CREDIT_READ});
      assert (f_waited_q <= F_WAIT && (valid_q || f_waited_q == '0));
      assert (!late_q || (valid_q ? 4'(f_waited_q) >= f_begun_q : f_begun_q <= 4'(F_WAIT) + 4'd1));
      assert (!(valid_q && kind_q == CREDIT_HIGH) || f_begun_q <= 4'(f_waited_q) + 4'(F_WAIT) + 4'd2);
      assert (!(valid_q && kind_q == CREDIT_LOW) || f_ended_q <= 4'(f_waited_q));
      assert (!sending_q || 11'(f_begun_q) + f_count >= 11'(F_SHORTEST) + 11'd5 || f_begun_q == '1);
      assert (!ended_q[1] || (f_begun_q >= 4'd10 && !sending_q && !selected_i));
      assert (!ended_q[2] || (f_begun_q >= 4'd11 && !sending_q));
      assert (6'(f_begun_q) + f_busy_q >= 6'd15);
      assert (!(sending_q || ended_q != '0) || f_ended_q >= f_begun_q);
    end
  end

  // The gap setting holds still.
  logic f_gap_q;
  always_ff @(posedge clk_i) f_gap_q <= count_gap_i;
  always_comb assume (!f_started_q || f_gap_q == count_gap_i);

  always_comb begin
    if (f_started_q && !rst_i) begin
      assert (gen_class[F_CLASS].ready_q == !f_credit[CREDIT_W-1]);
      assert ($onehot0(transmits_q) && sending == (transmits_q != '0));
      assert (gen_class[F_CLASS].owes_q == (selected_q && f_mine));
      // How the transmission and the time until the next selection belong together.
      assert (!selected_i || (!sending_q && f_busy_q == '0));
      assert (!(selected_q || starts_q) || (sending_q && gap_q == count_gap_i));
      assert (selected_q ? f_begun_q == 4'd0 : !starts_q || f_begun_q == 4'd1);
      assert (!(selected_q || starts_q) || (f_length_q >= F_SHORTEST && f_length_q <= F_LONGEST));
      assert (!sending_q || (count_gap_i ? f_busy_q == 6'(f_count) + 6'd1 : f_busy_q == 6'(f_count) + 6'd13));
      assert (f_count <= F_LONGEST + 11'(count_gap_i ? 17 : 5) || !sending_q);
      assert (f_busy_q <= 6'(F_LONGEST) + 6'd18);
      // 1.
      if (!enable_q[F_CLASS]) assert (f_credit == '0);
      else if (selected_i && f_mine) assert (f_credit >= f_idle);
      else if (selected_q && f_mine) assert (f_credit >= f_idle - f_cost);
      else if (sending_q && f_mine)
        assert (f_credit >= -(credit_t'(count_gap_i ? F_WIRE : F_WIRE - 12) - credit_t'({1'b0, f_count}) - 1) * f_cost);
      else assert (f_credit >= -credit_t'(count_gap_i ? F_WIRE : F_WIRE - 12) * f_cost);
      assert (!(selected_i && f_mine && gen_class[F_CLASS].written_q));
`ifdef FORMAL_HIGHEST
      // 2.
      if (!enable_q[F_CLASS]) assert (f_credit == '0);
      else if (selected_i && f_mine) assert (f_credit <= f_highest + f_idle);
      else if (selected_q && f_mine) assert (f_credit <= f_highest + f_idle - f_cost);
      else if (selected_i) assert (f_credit <= f_idle);
      else if (sending_q && f_mine) begin
        assert (f_credit <= f_highest - 2 * f_cost);
        assert (f_credit <= f_highest
                - (credit_t'({1'b0, F_SHORTEST}) + (count_gap_i ? 19 : 7) - credit_t'({1'b0, f_count})) * f_cost);
      end else assert (f_credit <= f_highest - f_idle * credit_t'({1'b0, f_busy_q}));
`endif
    end
    cover (f_started_q && f_credit < -f_cost * 15);
    cover (f_started_q && sending_q && f_mine && f_credit > 0);
  end
`endif
endmodule
