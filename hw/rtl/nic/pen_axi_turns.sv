// SPDX-License-Identifier: Apache-2.0
// Which of several AXI4 masters has its address on the bus: they take turns, address by address.
//
// What is offered stays until the slave takes it, as AXI4 wants it, whoever else comes meanwhile.
module pen_axi_turns #(
  parameter int unsigned MASTERS = 2,
  localparam int unsigned MASTER_W = $clog2(MASTERS)
) (
  input  logic                clk_i,
  input  logic                rst_i,
  input  logic [MASTERS-1:0]  valid_i,
  output logic                valid_o,   // of the master that is chosen
  output logic [MASTER_W-1:0] master_o,
  input  logic                taken_i    // with valid_o
);
  if (MASTERS < 2) $fatal(1, "pen_axi_turns: MASTERS must be 2 or more, is %0d (%m)", MASTERS);

  logic [MASTER_W-1:0] last_q, next;
  logic                offered_q;

  // The next one after the one that was chosen last.
  always_comb begin
    next = last_q;
    for (int unsigned k = MASTERS; k >= 1; k--) begin
      automatic logic [MASTER_W-1:0] one = MASTER_W'((32'(last_q) + k) % MASTERS);
      if (valid_i[one]) next = one;
    end
  end
  assign master_o = offered_q ? last_q : next;
  assign valid_o  = valid_i[master_o];

  always_ff @(posedge clk_i) begin
    if (valid_o) last_q <= master_o;
    offered_q <= valid_o && !taken_i;
    if (rst_i) begin
      last_q    <= '0;
      offered_q <= 1'b0;
    end
  end
endmodule
