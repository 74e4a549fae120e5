// SPDX-License-Identifier: Apache-2.0
// Finds the stream of a key: exact match in two hash tables of twice as many slots as there are streams.
//
// The slot in table 0 is given by the low bits of the CRC-32 of the key, in table 1 by the bits from 16 on. Software
// places each key in one of its two slots. One lookup a cycle:
//
//   cycle    0         1          2           3         4
//            key_i     hash       table read  compare   valid_o, hit_o, stream_o
//
// A slot and the other bits of a key say what as many of its bits are as a slot's number has. Those are not kept: with 256
// streams an entry takes 108 bits, one block RAM and a half. A key that is written to a slot that is not its own stands for
// the one that differs from it in these bits and has that slot.
module pen_stream_table #(
  parameter int unsigned STREAMS = 256  // a power of two, 2 to 4096
) (
  input  logic                  clk_i,
  input  logic                  rst_i,
  input  logic                  init_busy_i,
  input  pen_pkg::init_index_t  init_index_i,
  input  logic                  valid_i,
  input  pen_pkg::stream_key_t  key_i,
  output logic                  valid_o,
  output logic                  hit_o,
  output pen_pkg::stream_t      stream_o,
  input  logic                  write_i,
  input  logic                  write_table_i,
  input  logic [14:0]           write_index_i,
  input  logic [121:0]          write_data_i    // {valid, stream, key}
);
  import pen_pkg::*;

  localparam int unsigned SLOTS = 2 * STREAMS;
  localparam int unsigned SLOT_W = $clog2(SLOTS);
  localparam int unsigned STREAM_W = $clog2(STREAMS);
  localparam int unsigned KEY_W = $bits(stream_key_t);
  localparam int          FIELDS_W = 104;
  if (STREAMS < 2 || STREAMS > 4096 || STREAMS != 1 << STREAM_W) begin : gen_check
    $fatal(1, "pen_stream_table: STREAMS must be a power of two from 2 to 4096, is %0d (%m)", STREAMS);
  end

  typedef struct packed {
    logic [STREAM_W-1:0] stream;
    stream_key_t         key;         // no frame's, if the slot is empty
  } entry_t;

  localparam logic [1:0] IDENTIFY_NOTHING = 2'd3;

  // The bits of a key that are not kept in the table whose slot is given by the CRC's bits from `low` on: those from the
  // first field on whose parts in the slot are independent of each other.
  function automatic stream_key_t make_implied(input logic [4:0] low);
    logic [KEY_W-1:0]              implied;
    logic [31:0]                   value;  // what this bit of the key is in the CRC
    logic [SLOT_W-1:0]             part;
    logic [SLOT_W-1:0][SLOT_W-1:0] basis;  // by highest bit
    implied = '0;
    basis   = '0;
    value   = 32'hEDB88320;
    for (int i = 111; i >= 0; i--) begin
      part = i < FIELDS_W ? value[low+:SLOT_W] : '0;
      for (int b = SLOT_W - 1; b >= 0; b--) begin
        if (part[b] && basis[b] == '0) begin
          basis[b]   = part;
          implied[i] = 1'b1;
        end
        if (part[b]) part ^= basis[b];
      end
      value = value[0] ? (value >> 1) ^ 32'hEDB88320 : value >> 1;
    end
    return stream_key_t'(implied);
  endfunction

  logic [3:0]              valid_q;    // bit i: lookup in cycle i+1
  logic [1:0][SLOT_W-1:0]  slot, slot_q;
  entry_t [1:0]            entry, entry_q;
  stream_key_t             write_key;
  stream_key_t             key;        // in cycle 3
  logic                    key_valid;
  logic                    write_slot_valid;
  logic [1:0]              hit, hit_q;
  logic [STREAM_W-1:0]     stream_q;

  always_comb begin
    write_key = stream_key_t'(write_data_i[KEY_W-1:0]);
    if (init_busy_i || !write_data_i[121]) write_key.identify = identify_e'(IDENTIFY_NOTHING);
  end
  assign write_slot_valid   = init_busy_i ? 16'(init_index_i) < 16'(SLOTS) : 16'(write_index_i) < 16'(SLOTS);

  pen_delay #(.WIDTH(KEY_W), .CYCLES(3)) u_key (
    .clk_i, .rst_i, .valid_i, .data_i(key_i), .valid_o(key_valid), .data_o(key)
  );

  for (genvar t = 0; t < 2; t++) begin : gen_table
    localparam stream_key_t KEPT = ~make_implied(5'(16 * t));

    pen_key_hash #(.BYTES(14), .LOW(16 * t), .WIDTH(SLOT_W)) u_hash (
      .key_i({3'b0, key_i}), .hash_o(slot[t])
    );

    pen_ram_1r1w #(.WIDTH($bits(entry_t)), .DEPTH(SLOTS)) u_slots (
      .clk_i,
      .write_i     ((init_busy_i || (write_i && write_table_i == 1'(t))) && write_slot_valid),
      .write_addr_i(init_busy_i ? SLOT_W'(init_index_i) : SLOT_W'(write_index_i)),
      .write_data_i({write_data_i[KEY_W+:STREAM_W], write_key & KEPT}),
      .read_i      (valid_q[0]),
      .read_addr_i (slot_q[t]),
      .read_data_o (entry[t])
    );

    assign hit[t] = entry_q[t].key == (key & KEPT);
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) valid_q <= '0;
    else valid_q <= {valid_q[2:0], valid_i};
    if (valid_i) slot_q <= slot;
    if (valid_q[1]) entry_q <= entry;
    if (valid_q[2]) begin
      hit_q    <= hit;
      stream_q <= hit[0] ? entry_q[0].stream : entry_q[1].stream;
    end
  end

  assign valid_o  = valid_q[3];
  assign hit_o    = |hit_q;
  assign stream_o = stream_t'(stream_q);

  logic unused;
  assign unused = ^{key_valid, write_data_i, write_index_i, init_index_i};
endmodule
