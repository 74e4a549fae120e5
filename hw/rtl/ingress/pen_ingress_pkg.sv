// SPDX-License-Identifier: Apache-2.0
// What the ports of the ingress ask of the units that they share.
package pen_ingress_pkg;
  import pen_pkg::*;

  typedef enum logic [2:0] {
    OPERATION_NONE        = 3'd0,
    OPERATION_RECORD      = 3'd1,  // a frame is complete: identify, forward, shape
    OPERATION_LEARN       = 3'd2,  // learn its source address
    OPERATION_DESTINATION = 3'd3,  // look for a stream by destination address and VLAN
    OPERATION_SOURCE      = 3'd4   // look for a stream by source address and VLAN
  } operation_e;

  // The operation is none outside the port's turn.
  typedef struct packed {
    operation_e   operation;
    logic [2:0]   mac_reason;
    logic         store_full;          // a cell was missing: the frame is not whole
    logic         short_gap;
    logic         has_cells;
    class_t       traffic_class;
    cell_t        frame;
    logic [7:0]   words;               // words stored; what there is of a frame that is not whole
    length_t      length;
    logic [3:0]   age;                 // cycles since the last byte was taken
    logic [47:0]  destination_address; // first octet on the wire in bits 47:40
    logic [47:0]  source_address;
    logic [11:0]  vlan_id;
    logic         has_tag;
    logic [3:0]   pcp_dei;             // of the tag, or of untagged frames
    logic         is_priority_tagged;
    logic         has_r_tag;
    logic [15:0]  sequence_number;     // of that
    correction_t  correction;
    logic         ipv4;
    logic         has_ports;           // the last 32 bits of ipv4_fields mean something
    logic [103:0] ipv4_fields;
    logic         is_stream;           // found by one of the address functions
    stream_t      stream;
    host_way_t    way;
  } request_t;

endpackage
