// SPDX-License-Identifier: Apache-2.0
// One port of the ingress: puts the bytes of its frames into the store and reads their headers on the way.
//
// The store and the shared units serve the port in its turn. Bytes are gathered to words; a word waits in a register
// for the turn. From the last byte on no further byte is taken until the frame's record and its source address have
// gone out, two turns at most; the bytes of the next frame wait in the receive FIFO meanwhile, and as its preamble and
// gap take longer than that, none is late.
//
// One spare cell is kept at hand, for the next frame or for the next part of this one. A frame that is in error and
// sits in one cell leaves that cell to the next frame.
module pen_ingress_port #(
  parameter bit HOST = 0                              // the host's: its frames have no correction, but their tag
) (
  input  logic                            clk_i,
  input  logic                            rst_i,
  input  logic                            init_busy_i,
  input  logic                            turn_i,         // it is this port's turn
  input  pen_config_pkg::ingress_port_config_t config_i,
  input  pen_pkg::rx_beat_t               beat_i,
  input  logic                            beat_valid_i,
  input  pen_pkg::long_cycle_t            arrival_i,      // of that frame; see pen_correction_begin
  input  pen_pkg::host_way_t              way_i,          // of the frame that the beat belongs to
  output logic                            beat_ready_o,
  output pen_pkg::store_write_t           write_o,
  input  logic                            alloc_valid_i,
  input  pen_pkg::cell_t                  alloc_cell_i,
  output logic                            alloc_take_o,
  output pen_pkg::parsed_byte_t           parsed_o,       // of its frames, a cycle after each is taken
  output pen_ingress_pkg::request_t       request_o,
  input  logic                            found_i,        // a lookup by address found a stream
  input  pen_pkg::stream_t                found_stream_i,
  output logic                            busy_o,         // something changes with this cycle
  output logic                            idle_o
);
  import pen_pkg::*;
  import pen_ingress_pkg::*;

  typedef enum logic [1:0] {
    DISCARD,  // while the tables are being cleared, and then to the end of a frame that has begun
    FRAME,
    RECORD,   // complete; the record goes out in the port's turn
    LEARN     // and the source address in the turn after that
  } state_e;

  state_e  state_q;
  logic    inside_q;   // DISCARD: within a frame
  logic    discards_q; // DISCARD: there is reason to stay
  logic    accept;

  assign accept = beat_valid_i && beat_ready_o;

  // ---- Bytes to words
  length_t          length_q;
  logic [7:0][7:0]  word_q;
  logic             word_full_q;
  logic             word_move;

  assign beat_ready_o = state_q == DISCARD ? discards_q : state_q == FRAME && (!word_full_q || word_move);

  always_ff @(posedge clk_i) begin
    if (accept) word_q[length_q[2:0]] <= beat_i.data;
  end

  // ---- Words to cells
  logic        write_valid_q, link_q;
  logic [63:0] write_data_q;
  word_t       write_word_q;
  cell_t       link_from_q, cell_q, spare_q, first_q;
  logic        spare_valid_q;
  logic        keep_q;         // cell_q was left over from a frame in error
  logic [7:0]  words_q;        // of this frame, so far
  logic        several_q;      // the frame has more than one cell
  logic        store_full_q;
  logic        opens_cell, reuses_cell, store_word, lost;

  assign opens_cell  = words_q[3:0] == '0;
  assign reuses_cell = words_q == '0 && keep_q;
  assign word_move   = word_full_q && (!write_valid_q || turn_i);
  assign lost        = word_move && !store_full_q && opens_cell && !reuses_cell && !spare_valid_q;
  assign store_word  = word_move && !store_full_q && !lost;

  assign alloc_take_o = turn_i && !spare_valid_q && alloc_valid_i;

  always_comb begin
    write_o = '{
      valid:      turn_i && write_valid_q,
      cell_index: cell_q,
      word:       write_word_q,
      data:       write_data_q,
      link_valid: turn_i && write_valid_q && link_q,
      link_from:  link_from_q,
      link_to:    cell_q
    };
  end

  // ---- The record
  logic [2:0] mac_reason_q;
  logic       short_gap_q;
  logic [3:0] age_q;
  logic       record, store_full, several, in_error, has_first;

  assign record     = state_q == RECORD && turn_i;
  assign store_full = store_full_q || lost;
  assign several    = several_q || (store_word && opens_cell && words_q != '0);
  assign in_error   = mac_reason_q != '0 || store_full;
  assign has_first  = words_q != '0 || store_word;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      write_valid_q <= 1'b0;
      spare_valid_q <= 1'b0;
      keep_q        <= 1'b0;
      word_full_q   <= 1'b0;
      words_q       <= '0;
      several_q     <= 1'b0;
      store_full_q  <= 1'b0;
    end else begin
      if (turn_i) write_valid_q <= 1'b0;
      if (alloc_take_o) spare_valid_q <= 1'b1;
      if (word_move) word_full_q <= 1'b0;
      if (accept && state_q == FRAME && (length_q[2:0] == '1 || beat_i.last)) word_full_q <= 1'b1;
      if (lost) store_full_q <= 1'b1;
      if (store_word) begin
        write_valid_q <= 1'b1;
        words_q       <= words_q + 8'd1;
        if (opens_cell) begin
          several_q <= several;
          if (reuses_cell) keep_q <= 1'b0;
          else spare_valid_q <= 1'b0;
        end
      end
      if (record && in_error && has_first && !several) keep_q <= 1'b1;
      if (state_q == LEARN && turn_i) begin
        words_q      <= '0;
        several_q    <= 1'b0;
        store_full_q <= 1'b0;
      end
    end
    if (alloc_take_o) spare_q <= alloc_cell_i;
    if (store_word) begin
      write_data_q <= word_q;
      write_word_q <= words_q[3:0];
      link_q       <= opens_cell && words_q != '0;
      if (opens_cell && !reuses_cell) begin
        cell_q      <= spare_q;
        link_from_q <= cell_q;
      end
      if (words_q == '0) first_q <= reuses_cell ? cell_q : spare_q;
    end
  end

  // ---- The header, read a cycle after its bytes are taken
  logic        parse_q, parsed_last_q;
  logic [7:0]  parsed_q;
  class_t      tag_class_q;      // of the byte, if it is that of a tag
  header_t     header;
  host_way_t   way_q;
  logic [11:0] vlan_id_q;
  logic [3:0]  pcp_dei_q;
  logic        priority_tagged_q;
  class_t      traffic_class_q;

  pen_header_parser u_header (
    .clk_i,
    .clear_i (state_q == LEARN || state_q == DISCARD),  // the record has gone out
    .valid_i (parse_q),
    .data_i  (parsed_q),
    .header_o(header)
  );

  // Why a frame is in error has come with its last byte.
  assign parsed_o = '{valid: parse_q, last: parsed_last_q, good: mac_reason_q == '0, header: header};

  correction_t correction;

  if (HOST) begin : gen_tag
    assign correction = '{is_due: 1'b0, is_carried: 1'b0, cycles: long_cycle_t'(way_q.tag)};

    logic arrival_unused;
    assign arrival_unused = &{1'b0, arrival_i};
  end else begin : gen_correction
    pen_correction_begin u_correction (
      .clk_i,
      .clear_i     (state_q == LEARN || state_q == DISCARD),
      .valid_i     (parse_q),
      .type_valid_i(header.type_valid),
      .last_two_i  (header.last_two),
      .arrival_i,
      .correction_o(correction)
    );
  end

  always_ff @(posedge clk_i) begin
    parse_q     <= state_q == FRAME && accept && !rst_i;
    parsed_q    <= beat_i.data;
    parsed_last_q <= beat_i.last;
    tag_class_q <= config_i.class_of_pcp[beat_i.data[7:5]];
    if (parse_q && header.has_tag && header.position == 5'd14) begin
      traffic_class_q <= tag_class_q;
      pcp_dei_q       <= parsed_q[7:4];
    end
    if (parse_q && header.has_tag && header.position == 5'd15) begin
      if (header.last_two[11:0] != '0) vlan_id_q <= header.last_two[11:0];
      else priority_tagged_q <= 1'b1;
    end
    if (state_q == FRAME && length_q == '0) begin
      way_q             <= way_i;
      vlan_id_q         <= config_i.port_vlan_id;
      traffic_class_q   <= config_i.class_of_untagged;
      pcp_dei_q         <= {config_i.pcp_of_untagged, 1'b0};
      priority_tagged_q <= 1'b0;
    end
  end

  // ---- Streams by address, looked for as soon as header and turn permit
  logic    ask_destination_q, ask_source_q;  // asked already, or not in use
  logic    is_stream_q;
  stream_t stream_q;

  always_ff @(posedge clk_i) begin
    if (state_q == FRAME && length_q == '0) begin
      ask_destination_q <= config_i.identify_enable[IDENTIFY_DESTINATION];
      ask_source_q      <= config_i.identify_enable[IDENTIFY_SOURCE];
      is_stream_q       <= 1'b0;
    end else begin
      if (request_o.operation == OPERATION_DESTINATION) ask_destination_q <= 1'b0;
      if (request_o.operation == OPERATION_SOURCE) ask_source_q <= 1'b0;
      if (found_i && !is_stream_q) begin
        is_stream_q <= 1'b1;
        stream_q    <= found_stream_i;
      end
    end
  end

  always_comb begin
    request_o = '{
      operation:           OPERATION_NONE,
      mac_reason:          mac_reason_q,
      store_full:          store_full,
      short_gap:           short_gap_q,
      has_cells:           has_first && (!in_error || several),
      traffic_class:       traffic_class_q,
      frame:               first_q,
      words:               words_q,
      length:              length_q,
      age:                 age_q,
      destination_address: header.destination_address,
      source_address:      header.source_address,
      vlan_id:             vlan_id_q,
      has_tag:             header.has_tag,
      pcp_dei:             pcp_dei_q,
      is_priority_tagged:  priority_tagged_q,
      has_r_tag:           header.has_r_tag,
      sequence_number:     header.sequence_number,
      correction:          correction,
      ipv4:                header.ipv4,
      has_ports:           header.has_ports,
      ipv4_fields:         header.ipv4_fields,
      is_stream:           is_stream_q,
      stream:              stream_q,
      way:                 way_q
    };
    if (turn_i) begin
      if (record) request_o.operation = OPERATION_RECORD;
      else if (state_q == LEARN) begin
        // Only what came whole, from a station, through a port in use.
        if (mac_reason_q == '0 && !header.source_address[40] && !way_q.direct && config_i.learning_enable
            && config_i.port_enable) begin
          request_o.operation = OPERATION_LEARN;
        end
      end else if (state_q == FRAME && header.is_known) begin
        if (ask_destination_q) request_o.operation = OPERATION_DESTINATION;
        else if (ask_source_q) request_o.operation = OPERATION_SOURCE;
      end
    end
  end

  // ---- Control
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q    <= DISCARD;
      inside_q   <= 1'b0;
      discards_q <= 1'b1;
    end else begin
      case (state_q)
        DISCARD: begin
          if (accept) inside_q <= !beat_i.last;
          discards_q <= init_busy_i || (accept ? !beat_i.last : inside_q);
          if (!discards_q) state_q <= FRAME;
        end
        FRAME: if (accept && beat_i.last) state_q <= RECORD;
        RECORD: if (turn_i) state_q <= LEARN;
        LEARN: if (turn_i) state_q <= FRAME;
      endcase
    end
    if (state_q == FRAME && accept) length_q <= length_q + 11'd1;
    if (rst_i || (state_q == LEARN && turn_i)) length_q <= '0;
    if (accept && beat_i.last) begin
      mac_reason_q <= beat_i.reason;
      short_gap_q  <= beat_i.short_gap;
    end
    age_q <= state_q == RECORD ? age_q + 4'd1 : 4'd1;
  end

  assign idle_o = state_q == FRAME && length_q == '0 && !word_full_q && !write_valid_q && !beat_valid_i;

`ifdef SYNTHESIS  // no clock rests
  assign busy_o = 1'b1;
`else
  assign busy_o = !idle_o || !spare_valid_q;
`endif

  logic unused;
  assign unused = ^{config_i, header};
endmodule
