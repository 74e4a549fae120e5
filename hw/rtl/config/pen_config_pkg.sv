// SPDX-License-Identifier: Apache-2.0
// What travels on the chain of settings, and the settings that each unit keeps.
package pen_config_pkg;
  import pen_pkg::*;

  typedef enum logic [2:0] {
    CONFIG_NONE   = 3'd0,
    CONFIG_STAGE  = 3'd1,              // taken as it passes: part of what a later word commits
    CONFIG_WRITE  = 3'd2,              // acts in all units at once
    CONFIG_READ   = 3'd3,
    CONFIG_ANSWER = 3'd4
  } config_kind_e;

  typedef struct packed {
    config_kind_e kind;
    logic [15:0]  address;             // bytes, as in hw/regs/pen_switch.rdl
    logic [31:0]  data;
  } config_word_t;

  // What a node gives its unit; address and data hold until the next word, a write or read until it is answered.
  typedef struct packed {
    logic        stage;                // one cycle each
    logic        write;
    logic        read;
    logic [15:0] address;
    logic [31:0] data;
  } config_access_t;

  // Of one port's way in.
  typedef struct packed {
    logic             port_enable;
    length_t          max_frame_bytes;           // 64 to 2000
    logic [11:0]      port_vlan_id;              // of untagged and priority-tagged frames
    logic [7:0][2:0]  class_of_pcp;
    class_t           class_of_untagged;
    logic [2:0]       pcp_of_untagged;           // with which such a frame gets a tag
    logic             learning_enable;
    logic [2:0]       identify_enable;           // bit f: identification function f is in use
  } ingress_port_config_t;

  // Of what all ports share on the way in.
  typedef struct packed {
    port_mask_t       port_enable;
    port_mask_t       vlan_tagging;              // bit p: port p tags and untags what it sends, by its VLAN
    port_mask_t       vlan_translation;          // and writes the tag that the VLAN is translated to
    port_mask_t       r_tag_removal;             // bit p: frames leave port p without an R-TAG
    port_mask_t       ptp_correction;            // bit p: event messages from port p get the time that they were inside
    logic [7:0]       ats_classes;               // bit k: class k is ATS, else strict priority
    logic [7:0]       ats_overhead_bytes;        // counted beside the frame itself
    logic [31:0]      processing_delay_max_ns;
    logic [31:0]      aging_period_ms;           // a quiet entry is removed after 2 to 3 of these
    logic             aging_period_is_new;       // in its first cycle: it was another one before
    logic [15:0]      reserved_to_host;          // bit n: frames to 01-80-C2-00-00-0n go to the host port
    logic             identify_ipv4;
    logic [103:0]     identify_ipv4_mask;        // which bits of {src, dst, protocol, source port, dest. port} count
  } ingress_config_t;

  // Of admission to the queues.
  typedef struct packed {
    logic [7:0][11:0] queue_limit_cells;         // per class: of one egress port's queue
    logic [7:0][11:0] class_limit_cells;         // per class: of all ports together
    logic [11:0]      queue_guarantee_cells;     // of each egress port and class
    logic [11:0]      reception_guarantee_cells; // of each reception port
    logic [11:0]      shared_limit_cells;
    port_mask_t       gate_enable;               // GateEnabled: bit p: the gates of port p act
  } buffer_config_t;

  // Of one port's way out.
  typedef struct packed {
    logic             gate_enable;
    logic [7:0]       gate_states;               // before the first list of the port acts
    logic             cbs_count_gap;             // the gap between frames costs credit too
    logic [7:0]       round_robin;               // bit k: class k takes turns with the others
  } egress_port_config_t;

  // Nodes of the chain. A word that is issued in cycle c acts in cycle c + nodes(ports), wherever the unit is.
  function automatic int unsigned nodes(input int unsigned ports);
    return 2 * ports + 6;
  endfunction
endpackage
