// SPDX-License-Identifier: Apache-2.0
// Counts what became of every frame, per port.
//
// Verdicts can come in every cycle and are counted at once in one memory of 32-bit counters. All other events come once
// per frame and port, 52 cycles apart at least. They wait in small registers, each of which is added to its 64-bit
// counter in its own slot; a round of slots takes 9 * PORTS <= 72 cycles, and no register can overflow in a round. Of what a
// port sends, 84 cycles apart, one frame waits at most.
//
// A 64-bit counter is two of HALF_W bits. Where the low one begins again from zero, which is seldom, the slots stand
// still for a cycle, in which the high one is advanced. A round has room for 12 such cycles before a port sends again; 13
// counters would have to pass 2^32 within 0.6 us.
module pen_counters
  import pen_pkg::*;
#(
  parameter int unsigned PORTS = 4,
  parameter int unsigned HALF_W = 32                // of half a counter; 12 or more, fewer than 32 for the sake of tests
) (
  input  logic                      clk_i,
  input  logic                      rst_i,
  input  logic                      init_busy_i,
  input  init_index_t               init_index_i,
  input  verdict_t                  verdict_i,
  input  egress_event_t [PORTS-1:0] egress_event_i,
  input  length_t       [PORTS-1:0] sent_length_i,   // a cycle after it
  input  logic                      request_i,   // one cycle; the next after the answer
  input  logic [8:0]                addr_i,      // {port, word} as in hw/regs/pen_switch.rdl; held until the answer
  output logic                      ack_o,
  output logic [31:0]               data_o
);
  if (PORTS < 2 || PORTS > MAX_PORTS)
    $fatal(1, "pen_counters: PORTS must be 2 to %0d, is %0d (%m)", MAX_PORTS, PORTS);

  localparam int unsigned PORT_W = $clog2(PORTS);
  localparam int unsigned VERDICT_W = PORT_W + 5;  // per port: 16 reasons of whole frames, 8 classes
  localparam int unsigned SLOT_W = PORT_W + 4;     // per port: 8 classes sent, the entries below
  localparam int unsigned ADD_W = 12;

  localparam logic [3:0] ENTRY_RECEIVED_BYTES = 4'd8;
  localparam logic [3:0] ENTRY_SENT_BYTES = 4'd9;
  localparam logic [3:0] ENTRY_SHORT_GAPS = 4'd10;
  localparam logic [3:0] ENTRY_REFUSED = 4'd11;    // store, queue, class
  localparam logic [3:0] ENTRY_EXPIRED = 4'd14;
  localparam logic [3:0] ENTRY_REFUSED_SDU = 4'd15;
  localparam logic [3:0] SLOTS = 4'd9;

  // What waits for its slot. Two frames are the most that a port can receive in a round, and one that it can send.
  typedef struct packed {
    logic            sent;
    class_t          sent_class;
    length_t         sent_bytes;
    logic [11:0]     received_bytes;
    logic [3:0]      short_gaps;
    logic [2:0][4:0] refused;
    logic [4:0]      refused_sdu;
    logic [6:0]      expired;
  } waiting_t;

  // ---- Events, registered so that counting adds to no path of the switch ----------------------------------------
  /* verilator lint_off UNUSEDSIGNAL */  // the name of the frame and the like are for observers
  verdict_t                  verdict_q;
  egress_event_t [PORTS-1:0] event_q;
  /* verilator lint_on UNUSEDSIGNAL */
  logic                      verdict_valid_q, accepted;

  always_ff @(posedge clk_i) begin
    verdict_valid_q <= verdict_i.valid && !rst_i && !init_busy_i;
    if (verdict_i.valid) verdict_q <= verdict_i;
    for (int p = 0; p < PORTS; p++) begin
      if (event_q[p].sent || event_q[p].expired || egress_event_i[p].sent || egress_event_i[p].expired)
        event_q[p] <= egress_event_i[p];
      if (rst_i || init_busy_i) event_q[p] <= '0;
    end
  end

  assign accepted = verdict_valid_q && verdict_q.reason == REASON_NONE;

  // ---- Slots ------------------------------------------------------------------------------------------------------
  waiting_t [PORTS-1:0] waiting_q;
  waiting_t             chosen;
  logic [PORT_W-1:0]    port_q;                     // whose slots these are
  logic [3:0]           slot_q;
  logic                 slot_valid_q;
  logic [SLOT_W:0]      slot_index_q;               // {entry, high}
  logic [ADD_W-1:0]     slot_add_d, slot_add_q;
  logic [3:0]           slot_entry;
  logic                 slot_carry, carry_q;        // of the last slots; from the counter of that index
  logic [SLOT_W:0]      slot_carry_index;
  logic [SLOT_W-1:0]    carry_index_q;

  assign chosen = waiting_q[port_q];

  always_comb begin
    slot_entry = ENTRY_EXPIRED;
    slot_add_d = ADD_W'(chosen.expired);
    unique case (slot_q)
      4'd0: begin slot_entry = {1'b0, chosen.sent_class}; slot_add_d = ADD_W'(chosen.sent); end
      4'd1: begin slot_entry = ENTRY_SENT_BYTES; slot_add_d = ADD_W'(chosen.sent_bytes); end
      4'd2: begin slot_entry = ENTRY_RECEIVED_BYTES; slot_add_d = chosen.received_bytes; end
      4'd3: begin slot_entry = ENTRY_SHORT_GAPS; slot_add_d = ADD_W'(chosen.short_gaps); end
      4'd4: begin slot_entry = ENTRY_REFUSED; slot_add_d = ADD_W'(chosen.refused[0]); end
      4'd5: begin slot_entry = ENTRY_REFUSED + 4'd1; slot_add_d = ADD_W'(chosen.refused[1]); end
      4'd6: begin slot_entry = ENTRY_REFUSED + 4'd2; slot_add_d = ADD_W'(chosen.refused[2]); end
      4'd7: begin slot_entry = ENTRY_REFUSED_SDU; slot_add_d = ADD_W'(chosen.refused_sdu); end
      default: ;
    endcase
  end

  // What is taken by its slot goes on from zero. So written it costs little more than the sums: behind an adder there is no
  // choice, as its register holds still or is reset, and only what came in that very cycle is set.
  for (genvar p = 0; p < PORTS; p++) begin : gen_port
    logic [8:0] taken;                              // by the slot of that number
    logic       received, whole, short_gap, sent, expired, expired_sdu, refused, refused_sdu;
    logic [2:0] is_refused;
    reason_e    reason;
    logic [11:0] before_bytes;                      // zero where taken
    logic [1:0] both_sdu;

    assign taken       = port_q == PORT_W'(p) && !carry_q ? 9'b1 << slot_q : '0;
    assign received    = verdict_valid_q && verdict_q.port == port_t'(p);
    assign whole       = received && accepted;
    assign sent        = event_q[p].sent;
    assign expired_sdu = event_q[p].expired && event_q[p].reason == REASON_MAX_SDU;
    assign expired     = event_q[p].expired && event_q[p].reason != REASON_MAX_SDU;
    assign refused     = verdict_valid_q && verdict_q.refused[p];
    assign reason      = verdict_q.refused_reason[p];
    assign is_refused  = {
      refused && reason == REASON_CLASS_FULL, refused && reason == REASON_QUEUE_FULL,
      refused && reason == REASON_STORE_FULL
    };
    assign refused_sdu = refused && reason == REASON_MAX_SDU;
    assign both_sdu    = 2'(expired_sdu) + 2'(refused_sdu);
    assign short_gap   = received && verdict_q.short_gap;
    assign before_bytes = taken[2] ? '0 : waiting_q[p].received_bytes;

    always_ff @(posedge clk_i) begin
      if (sent) waiting_q[p].sent_class <= event_q[p].traffic_class;
      if (sent) waiting_q[p].sent <= 1'b1;
      else if (taken[0]) waiting_q[p].sent <= 1'b0;
      if (sent) waiting_q[p].sent_bytes <= sent_length_i[p];
      if (taken[1] && !sent) waiting_q[p].sent_bytes <= '0;
      if (whole) waiting_q[p].received_bytes <= 12'(verdict_q.length) + before_bytes;
      if (taken[2] && !whole) waiting_q[p].received_bytes <= '0;
      waiting_q[p].short_gaps <= waiting_q[p].short_gaps + 4'(short_gap);
      if (taken[3]) waiting_q[p].short_gaps <= 4'(short_gap);
      for (int unsigned r = 0; r < 3; r++) begin
        waiting_q[p].refused[r] <= waiting_q[p].refused[r] + 5'(is_refused[r]);
        if (taken[4+r]) waiting_q[p].refused[r] <= 5'(is_refused[r]);
      end
      waiting_q[p].refused_sdu <= waiting_q[p].refused_sdu + 5'(both_sdu);
      if (taken[7]) waiting_q[p].refused_sdu <= 5'(both_sdu);
      waiting_q[p].expired <= waiting_q[p].expired + 7'(expired);
      if (taken[8]) waiting_q[p].expired <= 7'(expired);
      if (rst_i || init_busy_i) waiting_q[p] <= '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!carry_q) slot_q <= slot_q == SLOTS - 1'b1 ? '0 : slot_q + 1'b1;
    if (!carry_q && slot_q == SLOTS - 1'b1) port_q <= port_q == PORT_W'(PORTS - 1) ? '0 : port_q + 1'b1;
    slot_valid_q  <= carry_q || slot_add_d != '0;
    slot_index_q  <= carry_q ? {carry_index_q, 1'b1} : {port_q, slot_entry, 1'b0};
    slot_add_q    <= carry_q ? ADD_W'(1) : slot_add_d;
    carry_q       <= slot_carry && !slot_carry_index[0];
    carry_index_q <= slot_carry_index[SLOT_W:1];
    if (rst_i || init_busy_i) begin
      slot_q       <= '0;
      port_q       <= '0;
      slot_valid_q <= 1'b0;
      carry_q      <= 1'b0;
    end
  end

  // ---- Reading: both halves of a counter, once more if a carry came between them --------------------------------------
  typedef enum logic [2:0] {IDLE, ASK, ASK_HIGH, WAIT, ANSWER} state_e;
  state_e            state_q;
  logic              in_slots, high, absent, verdict_ready, slot_ready, verdict_read_valid, slot_read_valid;
  logic              ask_verdict, ask_slot;
  logic [31:0]       verdict_data, data_q, high_q;
  logic [HALF_W-1:0] slot_data;
  logic [PORT_W-1:0] read_port;

  assign in_slots = addr_i[5];
  assign high = addr_i[5] && addr_i[0];
  assign absent = 4'(addr_i[8:6]) >= 4'(PORTS);
  assign read_port = addr_i[6+:PORT_W];
  assign ask_verdict = state_q == ASK && !in_slots && !init_busy_i;
  assign ask_slot = ((state_q == ASK && in_slots) || state_q == ASK_HIGH) && !init_busy_i;

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      IDLE: if (request_i) state_q <= absent || high ? ANSWER : ASK;
      ASK: begin
        if (ask_verdict && verdict_ready) state_q <= WAIT;
        if (ask_slot && slot_ready) state_q <= ASK_HIGH;
      end
      ASK_HIGH: begin
        if (carry_q) state_q <= ASK;
        else if (slot_ready) state_q <= WAIT;
      end
      WAIT: state_q <= ANSWER;
      ANSWER: state_q <= IDLE;
      default: state_q <= IDLE;
    endcase
    if (state_q == IDLE) data_q <= absent ? '0 : high_q;
    if (verdict_read_valid) data_q <= verdict_data;
    if (slot_read_valid && state_q == ASK_HIGH) data_q <= 32'(slot_data);
    if (slot_read_valid && state_q == WAIT) high_q <= 32'(slot_data);
    if (rst_i) state_q <= IDLE;
  end

  assign ack_o = state_q == ANSWER;
  assign data_o = data_q;

  // ---- The memories -----------------------------------------------------------------------------------------------
  logic                 verdict_carry;
  logic [VERDICT_W-1:0] verdict_carry_index;

  pen_counter_bank #(.WIDTH(32), .DEPTH(1 << VERDICT_W), .ADD_W(1)) u_verdicts (
    .clk_i,
    .rst_i,
    .clear_i      (init_busy_i && 32'(init_index_i) < 1 << VERDICT_W),
    .clear_index_i(init_index_i[VERDICT_W-1:0]),
    .add_valid_i  (verdict_valid_q),
    .add_index_i  ({
      verdict_q.port[PORT_W-1:0], accepted ? {2'b10, verdict_q.traffic_class} : verdict_q.reason
    }),
    .add_i        (1'b1),
    .read_i       (ask_verdict),
    .read_ready_o (verdict_ready),
    .read_index_i ({read_port, addr_i[4:0]}),
    .read_valid_o (verdict_read_valid),
    .read_data_o  (verdict_data),
    .carry_o      (verdict_carry),
    .carry_index_o(verdict_carry_index)
  );

  pen_counter_bank #(.WIDTH(HALF_W), .DEPTH(2 << SLOT_W), .ADD_W(ADD_W), .SPACED(1)) u_slots (
    .clk_i,
    .rst_i,
    .clear_i      (init_busy_i && 32'(init_index_i) < 2 << SLOT_W),
    .clear_index_i(init_index_i[SLOT_W:0]),
    .add_valid_i  (slot_valid_q),
    .add_index_i  (slot_index_q),
    .add_i        (slot_add_q),
    .read_i       (ask_slot),
    .read_ready_o (slot_ready),
    .read_index_i ({read_port, addr_i[4:1], state_q == ASK_HIGH}),
    .read_valid_o (slot_read_valid),
    .read_data_o  (slot_data),
    .carry_o      (slot_carry),
    .carry_index_o(slot_carry_index)
  );

  logic unused;
  assign unused = &{1'b0, verdict_carry, verdict_carry_index};
endmodule
