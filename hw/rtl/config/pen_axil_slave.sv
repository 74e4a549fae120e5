// SPDX-License-Identifier: Apache-2.0
// The bus side of registers: takes one AXI4-Lite access after the other, and answers it when it is done.
//
//     s_axil_awvalid_i, wvalid_i  |1|1|.|.|.|.
//     idle_i                      |0|1|.|.|.|.
//     write_o                     |.|1|.|.|.|.
//     address_o, data_o           |.|.|A|A|A|A    until the next access
//     write_done_i                |.|.|.|1|.|.
//     s_axil_bvalid_o             |.|.|.|.|B|.    until it is taken
//
// Of a read and a write that come at once the write is first. `idle_i` says that no access is under way.
module pen_axil_slave (
  input  logic        clk_i,
  input  logic        rst_i,
  input  logic [15:0] s_axil_awaddr_i,
  input  logic [2:0]  s_axil_awprot_i,
  input  logic        s_axil_awvalid_i,
  output logic        s_axil_awready_o,
  input  logic [31:0] s_axil_wdata_i,
  input  logic [3:0]  s_axil_wstrb_i,
  input  logic        s_axil_wvalid_i,
  output logic        s_axil_wready_o,
  output logic [1:0]  s_axil_bresp_o,
  output logic        s_axil_bvalid_o,
  input  logic        s_axil_bready_i,
  input  logic [15:0] s_axil_araddr_i,
  input  logic [2:0]  s_axil_arprot_i,
  input  logic        s_axil_arvalid_i,
  output logic        s_axil_arready_o,
  output logic [31:0] s_axil_rdata_o,
  output logic [1:0]  s_axil_rresp_o,
  output logic        s_axil_rvalid_o,
  input  logic        s_axil_rready_i,

  input  logic        idle_i,
  output logic        write_o,        // one cycle: taken
  output logic        read_o,         // the same
  output logic [15:0] address_o,      // of the access that was taken last; of whole words
  output logic [31:0] data_o,
  input  logic        write_done_i,   // one cycle
  input  logic        read_done_i,
  input  logic        error_i,        // with one of them
  input  logic [31:0] data_i          // with read_done_i
);
  assign write_o = idle_i && s_axil_awvalid_i && s_axil_wvalid_i && !s_axil_bvalid_o;
  assign read_o  = idle_i && s_axil_arvalid_i && !s_axil_rvalid_o && !write_o;
  assign s_axil_awready_o = write_o;
  assign s_axil_wready_o  = write_o;
  assign s_axil_arready_o = read_o;

  always_ff @(posedge clk_i) begin
    if (s_axil_bready_i) s_axil_bvalid_o <= 1'b0;
    if (s_axil_rready_i) s_axil_rvalid_o <= 1'b0;
    if (write_o) begin
      address_o <= {s_axil_awaddr_i[15:2], 2'b00};
      data_o    <= s_axil_wdata_i;
    end
    if (read_o) address_o <= {s_axil_araddr_i[15:2], 2'b00};
    if (write_done_i) begin
      s_axil_bvalid_o <= 1'b1;
      s_axil_bresp_o  <= {error_i, 1'b0};
    end
    if (read_done_i) begin
      s_axil_rvalid_o <= 1'b1;
      s_axil_rresp_o  <= {error_i, 1'b0};
      s_axil_rdata_o  <= data_i;
    end
    if (rst_i) begin
      s_axil_bvalid_o <= 1'b0;
      s_axil_rvalid_o <= 1'b0;
    end
  end

  logic unused;
  assign unused = &{1'b0, s_axil_awprot_i, s_axil_arprot_i, s_axil_wstrb_i, s_axil_awaddr_i[1:0], s_axil_araddr_i[1:0]};
endmodule
