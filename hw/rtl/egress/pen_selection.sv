// SPDX-License-Identifier: Apache-2.0
// Transmission selection (802.1Q 8.6.8): the highest traffic class that may send is served.
module pen_selection
  import pen_pkg::*;
(
  input  logic               enable_i,  // the transmitter can take a frame
  input  logic [CLASSES-1:0] ready_i,   // per class: its first frame is eligible
  input  logic [CLASSES-1:0] fits_i,    // its gate is open until the frame has ended
  input  logic [CLASSES-1:0] credit_i,  // its credit is not negative, or it needs none
  output logic               grant_o,
  output class_t             class_o    // with grant_o
);
  logic [CLASSES-1:0] may_send;
  assign may_send = ready_i & fits_i & credit_i;

  always_comb begin
    class_o = '0;
    for (int unsigned k = 0; k < CLASSES; k++) if (may_send[k]) class_o = class_t'(k);
  end

  assign grant_o = enable_i && may_send != '0;

`ifdef FORMAL
  // Contract: 1. the class served is eligible, fits its gate and has credit; 2. nothing is served while the transmitter
  // is busy; 3. none above it may send; 4. whenever one may send, one is served.
  always_comb begin
    if (grant_o) begin
      assert (enable_i && ready_i[class_o] && fits_i[class_o] && credit_i[class_o]);
      for (int unsigned k = 0; k < CLASSES; k++)
        assert (k <= 32'(class_o) || !(ready_i[k] && fits_i[k] && credit_i[k]));
    end else begin
      assert (!enable_i || (ready_i & fits_i & credit_i) == '0);
    end
  end
`endif
endmodule
