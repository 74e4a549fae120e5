// SPDX-License-Identifier: Apache-2.0
// Finds the event messages of PTP (messageType 0 to 3) in a stream of frames, one byte at a time.
//
// EtherType 88-F7, or UDP over IPv4 to port 319; with or without a VLAN tag. Not found: later fragments, as they have
// no UDP header. With all_i every frame is found, by the bytes that stand where such a message has its sequenceId; in UDP if its port
// comes before those are there, else on Ethernet. The answer comes in two parts, the second after the frame's end and only if the frame is good:
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
  input  logic         all_i,
  input  parsed_byte_t byte_i,
  input  logic [7:0]   index_i,        // taken with the first byte: which cycle the frame's time is from
  output stamp_request_t request_o,
  input  logic         serve_i         // this cycle: `found` if it is set, else `good`
);
  localparam logic [7:0]  PROTOCOL_UDP = 8'd17;
  localparam logic [15:0] PORT_EVENT = 16'd319;
  localparam logic [5:0]  UDP_BYTES_BEHIND_PORTS = 6'd4;

  typedef enum logic [2:0] {HEADER, UDP, PTP, OTHER, FOUND, IGNORE} state_e;

  state_e      state_q, state_d;
  logic [5:0]  count_q, count_d;       // bytes of this part of the frame
  logic        found_q, good_q, other_q;
  logic        general_q;              // no event message
  logic [7:0]  index_q;
  logic [1:0]  message_type_q;
  logic [15:0] sequence_id_q;
  logic        found, is_event;
  header_t     header;

  assign header   = byte_i.header;
  assign found    = byte_i.valid && state_q inside {PTP, OTHER} && count_q == 6'd31;
  assign is_event = header.has_ports && header.ipv4_fields[39:32] == PROTOCOL_UDP
      && header.ipv4_fields[15:0] == PORT_EVENT;

  always_comb begin
    state_d = state_q;
    count_d = count_q;
    if (byte_i.valid) begin
      count_d = count_q + 1'b1;
      unique case (state_q)
        HEADER: begin
          if (header.type_valid && header.last_two == TYPE_PTP) begin
            state_d = PTP;
            count_d = '0;
          end else if (header.type_valid && all_i) begin
            state_d = OTHER;
            count_d = '0;
          end else if (header.ipv4_complete) begin           // this is the first byte behind the ports
            state_d = is_event ? UDP : IGNORE;
            count_d = 6'd1;
          end
        end
        UDP: if (count_q == UDP_BYTES_BEHIND_PORTS - 1'b1) begin
          state_d = PTP;
          count_d = '0;
        end
        PTP: begin
          if (count_q == '0 && header.last_two[3:2] != '0 && !all_i) state_d = IGNORE;
          if (found) state_d = FOUND;
        end
        OTHER: begin
          if (header.ipv4_complete && is_event) begin
            state_d = UDP;
            count_d = 6'd1;
          end
          if (found) state_d = FOUND;
        end
        default: ;
      endcase
      if (byte_i.last) begin
        state_d = HEADER;
        count_d = '0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= HEADER;
      count_q <= '0;
      found_q <= 1'b0;
      good_q  <= 1'b0;
    end else begin
      state_q <= state_d;
      count_q <= count_d;
      if (serve_i && found_q) found_q <= 1'b0;
      else if (serve_i) good_q <= 1'b0;
      if (found) found_q <= 1'b1;
      if (byte_i.valid && byte_i.last && byte_i.good && state_q == FOUND) good_q <= 1'b1;
    end
    if (byte_i.valid) begin
      if (header.position == '0) index_q <= index_i;
      if (state_q == PTP && count_q == '0) begin
        general_q      <= header.last_two[3:2] != '0;
        message_type_q <= header.last_two[1:0];
      end
      if (found) sequence_id_q <= header.last_two;
      if (found) other_q <= state_q == OTHER || general_q;
    end
  end

  assign request_o = '{
    found: found_q, good: good_q, index: index_q, other: other_q, message_type: other_q ? '0 : message_type_q,
    sequence_id: sequence_id_q
  };

  logic unused;
  assign unused = ^header;
endmodule
