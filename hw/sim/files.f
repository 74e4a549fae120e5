// SPDX-License-Identifier: Apache-2.0
// What lets a simulation leap over idle time: bound to modules of hw/rtl, compiled after them, no part of the hardware.
leap.vlt
pen_ptp_clock_leap.sv
pen_gates_wake.sv
pen_gate_sequence_wake.sv
pen_leap.sv
