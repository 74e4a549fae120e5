// SPDX-License-Identifier: Apache-2.0
// What identifies a flow by IPv4, read from the bytes of a frame as they come. Twin of `penstock_frame::Header`.
//
// The ports are those of TCP and UDP, in a packet that is not a later fragment. All that counts has to stand before the
// FCS; else there is no key.
module pen_ipv4_key (
  input  logic         clk_i,
  input  logic         clear_i,      // between frames
  input  logic         valid_i,      // a byte of the frame
  input  logic         begin_i,      // with it: the header of IPv4 begins with the next one
  input  logic [7:0]   data_i,
  output logic         complete_o,   // all of it has been there, though what follows may not
  output logic         valid_o,      // since the last byte: the frame has a key
  output logic         has_ports_o,
  output logic [103:0] fields_o      // {source, destination, protocol, source port, destination port}
);
  logic        inside_q;             // an IPv4 header
  logic [6:0]  position_q;
  logic [3:0]  length_q;             // of it, in units of four bytes
  logic        later_fragment_q;
  logic [7:0]  protocol_q;
  logic [63:0] addresses_q;
  logic [31:0] ports_q;
  logic        done_q;               // all of it was there
  logic [2:0]  tail_q;               // bytes after that, the FCS among them

  assign has_ports_o = (protocol_q == 8'd6 || protocol_q == 8'd17) && !later_fragment_q;
  assign complete_o  = done_q;
  assign valid_o     = done_q && tail_q[2];
  assign fields_o    = {addresses_q, protocol_q, ports_q};

  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      if (begin_i) inside_q <= 1'b1;
      if (inside_q) begin
        position_q <= position_q + 7'd1;
        case (position_q)
          7'd0: begin
            length_q <= data_i[3:0];
            if (data_i[7:4] != 4'd4 || data_i[3:0] < 4'd5) inside_q <= 1'b0;
          end
          7'd6: if (data_i[4:0] != '0) later_fragment_q <= 1'b1;
          7'd7: if (data_i != '0) later_fragment_q <= 1'b1;
          7'd9: protocol_q <= data_i;
          default: ;
        endcase
        if (position_q >= 7'd12 && position_q < 7'd20) addresses_q <= {addresses_q[55:0], data_i};
        if (position_q[6:2] == {1'b0, length_q}) ports_q <= {ports_q[23:0], data_i};
        if (position_q >= 7'd19 && position_q == {1'b0, length_q, 2'b00} + (has_ports_o ? 7'd3 : -7'd1)) begin
          inside_q <= 1'b0;
          done_q   <= 1'b1;
        end
      end
      if (done_q && !tail_q[2]) tail_q <= tail_q + 3'd1;
    end
    if (clear_i) begin
      inside_q         <= 1'b0;
      done_q           <= 1'b0;
      tail_q           <= '0;
      position_q       <= '0;
      later_fragment_q <= 1'b0;
    end
  end
endmodule
