// SPDX-License-Identifier: Apache-2.0
// A chain of nodes as the switch has it, each with a unit behind it.
module pen_chain_node_tb
  import pen_config_pkg::*;
#(
  parameter int unsigned NODES = 5
) (
  input  logic                              clk_i,
  input  logic                              rst_i,
  input  config_word_t                      chain_i,
  output config_word_t                      chain_o,
  output config_access_t [NODES-1:0]        access_o,
  input  logic           [NODES-1:0]        answer_i,
  input  logic           [NODES-1:0][31:0]  answer_data_i
);
  config_word_t [NODES:0] chain;
  assign chain[0] = chain_i;
  assign chain_o  = chain[NODES];

  for (genvar n = 0; n < NODES; n++) begin : gen_node
    pen_chain_node #(.POSITION(n), .NODES(NODES)) u_node (
      .clk_i,
      .rst_i,
      .chain_i      (chain[n]),
      .chain_o      (chain[n+1]),
      .access_o     (access_o[n]),
      .answer_i     (answer_i[n]),
      .answer_data_i(answer_data_i[n])
    );
  end
endmodule
