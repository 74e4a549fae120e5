// SPDX-License-Identifier: Apache-2.0
// C interface of the Verilated switch. Its twin in Rust is engine/rtl/src/library.rs.
//
// Time is counted in cycles of 8 ns and equals the switch's own clock (time_ns / 8). A byte belongs to the cycle at
// whose rising edge it is sampled, on the way in as on the way out. Frames are named by a number, in the order in which
// they were pushed; an event says which of them it is about.
//
// The host port of a switch that has one goes by the same cycles: the header of the host takes the place of the last four
// bytes of preamble and delimiter, and a byte is on the stream as much later as it would take through a receive MAC; on the
// way out, as much later as the header there is longer than preamble and delimiter.
#pragma once
#include <cstdint>

#define PEN_ABI 6

constexpr int64_t PEN_CLOCK_STOPPED = INT64_MIN;
constexpr uint32_t PEN_REASON_PORT_DISABLED = 7;

#pragma GCC visibility push(default)
extern "C" {

enum pen_kind : uint8_t {
  PEN_INPUT = 0,     // cycle: first byte after the delimiter (without one: of the carrier)
  PEN_VERDICT = 1,   // what became of a received frame
  PEN_SELECTED = 2,  // a copy was selected for transmission
  PEN_EXPIRED = 3,   // a copy was given up; `reason` says why. After PEN_SELECTED: cut on the wire, so no PEN_OUTPUT
  PEN_OUTPUT = 4,    // cycle: first byte after the delimiter of a copy that has left whole
  PEN_FAULT = 5,     // the switch did what it must never do; `reason` is a pen_fault
  PEN_STAMP = 6      // the host was told when a frame of its own left; cycle: first byte of that on the stream
};

enum pen_fault : uint8_t {
  PEN_FAULT_VERDICT = 1,  // a verdict without a frame
  PEN_FAULT_EGRESS = 2,   // a copy selected or given up that was not queued there
  PEN_FAULT_OUTPUT = 3,   // a frame sent that was not selected
  PEN_FAULT_CLOCK = 4,    // time_ns does not agree with the cycles
  PEN_FAULT_LENGTH = 5,   // accepted with a length that is not the frame's
  PEN_FAULT_STAMP = 6     // a stamp that is of no frame of the host that left there
};

enum pen_flag : uint8_t {
  PEN_FLAG_DAMAGED = 1,    // output: neither byte for byte what went in, nor edited
  PEN_FLAG_TX_ER = 2,      // output
  PEN_FLAG_SHORT_GAP = 4,  // output: fewer than 12 byte times; verdict: as the switch saw it
  PEN_FLAG_PREAMBLE = 8,   // output: not seven bytes of preamble; to the host: a wrong header
  PEN_FLAG_STREAM = 16,    // verdict: a stream was identified
  PEN_FLAG_SHAPED = 32,    // verdict: an ATS scheduler assigned the eligibility time
  PEN_FLAG_EDITED = 64     // output: what went in but for its tags and correctionField, and its FCS is good
};

struct pen_event {
  uint64_t cycle;
  uint64_t frame;
  uint64_t visible;          // verdict: first cycle in which it may be selected; output to the host: when the frame was
                             // received, TAI nanoseconds; stamp: when the frame left, the same
  uint64_t refused_reasons;  // verdict: a byte per egress port
  uint32_t length;
  uint16_t stream;
  uint8_t kind;
  uint8_t port;              // reception port of input and verdict, else egress port
  uint8_t reason;
  uint8_t traffic_class;
  uint8_t destination;       // verdict: copies queued
  uint8_t refused;           // verdict: copies refused
  uint8_t flags;
  uint8_t reserved;
  uint32_t fcs;              // output: the last four bytes, the first of them lowest; stamp: {0, stamps lost just before, tag,
                             // 2^-8 nanoseconds beside `visible`}, a byte each
};

struct pen_frame {
  const uint8_t *bytes;  // destination address to FCS, as they go on the wire
  uint64_t start;        // cycle of the first preamble byte, or as soon after it as the port and the gap allow
  uint32_t length;
  uint32_t gap;          // idle byte times before it, at least
  uint32_t preamble;     // bytes before the delimiter
  int32_t rx_er_at;      // byte at which the PHY signals an error, or -1
  uint8_t port;
  uint8_t delimiter;     // 0: the delimiter is missing
  uint8_t host[4];       // its header, of a frame from the host
  uint8_t reserved[2];
};

struct pen_state {
  uint64_t cycle;
  uint64_t simulated;  // cycles that were simulated
  uint64_t jumped;     // cycles that were skipped
  uint64_t inside;     // frames whose first byte has entered and whose last copy has neither left nor been given up
  uint64_t waiting;    // frames pushed that have not begun
  uint32_t idle;       // the switch says that nothing is inside, and its wires have been quiet for a while
  uint32_t ports;
};

struct pen_switch;

uint32_t pen_abi(void);
pen_switch *pen_create(void);  // reset, and ready for frames
void pen_destroy(pen_switch *self);
uint64_t pen_push(pen_switch *self, const pen_frame *frame);  // the number of the frame; copies the bytes
// The wire into a port: up or down, and its receive clock against the core's in parts per thousand million, less than
// whole, or PEN_CLOCK_STOPPED. While it is down or its clock stands still no frame begins; one that is under way as
// it goes down ends there.
void pen_link(pen_switch *self, uint32_t port, uint32_t up, int64_t rate_ppb);
void pen_run(pen_switch *self, uint64_t until);
void pen_state_read(const pen_switch *self, pen_state *state);
const pen_event *pen_events(const pen_switch *self, uint64_t *count);
void pen_events_clear(pen_switch *self);
// AXI4-Lite. The response (0: okay), or -1 if there was none in time. Traffic goes on meanwhile.
int32_t pen_axi_write(pen_switch *self, uint32_t address, uint32_t data);
int32_t pen_axi_read(pen_switch *self, uint32_t address, uint32_t *data);
#ifdef PEN_WAVES
// Writes all signals of the cycles from `from` to before `until` to a file in FST format, 8 ns a cycle, zero at the
// rising edge of cycle `zero`, which comes before `from`. None of these cycles is skipped. The file is whole when they
// have passed, or the switch is destroyed.
void pen_wave(pen_switch *self, const char *path, uint64_t zero, uint64_t from, uint64_t until);
#endif

}
#pragma GCC visibility pop
