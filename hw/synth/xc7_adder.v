// SPDX-License-Identifier: Apache-2.0
// An adder as a DSP block of the Xilinx 7 series, for Yosys, which puts only products there by itself. Vivado does this for
// sums that are marked `(* use_dsp = "yes" *)`.
(* techmap_celltype = "$add" *)
module xc7_adder (A, B, Y);
  parameter A_SIGNED = 0;
  parameter B_SIGNED = 0;
  parameter A_WIDTH = 1;
  parameter B_WIDTH = 1;
  parameter Y_WIDTH = 1;
  input  [A_WIDTH-1:0] A;
  input  [B_WIDTH-1:0] B;
  output [Y_WIDTH-1:0] Y;

  wire _TECHMAP_FAIL_ = Y_WIDTH > 48 || A_WIDTH != Y_WIDTH || B_WIDTH != Y_WIDTH;  // what slang reads is extended
  wire [47:0] a = A, b = B, sum;
  assign Y = sum[Y_WIDTH-1:0];

  // No register, no product: P = A:B + C. Yosys finds registers before it by itself.
  DSP48E1 #(
    .ACASCREG(0), .ADREG(0), .ALUMODEREG(0), .AREG(0), .BCASCREG(0), .BREG(0), .CARRYINREG(0), .CARRYINSELREG(0),
    .CREG(0), .DREG(0), .INMODEREG(0), .MREG(0), .OPMODEREG(0), .PREG(0), .USE_MULT("NONE")
  ) dsp (
    .A(b[47:18]), .B(b[17:0]), .C(a), .D(25'd0), .CARRYIN(1'b0), .P(sum),
    .ALUMODE(4'b0000), .OPMODE(7'b0110011), .CARRYINSEL(3'b000), .INMODE(5'b00000)
  );
endmodule
