// SPDX-License-Identifier: Apache-2.0
// What a read of a register gives: what was written before, from a memory, or what stands in the hardware itself.
//
// The memory keeps those bits of a write that a register has. The walk after reset fills it by reading what there is to
// be after reset. A register of two words whose low one latches the high one keeps that here, too.
//
//   request_i     |R|.|.|.           what a unit is asked for comes as the unit answers
//   live_i        |L|.|.|.           of the cycle of the request
//   stored        |.|S|S|
//   read_ack_o    |.|.|A|.
module pen_register_memory #(
  parameter int unsigned WORDS = 512  // from address 0 on; what is beyond them is not kept
) (
  input  logic        clk_i,
  input  logic        rst_i,
  input  logic        request_i,      // one cycle; what it is about is held until the next one
  input  logic        write_i,
  input  logic [15:0] address_i,      // of whole words
  input  logic [31:0] data_i,
  input  logic        walks_i,        // what is read is what is kept after reset
  input  logic [31:0] kept_i,         // bits of this register that are kept
  input  logic        is_live_i,      // what is read is live_i
  input  logic [31:0] live_i,
  input  logic        latches_i,      // a read also puts high_i in the word behind it; this one's place is even
  input  logic [31:0] high_i,
  input  logic        of_unit_i,      // in the cycle behind the request: a unit is asked
  input  logic        answered_i,     // one cycle: it says answer_i
  input  logic [31:0] answer_i,
  output logic        read_ack_o,
  output logic [31:0] read_data_o     // holds
);
  localparam int unsigned WORD_W = $clog2(WORDS);

  logic [31:0]       stored, live_q, high_q, kept_q, kept_data;
  logic [WORD_W-1:0] place;
  logic              reads, latches_q, keeps, keeps_q, is_live_q, requested_q, answered_q;

  assign reads = request_i && !write_i;
  assign place = address_i[2+:WORD_W];
  // It is kept in the cycle behind the request, as which bits of a write that are, and high_i, come of all addresses.
  always_comb begin
    keeps     = keeps_q || latches_q;
    kept_data = keeps_q ? data_i & kept_q : high_q;
    if (walks_i) begin
      keeps     = read_ack_o;
      kept_data = read_data_o;
    end
  end

  pen_ram_1r1w #(.WIDTH(32), .DEPTH(WORDS), .READ_OLD(0)) u_kept (
    .clk_i,
    .write_i     (keeps),
    .write_addr_i({place[WORD_W-1:1], place[0] || !(keeps_q || walks_i)}),
    .write_data_i(kept_data),
    .read_i      (reads),
    .read_addr_i (place),
    .read_data_o (stored)
  );

  always_ff @(posedge clk_i) begin
    if (reads) begin
      is_live_q <= is_live_i;
      live_q    <= live_i;
      high_q    <= high_i;
    end
    kept_q      <= kept_i;
    keeps_q     <= request_i && write_i && kept_i != '0;
    latches_q   <= reads && !walks_i && latches_i;
    requested_q <= reads && !rst_i;
    answered_q  <= answered_i && !write_i && !rst_i;
    read_ack_o  <= ((requested_q && !of_unit_i) || answered_q) && !rst_i;
    if (answered_i) read_data_o <= answer_i;
    else if (requested_q) read_data_o <= is_live_q ? live_q : stored;
  end

  logic unused;
  assign unused = &{1'b0, address_i};
endmodule
