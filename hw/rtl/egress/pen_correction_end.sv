// SPDX-License-Identifier: Apache-2.0
// The correctionField of a PTP event message as it leaves, byte by byte: the time that the message was inside is added to
// it. The other half is pen_correction_begin.
//
// That time goes from the cycle in which the first byte behind the delimiter was at the pins of the ingress port to the one
// in which it is at those of the egress port, as the time stamps of pen_time_stamp have it. The count of cycles comes LATE
// cycles late, and the arrival was noted three cycles late, so it is added with the byte ADDED_AT:
//
//   cycle              | e-1    | e           | e+ADDED_AT-1               e: the first byte at the pins
//   byte that is taken | first  |             | ADDED_AT
//   late_cycle_i       |                      | e + 3, as ADDED_AT = 4 + LATE
module pen_correction_end
  import pen_pkg::*;
#(
  parameter int unsigned LATE = 0
) (
  input  logic        clk_i,
  input  logic        taken_i,        // a byte of the frame
  input  logic [5:0]  position_i,     // of it in the frame
  input  long_cycle_t cycles_i,       // as of correction_t; of this frame, from ADDED_AT on
  input  logic        is_carried_i,
  input  long_cycle_t late_cycle_i,
  input  logic [2:0]  place_i,        // 0 to 5: of the next byte in the field
  input  logic [7:0]  data_i,         // as it came
  output logic [7:0]  data_o
);
  localparam int unsigned ADDED_AT = 4 + LATE;
  if (ADDED_AT > 20) begin : gen_check
    $fatal(1, "pen_correction_end: LATE must be 16 or less, is %0d (%m)", LATE);
  end

  long_cycle_t sum_q;                 // its bits 47:19, and what they carry

  always_ff @(posedge clk_i) begin
    if (taken_i && position_i == 6'(ADDED_AT)) sum_q <= cycles_i + late_cycle_i;
  end

  // Of the byte that is sent: what of it comes from the sum, and what is carried into it.
  logic       own_high_q, own_low_q, carry_q;
  logic [7:0] own_q;
  always_ff @(posedge clk_i) begin
    if (taken_i) begin
      own_high_q <= place_i >= 3'd2;
      own_low_q  <= place_i inside {[3'd2:3'd4]};
      carry_q    <= sum_q[29] && ((place_i == 3'd0 && is_carried_i) || place_i == 3'd1);
      case (place_i)
        3'd2:    own_q <= sum_q[28:21];
        3'd3:    own_q <= sum_q[20:13];
        3'd4:    own_q <= sum_q[12:5];
        default: own_q <= {sum_q[4:0], 3'b0};
      endcase
    end
  end

  // Written without a sum: the byte comes late, and a carry chain would be slower than it is wide.
  logic [7:0] carried;
  always_comb for (int unsigned i = 0; i < 8; i++) carried[i] = data_i[i] ^ (carry_q && (data_i | (8'hFF << i)) == '1);
  assign data_o  = {own_high_q ? own_q[7:3] : carried[7:3], own_low_q ? own_q[2:0] : carried[2:0]};
endmodule
