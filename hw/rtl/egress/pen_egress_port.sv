// SPDX-License-Identifier: Apache-2.0
// One egress port: queues, credit, selection, reader and the transmit side of the MAC.
//
// A frame that is enqueued in cycle q is selected in cycle q+2 at the earliest. One selected in cycle n has its first
// preamble byte on the wire in n+4 and its first byte in n+12. Selection goes on in n+20+length, so that frames that
// wait follow each other with a gap of exactly 12 bytes. Gates and credit are those of the cycle of the selection, so
// gates have to be ahead of the wire by these 4 cycles.
//
// While the port is in reset frames are selected and read as ever, so that their cells come back, but nothing is on the
// wire: they are given up. One that was on its way out has been told as sent, and is now told as given up too.
module pen_egress_port
  import pen_pkg::*;
#(
  parameter int unsigned PORTS = 4,
  parameter int unsigned CELLS = 1024,
  parameter int unsigned PORT  = 0,
  parameter bit          HOST  = 0,     // frames go to the host, not to a wire
  parameter bit          FCS   = 0,     // the last four bytes of frames are their FCS only on the wire, and none has an edit
  parameter int unsigned LATE  = 0      // by so many cycles the count of cycles comes late
) (
  input  logic          clk_i,
  input  logic          rst_i,
  input  logic          port_reset_i,   // of the transmitter
  input  logic          init_busy_i,
  input  init_index_t   init_index_i,
  input  logic          has_turn_i,     // it is this port's turn
  input  long_cycle_t   late_cycle_i,   // what the count of cycles was LATE cycles ago
  input  enqueue_t      enqueue_i,
  // Gates of this port: the states now, and what pen_queue needs of the next cycle
  input  logic [CLASSES-1:0]    open_i,
  input  logic [CLASSES-1:0]    open_next_i,
  input  logic                  guard_next_i,
  input  logic [15:0]           remaining_next_ns_i,
  input  window_t [CLASSES-1:0] after_next_ns_i,
  input  logic                  gate_enable_i,
  input  window_t [CLASSES-1:0] largest_window_ns_i,
  // Credit-based shapers of this port
  input  logic          credit_write_i,
  input  class_t        credit_write_class_i,
  input  logic          credit_write_enable_i,
  input  logic [27:0]   credit_write_idle_slope_i,
  input  logic          count_gap_i,
  input  logic [CLASSES-1:0] round_robin_i,  // classes that take turns, see pen_selection
  // What is observed, per class
  input  class_t         status_class_i,
  output logic           overrun_o,       // see pen_overruns
  output class_t         overrun_class_o,
  input  logic           credit_read_i,   // see pen_credit
  output credit_sample_t credit_sample_o,
  input  logic           credit_sample_ready_i,
  output store_read_t   store_read_o,   // valid in the port's turn only
  input  store_data_t   store_data_i,
  output release_t      release_o,      // valid in the port's turn only
  output egress_event_t event_o,        // two cycles after the selection
  output length_t       sent_length_o,  // of the frame that it says is sent, as it is sent, a cycle after it
  output logic [7:0]    gmii_txd_o,
  output logic          gmii_tx_en_o,
  output logic          gmii_tx_er_o,
  output logic          stamped_o,        // the host wants to be told when this frame leaves; from before its delimiter
  output logic [7:0]    stamp_tag_o,      // by this tag
  input  ptp_time_t     stamp_i,          // with HOST: when the frame was received that was told as sent last
  input  logic          stamp_valid_i,    // with HOST: the host is to be told of a frame of its own
  input  egress_stamp_t stamp_told_i,
  output logic          stamp_ready_o,
  output logic          m_axis_tvalid_o,  // with HOST; see pen_host_tx
  input  logic          m_axis_tready_i,
  output logic [7:0]    m_axis_tdata_o,
  output logic          m_axis_tlast_o,
  output logic          m_axis_tuser_o,
  output logic          idle_o
);
  logic       grant, tx_ready, mac_ready, mac_sending, queue_idle, reader_idle, credit_idle;
  logic [CLASSES-1:0] granted;
  logic [CLASSES-1:0] credit, waiting, sending;
  release_t   popped, released;
  edit_t      popped_edit, edit;
  slot_words_t popped_slot_words;
  length_t    popped_slot, slot_q, left;
  label_t     frame_label;
  logic [3:0] pad, skip;
  logic       edited_ready, edited_valid;
  logic [7:0] edited;
  logic       expired_valid, expired_ready;
  reason_e    expired_reason;
  logic       start, data_valid, data_ready, stall;
  length_t    length;
  logic [7:0] data;

