// SPDX-License-Identifier: Apache-2.0
// Frames to the host: the place of pen_mac_tx in an egress port. A header of 16 bytes goes before each frame. Between frames,
// the host is told when frames of its own left, in 16 bytes each, `last` with the last one.
//
//     byte   0   1                2               3   4 .. 9    10 .. 13      14         15   16 ..
//            0   reception port   traffic class   0   seconds   nanoseconds   fraction   0    destination address to FCS
//            1   egress port      stamps lost   tag   the same                           0
//
// The time, lowest byte first, is when the first byte behind the delimiter stood at the pins of the reception port; the
// fraction is in 2^-8 ns. That of a stamp is when the first byte behind the delimiter stood at the pins of the egress port;
// as many as are told were lost just before it.
//
// Without pauses of the receiver a frame takes no longer than on a wire, so that the port goes on as any other. With L
// bytes:
//
//     cycle              s    s+1  ..   s+16  s+17 ..   s+16+L  s+22+L
//     start_i            1                                      1
//     m_axis_tvalid_o    0    1    ..   1     1    ..   1
//     m_axis_tdata_o          header ..       D0   ..   DL-1
//
// A stamp goes as soon as the port is free, and keeps it:
//
//     cycle              c    c+1  ..   c+16  c+17
//     stamp_valid_i      1    1         1     that of the next
//     free_i             1
//     stamp_ready_o                     1
//     m_axis_tvalid_o    0    1         1     0
//
// While the receiver lets a byte wait, `stall_o` is high, and the port is busy for as much longer.
//
// With `silent_i` a frame that has begun ends with `m_axis_tuser_o`, which says that it is not to be used, and one that
// starts stays away; its bytes are asked for all the same.
module pen_host_tx
  import pen_pkg::*;
(
  input  logic       clk_i,
  input  logic       rst_i,
  input  logic       start_i,
  input  length_t    length_i,       // in the cycle after start_i; 1 or more
  input  port_t      port_i,         // with length_i: where the frame was received
  input  class_t     traffic_class_i,
  input  ptp_time_t  stamp_i,        // of the frame, from the second cycle after the start to the next start
  input  logic       free_i,         // no frame is on its way
  input  logic       stamp_valid_i,  // no frame may be granted meanwhile
  input  egress_stamp_t stamp_told_i,
  output logic       stamp_ready_o,
  output logic       ready_o,
  input  logic       silent_i,
  output logic       sending_o,
  output logic       stall_o,
  input  logic       data_valid_i,
  input  logic [7:0] data_i,
  output logic       data_ready_o,   // the byte is taken in this cycle
  output length_t    left_o,         // with data_ready_o: bytes of the frame behind this one
  output logic       m_axis_tvalid_o,
  input  logic       m_axis_tready_i,
  output logic [7:0] m_axis_tdata_o,
  output logic       m_axis_tlast_o,
  output logic       m_axis_tuser_o  // with the last byte
);
  localparam int unsigned HEADER_BYTES = 16;
  localparam logic [7:0]  KIND_FRAME = 8'd0;
  localparam logic [7:0]  KIND_STAMP = 8'd1;

  typedef enum logic [2:0] {IDLE, HEADER, DATA, DRAIN, STAMP} state_e;

  state_e     state_q;
  logic [3:0] header_q;              // its byte on the stream
  length_t    left_q;                // bytes of the frame after the next one
  port_t      port_q;
  class_t     class_q;
  logic       lost_q;                // silent since it began
  logic       started_q;             // in the cycle before
  logic       moves, frame_ends;
  ptp_time_t  moment;
  logic [31:0] ns;
  logic        tells;                // of a stamp, not of a frame
  logic [3:0]  next;                 // byte of the header
  port_t       port_d;
  class_t      class_d;
  logic [7:0]  header_byte_q;        // the one on the stream, found a cycle ahead

  assign tells           = state_q == STAMP;
  assign next            = header_q + 1'b1;
  assign port_d          = started_q ? port_i : port_q;
  assign class_d         = started_q ? traffic_class_i : class_q;
  assign moment          = tells ? stamp_told_i.moment : stamp_i;
  assign ns              = 32'(moment.ns);
  assign ready_o         = state_q == IDLE;
  assign left_o          = left_q;
  assign sending_o       = state_q != IDLE && state_q != STAMP;
  assign frame_ends      = state_q == DATA && left_q == '0;
  assign m_axis_tvalid_o = state_q == HEADER || tells || (state_q == DATA && data_valid_i);
  assign stamp_ready_o   = tells && moves && header_q == 4'(HEADER_BYTES - 1);
  assign m_axis_tlast_o  = frame_ends || (tells && header_q == 4'(HEADER_BYTES - 1));
  assign m_axis_tuser_o  = frame_ends && lost_q;
  assign stall_o         = m_axis_tvalid_o && !m_axis_tready_i;
  assign moves           = m_axis_tvalid_o && m_axis_tready_i;
  assign data_ready_o    = data_valid_i && ((state_q == DRAIN && !started_q) || (state_q == DATA && m_axis_tready_i));

  assign m_axis_tdata_o = state_q == HEADER || tells ? header_byte_q : data_i;

  always_ff @(posedge clk_i) begin
    if (state_q == IDLE) begin
      header_q      <= '0;
      header_byte_q <= start_i ? KIND_FRAME : KIND_STAMP;
    end else if (moves) begin
      header_q <= next;
      unique case (next)
        4'd1: header_byte_q <= 8'(tells ? stamp_told_i.port : port_d);
        4'd2: header_byte_q <= tells ? stamp_told_i.lost : 8'(class_d);
        4'd3: header_byte_q <= tells ? stamp_told_i.tag : '0;
        4'd4, 4'd5, 4'd6, 4'd7, 4'd8, 4'd9: header_byte_q <= moment.seconds[8*(next-4'd4)+:8];
        4'd10, 4'd11, 4'd12, 4'd13: header_byte_q <= ns[8*(next-4'd10)+:8];
        4'd14: header_byte_q <= moment.fraction[31:24];
        default: header_byte_q <= '0;
      endcase
    end
    unique case (state_q)
      IDLE: begin
        if (start_i) begin
          state_q <= silent_i ? DRAIN : HEADER;
          lost_q  <= 1'b0;
        end else if (stamp_valid_i && free_i) begin
          state_q <= STAMP;
        end
      end
      HEADER: if (moves && header_q == 4'(HEADER_BYTES - 1)) state_q <= DATA;
      DATA, DRAIN: if (data_ready_o) begin
        left_q <= left_q - 1'b1;
        if (left_q == '0) state_q <= IDLE;
      end
      STAMP: if (stamp_ready_o) state_q <= IDLE;
      default: state_q <= IDLE;
    endcase
    // What stands on the stream stays as it is until it is taken.
    if (silent_i && !(frame_ends && stall_o)) lost_q <= 1'b1;
    started_q <= start_i;
    if (started_q) begin
      left_q  <= length_i - 1'b1;
    end
    port_q  <= port_d;
    class_q <= class_d;
    if (rst_i) state_q <= IDLE;
  end

  logic unused;
  assign unused = &{1'b0, moment};
endmodule
