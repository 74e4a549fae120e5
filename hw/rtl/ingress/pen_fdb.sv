// SPDX-License-Identifier: Apache-2.0
// The filtering database: which ports lead to an address in a VLAN. Two ways of SETS entries, chosen by CRC-32.
//
// One operation a cycle, a lookup or a learning:
//
//   cycle    0        1          2           3               4                5
//            address  read set   read data   compare         hit_o, ports_o   entry written
//                                            (learn_allow_i of the learning that came in at 0 is taken in cycle 2)
//
// In cycles without an operation a sweep lowers the ages, one entry at a time. An entry is learnt with age 3, each
// sweep takes one off, and at 0 it is removed.
module pen_fdb #(
  parameter int unsigned SETS = 512  // a power of two, 2 to 4096; holds twice as many entries
) (
  input  logic                  clk_i,
  input  logic                  rst_i,
  input  logic                  init_busy_i,
  input  pen_pkg::init_index_t  init_index_i,
  input  pen_pkg::time_ns_t     time_ns_i,
  input  logic [31:0]           aging_period_ms_i,  // between two sweeps; 0: entries stay
  input  logic                  lookup_i,
  input  logic                  learn_i,
  input  pen_pkg::port_t        port_i,             // where the address was heard
  input  logic [47:0]           address_i,
  input  logic [11:0]           vlan_id_i,
  input  logic                  learn_allow_i,
  output logic                  hit_o,
  output pen_pkg::port_mask_t   ports_o,
  input  logic                  write_i,            // held until write_ready_o
  input  logic                  write_way_i,
  input  logic [14:0]           write_index_i,
  input  logic [71:0]           write_data_i,
  output logic                  write_ready_o,
  output logic                  idle_o
);
  import pen_pkg::*;

  localparam int unsigned SET_W = $clog2(SETS);
  if (SETS < 2 || SETS > 4096 || SETS != 1 << SET_W) begin : g_check
    $fatal(1, "pen_fdb: SETS must be a power of two from 2 to 4096, is %0d (%m)", SETS);
  end

  typedef logic [SET_W-1:0] set_t;
  typedef struct packed {
    logic        valid;
    logic        is_static;
    logic [1:0]  age;
    port_mask_t  ports;
    logic [11:0] vlan_id;
    logic [47:0] address;
  } entry_t;
  typedef struct packed {
    set_t        set;
    port_t       port;
    logic [11:0] vlan_id;
    logic [47:0] address;
  } operand_t;

  // The sweep, one entry in flight at a time.
  logic           sweeping_q;
  logic           sweep_way_q;
  set_t           sweep_set_q;
  logic           sweep_1, sweep_2_q, sweep_3_q;  // its entry in cycle 1, 2, 3
  logic           sweep_stale_q;                  // that entry was written since it was read
  logic           sweep_hits_write, sweep_done;
  entry_t         swept;

  // The write port of the memories.
  logic [1:0]     write_q;
  set_t           write_set_q;
  entry_t         write_entry_q;

  // ---- Operations
  logic           lookup_1_q, lookup_2_q, lookup_3_q;
  logic           learn_1_q, learn_2_q, learn_3_q, learn_4_q;
  set_t           hash, set_2_q;
  operand_t       operand_1_q, operand_3, operand_4_q;
  logic           operand_3_valid;
  entry_t [1:0]   entry, entry_3_q;
  logic [1:0]     hit_4_q, valid_4_q, static_4_q;
  logic [1:0][1:0] age_4_q;
  port_mask_t [1:0] ports_4_q;

  pen_key_hash #(.BYTES(8), .LOW(0), .WIDTH(SET_W)) u_hash (
    .key_i({4'b0, vlan_id_i, address_i}), .hash_o(hash)
  );

  pen_delay #(.WIDTH($bits(operand_t)), .CYCLES(2)) u_operand (
    .clk_i,
    .rst_i,
    .valid_i(lookup_1_q || learn_1_q),
    .data_i (operand_1_q),
    .valid_o(operand_3_valid),
    .data_o (operand_3)
  );

  for (genvar w = 0; w < 2; w++) begin : g_way
    pen_ram_1r1w #(.WIDTH($bits(entry_t)), .DEPTH(SETS)) u_entries (
      .clk_i,
      .write_i     (write_q[w]),
      .write_addr_i(write_set_q),
      .write_data_i(write_entry_q),
      .read_i      (lookup_1_q || learn_1_q || sweep_1),
      .read_addr_i (sweep_1 ? sweep_set_q : operand_1_q.set),
      .read_data_o (entry[w])
    );
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      {lookup_1_q, lookup_2_q, lookup_3_q} <= '0;
      {learn_1_q, learn_2_q, learn_3_q, learn_4_q} <= '0;
    end else begin
      {lookup_1_q, lookup_2_q, lookup_3_q} <= {lookup_i, lookup_1_q, lookup_2_q};
      {learn_1_q, learn_2_q, learn_3_q, learn_4_q} <= {learn_i, learn_1_q, learn_2_q && learn_allow_i, learn_3_q};
    end
    if (lookup_i || learn_i) begin
      operand_1_q <= '{set: hash, port: port_i, vlan_id: vlan_id_i, address: address_i};
    end
    if (learn_1_q) set_2_q <= operand_1_q.set;
    if (lookup_2_q || learn_2_q || sweep_2_q) entry_3_q <= entry;
    if (lookup_3_q || learn_3_q) begin
      operand_4_q <= operand_3;
      for (int unsigned w = 0; w < 2; w++) begin
        hit_4_q[w]    <= entry_3_q[w].valid && entry_3_q[w].vlan_id == operand_3.vlan_id
                         && entry_3_q[w].address == operand_3.address;
        valid_4_q[w]  <= entry_3_q[w].valid;
        static_4_q[w] <= entry_3_q[w].is_static;
        age_4_q[w]    <= entry_3_q[w].age;
        ports_4_q[w]  <= entry_3_q[w].ports;
      end
    end
  end

  // Software may have added a static entry for an address that was learnt into the other way: the static one counts.
  assign hit_o   = |hit_4_q;
  assign ports_o = hit_4_q[1] && (!hit_4_q[0] || static_4_q[1]) ? ports_4_q[1] : ports_4_q[0];

  // ---- Which way a learnt address goes to
  logic [1:0] learn_way;  // one-hot, or zero

  always_comb begin
    learn_way = '0;
    if (|hit_4_q) begin
      if (~|(hit_4_q & static_4_q)) learn_way = hit_4_q[0] ? 2'b01 : 2'b10;
    end else if (!valid_4_q[0]) learn_way = 2'b01;
    else if (!valid_4_q[1]) learn_way = 2'b10;
    else if (static_4_q == 2'b00) learn_way = age_4_q[1] < age_4_q[0] ? 2'b10 : 2'b01;
    else if (static_4_q != 2'b11) learn_way = static_4_q[0] ? 2'b10 : 2'b01;
    if (!learn_4_q) learn_way = '0;
  end

  // ---- Writes. Learning comes first; the sweep tries again; software waits, also for learnings that have read the
  // same set already and would overwrite what it writes.
  set_t cpu_set;
  logic cpu_busy, cpu_write;

  assign cpu_set   = set_t'(write_index_i);
  assign cpu_busy  = init_busy_i || learn_i || learn_4_q || sweep_3_q
                     || (learn_1_q && operand_1_q.set == cpu_set)
                     || (learn_2_q && set_2_q == cpu_set)
                     || (learn_3_q && operand_3.set == cpu_set);
  assign cpu_write = write_i && !cpu_busy;
  assign write_ready_o = !cpu_busy;

  always_comb begin
    swept = entry_3_q[sweep_way_q];
    if (swept.valid && !swept.is_static) begin
      swept.age   = swept.age - 2'd1;
      swept.valid = swept.age != 2'd0 && swept.age != 2'd3;
    end
  end

  assign sweep_1          = sweeping_q && !sweep_2_q && !sweep_3_q && !lookup_1_q && !learn_1_q;
  assign sweep_hits_write = write_q[sweep_way_q] && write_set_q == sweep_set_q;
  assign sweep_done       = sweep_3_q && !sweep_stale_q && !sweep_hits_write && !learn_4_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      write_q   <= '0;
      sweep_2_q <= '0;
      sweep_3_q <= '0;
    end else begin
      write_q   <= init_busy_i ? {2{16'(init_index_i) < 16'(SETS)}} : learn_way
                   | {2{sweep_done}} & {sweep_way_q, !sweep_way_q}
                   | {2{cpu_write && 16'(write_index_i) < 16'(SETS)}} & {write_way_i, !write_way_i};
      sweep_2_q <= sweep_1;
      sweep_3_q <= sweep_2_q;
    end
    if (sweep_1 || sweep_2_q) sweep_stale_q <= (sweep_2_q && sweep_stale_q) || sweep_hits_write;
    if (init_busy_i) begin
      write_set_q   <= set_t'(init_index_i);
      write_entry_q <= '0;
    end else if (learn_4_q) begin
      write_set_q   <= operand_4_q.set;
      write_entry_q <= '{valid: 1'b1, is_static: 1'b0, age: 2'd3, ports: port_mask_t'(1) << operand_4_q.port,
                         vlan_id: operand_4_q.vlan_id, address: operand_4_q.address};
    end else if (sweep_3_q) begin
      write_set_q   <= sweep_set_q;
      write_entry_q <= swept;
    end else if (write_i) begin
      write_set_q   <= cpu_set;
      write_entry_q <= entry_t'(write_data_i);
    end
  end

  // ---- When to sweep. The period in nanoseconds is period_ms * 5^6 * 2^6, one factor a cycle.
  logic [31:0] period_ms_q;
  logic [51:0] period_q;
  logic [2:0]  factors_q;    // still to come; then one cycle for the sum
  logic        known_q;      // before_ns_q is up to date
  logic        due, due_q;
  time_ns_t    swept_ns_q, before_ns_q;  // the last sweep; a cycle before the next one

  // The comparison has a cycle for itself: it is wide, and the time comes from far.
  assign due       = known_q && period_ms_q != '0 && time_ns_i >= before_ns_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      sweeping_q  <= 1'b0;
      sweep_way_q <= 1'b0;
      sweep_set_q <= '0;
      period_ms_q <= '0;
      period_q    <= '0;
      factors_q   <= '0;
      known_q     <= 1'b0;
      swept_ns_q  <= '0;
      before_ns_q <= '0;
      due_q       <= 1'b0;
    end else begin
      due_q <= due;
      if (period_ms_q != aging_period_ms_i) begin
        period_ms_q <= aging_period_ms_i;
        period_q    <= 52'(aging_period_ms_i);
        factors_q   <= 3'd6;
        known_q     <= 1'b0;
      end else if (factors_q != '0) begin
        period_q  <= period_q + {period_q[49:0], 2'b00};
        factors_q <= factors_q - 3'd1;
      end else if (!known_q) begin
        before_ns_q <= swept_ns_q + {6'b0, period_q, 6'b0} - time_ns_t'(CYCLE_NS);
        known_q     <= 1'b1;
      end else if (due_q && !sweeping_q && !init_busy_i) begin
        sweeping_q <= 1'b1;
        swept_ns_q <= time_ns_i;
        known_q    <= 1'b0;
      end
      if (sweep_done) begin
        {sweep_set_q, sweep_way_q} <= {sweep_set_q, sweep_way_q} + 1'b1;
        if (&{sweep_set_q, sweep_way_q}) sweeping_q <= 1'b0;
      end
    end
  end

  assign idle_o = !sweeping_q && known_q && !due && !due_q && period_ms_q == aging_period_ms_i && write_q == '0 && !write_i
                  && !lookup_i && !lookup_1_q && !lookup_2_q && !lookup_3_q
                  && !learn_i && !learn_1_q && !learn_2_q && !learn_3_q && !learn_4_q;

  logic unused;
  assign unused = ^{operand_3_valid, period_q[51:50]};
endmodule
