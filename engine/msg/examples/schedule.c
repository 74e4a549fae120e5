/* SPDX-License-Identifier: Apache-2.0 */
/* The paper's schedule at an interface: 90 % of each millisecond for queue 2, the rest for queues 1 and 0. */
#include <stdio.h>
#include <string.h>

#include "penstock_msg.h"

int main(int count, char **words) {
  if (count < 2 || strlen(words[1]) > 15) {
    fprintf(stderr, "usage: %s INTERFACE\n", words[0]);
    return 2;
  }
  struct penstock_msg_schedule conf = {
      .queues = 3, .slot_ns = {50000, 50000, 900000}, .slots = 3, .order = {2, 1, 0}, .cycle_ns = 1000000};
  strcpy(conf.interface, words[1]);
  struct penstock_msg_schedule acts = {0};
  strcpy(acts.interface, words[1]);
  if (set_conf(&conf) < 0 || get_conf(&acts) < 0) {
    fprintf(stderr, "%s\n", penstock_msg_error());
    return 1;
  }
  for (int slot = 0; slot < acts.slots; slot++) {
    printf("queue %d: %u of %u ns\n", acts.order[slot], acts.slot_ns[acts.order[slot]], acts.cycle_ns);
  }
  return 0;
}
