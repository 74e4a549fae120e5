// SPDX-License-Identifier: Apache-2.0
// Takes level signals into another clock domain.
//
// Each bit is taken on its own: bits that change together may arrive one cycle apart. For values of several bits use a
// Gray code, or see pen_sync_value.
module pen_sync #(
  parameter int unsigned      WIDTH       = 1,
  parameter int unsigned      STAGES      = 2,  // 2 or more; each one more lowers the odds of metastability
  parameter logic [WIDTH-1:0] RESET_VALUE = '0
) (
  input  logic             clk_i,  // of the destination
  input  logic             rst_i,
  input  logic [WIDTH-1:0] data_i,
  output logic [WIDTH-1:0] data_o
);
  if (WIDTH < 1) begin : gen_check_width
    $fatal(1, "pen_sync: WIDTH must be 1 or more, is %0d (%m)", WIDTH);
  end
  if (STAGES < 2) begin : gen_check_stages
    $fatal(1, "pen_sync: STAGES must be 2 or more, is %0d (%m)", STAGES);
  end

  (* ASYNC_REG = "TRUE" *) logic [STAGES-1:0][WIDTH-1:0] stage_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) stage_q <= {STAGES{RESET_VALUE}};
    else stage_q <= {stage_q[STAGES-2:0], data_i};
  end

  assign data_o = stage_q[STAGES-1];
endmodule