`ifdef FORMAL_WIRE
  // Whatever queues, credit and what is counted do, as far as the contract below says.
  typedef struct packed {
    logic     grant;
    class_t   granted_class;
    release_t popped;
    edit_t    popped_edit;
    slot_words_t popped_slot_words;
    logic     expired_valid;
    reason_e  expired_reason;
    length_t  length;            // of the frame that is granted, as it has the wire
  } f_queue_t;
  (* anyseq *) f_queue_t f_any;
  f_queue_t              f_queue_q;
  always_ff @(posedge clk_i) f_queue_q <= f_any;
  assign grant          = f_queue_q.grant;
  assign popped         = f_queue_q.popped;
  assign popped_edit    = f_queue_q.popped_edit;
  assign popped_slot_words = f_queue_q.popped_slot_words;
  assign expired_valid  = f_queue_q.expired_valid;
  assign expired_reason = f_queue_q.expired_reason;
  assign {overrun_o, overrun_class_o, credit_sample_o, waiting, credit, sending, queue_idle, credit_idle} = '0;
`else
  pen_queue #(.PORTS(PORTS), .CELLS(CELLS), .PORT(PORT), .LATE(LATE)) u_queue (
    .clk_i,
    .rst_i,
    .init_busy_i,
    .init_index_i,
    .late_cycle_i    (cycle_t'(late_cycle_i)),
    .enqueue_i,
    .tx_ready_i      (tx_ready && !stamp_valid_i),
    .open_next_i,
    .guard_next_i,
    .remaining_next_ns_i,
    .after_next_ns_i,
    .gate_enable_i,
    .largest_window_ns_i,
    .credit_i        (credit),
    .round_robin_i,
    .waiting_o       (waiting),
    .grant_o         (grant),
    .granted_o       (granted),
    .popped_o        (popped),
    .popped_edit_o   (popped_edit),
    .popped_slot_words_o(popped_slot_words),
    .expired_valid_o (expired_valid),
    .expired_reason_o(expired_reason),
    .expired_ready_i (expired_ready),
    .idle_o          (queue_idle)
  );

  pen_credit u_credit (
    .clk_i,
    .rst_i,
    .write_i           (credit_write_i),
    .write_class_i     (credit_write_class_i),
    .write_enable_i    (credit_write_enable_i),
    .write_idle_slope_i(credit_write_idle_slope_i),
    .count_gap_i,
    .waiting_i         (waiting),
    .open_i,
    .granted_i         (granted),
    .selected_i        (popped.valid),
    .length_i          (slot_q),
    .ready_o           (credit),
    .sending_o         (sending),
    .sending_class_o   (overrun_class_o),
    .idle_o            (credit_idle),
    .read_i            (credit_read_i),
    .read_class_i      (status_class_i),
    .sample_o          (credit_sample_o),
    .sample_ready_i    (credit_sample_ready_i)
  );

  logic [CLASSES-1:0] open_q;
  always_ff @(posedge clk_i) begin
    open_q    <= open_i;
    overrun_o <= !rst_i && (sending & open_q & ~open_i) != '0;
  end
