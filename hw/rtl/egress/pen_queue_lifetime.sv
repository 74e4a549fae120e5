// SPDX-License-Identifier: Apache-2.0
// Which frames of an egress port are given up: a second after they became visible (802.1Q 6.5.6), long before their time
// would be misread modulo 2^28 cycles, and those that are longer than any time their gate stays open.
//
// Each class is looked at once in 1024 cycles. A candidate that is given up is held until it can be released; its class
// is not served until its next candidate is chosen.
//
//   cycle    | n      | n+1            | n+2             | n+3, ...            | m             | m+1
//            | look_o | compared       | given up, if    | not so if a frame   | valid_o and   | its way through the lists,
//            |        |                | the port rests  | was granted in n+2  | ready_i       | unlink_o in m
module pen_queue_lifetime
  import pen_pkg::*;
#(
  parameter int unsigned CELL_W = 10,
  parameter int unsigned LIST_W = 3
) (
  input  logic                  clk_i,
  input  logic                  rst_i,
  input  logic                  gate_enable_i,
  input  window_t [CLASSES-1:0] largest_window_ns_i,  // counts where gates are enabled
  // The class that is looked at
  input  logic [9:0]            cycle_next_i,         // of the count of cycles
  output logic                  look_o,
  output class_t                look_class_o,
  input  logic                  looked_i,             // in the cycle after
  input  class_t                looked_class_i,
  input  logic [7:0]            until_i,              // in 2^20 cycles, when its candidate becomes visible
  input  length_t               looked_wire_i,
  // Taken out
  input  logic [CLASSES-1:0]    ready_i,
  input  logic                  lists_idle_i,
  input  logic                  settled_i,            // the lists have a new candidate for its class
  input  logic                  busy_i,               // a frame was selected that has yet to go its way
  output class_t                check_class_o,        // whose candidate may be given up
  input  logic [CELL_W-1:0]     frame_i,              // it
  input  logic [LIST_W-1:0]     list_i,
  input  logic                  popped_i,             // a frame was granted in the cycle before
  output logic [CLASSES-1:0]    expires_o,            // the class's candidate is given up; one bit at most
  output logic [CLASSES-1:0]    given_up_o,           // no other frame of the class is served
  output logic [CLASSES-1:0]    barred_o,             // the same where one may be selected; early
  // Held until it is released
  input  logic                  granted_i,            // what was read of a frame is that of a selected one
  input  logic                  ready_to_release_i,
  output logic                  holds_o,
  output logic                  valid_o,
  output logic                  unlink_o,
  output class_t                class_o,
  output logic [CELL_W-1:0]     frame_o,
  output logic [LIST_W-1:0]     list_o,
  output reason_e               reason_o
);

  logic       check_q, never_fits_q, holds_q, is_old, expire;
  logic       fresh_q, taken_back;                    // given up in the cycle before; not so
  logic [1:0] gate_enable_q;                          // as late as gates that are enabled reach selection
  logic [7:3] until_q;
  class_t     check_class_q;
  logic [CLASSES-1:0] given_up_q;

  assign look_o       = cycle_next_i[6:0] == '0;
  assign look_class_o = cycle_next_i[9:7];

  always_ff @(posedge clk_i) begin
    gate_enable_q <= {gate_enable_q[0], gate_enable_i};
    if (rst_i) check_q <= 1'b0;
    else check_q <= looked_i && ready_i[looked_class_i] && lists_idle_i && !holds_q;
    if (looked_i) begin
      check_class_q <= looked_class_i;
      until_q       <= until_i[7:3];
      never_fits_q  <= gate_enable_q[1] && looked_wire_i > largest_window_ns_i[looked_class_i][$high(window_t):3];
    end
  end

  // 120 or more since then, in 2^20 cycles: 1.007 s. Said by its bits, as a comparison would be a carry chain.
  assign is_old = !until_q[7] || until_q[6:3] == '0;

  assign expire        = check_q && (never_fits_q || is_old) && ready_i[check_class_q] && lists_idle_i && !holds_q
                         && !busy_i;
  assign check_class_o = check_class_q;

  // What is selected goes first. That it was, is known a cycle later.
  assign taken_back = fresh_q && popped_i;
  assign expires_o  = given_up_q & {CLASSES{fresh_q && !popped_i}};
  assign given_up_o = given_up_q & {CLASSES{!taken_back}};
  assign barred_o   = given_up_q;  // in the cycle behind a grant there is no other

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      holds_q    <= 1'b0;
      fresh_q    <= 1'b0;
      given_up_q <= '0;
    end else begin
      holds_q <= expire || (holds_q && !unlink_o && !taken_back);
      fresh_q <= expire;
      if (expire) given_up_q <= CLASSES'(1) << check_class_q;
      else if (settled_i || taken_back) given_up_q <= '0;
    end
    if (expire) begin
      class_o  <= check_class_q;
      frame_o  <= frame_i;
      list_o   <= list_i;
      reason_o <= never_fits_q ? REASON_MAX_SDU : REASON_LIFETIME;
    end
  end

  assign holds_o  = holds_q;
  assign valid_o  = holds_q && !granted_i;
  assign unlink_o = valid_o && ready_to_release_i;

  logic unused;
  assign unused = &{1'b0, until_i};
endmodule
