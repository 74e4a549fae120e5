// SPDX-License-Identifier: Apache-2.0
// Sums, differences and comparisons on the carry chain of the ECP5, for Yosys. What is carried in and out takes half a cell
// of the chain each, where nextpnr would add a whole one.
(* techmap_celltype = "$alu" *)
module ecp5_sum (A, B, CI, BI, X, Y, CO);
  parameter A_SIGNED = 0;
  parameter B_SIGNED = 0;
  parameter A_WIDTH = 1;
  parameter B_WIDTH = 1;
  parameter Y_WIDTH = 1;
  (* force_downto *) input  [A_WIDTH-1:0] A;
  (* force_downto *) input  [B_WIDTH-1:0] B;
  input CI, BI;
  (* force_downto *) output [Y_WIDTH-1:0] X, Y, CO;

  wire _TECHMAP_FAIL_ = Y_WIDTH <= 4;  // that is done by LUTs

  localparam CELLS = (Y_WIDTH + 3) / 2;
  localparam HALVES = 2 * CELLS;
  localparam [15:0] ADD = 16'h96AA;  // with D: adds A and B ^ C

  (* force_downto *) wire [Y_WIDTH-1:0] a, b;
  \$pos #(.A_SIGNED(A_SIGNED), .A_WIDTH(A_WIDTH), .Y_WIDTH(Y_WIDTH)) extend_a (.A(A), .Y(a));
  \$pos #(.A_SIGNED(B_SIGNED), .A_WIDTH(B_WIDTH), .Y_WIDTH(Y_WIDTH)) extend_b (.A(B), .Y(b));

  // From the right: carries what is carried in, as it is added to itself; the bits; shows what is carried out. All halves
  // add: where one did nothing else but show its carry, ABC has made a comparison wrong.
  (* force_downto *) wire [HALVES-1:0] half_a = {a, CI};
  (* force_downto *) wire [HALVES-1:0] half_b = {b, CI};
  (* force_downto *) wire [HALVES-1:0] half_c = {{Y_WIDTH{BI}}, 1'b0};
  (* force_downto *) wire [HALVES-1:0] sum;
  (* force_downto *) wire [CELLS:0] carry;
  assign carry[0] = 1'b0;

  genvar i;
  generate
    for (i = 0; i < CELLS; i = i + 1) begin : gen_cell
      CCU2C #(.INIT0(ADD), .INJECT1_0("NO"), .INIT1(ADD), .INJECT1_1("NO")) cell (
        .A0(half_a[2*i]), .B0(half_b[2*i]), .C0(half_c[2*i]), .D0(1'b1), .S0(sum[2*i]),
        .A1(half_a[2*i+1]), .B1(half_b[2*i+1]), .C1(half_c[2*i+1]), .D1(1'b1), .S1(sum[2*i+1]),
        .CIN(carry[i]), .COUT(carry[i+1])
      );
    end
  endgenerate

  assign X = a ^ b ^ {Y_WIDTH{BI}};
  assign Y = sum[Y_WIDTH:1];
  assign CO = sum[Y_WIDTH+1:2] ^ (X >> 1);
endmodule
