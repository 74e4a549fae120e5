// SPDX-License-Identifier: Apache-2.0
// Simulation: when a frame of a transmit queue enters the port's queues. Bound to the card, and no part of the hardware.
module pen_nic_watch
  import pen_pkg::*;
(
  input logic    queued_i,
  input class_t  traffic_class_i,
  input length_t length_i
);
  logic    queued        /* verilator public_flat_rd */;
  class_t  traffic_class /* verilator public_flat_rd */;
  length_t frame_bytes   /* verilator public_flat_rd */;
  assign queued        = queued_i;
  assign traffic_class = traffic_class_i;
  assign frame_bytes   = length_i;
endmodule

bind pen_nic pen_nic_watch u_watch (
  .queued_i       (enqueue.destination[0]),
  .traffic_class_i(enqueue.traffic_class),
  .length_i       (enqueue.length)
);
