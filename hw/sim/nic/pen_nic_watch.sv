// SPDX-License-Identifier: Apache-2.0
// Simulation: when a frame of a transmit queue enters the port's queues or waits for its launch time, and when it is decided where a received one goes.
// Bound to the card, and no part of the hardware.
module pen_nic_watch
  import pen_pkg::*;
(
  input logic       queued_i,
  input  logic [3:0]  transmit_queue_i,
  input  logic [3:0]  sent_queue_i,
  input length_t    length_i,
  input cell_t      cell_i,
  input logic [63:0] launch_ns_i,
  input logic       decided_i,
  input logic       accepted_i,
  input logic [3:0] receive_queue_i
);
  logic       queued        /* verilator public_flat_rd */;
  logic [3:0]  transmit_queue /* verilator public_flat_rd */;
  logic [3:0]  sent_queue   /* verilator public_flat_rd */;
  length_t    frame_bytes   /* verilator public_flat_rd */;
  cell_t      first_cell    /* verilator public_flat_rd */;
  logic [63:0] launch_ns    /* verilator public_flat_rd */;
  logic       decided       /* verilator public_flat_rd */;
  logic       accepted      /* verilator public_flat_rd */;
  logic [3:0] receive_queue /* verilator public_flat_rd */;
  assign queued        = queued_i;
  assign transmit_queue = transmit_queue_i;
  assign sent_queue   = sent_queue_i;
  assign frame_bytes   = length_i;
  assign first_cell    = cell_i;
  assign launch_ns     = launch_ns_i;
  assign decided       = decided_i;
  assign accepted      = accepted_i;
  assign receive_queue = receive_queue_i;
endmodule

bind pen_nic pen_nic_watch u_watch (
  .queued_i       (u_transmit.queued || u_transmit.launch_answer),
  .transmit_queue_i(4'(u_transmit.queue_q)),
  .sent_queue_i   (4'(sent_queue)),
  .length_i       (u_transmit.length_q),
  .cell_i         (u_transmit.base),
  .launch_ns_i    (u_transmit.queued ? '0 : u_transmit.launch_time),
  .decided_i      (decided),
  .accepted_i     (accept),
  .receive_queue_i(steered)
);