`endif

  assign popped_slot = slot_length_of(popped_slot_words, popped.length, popped_edit, PORTS);

  pen_egress_reader #(.PORTS(PORTS), .CELLS(CELLS), .PORT(PORT)) u_reader (
    .clk_i,
    .rst_i,
    .has_turn_i,
    .tx_ready_o   (tx_ready),
    .grant_i      (grant),
    .popped_i     (popped),
    .popped_edit_i(popped_edit),
    .popped_slot_i(popped_slot),
    .store_read_o,
    .store_data_i,
    .release_o    (released),
    .slot_o       (slot_q),
    .start_o      (start),
    .length_o     (length),
    .pad_o        (pad),
    .edit_o       (edit),
    .label_o      (frame_label),
    .data_valid_o (data_valid),
    .data_o       (data),
    .data_ready_i (data_ready),
    .stall_i      (stall),
    .skip_i       (skip),
    .idle_o       (reader_idle)
  );

  // What is known of a frame is there a cycle after its start.
  logic started_q;
  always_ff @(posedge clk_i) started_q <= start;

  if (FCS) begin : gen_fcs
    pen_fcs u_fcs (
      .clk_i,
      .start_i     (started_q),
      .data_i      (data),
      .data_o      (edited),
      .data_ready_i(edited_ready),
      .left_i      (left)
    );
    assign edited_valid = data_valid;
    assign data_ready   = edited_ready;
    assign skip         = '0;

    logic unused_edit;
    assign unused_edit = &{1'b0, edit, frame_label, pad, late_cycle_i};
  end else begin : gen_editor
    label_t label_here;
    always_comb begin
      label_here = frame_label;
      if (HOST) label_here.correction.is_due = 1'b0;
    end

    pen_editor #(.LATE(LATE)) u_editor (
      .clk_i,
      .start_i     (started_q),
      .edit_i      (edit),
      .translate_i (frame_label.translate[PORT]),
      .label_i     (label_here),
      .late_cycle_i,
      .pad_i       (pad),
      .data_valid_i(data_valid),
      .data_i      (data),
      .data_ready_o(data_ready),
      .skip_o      (skip),
      .data_valid_o(edited_valid),
      .data_o      (edited),
      .data_ready_i(edited_ready),
      .left_i      (left)
    );
  end

  assign stamped_o   = frame_label.stamped;
  assign stamp_tag_o = frame_label.correction.cycles[7:0];

  // The frame that was selected last: not for the wire, or cut there.
  logic     lost_q, due_q, cut;
  release_t told;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      lost_q <= 1'b0;
      due_q  <= 1'b0;
    end else begin
      if (port_reset_i || popped.valid) lost_q <= port_reset_i;
      due_q <= popped.valid || (due_q && !start);
    end
  end

  assign cut = port_reset_i && !lost_q && (due_q || mac_sending);

  if (HOST) begin : gen_host
    pen_host_tx u_host (
      .clk_i,
      .rst_i,
      .start_i        (start),
      .length_i       (length),
      .port_i         (released.port),
      .traffic_class_i(released.traffic_class),
      .stamp_i,
      .free_i         (tx_ready),
      .stamp_valid_i,
      .stamp_told_i,
      .stamp_ready_o,
      .ready_o        (mac_ready),
      .silent_i       (port_reset_i || lost_q),
      .sending_o      (mac_sending),
      .stall_o        (stall),
      .data_valid_i   (edited_valid),
      .data_i         (edited),
      .data_ready_o   (edited_ready),
      .left_o         (left),
      .m_axis_tvalid_o,
      .m_axis_tready_i,
      .m_axis_tdata_o,
      .m_axis_tlast_o,
      .m_axis_tuser_o
    );

    assign gmii_txd_o   = '0;
    assign gmii_tx_en_o = 1'b0;
    assign gmii_tx_er_o = 1'b0;
  end else begin : gen_wire
    pen_mac_tx u_mac (
      .clk_i,
      .rst_i,
      .silent_i    (port_reset_i || lost_q),
      .sending_o   (mac_sending),
      .start_i     (start),
      .length_i    (length),
      .ready_o     (mac_ready),
      .data_valid_i(edited_valid),
      .data_i      (edited),
      .data_ready_o(edited_ready),
      .left_o      (left),
      .gmii_txd_o,
      .gmii_tx_en_o,
      .gmii_tx_er_o
    );

    assign stall           = 1'b0;
    assign stamp_ready_o   = 1'b0;
    assign m_axis_tvalid_o = 1'b0;
    assign m_axis_tdata_o  = '0;
    assign m_axis_tlast_o  = 1'b0;
    assign m_axis_tuser_o  = 1'b0;

    logic unused;
    assign unused = &{1'b0, m_axis_tready_i, stamp_i, stamp_told_i};
  end

  // A frame given up is released in a turn that no sent frame needs.
  assign expired_ready = has_turn_i && !released.valid && !cut;

  // The frame that is released, sent or given up: that of the reader is the one selected last.
  assign told = released.valid || cut ? released : popped;

  always_comb begin
    release_o       = told;
    release_o.valid = released.valid || (expired_valid && expired_ready);
  end

  logic    sent_q, expired_q;
  reason_e reason_q;
  class_t  told_class_q;
  cell_t   told_frame_q;
  assign event_o = '{
    sent:          sent_q,
    expired:       expired_q,
    reason:        reason_q,
    traffic_class: told_class_q,
    frame:         told_frame_q
  };
  assign sent_length_o = length;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      sent_q    <= 1'b0;
      expired_q <= 1'b0;
    end else begin
      sent_q    <= popped.valid && !port_reset_i;
      expired_q <= (popped.valid && port_reset_i) || cut || (expired_valid && expired_ready);
    end
    if (cut || (popped.valid && port_reset_i)) reason_q <= REASON_PORT_DISABLED;
    else if (expired_valid) reason_q <= expired_reason;
    else if (popped.valid) reason_q <= REASON_NONE;
    if (cut || popped.valid || expired_valid) begin
      told_class_q <= told.traffic_class;
      told_frame_q <= told.frame;
    end
  end

  assign idle_o = queue_idle && reader_idle && mac_ready && credit_idle && !stamp_valid_i && !sent_q
                  && !expired_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      assert (!start || mac_ready);
      assert (!popped.valid || !(released.valid || cut));
    end
  end
`endif

