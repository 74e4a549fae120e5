// SPDX-License-Identifier: Apache-2.0
// Types that travel between the modules of the switch.
//
// Widths are those of the largest configuration, so that one set of types serves every size; memories store only the
// bits that their configuration needs.
package pen_pkg;

  // verilator lint_off UNUSEDPARAM
  localparam int unsigned MAX_PORTS = 8;
  localparam int unsigned CLASSES = 8;
  localparam int unsigned CELL_BYTES = 128;    // the store is handed out in cells
  localparam int unsigned WORD_BYTES = 8;      // and written and read in words
  localparam int unsigned WORDS_PER_CELL = CELL_BYTES / WORD_BYTES;
  localparam int unsigned CYCLE_NS = 8;        // 125 MHz
  localparam int unsigned GATE_MIN_INTERVAL_NS = 64;
  localparam int unsigned GATE_TIME_W = 36;    // of gate times that are near; compared across the wrap
  // verilator lint_on UNUSEDPARAM

  typedef logic [2:0]  port_t;
  typedef logic [7:0]  port_mask_t;            // bit p: port p
  typedef logic [2:0]  class_t;                // traffic class, 7 is served first
  typedef logic [10:0] length_t;               // bytes, destination address to FCS
  typedef logic [11:0] cell_t;                 // a cell of the store; a frame is named by its first cell
  typedef logic [3:0]  word_t;                 // a word within a cell
  typedef logic [4:0]  cell_count_t;           // cells of one frame, at most 16
  typedef logic [11:0] stream_t;               // stream handle
  typedef logic [12:0] init_index_t;           // counts up while tables are cleared
  typedef logic [63:0] time_ns_t;              // free-running time, nanoseconds since reset
  typedef logic [27:0] cycle_t;                // free-running time in cycles, modulo 2^28; compared across the wrap
  typedef logic [29:0] long_cycle_t;           // the same, modulo 2^30: no frame is inside for half as long

  // Why a frame, or one copy of it, was not forwarded. The number is the index of its counter.
  typedef enum logic [4:0] {
    REASON_NONE             = 5'd0,
    REASON_PREAMBLE         = 5'd1,   // carrier without a start-of-frame delimiter
    REASON_RX_ER            = 5'd2,   // the PHY signalled an error inside the frame
    REASON_GIANT            = 5'd3,   // longer than max_frame_bytes
    REASON_RUNT             = 5'd4,   // shorter than 64 bytes
    REASON_FCS              = 5'd5,
    REASON_OVERRUN          = 5'd6,   // the receive FIFO was full
    REASON_PORT_DISABLED    = 5'd7,   // or cut by a reset of its port
    REASON_RESERVED_ADDRESS = 5'd8,   // 01-80-C2-00-00-00 to -0F
    REASON_VLAN             = 5'd9,   // reception port not a member, or VLAN id 4095
    REASON_NO_DESTINATION   = 5'd10,  // no port left to forward to
    REASON_RESIDENCE        = 5'd11,  // ATS: MaxResidenceTime exceeded
    REASON_STORE_FULL       = 5'd12,
    REASON_QUEUE_FULL       = 5'd13,
    REASON_CLASS_FULL       = 5'd14,
    REASON_LIFETIME         = 5'd15,  // 802.1Q 6.5.6: queued for longer than a bridge may hold a frame
    REASON_MAX_SDU          = 5'd16   // of a copy: longer than queueMaxSDU or than any time the gate stays open
  } reason_e;

  // One received byte. `reason` and `short_gap` are valid with `last`.
  typedef struct packed {
    logic       last;
    logic       short_gap;            // the gap before this frame was below 12 bytes
    logic [2:0] reason;               // REASON_NONE to REASON_PORT_DISABLED
    logic [7:0] data;
  } rx_beat_t;

  // How a frame goes on, as the host says that gave it to the switch; see pen_host_rx. One from a wire: as if received
  // where it was.
  typedef struct packed {
    logic       stamped;              // the host is told when it leaves
    logic [7:0] tag;                  // by which the host knows it then
    logic       direct;               // it leaves by `ports` and in `traffic_class`, whatever it says itself
    port_mask_t ports;
    class_t     traffic_class;
    port_t      port;                 // else: forwarded as if received here
  } host_way_t;

  // What an egress port does with the VLAN tag of a frame.
  typedef enum logic [1:0] {
    TAG_KEEP    = 2'd0,               // the frame leaves as it came
    TAG_REMOVE  = 2'd1,               // it has one
    TAG_INSERT  = 2'd2,               // it has none
    TAG_REWRITE = 2'd3                // it has one, and gets that of its label
  } tag_e;

  // And with its R-TAG, the sequence number of IEEE 802.1CB, which stands behind the VLAN tag.
  typedef enum logic [1:0] {
    R_TAG_KEEP   = 2'd0,              // as the frame came, with one or without
    R_TAG_INSERT = 2'd1,              // it has none, and gets that of its label
    R_TAG_REMOVE = 2'd2               // it has one
  } r_tag_e;

  // Credit of a class, in whole bits, where it may be an extreme or is read.
  localparam int unsigned CREDIT_BITS_W = 24;
  typedef enum logic [1:0] {CREDIT_LOW, CREDIT_HIGH, CREDIT_READ} credit_sample_e;
  typedef struct packed {
    logic                     valid;
    credit_sample_e           kind;
    class_t                   traffic_class;
    logic [CREDIT_BITS_W-1:0] bits;   // signed
  } credit_sample_t;

  // What an egress port changes of a frame.
  typedef struct packed {
    r_tag_e r_tag;
    tag_e   tag;
  } edit_t;

  // The correctionField of an event message of PTP (IEEE 1588 13.3.2.9), eight bytes in units of 2^-16 ns, on its way to
  // what it is with the time that the message was inside, which is whole cycles, 2^19 units each.
  typedef struct packed {
    logic        is_due;              // there is one, and it gets that time
    logic        is_carried;          // by its second byte: what this carries goes on to the first
    long_cycle_t cycles;              // its bits 47:19, less the cycle in which the message came
  } correction_t;

  // The tags of a frame as the bridge understands them (802.1Q 6.9): what it is classified to, tagged or not.
  typedef struct packed {
    logic        stamped;             // the host is told when it leaves; see host_way_t
    correction_t correction;          // of what the host gave, in which none is due, `cycles` is its tag
    port_mask_t  translate;           // ports at which the tag is that of the egress translation of the frame's VLAN
    logic        has_tag;
    logic [15:0] sequence_number;     // of the R-TAG that it came with, or gets
    logic        is_priority_tagged;  // it came with a tag, of VLAN 0
    logic [2:0]  pcp;
    logic        dei;
    logic [11:0] vlan_id;
    logic [2:0]  egress_pcp;          // where ports translate
    logic [11:0] egress_vlan_id;
  } label_t;

  // An entry of the VLAN table (802.1Q 8.8.10, and the egress VID translation of 6.9).
  typedef struct packed {
    logic        sets_pcp;
    logic [2:0]  egress_pcp;
    logic [11:0] egress_vlan_id;      // 0: the VLAN itself
    port_mask_t  untagged;
    port_mask_t  members;
  } vlan_entry_t;

  typedef struct packed {
    logic   valid;
    cell_t  frame;
    label_t value;
  } label_write_t;

  localparam length_t TAG_BYTES = 4;
  localparam length_t R_TAG_BYTES = 6;
  localparam logic [15:0] TYPE_R_TAG = 16'hF1C1;
  localparam logic [15:0] TYPE_PTP = 16'h88F7;
  localparam length_t MIN_FRAME_BYTES = 64;

  // Of the one bit that is set.
  function automatic class_t class_of(input logic [CLASSES-1:0] classes);
    class_of = '0;
    for (int unsigned k = 0; k < CLASSES; k++) if (classes[k]) class_of |= class_t'(k);
  endfunction

  // Whether a port of a switch of that size sends a frame that loses bytes so much later: its words come no faster than it
  // sends them.
  function automatic logic waits_for_words(input int unsigned ports);
    return ports > 4;
  endfunction

  // By how many bytes a frame becomes longer, -10 to 10; below zero: shorter.
  typedef logic signed [4:0] growth_t;
  function automatic growth_t growth(input edit_t edit);
    growth_t bytes;
    unique case (edit.tag)
      TAG_INSERT: bytes = 5'sd4;
      TAG_REMOVE: bytes = -5'sd4;
      default:    bytes = '0;
    endcase
    unique case (edit.r_tag)
      R_TAG_INSERT: return bytes + 5'sd6;
      R_TAG_REMOVE: return bytes - 5'sd6;
      default:      return bytes;
    endcase
  endfunction

  function automatic logic [3:0] lost_bytes(input edit_t edit);
    return growth(edit) < 0 ? 4'(-growth(edit)) : '0;
  endfunction

  // It becomes shorter and is filled up to the least that may be sent; a frame that came has that, 64 bytes.
  function automatic logic is_padded(input length_t length, input edit_t edit);
    return length[10:4] == MIN_FRAME_BYTES[10:4] && length[3:0] < lost_bytes(edit);
  endfunction

  // How long a frame has the wire at an egress port, less preamble, delimiter and gap. If it becomes too short it is padded.
  function automatic length_t slot_length(input length_t length, input edit_t edit, input int unsigned ports);
    length_t waits;
    waits = waits_for_words(ports) ? length_t'(lost_bytes(edit)) : '0;
    if (is_padded(length, edit)) return MIN_FRAME_BYTES + waits;
    return length + length_t'(signed'(growth(edit))) + waits;
  endfunction

  // The same where its words of four bytes are known. Its last two bits need no sum: tags are whole words, R-TAGs one and a
  // half.
  typedef logic [8:0] slot_words_t;
  function automatic length_t slot_length_of(
    input slot_words_t words, input length_t length, input edit_t edit, input int unsigned ports
  );
    logic waits;
    waits = waits_for_words(ports) && edit.r_tag == R_TAG_REMOVE;
    if (is_padded(length, edit)) return {words, waits, 1'b0};
    return {words, length[1] ^ (edit.r_tag inside {R_TAG_INSERT, R_TAG_REMOVE}) ^ waits, length[0]};
  endfunction

  // A write to the store and, when a frame goes on into another cell, to the chain of cells.
  // Valid in the port's own turn only.
  typedef struct packed {
    logic        valid;
    cell_t       cell_index;
    word_t       word;
    logic [63:0] data;                // first byte of the frame in bits 7:0
    logic        link_valid;          // chain[link_from] = link_to
    cell_t       link_from;
    cell_t       link_to;
  } store_write_t;

  // A read from the store, valid in the port's own turn only.
  typedef struct packed {
    logic  valid;
    cell_t cell_index;
    word_t word;
  } store_read_t;

  // The answer, two cycles after the read is at the store.
  typedef struct packed {
    logic        valid;
    port_t       port;
    logic [63:0] data;
    cell_t       next_cell;           // chain[cell_index] of the read
    label_t      label_of;            // of the frame, if cell_index is its first cell
  } store_data_t;

  // A frame that has been received, identified, forwarded and shaped, on its way to admission.
  typedef struct packed {
    logic        valid;
    reason_e     reason;              // not REASON_NONE: the frame is dropped here
    logic        short_gap;
    logic        has_cells;           // cells of a dropped frame have to be reclaimed
    port_t       port;                // reception port
    port_mask_t  destination;
    edit_t [MAX_PORTS-1:0] edit;      // per destination
    class_t      traffic_class;
    cell_t       frame;
    length_t     length;
    cycle_t      visible;             // first cycle in which it may be selected
    logic        is_stream;
    stream_t     stream;
    logic        shaped;              // an ATS scheduler assigned the eligibility time
  } classified_t;

  // The account that the cells of a queued frame were charged to.
  typedef enum logic [1:0] {
    POOL_QUEUE     = 2'd0,            // guaranteed to the egress port and class
    POOL_RECEPTION = 2'd1,            // guaranteed to the reception port
    POOL_SHARED    = 2'd2
  } pool_e;

  // A frame that enters the queues of all its destinations at once.
  typedef struct packed {
    port_mask_t             destination;   // zero: nothing is queued
    pool_e [MAX_PORTS-1:0]  pool;          // per destination
    edit_t [MAX_PORTS-1:0]  edit;          // per destination
    class_t                 traffic_class;
    port_t                  port;          // reception port
    cell_t                  frame;
    length_t                length;
    length_t [MAX_PORTS-1:0] slot;         // per destination, see slot_length
    cycle_t                 visible;
    logic                   shaped;        // an ATS scheduler assigned the eligibility time
  } enqueue_t;

  // A copy that an egress port has sent or given up: its cells are no longer needed there.
  typedef struct packed {
    logic    valid;
    pool_e   pool;
    class_t  traffic_class;
    port_t   port;                    // reception port
    cell_t   frame;
    length_t length;
  } release_t;

  // What became of a received frame; one at most in a cycle. For counters and for observers.
  typedef struct packed {
    logic                      valid;
    reason_e                   reason;        // of the whole frame
    logic                      short_gap;
    port_t                     port;
    port_mask_t                destination;   // copies queued
    port_mask_t                refused;       // copies refused at admission
    reason_e [MAX_PORTS-1:0]   refused_reason;
    class_t                    traffic_class;
    cell_t                     frame;
    length_t                   length;
    cycle_t                    visible;
    logic                      is_stream;
    stream_t                   stream;
    logic                      shaped;
  } verdict_t;

  // What an egress port does with a queued copy.
  typedef struct packed {
    logic    sent;                    // selected for transmission in this cycle
    logic    expired;                 // given up; after `sent`: cut on the wire
    reason_e reason;                  // of a copy given up: REASON_LIFETIME, REASON_MAX_SDU or REASON_PORT_DISABLED
    class_t  traffic_class;
    cell_t   frame;
  } egress_event_t;

  // Stream identification functions; the first that finds an entry wins.
  typedef enum logic [1:0] {
    IDENTIFY_IPV4        = 2'd0,  // {source, destination, protocol, source port, destination port}, masked
    IDENTIFY_DESTINATION = 2'd1,  // {44'b0, VLAN id, destination address} (802.1CB null stream identification)
    IDENTIFY_SOURCE      = 2'd2   // {44'b0, VLAN id, source address} (802.1CB source MAC and VLAN)
  } identify_e;

  typedef struct packed {
    identify_e    identify;
    port_t        port;           // reception port: a scheduler belongs to one group and so to one port
    logic [103:0] fields;
  } stream_key_t;

  // What has been read of the header of a frame, with a byte of it; see pen_header_parser.
  typedef struct packed {
    logic [4:0]   position;           // of that byte; stays behind the EtherType
    logic [15:0]  last_two;           // that byte and the one before it
    logic [47:0]  destination_address;// first octet on the wire in bits 47:40; from byte 12 on, as the next
    logic [47:0]  source_address;
    logic         has_tag;            // from byte 14 on
    logic         has_r_tag;          // it has been there
    logic [15:0]  sequence_number;    // that it holds
    logic         is_known;           // addresses and VLAN have been there
    logic         type_valid;         // last_two is the EtherType, that behind a tag if there is one
    logic         ipv4_complete;      // all that identifies a flow by IPv4 has been there
    logic         ipv4;               // and it stands before the FCS; see pen_ipv4_key
    logic         has_ports;
    logic [103:0] ipv4_fields;
  } header_t;

  // A byte of a frame, with what has been read of its header.
  typedef struct packed {
    logic    valid;
    logic    last;
    logic    good;                    // with last: the frame is whole and without error
    header_t header;
  } parsed_byte_t;

  // TAI as IEEE 1588 writes it.
  typedef struct packed {
    logic [47:0] seconds;
    logic [29:0] ns;
    logic [31:0] fraction;            // of a nanosecond
  } ptp_time_t;

  typedef enum logic [2:0] {
    PTP_SET       = 3'd1,  // data {seconds[79:32], ns[31:0]}
    PTP_STEP      = 3'd2,  // the same as an offset: seconds in two's complement, nanoseconds still positive
    PTP_SLEW      = 3'd3,  // data {rate[63:32], ns[31:0]}: signed nanoseconds, at 2^-32 ns times rate in each cycle
    PTP_INCREMENT = 3'd4   // data {ns[39:32], fraction[31:0]} per cycle
  } ptp_command_e;

  typedef enum logic [2:0] {
    PTP_ERROR_NONE        = 3'd0,
    PTP_ERROR_NANOSECONDS = 3'd1,  // 10^9 or more
    PTP_ERROR_BEYOND      = 3'd2,  // the time would be below zero, or 2^63 ns or more
    PTP_ERROR_INCREMENT   = 3'd3,  // below 1 ns
    PTP_ERROR_RATE        = 3'd4,  // a slew that would never end
    PTP_ERROR_COMMAND     = 3'd5   // no such command
  } ptp_error_e;

  // A message that was found in a stream of frames, on its way to its time stamp; see pen_ptp_parser.
  typedef struct packed {
    logic        found;
    logic        good;
    logic [7:0]  index;
    logic        other;
    logic [1:0]  message_type;
    logic [15:0] sequence_id;
  } stamp_request_t;

  typedef struct packed {
    logic        valid;
    logic        other;               // no event message of PTP
    logic [1:0]  message_type;        // of PTP: 0 Sync, 1 Delay_Req, 2 Pdelay_Req, 3 Pdelay_Resp
    logic [15:0] sequence_id;         // of the message; what stands there in another frame; for an edge of the input its number
    ptp_time_t   moment;              // fraction: the upper 8 bits
  } stamp_t;

  // When a frame of the host left by a port, on its way to the host.
  typedef struct packed {
    port_t      port;
    logic [7:0] tag;                  // of the host
    logic [7:0] lost;                 // stamps that found no place before this one, 255: or more
    ptp_time_t  moment;               // seconds below 2^34, fraction: the upper 8 bits
  } egress_stamp_t;

  // What a gate list is beside its entries.
  typedef struct packed {
    logic [47:0] base_seconds;
    logic [29:0] base_nanoseconds;
    logic [31:0] cycle_time_ns;
    logic [31:0] extension_ns;
    logic [15:0] entries;
    port_t       port;
  } gate_admin_t;

  // Writes one whole table entry in one cycle, so that a half-written entry can never act.
  typedef enum logic [3:0] {
    TABLE_STREAM_KEY  = 4'd0,  // index {table[15], slot}; data {valid[121], stream[120:109], key[108:0]}
    TABLE_STREAM_RATE = 4'd1,  // index stream; data {empty_to_full[95:44], ns_per_byte[43:0]}; the bucket becomes full
    TABLE_GROUP       = 4'd2,  // index {port, class}; data {max_residence_ns[31:0]}
    TABLE_VLAN        = 4'd3,  // index VLAN id; data vlan_entry_t
    TABLE_FDB         = 4'd4,  // index {way[15], set}; data {valid[71], static[70], age[69:68], ports[67:60], vlan[59:48], address[47:0]}
    TABLE_GATE_ENTRY  = 4'd6,  // index of the entry; data {operation[41:40], states[39:32], interval_ns[31:0]}
    TABLE_CREDIT      = 4'd7,  // index {port, class}; data {enable[96], idle_slope[27:0]}; the credit becomes zero
    TABLE_MAX_SDU     = 4'd8,  // index {port, class}; data {bytes[10:0]}
    TABLE_STEERING    = 4'd9,  // of a network card: index of the rule; data steering_rule_t
    TABLE_NUMBERING   = 4'd10  // index stream; data {numbered[0]}
  } table_e;

  typedef struct packed {
    logic         valid;
    table_e       which;
    logic [15:0]  index;
    logic [127:0] data;
  } table_write_t;

  // How long a gate stays open, in nanoseconds; the largest value says that or more, and is longer than any frame.
  typedef logic [13:0] window_t;
  typedef logic [GATE_TIME_W-1:0] gate_time_t;

  // Why a gate list was refused, or what was noticed as it was taken. The number is what the register says.
  typedef enum logic [3:0] {
    GATE_ERROR_NONE             = 4'd0,
    GATE_ERROR_NO_ENTRIES       = 4'd1,
    GATE_ERROR_TOO_MANY_ENTRIES = 4'd2,
    GATE_ERROR_INTERVAL         = 4'd3,   // below GATE_MIN_INTERVAL_NS
    GATE_ERROR_OPERATION        = 4'd4,
    GATE_ERROR_CYCLE_TIME       = 4'd5,   // below GATE_MIN_INTERVAL_NS
    GATE_ERROR_BASE_TIME        = 4'd6,   // beyond the clock
    GATE_ERROR_BASE_TIME_PAST   = 4'd7    // taken, but the base time had passed while a list ran (802.1Q 8.6.9.3)
  } gate_error_e;

  // One entry of a list as the gates execute it; 144 bits fill the words of two block RAMs.
  typedef struct packed {
    window_t [7:0] after_ns;          // per class: how long it is open from the end of this entry on
    logic [31:0]   interval_ns;
  } gate_entry_t;

  // Parts of a port's gate memory: the two lists in turn, the last cycle before a change, and what else goes with a list.
  localparam logic [1:0] GATE_BANK_LAST_CYCLE = 2'd2;
  localparam logic [1:0] GATE_BANK_WINDOWS    = 2'd3;  // index {largest, list}: windows at its start, largest windows

  typedef enum logic [2:0] {
    GATE_COMMAND_NONE     = 3'd0,
    GATE_COMMAND_CHANGE   = 3'd1,     // the cycle that holds, or begins at, this time is the last before the change
    GATE_COMMAND_CANCEL   = 3'd2,     // no change
    GATE_COMMAND_HOLD     = 3'd3,     // the list in force begins anew at this time, until then the states are held
    GATE_COMMAND_HOLD_NEW = 3'd4      // the new list begins at this time, until then the states are held
  } gate_command_e;

  // What pen_gate_config tells of a port.
  typedef enum logic [1:0] {
    GATE_STATUS_CHANGE_TIME = 2'd0,   // ConfigChangeTime
    GATE_STATUS_BASE_TIME   = 2'd1,   // of the list in force
    GATE_STATUS_CYCLE       = 2'd2    // {CycleTimeExtension, cycle time} of the list in force
  } gate_status_e;

  // From pen_gate_config to the gates of all ports.
  typedef struct packed {
    port_t         port;
    gate_command_e command;
    gate_time_t    time_ns;           // of the command
    logic          is_short;          // CHANGE: the last cycle is shorter than 2^15 ns
    logic          write;
    logic [1:0]    bank;
    logic [9:0]    index;
    gate_entry_t   entry;
    logic          is_last;           // the entry ends its cycle
    logic          is_long;           // with it: its interval is 2^32 ns longer, in the last cycle before a change
  } gate_config_t;

endpackage
