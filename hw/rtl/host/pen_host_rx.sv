// SPDX-License-Identifier: Apache-2.0
// Frames from the host: takes a header off each, checks the frame as the receive MAC does, and hands it on byte by byte.
//
// A frame on the stream, `last` with its last byte:
//
//     byte   0          1                        2                3      4 ..
//            bit 0: 0   reception port 0 to 7    0                tag    destination address to FCS
//            bit 0: 1   egress ports, bit p      traffic class    tag    the same
//
// With 0 the frame is forwarded as if it had been received at that port: VLAN, learning, addresses. With 1 it leaves by
// these ports and in this class, whatever its addresses and its VLAN are. A port that the switch does not have leads nowhere.
// What knows a reception port otherwise (streams, what is guaranteed, counters) takes the frame as the host port's own.
// With bit 1 the host is told when the frame leaves, by its tag; see pen_egress_stamps.
// The FCS comes with the frame, so that damage between the host's memory and the last receiver is seen.
//
// The stream may pause anywhere. Each frame gives exactly one beat with `last`, which says what was wrong with it, as of
// pen_mac_rx; a frame that ends within the header gives one beat of no meaning with REASON_PREAMBLE.
//
//     cycle            | c    | c+1  |
//     s_axis_tvalid_i  |  1   |      |
//     valid_o, beat_o         |  1   |
//
// While `cut_i` is high, what comes is swallowed to the end of its frame.
module pen_host_rx
  import pen_pkg::*;
#(
  parameter int unsigned PORTS = 4
) (
  input  logic       clk_i,
  input  logic       rst_i,
  input  logic       cut_i,
  input  logic       s_axis_tvalid_i,
  output logic       s_axis_tready_o,
  input  logic [7:0] s_axis_tdata_i,
  input  logic       s_axis_tlast_i,
  input  length_t    max_frame_bytes_i,
  output host_way_t  way_o,              // of the frame that the beat belongs to
  output rx_beat_t   beat_o,
  output logic       valid_o,
  input  logic       ready_i
);
  if (PORTS < 2 || PORTS > MAX_PORTS) begin : gen_check_ports
    $fatal(1, "pen_host_rx: PORTS must be 2 to %0d, is %0d (%m)", MAX_PORTS, PORTS);
  end

  localparam logic [31:0] RESIDUE   = 32'hDEBB20E3;  // as in pen_mac_rx
  localparam length_t     MIN_BYTES = 11'd64;
  localparam int unsigned LIMIT_CYCLES = 4;          // another limit is seen as late as in receive MACs

  typedef enum logic [1:0] {HEADER, FRAME, SWALLOW} state_e;

  state_e     state_q;
  logic [1:0] header_q;                // bytes of the header so far
  host_way_t  next_q;                  // of the frame whose header came last
  host_way_t  way_q;
  length_t    count_q;                 // bytes in the frame so far
  logic [31:0] crc_q;                  // with the byte on its way out
  logic [7:0] byte_q;
  logic       valid_q, last_q, giant_q, runt_q, cut_header_q;
  length_t    limit_q;
  length_t [LIMIT_CYCLES-1:0] limits_q;
  logic       take, first, giant, begun;

  assign take   = s_axis_tvalid_i && s_axis_tready_o;
  assign first  = count_q == '0;
  assign giant  = count_q == limit_q;
  assign begun  = state_q != HEADER || header_q != '0;

  assign s_axis_tready_o = state_q == SWALLOW || cut_i || !valid_q || ready_i;
  assign valid_o         = valid_q;
  assign way_o           = way_q;

  always_comb begin
    beat_o = '{last: last_q, short_gap: 1'b0, reason: 3'(REASON_NONE), data: byte_q};
    if (last_q) begin
      if (cut_header_q) beat_o.reason = 3'(REASON_PREAMBLE);
      else if (giant_q) beat_o.reason = 3'(REASON_GIANT);
      else if (runt_q) beat_o.reason = 3'(REASON_RUNT);
      else if (crc_q != RESIDUE) beat_o.reason = 3'(REASON_FCS);
    end
  end

  always_ff @(posedge clk_i) begin
    limits_q <= {limits_q[LIMIT_CYCLES-2:0], max_frame_bytes_i};
    if (ready_i) valid_q <= 1'b0;
    if (take) begin
      unique case (state_q)
        HEADER: begin
          header_q <= header_q + 1'b1;
          unique case (header_q)
            2'd0: begin
              next_q.direct  <= s_axis_tdata_i[0];
              next_q.stamped <= s_axis_tdata_i[1];
              limit_q        <= limits_q[LIMIT_CYCLES-1];
            end
            2'd1: next_q.ports <= s_axis_tdata_i;      // or a reception port: seen with the next byte, as memories are slow
            2'd2: begin
              next_q.traffic_class <= s_axis_tdata_i[2:0];
              next_q.port          <= port_t'(PORTS - 1);
              if (!next_q.direct) begin
                next_q.ports <= '0;
                if (32'(next_q.ports) >= PORTS) next_q.direct <= 1'b1;
                else next_q.port <= next_q.ports[2:0];
              end
            end
            2'd3: begin
              next_q.tag <= s_axis_tdata_i;
              state_q    <= FRAME;
              count_q    <= '0;
            end
          endcase
          if (s_axis_tlast_i) begin
            valid_q      <= 1'b1;
            last_q       <= 1'b1;
            cut_header_q <= 1'b1;
          end
        end
        FRAME: begin
          count_q      <= count_q + 1'b1;
          crc_q        <= pen_crc_pkg::crc32_byte(first ? '1 : crc_q, s_axis_tdata_i);
          byte_q       <= s_axis_tdata_i;
          valid_q      <= 1'b1;
          last_q       <= s_axis_tlast_i || giant;
          giant_q      <= giant;
          runt_q       <= count_q < MIN_BYTES - 1'b1;
          cut_header_q <= 1'b0;
          if (first) way_q <= next_q;
          if (giant) state_q <= SWALLOW;
        end
        default: ;
      endcase
      if (s_axis_tlast_i) begin
        state_q  <= HEADER;
        header_q <= '0;
      end
    end
    if (rst_i || cut_i) valid_q <= 1'b0;
    if (cut_i && (begun || take) && !(take && s_axis_tlast_i)) state_q <= SWALLOW;
    if (rst_i) begin
      state_q  <= HEADER;
      header_q <= '0;
    end
  end
endmodule
