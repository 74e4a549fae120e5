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
  input  logic [31:0]           aging_period_ms_i,  // between two sweeps; 0, as at first: entries stay
  input  logic                  aging_period_is_new_i,  // in its first cycle
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
  if (SETS < 2 || SETS > 4096 || SETS != 1 << SET_W) begin : gen_check
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

  for (genvar w = 0; w < 2; w++) begin : gen_way
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
  logic [51:0] period_q;
  logic [2:0]  factors_q;    // still to come; then one cycle for the sum
  logic        known_q;      // before_ns_q is up to date
  logic        due, due_q;
  time_ns_t    swept_ns_q, before_ns_q;  // the last sweep; a cycle before the next one

  // The comparison has a cycle for itself: it is wide, and the time comes from far.
  assign due       = known_q && aging_period_ms_i != '0 && time_ns_i >= before_ns_q;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      sweeping_q  <= 1'b0;
      sweep_way_q <= 1'b0;
      sweep_set_q <= '0;
      period_q    <= '0;
      factors_q   <= '0;
      known_q     <= 1'b0;
      swept_ns_q  <= '0;
      before_ns_q <= '0;
      due_q       <= 1'b0;
    end else begin
      due_q <= due;
      if (aging_period_is_new_i) begin
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

  assign idle_o = !sweeping_q && known_q && !due && !due_q && !aging_period_is_new_i && write_q == '0 && !write_i
                  && !lookup_i && !lookup_1_q && !lookup_2_q && !lookup_3_q
                  && !learn_i && !learn_1_q && !learn_2_q && !learn_3_q && !learn_4_q;

  logic unused;
  assign unused = ^{operand_3_valid, period_q[51:50]};
