// SPDX-License-Identifier: Apache-2.0
// One node of the chain by which settings and tables reach every unit, and answers come back: a slave of the registers.
//
//   registers ─► node 0 ─► node 1 ─► ... ─► node NODES-1 ─► registers
//                 unit      unit             unit
//
// A word is in node n in cycle n after its issue, and stays there until the next one. All nodes give it to their units
// in the same cycle, in which it reaches the last of them; so when a setting acts does not depend on where its unit is,
// and the registers learn from the word itself that it has acted. The next word that acts is issued after that; words
// that are only staged are given to the units as they pass.
//
//   POSITION 1 of NODES 3
//   chain_i     |W|.|.|.|.|.|.|.|.|
//   chain_o     |.|W|.|.|.|.|.|A|.|
//   access_o    |.|.|W|.|.|.|.|.|.|      in the cycle in which W is in node 2
//   answer_i    |.|.|.|.|.|A|.|.|.|      any time later; it comes back NODES cycles after that, from wherever
module pen_chain_node
  import pen_config_pkg::*;
#(
  parameter int unsigned POSITION = 0,
  parameter int unsigned NODES = 1
) (
  input  logic           clk_i,
  input  logic           rst_i,
  input  config_word_t   chain_i,
  output config_word_t   chain_o,
  output config_access_t access_o,
  input  logic           answer_i,         // one cycle, to a write or read of this unit
  input  logic [31:0]    answer_data_i     // with it
);
  if (NODES < 1 || POSITION >= NODES)
    $fatal(1, "pen_chain_node: POSITION must be below NODES, is %0d of %0d (%m)", POSITION, NODES);

  localparam int unsigned AHEAD = NODES - 1 - POSITION;

  config_word_t     word_q;
  logic             write_q;
  logic [AHEAD:0]   acts_q;                // bit i: the word came i cycles ago
  logic [POSITION:0] leaves;               // bit i: the unit has answered i cycles ago

  assign leaves[0] = answer_i;
  for (genvar i = 1; i <= POSITION; i++) begin : gen_leaves
    always_ff @(posedge clk_i) leaves[i] <= leaves[i-1] && !rst_i;
  end

  always_ff @(posedge clk_i) begin
    acts_q <= (AHEAD + 1)'({acts_q, chain_i.kind inside {CONFIG_WRITE, CONFIG_READ}});
    word_q.kind <= leaves[POSITION] ? CONFIG_ANSWER : chain_i.kind;
    if (chain_i.kind != CONFIG_NONE) begin
      word_q.address <= chain_i.address;
      word_q.data    <= chain_i.data;
      write_q        <= chain_i.kind == CONFIG_WRITE;
    end
    if (answer_i) word_q.data <= answer_data_i;
    if (rst_i) begin
      acts_q      <= '0;
      word_q.kind <= CONFIG_NONE;
    end
  end

  assign chain_o  = word_q;
  assign access_o = '{
    stage:   word_q.kind == CONFIG_STAGE,
    write:   acts_q[AHEAD] && write_q,
    read:    acts_q[AHEAD] && !write_q,
    address: word_q.address,
    data:    word_q.data
  };
endmodule
