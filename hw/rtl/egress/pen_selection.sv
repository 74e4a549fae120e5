// SPDX-License-Identifier: Apache-2.0
// Transmission selection (802.1Q 8.6.8): the highest traffic class that is ready is served.
module pen_selection
  import pen_pkg::*;
(
  input  logic               enable_i,  // the transmitter can take a frame
  input  logic [CLASSES-1:0] ready_i,   // per class: its first frame may be sent now
  output logic               grant_o,
  output class_t             class_o    // with grant_o
);
  always_comb begin
    class_o = '0;
    for (int unsigned k = 0; k < CLASSES; k++) if (ready_i[k]) class_o = class_t'(k);
  end

  assign grant_o = enable_i && ready_i != '0;
endmodule
