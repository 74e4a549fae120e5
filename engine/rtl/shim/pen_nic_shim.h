// SPDX-License-Identifier: Apache-2.0
// C interface of the Verilated network card. Its twin in Rust is engine/rtl/src/card.rs.
//
// Time is counted in cycles of 8 ns and equals the card's own clock (time_ns / 8). A byte on the wire belongs to the cycle
// at whose rising edge it is sampled. Memory is called from within the functions that let time pass, burst by burst, in the
// order of the card's accesses.
#pragma once
#include <cstdint>

#define PEN_NIC_ABI 7

#pragma GCC visibility push(default)
extern "C" {

// Memory of the host. `length` is 1 to 128, and no access crosses a page of 4 KiB. 0: done; else nothing is there.
struct pen_nic_memory {
  void *user;
  int32_t (*read)(void *user, uint64_t address, uint8_t *data, uint32_t length);
  int32_t (*write)(void *user, uint64_t address, const uint8_t *data, uint32_t length);
};

// A frame that has left by the wire.
struct pen_nic_sent {
  uint64_t cycle;        // first byte after the delimiter
  const uint8_t *bytes;  // destination address to FCS; until the next call
  uint32_t length;
  uint8_t queue;
  uint8_t damaged;       // 1: preamble, gap, or an error that the card itself said
  uint8_t reserved[2];
};

// A frame that has come from the host's memory and waits at the port or for its launch time, or was refused.
struct pen_nic_queued {
  uint64_t cycle;        // in which it entered its queue, was taken for its launch time, or was refused
  uint64_t launch_ns;    // of the PTP clock; zero: none
  uint64_t arrival_ns;   // at its ATS scheduler, by the card's own clock; zero: it has none
  uint32_t length;       // destination address to FCS
  uint8_t queue;
  uint8_t refused;       // 1: for its launch time, or as it would have waited for too long
  uint16_t cell;         // the first one of the store that it lies in
};

// A frame that its port has selected, whose preamble begins some cycles later.
struct pen_nic_selected {
  uint64_t cycle;        // in which it was told
  uint8_t queue;
  uint8_t reserved;
  uint16_t cell;         // as when it was queued
  uint8_t reserved2[4];
};

// A frame that has come by the wire whole, good, and not longer than any may be.
struct pen_nic_steered {
  uint64_t cycle;        // in which it was decided where it goes
  uint8_t queue;
  uint8_t accepted;      // 0: nobody wants it
  uint8_t reserved[6];
};

enum pen_nic_stop : uint32_t { PEN_NIC_INTERRUPT = 1, PEN_NIC_SENT = 2, PEN_NIC_IDLE = 4 };

struct pen_nic;

uint32_t pen_nic_abi(void);
// Reset, and ready. The memory's first byte comes so many cycles after its address.
struct pen_nic *pen_nic_create(const struct pen_nic_memory *memory, uint32_t latency_cycles);
void pen_nic_destroy(struct pen_nic *self);
uint64_t pen_nic_cycle(const struct pen_nic *self);
// Until a cycle, or until something of `stop` (pen_nic_stop) is the case; gives what is.
uint32_t pen_nic_run(struct pen_nic *self, uint64_t until, uint32_t stop);
// Of a port below that number is what follows.
uint32_t pen_nic_ports(const struct pen_nic *self);
uint32_t pen_nic_interrupts(struct pen_nic *self, uint32_t port);  // bit v: virtqueue v; taken
int32_t pen_nic_sent_take(struct pen_nic *self, uint32_t port, struct pen_nic_sent *sent);  // 1: the oldest; 0: none
// A frame comes by the wire: destination address to FCS. The first byte of its preamble comes in a cycle, or as soon as the
// gap after the frame before allows.
void pen_nic_push(struct pen_nic *self, uint32_t port, const uint8_t *bytes, uint32_t length, uint64_t start);
uint32_t pen_nic_coming(const struct pen_nic *self, uint32_t port);  // frames that have not come whole yet
int32_t pen_nic_queued_take(struct pen_nic *self, uint32_t port, struct pen_nic_queued *queued);  // as of those that were sent
int32_t pen_nic_selected_take(struct pen_nic *self, uint32_t port, struct pen_nic_selected *selected);
int32_t pen_nic_steered_take(struct pen_nic *self, uint32_t port, struct pen_nic_steered *steered);
// AXI4-Lite: the response (0: OKAY), or -1 for none at all. Takes some cycles. Registers of port p begin at p << 16.
int32_t pen_nic_write(struct pen_nic *self, uint32_t address, uint32_t data);
int32_t pen_nic_read(struct pen_nic *self, uint32_t address, uint32_t *data);

}
#pragma GCC visibility pop