`ifdef FORMAL_WIRE
  // Contract: 1. no bit of a frame, preamble included, is on the wire but while the gate of its class is open, which is
  // ahead of the wire by four cycles; 2. a frame is not granted before the one before it and its gap are over.
  //
  //   cycle        | n     | n+1    | n+2   | n+4 ..    | n+12 .. n+11+L | n+20+L      L: length
  //   grant        | valid | popped | start | preamble  | data           | next grant
  //   gate is open | from here to the end of n+19+L as pen_gates and pen_queue have it; to n+7+L is enough
  //
  // Of pen_queue is assumed what is proven of it: a frame is granted to a transmitter that is ready, and only if it ends,
  // its gap counted, before its gate closes. The twelve cycles of the gap are for a clock that runs fast meanwhile.
  localparam length_t F_TO_WIRE = 11'd4, F_TO_DATA = 11'd12, F_TO_NEXT = 11'd20;
  localparam length_t F_MOST_BYTES = 11'd2000;      // more than any frame has
  logic               f_past_q = 1'b0;
  logic               f_under_way_q;                // a frame was granted, and the next one not yet
  length_t            f_since_q;                    // cycles since its grant, up to all that it takes
  length_t            f_since;
  length_t            f_length_q, f_length;         // of it
  class_t             f_class_q, f_class;
  logic               f_under_way;
  logic [3:0][CLASSES-1:0] f_open_q;                // gates one to four cycles ago
  logic               f_sends_q;
  localparam logic [2:0] F_IDLE = 3'd0, F_PREAMBLE = 3'd1, F_DELIMITER = 3'd2, F_DATA = 3'd3, F_GAP = 3'd4;
  logic [2:0]         f_mac;                        // as pen_mac_tx has its states

  assign f_mac       = gen_wire.u_mac.state_q;
  assign f_under_way = f_under_way_q || grant;
  assign f_since     = grant ? '0 : f_since_q;
  assign f_length    = grant ? f_queue_q.length : f_length_q;
  assign f_class     = grant ? f_queue_q.granted_class : f_class_q;

  always_ff @(posedge clk_i) begin
    f_past_q      <= 1'b1;
    f_open_q      <= {f_open_q[2:0], open_i};
    f_sends_q     <= gmii_tx_en_o;
    f_under_way_q <= f_under_way && !rst_i;
    f_length_q    <= f_length;
    f_class_q     <= f_class;
    f_since_q     <= f_since < f_length + F_TO_NEXT + 11'd2 ? f_since + 1'b1 : f_since;
  end

  always_comb begin
    assume (rst_i == !f_past_q);
    if (f_past_q) begin
      // pen_queue
      assume (!grant || (tx_ready && !stamp_valid_i));
      assume (!grant || (f_queue_q.length != '0 && f_queue_q.length <= F_MOST_BYTES));
      assume (popped.valid == (f_under_way_q && f_since_q == 11'd1));
      assume (!(f_under_way_q && f_since_q == 11'd2) || popped_slot == f_length_q);
      // pen_queue and pen_gates
      assume (!f_under_way || f_since >= f_length + 11'd8 || open_i[f_class]);
      // The contract.
      if (gmii_tx_en_o) assert (f_under_way_q && f_open_q[3][f_class_q]);
      if (grant && f_under_way_q) assert (f_since_q >= f_length_q + F_TO_NEXT);
      // What makes it hold: what was promised was so, and where reader and MAC are.
      if (gmii_tx_en_o) assert (f_since_q >= F_TO_WIRE && f_since_q < f_length_q + F_TO_DATA);
      if (f_under_way_q) begin
        assert (f_since_q != '0 && f_length_q != '0 && f_length_q <= F_MOST_BYTES);
        assert (f_since_q <= f_length_q + F_TO_NEXT + 11'd2);
        for (int unsigned ago = 1; ago <= 4; ago++)
          if (f_since_q >= length_t'(ago) && f_since_q < f_length_q + 11'd8 + length_t'(ago))
            assert (f_open_q[ago-1][f_class_q]);
        assert (u_reader.first_q == (f_since_q == 11'd1));
        assert (u_reader.start_q == (f_since_q == 11'd2));
        assert (u_reader.started_q == (f_since_q == 11'd3));
        if (f_since_q >= 11'd3) assert (u_reader.slot_o == f_length_q);
        if (f_since_q < f_length_q + F_TO_NEXT) assert (!u_reader.free_q);
        else assert (u_reader.free_q);
        if (f_since_q >= 11'd4 && !u_reader.free_q) assert (u_reader.count_q == f_length_q + 11'd4 - f_since_q);
      end else assert (u_reader.free_q && !u_reader.first_q && !u_reader.start_q && !u_reader.started_q && !gmii_tx_en_o);
      case (f_mac)
        F_IDLE: assert (!f_under_way_q || f_since_q <= 11'd2 || f_since_q >= F_TO_DATA);
        F_PREAMBLE:
          assert (f_under_way_q && gen_wire.u_mac.count_q <= 4'd6 && f_since_q == 11'd9 - 11'(gen_wire.u_mac.count_q));
        F_DELIMITER: assert (f_under_way_q && f_since_q == 11'd10);
        F_DATA:
          assert (f_under_way_q && gen_wire.u_mac.left_q < f_length_q
                  && f_since_q == f_length_q + 11'd10 - gen_wire.u_mac.left_q);
        F_GAP: begin
          assert (f_under_way_q && gen_wire.u_mac.count_q <= 4'd10);
          if (f_since_q <= 11'd2) assert (11'(gen_wire.u_mac.count_q) + f_since_q <= 11'd1 && !gmii_tx_en_o);
          else assert (f_since_q >= F_TO_DATA && f_since_q + 11'(gen_wire.u_mac.count_q) <= f_length_q + 11'd21);
        end
        default: assert (1'b0);
      endcase
      if (f_under_way_q && f_mac == F_DELIMITER) assert (gen_wire.u_mac.left_q == f_length_q - 1'b1);
      // A frame may end with the very last bit that its gate lets pass, and the next class's begins.
      cover (f_sends_q && !gmii_tx_en_o && !f_open_q[3][f_class_q] && f_length_q >= 11'd3 && !gen_wire.u_mac.silent_q);
    end
  end
`endif
endmodule
