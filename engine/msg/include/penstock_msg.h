/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between nodes of tiles, addressed by their 32-bit identities, and the transmission schedule of this node's card. */
/* All functions may be called by any thread. */
#ifndef PENSTOCK_MSG_H
#define PENSTOCK_MSG_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The identity <Grc, Gcc, Lrc, Lcc>: the row and column of the tile, then those within it. */
#define PENSTOCK_MSG_ID(tile_row, tile_column, row, column)                                                            \
  ((uint32_t)(tile_row) << 24 | (uint32_t)(tile_column) << 16 | (uint32_t)(row) << 8 | (uint32_t)(column))

/* What functions give: 0, or one of these. */
enum penstock_msg_code {
  PENSTOCK_MSG_NO_SUCH_NODE = -1, /* outside of the tile or of the addresses */
  PENSTOCK_MSG_LENGTH = -2,       /* 0 bytes, or more than 2^32 - 1 */
  PENSTOCK_MSG_OTHER_LENGTH = -3, /* the message has other than so many bytes; it is kept */
  PENSTOCK_MSG_TIMED_OUT = -4,    /* nothing came, or went, in time */
  PENSTOCK_MSG_LOST = -5,         /* the other node ended in the middle of a message */
  PENSTOCK_MSG_UNREACHABLE = -6,  /* no way, or nobody there */
  PENSTOCK_MSG_STRANGE = -7,      /* what came is no message of this library */
  PENSTOCK_MSG_NOT_OPEN = -8,     /* penstock_msg_open comes first */
  PENSTOCK_MSG_SYSTEM = -9,       /* the operating system refused something */
  PENSTOCK_MSG_NO_CARD = -10,     /* no card with time slots in hardware; interfaces have names */
  PENSTOCK_MSG_SCHEDULE = -11,    /* a schedule that no card could have, or this one not */
  PENSTOCK_MSG_KERNEL = -12,      /* no such interface, or the kernel refused */
  PENSTOCK_MSG_NO_SCHEDULE = -13  /* the interface has none */
};

struct penstock_msg_options {
  uint8_t tile_rows, tile_columns; /* nodes in a tile: 2, 2 */
  uint8_t network[2];              /* the first two bytes of addresses: 10, 0 */
  uint16_t port;                   /* of TCP: 5080 */
  int priority;                    /* SO_PRIORITY of what is sent, 0 to 6 without CAP_NET_ADMIN */
  unsigned timeout_ms;             /* 0: receiving waits as long as the other node lives */
};

void penstock_msg_defaults(struct penstock_msg_options *options);

/* Makes this process the node `self`, whose address one of the host's interfaces has. NULL: the defaults. */
int penstock_msg_open(uint32_t self, const struct penstock_msg_options *options);
void penstock_msg_close(void);

/* Sends `size` bytes; they are in the kernel's hands when it returns. */
int send_msg(const void *data, size_t size, uint32_t dst);

/* Waits for the next message from `src`, which has to have `size` bytes. */
int recv_msg(void *buf, size_t size, uint32_t src);

/* Waits for the next message from `src` and gives its size, which a recv_msg then takes; below 0 a code. */
int64_t penstock_msg_next(uint32_t src);

enum { PENSTOCK_MSG_QUEUES = 16, PENSTOCK_MSG_SLOTS = 128 };

/* When each transmission queue of an interface may send. Frames of SO_PRIORITY k are in queue k, others in queue 0. */
struct penstock_msg_schedule {
  char interface[16];                    /* such as "eth0" */
  uint32_t slot_ns[PENSTOCK_MSG_QUEUES]; /* TQCR: how long the slot of each queue is; 0: it has none */
  uint32_t cycle_ns;                     /* after so long the first slot begins again; queues without a slot have the rest */
  uint32_t guard_ns;                     /* closed at the end of each slot, beyond the guard band of each frame; mostly 0 */
  uint8_t queues;                        /* how many there are */
  uint8_t slots;                         /* how many `order` has; 0: no slots, the queues of the interface as they are */
  uint8_t order[PENSTOCK_MSG_SLOTS];     /* SCR: the queue of each slot */
};

/* Sets an interface to a schedule and returns when it acts. Needs CAP_NET_ADMIN. */
int set_conf(const struct penstock_msg_schedule *cfg);

/* Fills in what acts at buf->interface, as the kernel says it. */
int get_conf(struct penstock_msg_schedule *buf);

/* The last code of this thread in words, until its next call. */
const char *penstock_msg_error(void);

#ifdef __cplusplus
}
#endif
#endif