`ifdef FORMAL
  // Contract, for any key, which is an address in a VLAN: 1. a lookup finds what the set held a cycle after it came in, of two
  // entries for a key the static one; 2. a static entry changes by software only; 3. unless software wrote so, no key leads to
  // a port where it was not heard; 4. what is learnt is in the set then, unless both of its entries are static; 5. a
  // sweep takes one off the age of what stands there, and changes nothing else. As long as there is one operation a cycle. The hash may be any
  // function, and of the keys, which are only compared, all bits but two are zero.
  localparam int unsigned F_WRITE = 8;              // more cycles than from a write to when all that read before it is written
  logic             f_past_q = 1'b0;
  logic [47:0]      f_address;                      // any, as they have no first value
  logic [11:0]      f_vlan_id;
  set_t             f_set;
  entry_t [1:0]     f_entry, f_entry_q;             // of the set of that key, now and a cycle ago
  logic [1:0]       f_is_key, f_static, f_is_there; // there: it leads to the port that was learnt last
  logic             f_hit, f_all_small;
  port_mask_t       f_ports, f_heard_q;             // heard: where
  logic             f_written_q;                    // software wrote an entry for that key
  logic [1:0]       f_software_q;                   // it wrote one in the cycle before, and in the one before that
  logic [F_WRITE:0] f_quiet_q;                      // it did not for so long
  logic             f_sweep_q;
  logic [1:0]       f_learnt_q;
  logic [1:0]       f_no_room_q;
  port_t [1:0]      f_port_q;
  logic [3:1]       f_asked_q, f_hit_q;             // bit i: a lookup of that key in its cycle i + 1
  port_mask_t [3:1] f_ports_q;
  logic             f_operand_1, f_operand_4;
  entry_t           f_stands, f_lowered;

  assign f_entry     = {gen_way[1].u_entries.memory[f_set], gen_way[0].u_entries.memory[f_set]};
  assign f_operand_1 = operand_1_q.vlan_id == f_vlan_id && operand_1_q.address == f_address;
  assign f_operand_4 = operand_4_q.vlan_id == f_vlan_id && operand_4_q.address == f_address;
  assign f_hit       = f_is_key != '0;
  assign f_stands    = write_q[1] ? gen_way[1].u_entries.memory[write_set_q] : gen_way[0].u_entries.memory[write_set_q];

  function automatic logic f_small(input logic [59:0] key);
    return key[59:2] == '0;
  endfunction

  always_comb begin
    f_all_small = f_small({f_vlan_id, f_address}) && f_small({operand_1_q.vlan_id, operand_1_q.address})
        && f_small({operand_3.vlan_id, operand_3.address}) && f_small({operand_4_q.vlan_id, operand_4_q.address})
        && f_small({write_entry_q.vlan_id, write_entry_q.address})
        && f_small(u_operand.data_q[0][59:0]) && f_small(u_operand.data_q[1][59:0]);
    for (int unsigned w = 0; w < 2; w++) begin
      f_all_small = f_all_small && f_small({entry[w].vlan_id, entry[w].address})
          && f_small({entry_3_q[w].vlan_id, entry_3_q[w].address});
    end
    for (int unsigned s = 0; s < SETS; s++)
      f_all_small = f_all_small && f_small(gen_way[0].u_entries.memory[s][59:0])
          && f_small(gen_way[1].u_entries.memory[s][59:0]);
  end

  always_comb begin
    for (int unsigned w = 0; w < 2; w++) begin
      f_is_key[w] = f_entry[w].valid && f_entry[w].vlan_id == f_vlan_id && f_entry[w].address == f_address;
      f_static[w] = f_entry[w].valid && f_entry[w].is_static;
    end
    for (int unsigned w = 0; w < 2; w++) f_is_there[w] = f_entry[w].ports == port_mask_t'(1) << f_port_q[1];
    f_ports = f_is_key[0] && !(f_is_key[1] && f_static[1]) ? f_entry[0].ports : f_entry[1].ports;
    f_lowered = f_stands;
    if (f_stands.valid && !f_stands.is_static) begin
      f_lowered.age   = f_stands.age - 1'b1;
      f_lowered.valid = f_stands.age > 2'd1;
    end
  end

  always_ff @(posedge clk_i) begin
    f_past_q     <= 1'b1;
    f_address    <= f_address;
    f_vlan_id    <= f_vlan_id;
    f_set        <= f_set;
    f_entry_q    <= f_entry;
    f_sweep_q    <= sweep_done;
    f_software_q <= {f_software_q[0], cpu_write};
    f_quiet_q    <= {f_quiet_q[F_WRITE-1:0], !cpu_write};
    f_asked_q    <= {f_asked_q[2:1], lookup_1_q && f_operand_1};
    f_hit_q      <= {f_hit_q[2:1], f_hit};
    f_ports_q    <= {f_ports_q[2:1], f_ports};
    f_learnt_q   <= {f_learnt_q[0], learn_4_q && f_operand_4};
    f_no_room_q  <= {f_no_room_q[0], (valid_4_q & static_4_q) == '1};
    f_port_q     <= {f_port_q[0], operand_4_q.port};
    if (learn_i && address_i == f_address && vlan_id_i == f_vlan_id) f_heard_q[port_i] <= 1'b1;
    if (cpu_write && write_data_i[59:0] == {f_vlan_id, f_address}) f_written_q <= 1'b1;
    if (rst_i) begin
      f_heard_q    <= '0;
      f_written_q  <= 1'b0;
      f_software_q <= '0;
      f_quiet_q    <= '0;
      f_asked_q    <= '0;
      f_learnt_q   <= '0;
      f_sweep_q    <= 1'b0;
    end
  end

  always_comb begin
    assume (rst_i == !f_past_q);
    assume (!init_busy_i);
    assume (!(lookup_i && learn_i));
    assume (f_small({vlan_id_i, address_i}) && f_small(write_data_i[59:0]));
    assume (address_i != f_address || vlan_id_i != f_vlan_id || hash == f_set);
    if (!f_past_q) begin                            // as the initialization leaves it
      assume (!lookup_i && !learn_i && write_q == '0 && f_all_small);
      for (int unsigned s = 0; s < SETS; s++) begin
        assume (!gen_way[0].u_entries.memory[s][$bits(entry_t)-1]);
        assume (!gen_way[1].u_entries.memory[s][$bits(entry_t)-1]);
      end
    end else begin
      // 1.
      if (f_asked_q[3]) begin
        assert (hit_o == f_hit_q[3]);
        assert (!hit_o || ports_o == f_ports_q[3]);
      end
      for (int unsigned w = 0; w < 2; w++) begin
        // 2.
        if (f_entry_q[w].valid && f_entry_q[w].is_static && !f_software_q[1]) assert (f_entry[w] == f_entry_q[w]);
        // 3.
        if (f_is_key[w] && !f_written_q) assert ((f_entry[w].ports & ~f_heard_q) == '0);
      end
      // 4.
      if (f_learnt_q[1] && f_quiet_q == '1 && !f_no_room_q[1])
        assert ((f_is_key & (f_static | f_is_there)) != '0);
      // 5.
      if (f_sweep_q) assert (^write_q && write_entry_q == f_lowered);

      // What holds in between, so that the proof goes by induction.
      assert (f_all_small);
      if (!f_written_q) begin
        if (learn_1_q && f_operand_1) assert (f_heard_q[operand_1_q.port]);
        if (write_q != '0 && write_entry_q.valid && write_entry_q.vlan_id == f_vlan_id && write_entry_q.address == f_address)
          assert (write_set_q == f_set && (write_entry_q.ports & ~f_heard_q) == '0);
        for (int unsigned s = 0; s < SETS; s++) begin
          if (gen_way[0].u_entries.memory[s][$bits(entry_t)-1] && s != 32'(f_set))
            assert (gen_way[0].u_entries.memory[s][59:0] != {f_vlan_id, f_address});
          if (gen_way[1].u_entries.memory[s][$bits(entry_t)-1] && s != 32'(f_set))
            assert (gen_way[1].u_entries.memory[s][59:0] != {f_vlan_id, f_address});
        end
      end

      cover (f_asked_q[3] && hit_4_q == '1 && static_4_q == 2'b10);
      cover (f_learnt_q[1] && f_is_key == 2'b10 && !f_static[0] && f_entry[0].valid && !f_written_q);
      cover (f_sweep_q && f_stands.valid && !write_entry_q.valid);
    end
  end
`endif
endmodule
