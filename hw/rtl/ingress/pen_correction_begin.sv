// SPDX-License-Identifier: Apache-2.0
// Reads the correctionField of a PTP event message (messageType 0 to 3, EtherType 88-F7) from its bytes as they come, and
// takes the cycle of its arrival from it. The other half is pen_correction_end.
//
//   byte of the message   0            1 .. 7   8, 9              10 .. 13
//                         messageType           first two of it   next four, of which the last three bits stay
//
// A field of 7FFF.. says that the correction is too large to be told (IEEE 1588 13.3.2.9), and stays. So the sum never
// becomes negative.
module pen_correction_begin
  import pen_pkg::*;
(
  input  logic        clk_i,
  input  logic        clear_i,       // between frames
  input  logic        valid_i,       // a byte of the frame
  input  logic        type_valid_i,  // last_two_i is the EtherType
  input  logic [15:0] last_two_i,    // that byte, and before it the one before
  input  long_cycle_t arrival_i,     // of the frame, from before its first byte until behind the field
  output correction_t correction_o   // from behind the field until it is cleared
);
  localparam logic [15:0] TOO_LARGE = 16'h7FFF;
  localparam logic [3:0]  BEHIND = 4'd14;   // what changes

  logic [3:0]  position_q;           // of the byte in the message
  logic        inside_q;             // it is one, as far as is known
  logic [32:0] field_q;              // the last four bytes of it, at the end less the arrival
  logic        is_carried_q, is_due_q;
  logic        is_event, is_told, is_last;

  assign is_event = last_two_i[3:2] == '0;
  assign is_told  = last_two_i != TOO_LARGE;
  assign is_last  = position_q == BEHIND - 4'd1;

  always_ff @(posedge clk_i) begin
    if (valid_i && type_valid_i) inside_q <= last_two_i == TYPE_PTP;
    if (valid_i && inside_q) begin
      position_q <= position_q + 1'b1;
      field_q    <= {1'b0, field_q[23:0], last_two_i[7:0]} - {arrival_i & {$bits(long_cycle_t){is_last}}, 3'b0};
      case (position_q)
        4'd0: inside_q <= is_event;
        4'd9: begin
          inside_q     <= is_told;
          is_carried_q <= last_two_i[7:0] == '1;
        end
        default: ;
      endcase
      if (is_last) begin
        inside_q <= 1'b0;
        is_due_q <= 1'b1;
      end
    end
    if (clear_i) begin
      position_q <= '0;
      inside_q   <= 1'b0;
      is_due_q   <= 1'b0;
    end
  end

  assign correction_o = '{is_due: is_due_q, is_carried: is_carried_q, cycles: field_q[32:3]};

  logic unused;
  assign unused = ^field_q[2:0];
endmodule
