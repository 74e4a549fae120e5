// SPDX-License-Identifier: Apache-2.0
// Types of the network card's side of the host: virtqueues and access to memory.
package pen_nic_pkg;

  // verilator lint_off UNUSEDPARAM
  localparam int unsigned ADDRESS_W = 48;
  localparam int unsigned WINDOWS = 4;
  localparam int unsigned MAX_QUEUES = 32;      // virtqueues: 16 pairs
  localparam int unsigned HEADER_BYTES = 12;    // virtio_net_hdr_v1 (VIRTIO 1.2, 5.1.6)
  localparam int unsigned FRAME_CELLS = 16;     // of the store, one behind the other: those of a slot
  // verilator lint_on UNUSEDPARAM

  typedef logic [ADDRESS_W-1:0] address_t;
  typedef logic [35:0]          page_t;         // 4 KiB
  typedef logic [4:0]           virtqueue_t;    // receive of pair k: 2k; transmit: 2k+1

  // Pages that the host has given to the card; none if last is below first.
  typedef struct packed {
    logic [31:0] last;
    logic [31:0] first;
  } window_range_t;

  // Why a queue stands still. The number is what the register says.
  typedef enum logic [3:0] {
    QUEUE_ERROR_NONE      = 4'd0,
    QUEUE_ERROR_SETTING   = 4'd1,   // alignment, size, address of 2^48 or more
    QUEUE_ERROR_JUMP      = 4'd2,   // more available than the ring holds
    QUEUE_ERROR_INDEX     = 4'd3,   // descriptor outside of the table
    QUEUE_ERROR_LOOP      = 4'd4,   // chain longer than the ring
    QUEUE_ERROR_EMPTY     = 4'd5,   // descriptor of length zero
    QUEUE_ERROR_LONG      = 4'd6,   // chain of more than 64 KiB
    QUEUE_ERROR_KIND      = 4'd7,   // indirect, or for the other direction
    QUEUE_ERROR_ACCESS    = 4'd8,   // outside of the windows, or refused by the bus
    QUEUE_ERROR_SHORT     = 4'd9    // a first receive descriptor that does not hold the header
  } queue_error_e;

  typedef struct packed {
    address_t    descriptors;       // aligned to 16
    address_t    driver;            // available ring, aligned to 2
    address_t    device;            // used ring, aligned to 4
    logic [3:0]  size_log2;
    logic [15:0] next_available;
    logic [15:0] next_used;
  } queue_settings_t;

  typedef struct packed {
    logic        mark;              // comes back with what was read
    address_t    address;
    logic [16:0] bytes;             // 1 to 65536
  } dma_request_t;

  // Bytes that were read: `count` from lane `offset` on.
  typedef struct packed {
    logic        last;              // of the request
    logic        error;             // with last: not all of it could be read
    logic        mark;              // of the request
    logic [3:0]  count;
    logic [2:0]  offset;
    logic [63:0] data;
  } dma_beat_t;

  typedef struct packed {
    address_t    address;
    logic [16:0] bytes;
    logic        last;              // of its chain
  } buffer_t;

  // A frame that has been fetched, or what became of it.
  typedef enum logic [1:0] {
    FETCHED_WHOLE   = 2'd0,         // in the store
    FETCHED_REFUSED = 2'd1,         // it is none: its chain goes back unsent
    FETCHED_CUT     = 2'd2          // its chain is wrong
  } fetched_e;

  typedef struct packed {
    fetched_e    kind;
    logic        error;             // memory refused some of it
    logic [3:0]  of_queue;
    logic [2:0]  slot;
    logic        timed;             // a launch time stood before it
    logic [15:0] head;
    pen_pkg::length_t bytes;        // read of the chain, the launch time with them
    logic [63:0] launch_time;
  } fetched_t;

  // What is told of a chain that goes back to the driver.
  typedef enum logic [1:0] {
    USED_LAST = 2'd0,               // the driver may see it, and those before it
    USED_MORE = 2'd1,               // not before another one of the queue has come with USED_LAST
    USED_UNDO = 2'd2                // no chain: forget those that nobody may see yet
  } used_e;

  typedef struct packed {
    used_e       kind;
    logic [15:0] head;
    pen_pkg::length_t bytes;        // written into it
  } used_t;

  // How received frames find their queue; see pen_steering.
  typedef struct packed {
    logic             promiscuous;     // any destination address passes
    logic             all_groups;
    logic             by_pcp;
    logic             by_hash;
    logic [47:0]      station_address; // first octet in bits 47:40
    logic [7:0][3:0]  queue_of_pcp;
  } steering_config_t;

  // A frame is a rule's if all parts are equal that the rule names.
  typedef struct packed {
    logic         valid;
    logic         drop;
    logic [3:0]   pair;
    logic         ipv4;                // fields: {source, destination, protocol, source port, destination port}
    logic [4:0]   parts;               //         in this order; else {ethertype, VLAN id, destination address}
    logic [103:0] fields;
  } steering_rule_t;

  // What a received frame was lost by: number of its counter. What was wrong with it: 8 and the reason of pen_mac_rx.
  // verilator lint_off UNUSEDPARAM
  localparam logic [3:0] LOST_FILTERED = 4'd3;
  localparam logic [3:0] LOST_FULL = 4'd4;
  // verilator lint_on UNUSEDPARAM

  // Why time slots were refused. The number is what the register says; of several, the first that applies in this order but
  // that CYCLE comes before TOO_LONG.
  typedef enum logic [3:0] {
    SLOT_ERROR_NONE      = 4'd0,
    SLOT_ERROR_PORT      = 4'd1,    // the card has no such port
    SLOT_ERROR_SLOTS     = 4'd2,    // more than 128
    SLOT_ERROR_QUEUE     = 4'd3,    // a slot of a queue that the card has not
    SLOT_ERROR_NO_TIME   = 4'd4,    // a slot of a queue without time
    SLOT_ERROR_NO_SLOT   = 4'd5,    // a queue with time and no slot
    SLOT_ERROR_TOO_LONG  = 4'd6,    // together above the cycle
    SLOT_ERROR_CYCLE     = 4'd7,    // slots without cycle, or cycle or guard without slots
    SLOT_ERROR_TOO_SHORT = 4'd8,    // a slot, or free time, that no longest frame and its guard fits into
    SLOT_ERROR_LIST      = 4'd9     // a gate list has fewer entries, or no interval as short
  } slot_error_e;

  // A frame for the ATS scheduler of its queue, held until it is answered.
  typedef struct packed {
    logic             valid;
    logic [3:0]       of_queue;
    pen_pkg::length_t length;       // FCS included
  } ats_request_t;

  typedef struct packed {
    logic             valid;        // one cycle
    logic             pass;         // else MaxResidenceTime would be exceeded
    pen_pkg::cycle_t  visible;      // first cycle in which the frame may be selected
  } ats_answer_t;

  // Bytes of a received frame, FCS not counted, behind the header for the host.
  typedef struct packed {
    logic [3:0]       pair;
    pen_pkg::length_t length;
  } received_t;

  // Of a port, and by queue, in groups of 16.
  localparam int unsigned NIC_COUNTERS = 256;
  typedef logic [$clog2(NIC_COUNTERS)-1:0] nic_counter_t;

  typedef struct packed {
    nic_counter_t     index;
    pen_pkg::length_t add;
  } nic_event_t;

endpackage
