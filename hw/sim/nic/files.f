// SPDX-License-Identifier: Apache-2.0
// What lets a simulation of the network card be watched: bound to it, compiled after it, no part of the hardware.
nic/pen_nic_watch.sv
