// SPDX-License-Identifier: Apache-2.0
// Two AXI4-Lite slaves behind one master: addresses with their highest bit set are those of the second.
//
// The master has one access under way at a time and holds its address until the answer, as pen_uart_axi does. So there is
// nothing to store, and the slaves' answers cannot meet.
module pen_axil_split (
  input  logic [15:0]      s_axil_awaddr_i,
  input  logic             s_axil_awvalid_i,
  output logic             s_axil_awready_o,
  input  logic             s_axil_wvalid_i,
  output logic             s_axil_wready_o,
  output logic [1:0]       s_axil_bresp_o,
  output logic             s_axil_bvalid_o,
  input  logic [15:0]      s_axil_araddr_i,
  input  logic             s_axil_arvalid_i,
  output logic             s_axil_arready_o,
  output logic [31:0]      s_axil_rdata_o,
  output logic [1:0]       s_axil_rresp_o,
  output logic             s_axil_rvalid_o,
  // All else goes to both as it is.
  output logic [1:0]       m_axil_awvalid_o,
  input  logic [1:0]       m_axil_awready_i,
  output logic [1:0]       m_axil_wvalid_o,
  input  logic [1:0]       m_axil_wready_i,
  input  logic [1:0][1:0]  m_axil_bresp_i,
  input  logic [1:0]       m_axil_bvalid_i,
  output logic [1:0]       m_axil_arvalid_o,
  input  logic [1:0]       m_axil_arready_i,
  input  logic [1:0][31:0] m_axil_rdata_i,
  input  logic [1:0][1:0]  m_axil_rresp_i,
  input  logic [1:0]       m_axil_rvalid_i
);
  logic written, read;  // which one
  assign written = s_axil_awaddr_i[15];
  assign read    = s_axil_araddr_i[15];

  assign m_axil_awvalid_o = 2'(s_axil_awvalid_i) << written;
  assign m_axil_wvalid_o  = 2'(s_axil_wvalid_i) << written;
  assign m_axil_arvalid_o = 2'(s_axil_arvalid_i) << read;

  assign s_axil_awready_o = m_axil_awready_i[written];
  assign s_axil_wready_o  = m_axil_wready_i[written];
  assign s_axil_bresp_o   = m_axil_bresp_i[written];
  assign s_axil_bvalid_o  = m_axil_bvalid_i[written];
  assign s_axil_arready_o = m_axil_arready_i[read];
  assign s_axil_rdata_o   = m_axil_rdata_i[read];
  assign s_axil_rresp_o   = m_axil_rresp_i[read];
  assign s_axil_rvalid_o  = m_axil_rvalid_i[read];

  logic unused;
  assign unused = &{1'b0, s_axil_awaddr_i[14:0], s_axil_araddr_i[14:0]};
endmodule
