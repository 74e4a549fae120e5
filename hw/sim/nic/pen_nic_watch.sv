// SPDX-License-Identifier: Apache-2.0
// Simulation: when a frame of a transmit queue enters a port's queues or waits for its launch time, or is refused, which one is
// selected, and when it is decided where a received one goes. Bound to the card, and no part of the hardware.
module pen_nic_watch
  import pen_pkg::*;
#(
  parameter int unsigned PORTS = 1
) (
  input logic     clk_i,
  input time_ns_t time_ns_i
);
  logic        queued         [4] /* verilator public_flat_rd */;
  logic [3:0]  transmit_queue [4] /* verilator public_flat_rd */;
  length_t     frame_bytes    [4] /* verilator public_flat_rd */;
  cell_t       first_cell     [4] /* verilator public_flat_rd */;
  logic [63:0] launch_ns      [4] /* verilator public_flat_rd */;
  logic [63:0] arrival_ns     [4] /* verilator public_flat_rd */;  // for ATS, or zero
  logic        refused        [4] /* verilator public_flat_rd */;
  logic        sent           [4] /* verilator public_flat_rd */;
  logic [3:0]  sent_queue     [4] /* verilator public_flat_rd */;
  cell_t       sent_cell      [4] /* verilator public_flat_rd */;
  logic        decided        [4] /* verilator public_flat_rd */;
  logic        accepted       [4] /* verilator public_flat_rd */;
  logic [3:0]  receive_queue  [4] /* verilator public_flat_rd */;
  logic [31:0] interrupt      [4] /* verilator public_flat_rd */;
  localparam logic [63:0] ANSWERED_NS = 64'd48;  // from the cycle in which a frame arrives for ATS to its answer
  logic [63:0] arrived_q [4];
  for (genvar p = 0; p < 4; p++) begin : gen_watched
    if (p < PORTS) begin : gen_there
      logic launched, shaped;
      assign launched = gen_port[p].u_port.u_transmit.launch_answer;
      assign shaped   = gen_port[p].u_port.u_transmit.queued && gen_port[p].u_port.u_transmit.shaped_q;
      always_ff @(posedge clk_i) if (gen_port[p].u_port.ats_i.valid) arrived_q[p] <= time_ns_i - ANSWERED_NS;
      assign queued[p]         = gen_port[p].u_port.u_transmit.queued || launched || gen_port[p].u_port.residence;
      assign refused[p]        = gen_port[p].u_port.residence || (launched && !gen_port[p].u_port.u_transmit.launch_taken);
      assign arrival_ns[p]     = gen_port[p].u_port.residence ? time_ns_i - ANSWERED_NS : shaped ? arrived_q[p] : '0;
      assign transmit_queue[p] = 4'(gen_port[p].u_port.u_transmit.whole_queue);
      assign frame_bytes[p]    = gen_port[p].u_port.u_transmit.length_q;
      assign first_cell[p]     = gen_port[p].u_port.u_transmit.base;
      assign launch_ns[p]      = launched ? gen_port[p].u_port.u_transmit.launch_time : '0;
      assign sent[p]           = gen_port[p].u_port.egress_event_o.sent;
      assign sent_queue[p]     = 4'(gen_port[p].u_port.sent_queue);
      assign sent_cell[p]      = cell_t'(gen_port[p].u_port.egress_event_o.frame);
      assign decided[p]        = gen_port[p].u_port.decided;
      assign accepted[p]       = gen_port[p].u_port.accept;
      assign receive_queue[p]  = gen_port[p].u_port.steered;
      assign interrupt[p]      = gen_port[p].u_port.interrupt_o;
    end else begin : gen_nobody
      assign queued[p]         = '0;
      assign transmit_queue[p] = '0;
      assign frame_bytes[p]    = '0;
      assign first_cell[p]     = '0;
      assign launch_ns[p]      = '0;
      assign arrival_ns[p]     = '0;
      assign refused[p]        = '0;
      assign sent[p]           = '0;
      assign sent_queue[p]     = '0;
      assign sent_cell[p]      = '0;
      assign decided[p]        = '0;
      assign accepted[p]       = '0;
      assign receive_queue[p]  = '0;
      assign interrupt[p]      = '0;
    end
  end
endmodule

bind pen_nic pen_nic_watch #(.PORTS(PORTS)) u_watch (.clk_i, .time_ns_i(time_ns_o));
