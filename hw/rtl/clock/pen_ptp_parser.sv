// SPDX-License-Identifier: Apache-2.0
// Finds the event messages of PTP (messageType 0 to 3) in a stream of frames, one byte at a time.
//
// EtherType 88-F7, or UDP over IPv4 to port 319; with or without a VLAN tag. Not found: later fragments, as they have
// no UDP header. The answer comes in two parts, the second after the frame's end and only if the frame is good:
//
//     byte          | sequenceId |   ..                  | last, good |
//     request_o                    found, until served                  good, until served
//
// A frame goes on for at least 18 bytes behind the sequenceId and the next one brings its own 45 bytes later, so each
// part has to be served within 18 cycles.
module pen_ptp_parser
  import pen_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_i,
  input  logic         valid_i,
  input  logic [7:0]   data_i,
  input  logic         last_i,
  input  logic         good_i,         // with last_i: the frame is whole and without error
  input  logic [7:0]   index_i,        // taken with the first byte: which cycle the frame's time is from
  output stamp_request_t request_o,
  input  logic         serve_i         // this cycle: `found` if it is set, else `good`
);
  localparam logic [15:0] TYPE_VLAN = 16'h8100, TYPE_IPV4 = 16'h0800, TYPE_PTP = 16'h88F7;
  localparam logic [7:0]  PROTOCOL_UDP = 8'd17;
  localparam logic [15:0] PORT_EVENT = 16'd319;

  typedef enum logic [2:0] {HEADER, IPV4, UDP, PTP, FOUND, IGNORE} state_e;

  state_e      state_q, state_d;
  logic [5:0]  count_q, count_d;       // bytes of this part of the frame
  logic        tagged_q, tagged_d;
  logic [7:0]  previous_q;
  logic [3:0]  ip_words_q;
  logic        found_q, good_q;
  logic [7:0]  index_q;
  logic [1:0]  message_type_q;
  logic [15:0] sequence_id_q, both;
  logic        first, found;

  assign both  = {previous_q, data_i};
  assign first = state_q == HEADER && count_q == '0;
  assign found = valid_i && state_q == PTP && count_q == 6'd31;

  always_comb begin
    state_d  = state_q;
    count_d  = count_q;
    tagged_d = tagged_q;
    if (valid_i) begin
      count_d = count_q + 1'b1;
      unique case (state_q)
        HEADER: if (count_q == 6'd13) begin
          count_d = '0;
          if (both == TYPE_PTP) state_d = PTP;
          else if (both == TYPE_IPV4) state_d = IPV4;
          else if (both == TYPE_VLAN && !tagged_q) begin
            tagged_d = 1'b1;
            count_d  = 6'd10;                            // two bytes of the tag, then the type again
          end else begin
            state_d = IGNORE;
          end
        end
        IPV4: begin
          unique case (count_q)
            6'd0: if (data_i[7:4] != 4'd4 || data_i[3:0] < 4'd5) state_d = IGNORE;
            6'd6: if (data_i[4:0] != '0) state_d = IGNORE;
            6'd7: if (data_i != '0) state_d = IGNORE;
            6'd9: if (data_i != PROTOCOL_UDP) state_d = IGNORE;
            default: if (count_q[1:0] == '1 && count_q[5:2] == ip_words_q - 1'b1) begin
              state_d = UDP;
              count_d = '0;
            end
          endcase
        end
        UDP: begin
          if (count_q == 6'd3 && both != PORT_EVENT) state_d = IGNORE;
          if (count_q == 6'd7) begin
            state_d = PTP;
            count_d = '0;
          end
        end
        PTP: begin
          if (count_q == '0 && data_i[3:2] != '0) state_d = IGNORE;
          if (found) state_d = FOUND;
        end
        default: ;
      endcase
      if (last_i) begin
        state_d  = HEADER;
        count_d  = '0;
        tagged_d = 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q  <= HEADER;
      tagged_q <= 1'b0;
      count_q  <= '0;
      found_q  <= 1'b0;
      good_q   <= 1'b0;
    end else begin
      state_q  <= state_d;
      count_q  <= count_d;
      tagged_q <= tagged_d;
      if (serve_i && found_q) found_q <= 1'b0;
      else if (serve_i) good_q <= 1'b0;
      if (found) found_q <= 1'b1;
      if (valid_i && last_i && good_i && state_q == FOUND) good_q <= 1'b1;
    end
    if (valid_i) begin
      previous_q <= data_i;
      if (first) index_q <= index_i;
      if (state_q == IPV4 && count_q == '0) ip_words_q <= data_i[3:0];
      if (state_q == PTP && count_q == '0) message_type_q <= data_i[1:0];
      if (found) sequence_id_q <= both;
    end
  end

  assign request_o = '{
    found: found_q, good: good_q, index: index_q, message_type: message_type_q, sequence_id: sequence_id_q
  };
endmodule
