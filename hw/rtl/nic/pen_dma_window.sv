// SPDX-License-Identifier: Apache-2.0
// Whether a page is one of those that the host has given to the card; known a cycle later.
module pen_dma_window
  import pen_nic_pkg::*;
(
  input  logic                        clk_i,
  input  window_range_t [WINDOWS-1:0] windows_i,
  input  page_t                       page_i,
  output logic                        allowed_o
);
  logic [WINDOWS-1:0] is_in;

  always_comb begin
    for (int unsigned w = 0; w < WINDOWS; w++) is_in[w] = page_i >= windows_i[w].first && page_i <= windows_i[w].last;
  end

  always_ff @(posedge clk_i) allowed_o <= is_in != '0;
endmodule
