// SPDX-License-Identifier: Apache-2.0
// Several AXI4 masters write one memory.
//
// Addresses take turns, each with all words of its burst behind it; answers are for them in the order of their addresses, as
// the memory answers in order.
module pen_axi_write
  import pen_nic_pkg::*;
#(
  parameter int unsigned MASTERS = 2,
  parameter int unsigned OPEN = 8                    // bursts of a master that wait for their answer, at most
) (
  input  logic                              clk_i,
  input  logic                              rst_i,
  // Masters; the response of each is that of the memory, and is always taken
  input  logic [MASTERS-1:0][ADDRESS_W-1:0] awaddr_i,
  input  logic [MASTERS-1:0][7:0]           awlen_i,
  input  logic [MASTERS-1:0]                awvalid_i,
  output logic [MASTERS-1:0]                awready_o,
  input  logic [MASTERS-1:0][63:0]          wdata_i,
  input  logic [MASTERS-1:0][7:0]           wstrb_i,
  input  logic [MASTERS-1:0]                wlast_i,
  input  logic [MASTERS-1:0]                wvalid_i,
  output logic [MASTERS-1:0]                wready_o,
  output logic [MASTERS-1:0]                bvalid_o,
  // Memory
  output logic [ADDRESS_W-1:0]              m_axi_awaddr_o,
  output logic [7:0]                        m_axi_awlen_o,
  output logic                              m_axi_awvalid_o,
  input  logic                              m_axi_awready_i,
  output logic [63:0]                       m_axi_wdata_o,
  output logic [7:0]                        m_axi_wstrb_o,
  output logic                              m_axi_wlast_o,
  output logic                              m_axi_wvalid_o,
  input  logic                              m_axi_wready_i,
  input  logic                              m_axi_bvalid_i,
  output logic                              m_axi_bready_o
);
  assign m_axi_bready_o = 1'b1;

  if (MASTERS == 1) begin : gen_one
    assign m_axi_awaddr_o  = awaddr_i[0];
    assign m_axi_awlen_o   = awlen_i[0];
    assign m_axi_awvalid_o = awvalid_i[0];
    assign awready_o       = m_axi_awready_i;
    assign m_axi_wdata_o   = wdata_i[0];
    assign m_axi_wstrb_o   = wstrb_i[0];
    assign m_axi_wlast_o   = wlast_i[0];
    assign m_axi_wvalid_o  = wvalid_i[0];
    assign wready_o        = m_axi_wready_i;
    assign bvalid_o        = m_axi_bvalid_i;

    logic unused;
    assign unused = &{1'b0, clk_i, rst_i};
  end else begin : gen_many
    localparam int unsigned MASTER_W = $clog2(MASTERS);
    localparam int unsigned DEPTH = OPEN << MASTER_W;
    logic [MASTER_W-1:0]  chosen, writes_q, answered;
    logic                 asked, taken, writing_q, answers;
    logic                 order_ready;                // always, as no master has more than OPEN
    logic [$clog2(DEPTH):0] order_count;
    pen_axi_turns #(.MASTERS(MASTERS)) u_turns (
      .clk_i, .rst_i, .valid_i(awvalid_i & {MASTERS{!writing_q}}), .valid_o(asked), .master_o(chosen), .taken_i(taken)
    );
    pen_fifo #(.WIDTH(MASTER_W), .DEPTH(DEPTH)) u_order (
      .clk_i, .rst_i,
      .valid_i(taken), .ready_o(order_ready), .data_i(chosen),
      .valid_o(answers), .ready_i(m_axi_bvalid_i), .data_o(answered), .count_o(order_count)
    );
    assign m_axi_awaddr_o  = awaddr_i[chosen];
    assign m_axi_awlen_o   = awlen_i[chosen];
    assign m_axi_awvalid_o = asked;
    assign taken           = asked && m_axi_awready_i;
    assign m_axi_wdata_o   = wdata_i[writes_q];
    assign m_axi_wstrb_o   = wstrb_i[writes_q];
    assign m_axi_wlast_o   = wlast_i[writes_q];
    assign m_axi_wvalid_o  = writing_q && wvalid_i[writes_q];
    always_comb begin
      awready_o = '0;
      awready_o[chosen] = taken;
      wready_o = '0;
      wready_o[writes_q] = writing_q && m_axi_wready_i;
      bvalid_o = '0;
      bvalid_o[answered] = answers && m_axi_bvalid_i;
    end
    always_ff @(posedge clk_i) begin
      if (taken) begin
        writes_q  <= chosen;
        writing_q <= 1'b1;
      end else if (m_axi_wvalid_o && m_axi_wready_i && m_axi_wlast_o) writing_q <= 1'b0;
      if (rst_i) begin
        writing_q <= 1'b0;
        writes_q  <= '0;
      end
    end

    logic unused;
    assign unused = &{1'b0, order_ready, order_count};
  end
endmodule
