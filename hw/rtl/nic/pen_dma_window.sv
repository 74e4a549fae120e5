// SPDX-License-Identifier: Apache-2.0
// Whether a page is one of those that the host has given to the card; known a cycle later. One page is looked up in a cycle,
// that of the lowest client which asks.
module pen_dma_window
  import pen_nic_pkg::*;
#(
  parameter int unsigned CLIENTS = 2
) (
  input  logic                        clk_i,
  input  window_range_t [WINDOWS-1:0] windows_i,
  input  logic [CLIENTS-1:0]          ask_i,
  input  page_t [CLIENTS-1:0]         page_i,
  output logic [CLIENTS-1:0]          taken_o,
  output logic                        allowed_o      // a cycle after taken_o
);
  page_t              page;
  logic [WINDOWS-1:0] is_in;

  always_comb begin
    taken_o = '0;
    page    = page_i[CLIENTS-1];
    for (int unsigned k = CLIENTS; k >= 1; k--) begin
      if (ask_i[k-1]) begin
        taken_o      = '0;
        taken_o[k-1] = 1'b1;
        page         = page_i[k-1];
      end
    end
    for (int unsigned w = 0; w < WINDOWS; w++)
      is_in[w] = page >= page_t'(windows_i[w].first) && page <= page_t'(windows_i[w].last);
  end

  always_ff @(posedge clk_i) allowed_o <= is_in != '0;
endmodule
