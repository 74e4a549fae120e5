// SPDX-License-Identifier: Apache-2.0
// Makes short events visible: a lamp is on for 2^BITS to 2 * 2^BITS cycles after each. One counter is enough for all.
module pen_lamps #(
  parameter int unsigned LAMPS = 8,
  parameter int unsigned BITS  = 22
) (
  input  logic             clk_i,
  input  logic             rst_i,
  input  logic [LAMPS-1:0] events_i,
  output logic [LAMPS-1:0] lamps_o
);
  logic [BITS-1:0]  count_q;
  logic             step_q;
  logic [LAMPS-1:0] last_q;  // it goes out with the next step

  always_ff @(posedge clk_i) begin
    {step_q, count_q} <= (BITS + 1)'(count_q) + 1'b1;
    for (int unsigned i = 0; i < LAMPS; i++) begin
      if (events_i[i]) begin
        lamps_o[i] <= 1'b1;
        last_q[i]  <= 1'b0;
      end else if (step_q) begin
        lamps_o[i] <= lamps_o[i] && !last_q[i];
        last_q[i]  <= 1'b1;
      end
    end
    if (rst_i) begin
      count_q <= '0;
      step_q  <= 1'b0;
      lamps_o <= '0;
      last_q  <= '0;
    end
  end
endmodule
