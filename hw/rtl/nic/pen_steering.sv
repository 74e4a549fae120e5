// SPDX-License-Identifier: Apache-2.0
// Whether the host gets a received frame, and by which queue.
//
// The first of these that says something decides:
//
//   1. the lowest rule whose parts are all equal to the frame's: its queue, or nobody
//   2. the filter of destination addresses: the station's own, groups, all others; nobody, if it does not pass
//   3. by_pcp: the queue of the frame's priority code point, if it has a tag
//   4. by_hash: IPv4 by the CRC-32 of its key, spread evenly over the queues that run
//   5. the first queue that runs
//
// A queue that does not run gets nothing: what is for it goes by 5. So frames of a flow stay in order on one queue.
//
//   decide_i   |D|.|.| .. |.|
//   done_o     |.|.|.| .. |1|     RULES + 3 cycles later, with accept_o and queue_o
module pen_steering
  import pen_pkg::*, pen_nic_pkg::*;
#(
  parameter int unsigned QUEUES = 4,     // 1 to 16
  parameter int unsigned RULES  = 8      // a power of two
) (
  input  logic              clk_i,
  input  logic              rst_i,
  input  steering_config_t  config_i,
  input  table_write_t      table_i,     // rules are taken in one cycle
  input  logic [QUEUES-1:0] running_i,
  // The bytes of a frame, from its destination address on
  input  logic              clear_i,     // between frames
  input  logic              valid_i,
  input  logic [7:0]        data_i,
  output header_t           header_o,
  input  logic              decide_i,    // all have come
  output logic              done_o,      // one cycle
  output logic              accept_o,
  output logic [3:0]        queue_o
);
  localparam int unsigned RULE_W = $clog2(RULES);
  localparam int unsigned QUEUE_W = $clog2(QUEUES > 1 ? QUEUES : 2);
  if (QUEUES < 1 || QUEUES > MAX_QUEUES / 2) begin : gen_check_queues
    $fatal(1, "pen_steering: QUEUES must be 1 to %0d, is %0d (%m)", MAX_QUEUES / 2, QUEUES);
  end
  if (RULES < 2 || RULES != 1 << RULE_W) begin : gen_check_rules
    $fatal(1, "pen_steering: RULES must be a power of two, 2 or more, is %0d (%m)", RULES);
  end

  // ---- What the frame says
  header_t      header;
  logic [2:0]   pcp_q;
  logic [11:0]  vlan_id_q;
  logic [15:0]  ethertype_q;
  logic [103:0] ipv4_fields, layer2_fields;
  logic         has_ports_q;             // known long before anything is decided

  assign header_o = header;

  pen_header_parser u_header (
    .clk_i,
    .clear_i,
    .valid_i,
    .data_i,
    .header_o(header)
  );

  always_ff @(posedge clk_i) begin
    if (valid_i && header.has_tag && header.position == 5'd14) pcp_q <= data_i[7:5];
    if (valid_i && header.has_tag && header.position == 5'd15) vlan_id_q <= header.last_two[11:0];
    if (header.type_valid) ethertype_q <= header.last_two;
    has_ports_q <= header.has_ports;
    if (clear_i) begin
      vlan_id_q   <= '0;
      ethertype_q <= '0;
    end
  end

  assign ipv4_fields   = {header.ipv4_fields[103:32], has_ports_q ? header.ipv4_fields[31:0] : 32'd0};
  assign layer2_fields = {28'd0, ethertype_q, vlan_id_q, header.destination_address};

  // ---- Rules, one a cycle
  steering_rule_t    rule, written;
  logic [RULES-1:0]  valid_q;
  logic [RULE_W-1:0] at_q;
  logic [103:0]      differs;
  logic [4:0]        parts, parts_q;            // that differ
  logic              writes, counts_q, is_equal, drop_q, found_q, found_drop_q;
  logic [3:0]        pair_q, found_pair_q;

  assign written = steering_rule_t'(table_i.data[$bits(steering_rule_t)-1:0]);
  assign writes  = table_i.valid && table_i.which == TABLE_STEERING && 32'(table_i.index) < RULES;

  pen_lutram_1r1w #(.WIDTH($bits(steering_rule_t)), .DEPTH(RULES)) u_rules (
    .clk_i,
    .write_i     (writes),
    .write_addr_i(table_i.index[RULE_W-1:0]),
    .write_data_i(written),
    .read_addr_i (at_q),
    .read_data_o (rule)
  );

  assign differs = rule.fields ^ (rule.ipv4 ? ipv4_fields : layer2_fields);
  assign parts   = rule.ipv4 ? {|differs[103:72], |differs[71:40], |differs[39:32], |differs[31:16], |differs[15:0]}
                             : {2'b0, |differs[75:60], |differs[59:48], |differs[47:0]};

  assign is_equal = counts_q && parts_q == '0;

  // ---- The other ways
  logic [7:0]  hash, hash_q;             // it stands while rules are matched
  logic [4:0]  count, count_q;           // of queues that run
  logic [12:0] spread;
  logic [4:0]  left_q;                   // of them, how many come before the one that the hash says
  logic        passes, is_group;
  logic [3:0]  first, spread_queue;

  function automatic logic [103:0] reversed(input logic [103:0] key);
    for (int unsigned i = 0; i < 13; i++) reversed[8*i+:8] = key[8*(12-i)+:8];
  endfunction
  pen_key_hash #(.BYTES(13), .LOW(24), .WIDTH(8)) u_hash (.key_i(reversed(ipv4_fields)), .hash_o(hash));
  assign spread = hash_q * count_q;

  assign is_group = header.destination_address[40];
  assign passes   = config_i.promiscuous
      || (is_group ? config_i.all_groups || header.destination_address == '1
                   : header.destination_address == config_i.station_address);

  always_comb begin
    automatic logic [4:0] ahead = left_q;
    count        = '0;
    first        = '0;
    spread_queue = '0;
    for (int unsigned k = QUEUES; k >= 1; k--) if (running_i[k-1]) first = 4'(k - 1);
    for (int unsigned k = 0; k < QUEUES; k++) begin
      if (running_i[k]) begin
        if (ahead == '0) spread_queue = 4'(k);
        ahead -= 1'b1;
        count  += 1'b1;
      end
    end
  end

  // ---- In steps
  typedef enum logic [1:0] {IDLE, MATCH, SPREAD, CHOOSE} state_e;
  state_e     state_q;
  logic [3:0] wanted;

  always_comb begin
    wanted = first;
    if (found_q) wanted = found_pair_q;
    else if (config_i.by_pcp && header.has_tag) wanted = config_i.queue_of_pcp[pcp_q];
    else if (config_i.by_hash && header.ipv4) wanted = spread_queue;
  end

  always_ff @(posedge clk_i) begin
    done_o <= 1'b0;
    unique case (state_q)
      IDLE: begin
        at_q    <= '0;
        found_q <= 1'b0;
        if (decide_i) state_q <= MATCH;
      end
      MATCH: begin
        at_q <= at_q + 1'b1;
        if (at_q == '1) state_q <= SPREAD;
      end
      SPREAD: state_q <= CHOOSE;
      CHOOSE: begin
        done_o   <= 1'b1;
        accept_o <= found_q ? !found_drop_q : passes;
        queue_o  <= 32'(wanted) < QUEUES && running_i[wanted[QUEUE_W-1:0]] ? wanted : first;
        state_q  <= IDLE;
      end
    endcase
    // What has been read is judged in the cycle after, up to SPREAD.
    counts_q <= state_q == MATCH && valid_q[at_q] && (header.ipv4 || !rule.ipv4);
    parts_q  <= parts & rule.parts;
    drop_q   <= rule.drop;
    pair_q   <= rule.pair;
    if (is_equal && !found_q) begin
      found_q      <= 1'b1;
      found_drop_q <= drop_q;
      found_pair_q <= pair_q;
    end
    hash_q  <= hash;
    count_q <= count;
    left_q  <= spread[12:8];
    if (writes) valid_q[table_i.index[RULE_W-1:0]] <= written.valid;
    if (rst_i) begin
      state_q <= IDLE;
      done_o  <= 1'b0;
      valid_q <= '0;
    end
  end

  logic unused;
  assign unused = &{1'b0, spread[7:0], rule.valid, header};
endmodule
