// SPDX-License-Identifier: Apache-2.0
// Ends the frame that a reset of the port cuts, so that what follows sees every frame that begins come to its end.
//
// While `cut_i` is high nothing comes out but the last beat of a frame that was under way, with REASON_PORT_DISABLED.
// The receive MAC is held in reset by the same signal, so that what it gives afterwards begins with a whole frame.
//
//     cut_i    0    0    1    1    1    0
//     beat_i   F10  F11
//     beat_o   F10  F11       last
module pen_mac_rx_cut
  import pen_pkg::*;
(
  input  logic     clk_i,
  input  logic     rst_i,
  input  logic     cut_i,
  input  rx_beat_t beat_i,
  input  logic     valid_i,
  output logic     ready_o,
  output rx_beat_t beat_o,
  output logic     valid_o,
  input  logic     ready_i
);
  logic inside_q;  // a frame has begun here and not ended
  logic ending_q;  // and is cut: its last beat is offered

  assign valid_o = ending_q || (valid_i && !cut_i);
  assign ready_o = ready_i && !ending_q && !cut_i;

  always_comb begin
    beat_o = beat_i;
    if (ending_q) beat_o = '{last: 1'b1, short_gap: 1'b0, reason: 3'(REASON_PORT_DISABLED), data: 8'd0};
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      inside_q <= 1'b0;
      ending_q <= 1'b0;
    end else begin
      if (valid_o && ready_i) inside_q <= !beat_o.last;
      ending_q <= inside_q && (ending_q ? !ready_i : cut_i);
    end
  end
endmodule
