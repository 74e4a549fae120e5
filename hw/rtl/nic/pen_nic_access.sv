// SPDX-License-Identifier: Apache-2.0
// Which port's registers an access is for: address bits 17:16 say it. One access at a time, of all ports together, so the
// units that they share are asked by one of them at a time.
//
//   awvalid   | |1|1|0| | | |      to the port, with its data, as soon as nothing else is under way
//   busy_q    | | | |1|1|0| |      until the answer has been taken
//   bvalid    | | | | |1| | |      the port's
module pen_nic_access #(
  parameter int unsigned PORTS = 1
) (
  input  logic                   clk_i,
  input  logic                   rst_i,
  // Host
  input  logic [1:0]             awport_i,
  input  logic                   awvalid_i,
  input  logic                   wvalid_i,
  output logic                   wready_o,     // and of the address, which is taken with its data
  output logic [1:0]             bresp_o,
  output logic                   bvalid_o,
  input  logic                   bready_i,
  input  logic [1:0]             arport_i,
  input  logic                   arvalid_i,
  output logic                   arready_o,
  output logic [31:0]            rdata_o,
  output logic [1:0]             rresp_o,
  output logic                   rvalid_o,
  input  logic                   rready_i,
  // Ports
  output logic [PORTS-1:0]       wvalid_o,     // address and data
  input  logic [PORTS-1:0]       wready_i,
  input  logic [PORTS-1:0][1:0]  bresp_i,
  input  logic [PORTS-1:0]       bvalid_i,
  output logic [PORTS-1:0]       arvalid_o,
  input  logic [PORTS-1:0]       arready_i,
  input  logic [PORTS-1:0][31:0] rdata_i,
  input  logic [PORTS-1:0][1:0]  rresp_i,
  input  logic [PORTS-1:0]       rvalid_i
);
  localparam logic [1:0] DECODE_ERROR = 2'd3;
  localparam int unsigned PORT_W = PORTS > 1 ? $clog2(PORTS) : 1;

  logic       busy_q, write_q, nobody_q;       // nobody_q: the card has no such port
  logic [1:0] port_q, port;
  logic       writes, reads, is_there, taken, answered;

  assign writes   = !busy_q && awvalid_i && wvalid_i;
  assign reads    = !busy_q && arvalid_i && !writes;
  assign port     = busy_q ? port_q : writes ? awport_i : arport_i;
  assign is_there = 32'(port) < PORTS;

  logic [PORT_W-1:0] at;
  assign at = is_there ? PORT_W'(port) : '0;
  always_comb begin
    wvalid_o  = '0;
    arvalid_o = '0;
    wvalid_o[at]  = writes && is_there;
    arvalid_o[at] = reads && is_there;
  end
  assign wready_o  = writes && (!is_there || wready_i[at]);
  assign arready_o = reads && (!is_there || arready_i[at]);
  assign taken     = wready_o || arready_o;

  assign bvalid_o = busy_q && write_q && (nobody_q || bvalid_i[at]);
  assign bresp_o  = nobody_q ? DECODE_ERROR : bresp_i[at];
  assign rvalid_o = busy_q && !write_q && (nobody_q || rvalid_i[at]);
  assign rresp_o  = nobody_q ? DECODE_ERROR : rresp_i[at];
  assign rdata_o  = nobody_q ? '0 : rdata_i[at];
  assign answered = (bvalid_o && bready_i) || (rvalid_o && rready_i);

  always_ff @(posedge clk_i) begin
    if (taken) begin
      busy_q   <= 1'b1;
      write_q  <= writes;
      port_q   <= port;
      nobody_q <= !is_there;
    end
    if (answered) busy_q <= 1'b0;
    if (rst_i) busy_q <= 1'b0;
  end
endmodule
