// SPDX-License-Identifier: Apache-2.0
// The memory of times and settings, in words of 32 bits: what the adder takes up and gives back, and what software asks.
//
// Of each port it keeps, for both of its lists, the base time, the cycle time and the extension; two times of a change,
// the one in use and the one being worked out; and the starts of the list and of the last cycle before a change. Beside
// them stand a few words for whatever is worked on.
//
// A word is read for a sum in its first four cycles (see pen_gate_adder), before a division and for the length of a
// cycle; in all other cycles the two words of a status may be read, anew if a word of a port changes in between. What is
// written is a result of the adder, a setting that comes with a list, or the gate time, which takes the cycle of
// `snap_i` and the next: as VALUE while commands are looked for, as NOW for all else.
module pen_gate_words
  import pen_pkg::*, pen_gate_pkg::*;
#(
  parameter int unsigned PORTS = 4,
  localparam int unsigned PORT_W = $clog2(PORTS)
) (
  input  logic              clk_i,
  input  logic              rst_i,
  input  time_ns_t          gate_time_i,
  input  logic              stepped_i,
  input  gate_step_t        step_i,
  input  logic [5:0]        count_i,             // cycles in this step
  input  logic              snap_i,
  input  logic [PORT_W-1:0] port_i,              // that is worked on
  input  logic [PORT_W-1:0] look_port_i,         // the same in the step SEND
  input  logic              list_bank_i,         // which list of the port
  input  logic [PORTS-1:0]  bank_i,              // of each port: the list in force
  input  logic [PORTS-1:0]  slot_i,              // of each port: the CHANGE in use
  input  logic [PORTS-1:0]  changed_i,           // the list in force is another
  // The sum that is formed, and its result.
  input  logic              is_sum_i,
  input  gate_word_e        operand_a_i,
  input  gate_word_e        operand_b_i,
  input  gate_word_e        target_i,            // NOTHING: only its sign counts
  input  logic [31:0]       result_i,
  // The setting to keep, by count_i.
  input  logic              keeps_settings_i,    // in KEEP_LIST
  input  logic [31:0]       setting_i,
  output logic [31:0]       word_o,              // the word read, in the next cycle
  // Status of a port.
  input  logic              status_i,            // held until status_ready_o
  input  logic [PORT_W-1:0] status_port_i,
  input  gate_status_e      status_which_i,
  output logic              status_ready_o,
  output logic [63:0]       status_value_o
);
  localparam int unsigned WORD_W = PORT_W + 5;

  typedef logic [PORT_W-1:0] place_t;
  typedef logic [WORD_W-1:0] address_t;

  function automatic address_t address(input place_t of_port, input gate_word_e which, input logic high,
                                       input logic of_bank, input logic of_slot);
    unique case (which)
      NOW:        return address_t'({1'b1, place_t'(0), 3'd0, high});
      VALUE:      return address_t'({1'b1, place_t'(0), 3'd1, high});
      ACC:        return address_t'({1'b1, place_t'(0), 3'd2, high});
      REST:       return address_t'({1'b1, place_t'(0), 3'd3, 1'b0});
      CYCLE:      return address_t'({1'b0, of_port, 1'b0, of_bank, 2'b10});
      EXTENSION:  return address_t'({1'b0, of_port, 1'b0, of_bank, 2'b11});
      CHANGE:     return address_t'({1'b0, of_port, 2'b10, of_slot, high});
      CHANGE_NEW: return address_t'({1'b0, of_port, 2'b10, !of_slot, high});
      START:      return address_t'({1'b0, of_port, 3'b110, high});
      LAST_CYCLE: return address_t'({1'b0, of_port, 3'b111, high});
      default:    return address_t'({1'b0, of_port, 1'b0, of_bank, 1'b0, high});
    endcase
  endfunction

  logic        write, write_q, read;
  address_t    write_addr, write_addr_q, read_addr;
  logic [31:0] write_data, write_data_q;

  pen_ram_1r1w #(.WIDTH(32), .DEPTH(2**(PORT_W + 4) + 8), .READ_OLD(0)) u_words (
    .clk_i,
    .write_i     (write_q),
    .write_addr_i(write_addr_q),
    .write_data_i(write_data_q),
    .read_i      (read),
    .read_addr_i (read_addr),
    .read_data_o (word_o)
  );

  logic [2:0] phase;
  place_t     place;
  assign phase = count_i[2:0];
  assign place = step_i[SEND] ? look_port_i : port_i;

  // --- what is read ------------------------------------------------------------------------------------------------
  logic       is_divide_load, word_of_status;
  logic [1:0] status_next_q;
  gate_word_e read_which, status_word;

  assign is_divide_load = step_i[DIVIDE_LOAD];
  assign word_of_status = status_i && !status_next_q[1] && !(is_sum_i && !phase[2])
                          && !(step_i[DIVIDE_LOAD] || step_i[DIVIDE] || step_i[LENGTH]);

  always_comb begin
    unique case (status_which_i)
      GATE_STATUS_CHANGE_TIME: status_word = CHANGE;
      GATE_STATUS_BASE_TIME:   status_word = FIRST;
      default:                 status_word = status_next_q[0] ? EXTENSION : CYCLE;
    endcase
  end

  always_comb begin
    read_which = phase[0] ? operand_b_i : operand_a_i;
    if (step_i[LENGTH] || (is_divide_load && phase[1:0] == 2'd0)) read_which = CYCLE;
    else if (is_divide_load) read_which = ACC;
    read_addr = address(place, read_which, is_divide_load ? phase[0] : phase[1], list_bank_i, slot_i[place]);
    read      = is_divide_load || step_i[LENGTH] || is_sum_i;
    if (word_of_status) begin
      read      = 1'b1;
      read_addr = address(status_port_i, status_word, status_next_q[0], bank_i[status_port_i], slot_i[status_port_i]);
    end
  end

  // --- what is written ---------------------------------------------------------------------------------------------
  logic        snapped_q, keeps_setting;
  logic [31:0] snap_high_q;
  gate_word_e  write_which;
  logic        write_high;

  assign keeps_setting = keeps_settings_i && phase inside {[3'd1 : 3'd4]};

  always_comb begin
    unique case ({snap_i || snapped_q, snap_i || keeps_setting})
      2'b11: write_data = gate_time_i[31:0];
      2'b10: write_data = snap_high_q;
      2'b01: write_data = setting_i;
      default: write_data = result_i;
    endcase
  end

  always_comb begin
    write       = is_sum_i && target_i != NOTHING && (phase == 3'd4 || phase == 3'd6);
    write_which = target_i;
    write_high  = phase[1];
    if (step_i[DIVIDE_END]) begin
      write       = phase == 3'd3;
      write_which = REST;
    end
    if (step_i[KEEP_LIST]) begin
      write       = keeps_setting;
      write_which = phase == 3'd3 ? CYCLE : phase == 3'd4 ? EXTENSION : FIRST;
    end
    if (snap_i || snapped_q) begin
      write       = 1'b1;
      write_which = (step_i[LOOK] || step_i[SEND]) && !stepped_i ? VALUE : NOW;
      write_high  = !snap_i;
    end
    write_addr = address(place, write_which, write_high, list_bank_i, slot_i[place]);
  end

  always_ff @(posedge clk_i) begin
    snapped_q    <= snap_i && !rst_i;
    snap_high_q  <= gate_time_i[63:32];
    write_q      <= write && !rst_i;
    write_addr_q <= write_addr;
    write_data_q <= write_data;
  end

  // --- status ------------------------------------------------------------------------------------------------------
  logic        status_read_q, status_read_high_q;
  logic [63:0] status_q;

  always_ff @(posedge clk_i) begin
    status_read_q      <= word_of_status;
    status_read_high_q <= status_next_q[0];
    if (word_of_status || status_next_q == 2'd2) status_next_q <= status_next_q + 1'b1;
    if (status_read_q && !status_read_high_q) status_q[31:0] <= word_o;
    if (status_read_q && status_read_high_q) status_q[63:32] <= word_o;
    if (!status_i || status_next_q == 2'd3 || changed_i != '0 || (write_q && !write_addr_q[WORD_W-1])) begin
      status_next_q <= '0;
      status_read_q <= 1'b0;
    end
    if (rst_i) begin
      status_next_q <= '0;
      status_read_q <= 1'b0;
    end
  end

  assign status_ready_o = status_i && status_next_q == 2'd3;
  assign status_value_o = status_q;

  logic unused;
  assign unused = &{1'b0, count_i, step_i};
endmodule
