/* SPDX-License-Identifier: Apache-2.0 */
/* A message to a node, and back: hello SELF OTHER, identities as 0x00010100; the one with the lower identity begins. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "penstock_msg.h"

static void check(int code, const char *what) {
  if (code < 0) {
    fprintf(stderr, "%s: %s (%d)\n", what, penstock_msg_error(), code);
    exit(1);
  }
}

int main(int count, char **words) {
  if (count < 3) {
    fprintf(stderr, "usage: %s SELF OTHER [NETWORK_BYTE PORT]\n", words[0]);
    return 2;
  }
  uint32_t self = strtoul(words[1], NULL, 0), other = strtoul(words[2], NULL, 0);
  struct penstock_msg_options options;
  penstock_msg_defaults(&options);
  options.timeout_ms = 20000;
  if (count > 4) {
    options.network[0] = (uint8_t)atoi(words[3]);
    options.port = (uint16_t)atoi(words[4]);
  }
  check(penstock_msg_open(self, &options), "open");

  char text[32];
  if (self < other) {
    check(send_msg("hello", 5, other), "send");
  }
  int64_t size = penstock_msg_next(other);
  check((int)size, "next");
  if ((size_t)size >= sizeof text) {
    return 1;
  }
  check(recv_msg(text, (size_t)size, other), "receive");
  text[size] = 0;
  printf("0x%08x: %s\n", other, text);
  if (self > other) {
    check(send_msg("and back", 8, other), "send");
  }
  penstock_msg_close();
  return 0;
}
