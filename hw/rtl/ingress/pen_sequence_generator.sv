// SPDX-License-Identifier: Apache-2.0
// Numbers the frames of streams (802.1CB 7.4.1, the sequence generation function): each stream has a number that the next of
// its frames gets, 0 after the start and again behind 65535. Whether frames of a stream are numbered is set by a table.
//
//   cycle     0          1
//             read_i     numbered_o, number_o; with take_i the next frame gets the next number
module pen_sequence_generator #(
  parameter int unsigned STREAMS = 256,  // a power of two
  localparam int unsigned STREAM_W = $clog2(STREAMS)
) (
  input  logic                 clk_i,
  input  logic                 init_busy_i,
  input  pen_pkg::init_index_t init_index_i,
  input  logic                 read_i,
  input  logic [STREAM_W-1:0]  stream_i,
  output logic                 numbered_o,     // frames of the stream that was read last
  output logic [15:0]          number_o,
  input  logic                 take_i,         // in cycle 1
  input  logic                 write_i,
  input  logic [15:0]          write_index_i,
  input  logic                 write_numbered_i
);
  logic                numbered, again_q;
  logic [STREAM_W-1:0] stream_q;
  logic [15:0]         stored, next, next_q;
  logic                clears;

  assign clears = init_busy_i && 16'(init_index_i) < 16'(STREAMS);

  pen_lutram_1r1w #(.WIDTH(1), .DEPTH(STREAMS)) u_numbered (
    .clk_i,
    .write_i     (clears || (write_i && write_index_i < 16'(STREAMS))),
    .write_addr_i(init_busy_i ? STREAM_W'(init_index_i) : STREAM_W'(write_index_i)),
    .write_data_i(!init_busy_i && write_numbered_i),
    .read_addr_i (stream_i),
    .read_data_o (numbered)
  );

  pen_ram_1r1w #(.WIDTH(16), .DEPTH(STREAMS), .READ_OLD(0)) u_numbers (
    .clk_i,
    .write_i     (clears || take_i),
    .write_addr_i(init_busy_i ? STREAM_W'(init_index_i) : stream_q),
    .write_data_i(init_busy_i ? '0 : next),
    .read_i,
    .read_addr_i (stream_i),
    .read_data_o (stored)
  );

  // What is being written as it is read.
  assign number_o = again_q ? next_q : stored;
  assign next     = number_o + 1'b1;

  always_ff @(posedge clk_i) begin
    if (read_i) begin
      stream_q   <= stream_i;
      numbered_o <= numbered;
      again_q    <= take_i && stream_q == stream_i;
      next_q     <= next;
    end
  end

  logic unused;
  assign unused = &{1'b0, init_index_i, write_index_i};
endmodule
