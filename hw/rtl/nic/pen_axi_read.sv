// SPDX-License-Identifier: Apache-2.0
// Several AXI4 masters read one memory, each with several bursts under way.
//
// Addresses take turns; what comes is for them in the order of their addresses, as the memory answers in order.
module pen_axi_read
  import pen_nic_pkg::*;
#(
  parameter int unsigned MASTERS = 2,
  parameter int unsigned OPEN = 16                   // bursts of a master under way, at most; a power of two
) (
  input  logic                              clk_i,
  input  logic                              rst_i,
  // Masters; data and response of each are those of the memory
  input  logic [MASTERS-1:0][ADDRESS_W-1:0] araddr_i,
  input  logic [MASTERS-1:0][7:0]           arlen_i,
  input  logic [MASTERS-1:0]                arvalid_i,
  output logic [MASTERS-1:0]                arready_o,
  output logic [MASTERS-1:0]                rvalid_o,
  input  logic [MASTERS-1:0]                rready_i,
  // Memory
  output logic [ADDRESS_W-1:0]              m_axi_araddr_o,
  output logic [7:0]                        m_axi_arlen_o,
  output logic                              m_axi_arvalid_o,
  input  logic                              m_axi_arready_i,
  input  logic                              m_axi_rlast_i,
  input  logic                              m_axi_rvalid_i,
  output logic                              m_axi_rready_o
);
  if (MASTERS == 1) begin : gen_one
    assign m_axi_araddr_o  = araddr_i[0];
    assign m_axi_arlen_o   = arlen_i[0];
    assign m_axi_arvalid_o = arvalid_i[0];
    assign arready_o       = m_axi_arready_i;
    assign rvalid_o        = m_axi_rvalid_i;
    assign m_axi_rready_o  = rready_i[0];

    logic unused;
    assign unused = &{1'b0, clk_i, rst_i, m_axi_rlast_i};
  end else begin : gen_many
    localparam int unsigned MASTER_W = $clog2(MASTERS);
    localparam int unsigned DEPTH = OPEN << MASTER_W;
    logic [MASTER_W-1:0] asks, answered;
    logic                asked, taken, answers;
    logic                order_ready;               // always, as no master has more than OPEN
    logic [$clog2(DEPTH):0] order_count;
    pen_axi_turns #(.MASTERS(MASTERS)) u_turns (
      .clk_i, .rst_i, .valid_i(arvalid_i), .valid_o(asked), .master_o(asks), .taken_i(taken)
    );
    pen_fifo #(.WIDTH(MASTER_W), .DEPTH(DEPTH)) u_order (
      .clk_i, .rst_i,
      .valid_i(taken), .ready_o(order_ready), .data_i(asks),
      .valid_o(answers), .ready_i(m_axi_rvalid_i && m_axi_rready_o && m_axi_rlast_i), .data_o(answered), .count_o(order_count)
    );
    assign m_axi_araddr_o  = araddr_i[asks];
    assign m_axi_arlen_o   = arlen_i[asks];
    assign m_axi_arvalid_o = asked;
    assign taken           = asked && m_axi_arready_i;
    assign m_axi_rready_o  = answers && rready_i[answered];
    always_comb begin
      arready_o = '0;
      arready_o[asks] = taken;
      rvalid_o = '0;
      rvalid_o[answered] = answers && m_axi_rvalid_i;
    end

`ifndef SYNTHESIS
    always_ff @(posedge clk_i) if (!rst_i) assert (!taken || order_ready);
`endif

    logic unused;
    assign unused = &{1'b0, order_ready, order_count};
  end
endmodule
