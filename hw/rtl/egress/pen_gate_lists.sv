// SPDX-License-Identifier: Apache-2.0
// The gate lists in memory: the one that software stages, and of each port the two that take turns; and the entry of
// them that is worked on.
//
// A list is kept up to the entry that is the last of its cycle, which takes what is left of the cycle. An entry is read
// in one step (ENTRY, CUT_READ, OPEN_READ), stands in `staged_interval_ns_o` and `kept_interval_ns_o` in the next, and
// from the one after that in the other outputs.
//
// What a staged entry has beside its interval stands in bits of their own beside the lists that are kept, in the first of
// their words: those are not written while a list is staged, and so all fit one block RAM less.
module pen_gate_lists
  import pen_pkg::*, pen_gate_pkg::*;
#(
  parameter int unsigned PORTS   = 4,
  parameter int unsigned ENTRIES = 128,
  localparam int unsigned PORT_W  = $clog2(PORTS),
  localparam int unsigned INDEX_W = $clog2(ENTRIES)
) (
  input  logic               clk_i,
  input  logic               write_i,               // of the staged list
  input  logic [15:0]        write_index_i,         // beyond the list: ignored
  input  gate_staged_t       write_entry_i,
  input  gate_step_t         step_i,
  input  logic               from_staged_i,         // the list is cut from what is staged, and then kept
  input  logic [PORT_W-1:0]  port_i,
  input  logic               bank_i,                // which of the port's two lists
  input  logic [INDEX_W-1:0] index_i,
  input  logic               is_last_index_i,       // it ends the cycle, as the cut has found
  input  logic [15:0]        length_i,              // ControlListLength
  input  logic               is_cut_last_i,         // in CUT: nothing is left of the cycle beyond this entry
  output logic [31:0]        staged_interval_ns_o,
  output logic [31:0]        kept_interval_ns_o,
  output logic               unknown_operation_o,   // of the entry that is checked
  output logic               ends_list_o,           // the entry just read is the last one that there is
  output logic               ends_list_q_o,         // the same, held while the entry is cut
  output logic               is_open_o,             // the gate of a class, the next one in each cycle of CUT_CLASS and OPEN_CLASS
  output logic               last_o                 // it is the last of its cycle
);
  localparam int unsigned KEPT = PORTS * 2 * ENTRIES;

  typedef logic [$clog2(KEPT)-1:0] addr_t;

  logic               stage_q;                       // a cycle later, long before it is read
  logic [INDEX_W-1:0] stage_index_q;
  gate_staged_t       stage_entry_q;
  logic               reads_staged, staged_unknown;
  logic [7:0]         staged_states, states_q;
  gate_kept_t         kept, kept_new;
  addr_t              kept_addr;

  always_ff @(posedge clk_i) begin
    stage_q       <= write_i && write_index_i < 16'(ENTRIES);
    stage_index_q <= write_index_i[INDEX_W-1:0];
    stage_entry_q <= write_entry_i;
  end

  pen_ram_1r1w #(.WIDTH(32), .DEPTH(ENTRIES), .READ_OLD(0)) u_staged (
    .clk_i,
    .write_i     (stage_q),
    .write_addr_i(stage_index_q),
    .write_data_i(stage_entry_q.interval_ns),
    .read_i      (step_i[ENTRY] || step_i[CUT_READ]),
    .read_addr_i (index_i),
    .read_data_o (staged_interval_ns_o)
  );

  assign reads_staged = from_staged_i && !step_i[OPEN_READ];
  assign kept_addr    = addr_t'({port_i, bank_i, index_i});
  assign kept_new     = '{last: last_o, states: staged_states, interval_ns: staged_interval_ns_o};

  pen_ram_parts_1r1w #(.WIDTH_A($bits(gate_kept_t)), .WIDTH_B(9), .DEPTH(KEPT)) u_kept (
    .clk_i,
    .write_a_i     (step_i[CUT_WRITE] && from_staged_i),
    .write_b_i     (stage_q),
    .write_addr_i  (step_i[CUT_WRITE] ? kept_addr : addr_t'(stage_index_q)),
    .write_data_a_i(kept_new),
    .write_data_b_i({stage_entry_q.operation == 2'd3, stage_entry_q.states}),
    .read_i        (step_i[ENTRY] || step_i[CUT_READ] || step_i[OPEN_READ]),
    .read_addr_i   (reads_staged ? addr_t'(index_i) : kept_addr),
    .read_data_a_o (kept),
    .read_data_b_o ({staged_unknown, staged_states})
  );

  assign is_open_o            = states_q[0];
  assign kept_interval_ns_o   = kept.interval_ns;
  assign ends_list_o          = from_staged_i ? 16'(index_i) + 16'd1 == length_i : kept.last;

  always_ff @(posedge clk_i) begin
    unique case (1'b1)
      step_i[ENTRY_LOAD]: unknown_operation_o <= staged_unknown;
      step_i[CUT_LOAD]: begin
        states_q      <= from_staged_i ? staged_states : kept.states;
        ends_list_q_o <= ends_list_o;
      end
      step_i[CUT]: last_o <= is_cut_last_i;
      step_i[OPEN_LOAD]: begin
        last_o   <= is_last_index_i;
        states_q <= kept.states;
      end
      step_i[CUT_CLASS], step_i[OPEN_CLASS]: states_q <= {states_q[0], states_q[7:1]};
      default: ;
    endcase
  end

  logic unused;
  assign unused = &{1'b0, write_index_i, step_i};
endmodule
