// SPDX-License-Identifier: Apache-2.0
// What stands with each port: which list is in force, whether a change is pending, and which times it waits to be told.
//
// A time is told to the port's gates only when it is less than 2^34 ns ahead, so that they need not compare 64 bits.
// Until then its bit stands here, and whenever there is nothing else to do, the next one is looked at (LOOK) and, if it
// is there, compared with the gate time (SEND), one time of one port after the other.
//
// When the clock is stepped, all that the ports wait for is forgotten. The running lists are told their new start first
// of all: until each has been looked at once (`looked_o`), nothing else begins. Then the changes that were pending
// (`again_o`) are worked out anew, and when the last one is, all times are looked at before anything else begins. If
// the clock is stepped once more before that, they are worked out from the times that they had before the first step.
module pen_gate_ports
  import pen_pkg::*, pen_gate_pkg::*;
#(
  parameter int unsigned PORTS = 4,
  localparam int unsigned PORT_W = $clog2(PORTS)
) (
  input  logic              clk_i,
  input  logic              rst_i,
  input  logic              stepped_i,
  input  logic [PORTS-1:0]  changed_i,           // the gates of these ports have begun the new list
  // What is worked on, and for which port.
  input  gate_step_t        step_i,
  input  logic              is_eighth_i,         // cycle of the step
  input  gate_purpose_e     purpose_i,
  input  logic [PORT_W-1:0] port_i,
  input  logic              withdraw_i,          // its change is taken back
  input  logic              tell_i,              // in WAIT: its change is worked out, and pending from now on
  input  logic              hold_new_i,          // the gates wait for the new list; else for the last cycle before it
  input  logic              length_known_i,      // in LAST_LENGTH
  input  logic              is_short_i,          // with it: the last cycle is shorter than 2^15 ns
  input  logic              is_near_i,           // the time looked at is near, so it has been told
  // The time that is looked at.
  output logic [PORT_W-1:0] look_port_o,
  output logic [1:0]        look_time_o,         // TIME_CHANGE, TIME_START, TIME_LAST or none
  output logic              look_hit_o,          // the port waits for it
  output logic              looked_o,
  output logic              waits_o,             // any port waits for any time
  // Of each port.
  output logic [PORTS-1:0]  send_new_o,          // it waits for TIME_CHANGE
  output logic [PORTS-1:0]  send_last_o,         // it waits for TIME_LAST
  output logic [PORTS-1:0]  bank_o,              // the list in force
  output logic [PORTS-1:0]  slot_o,              // the time of change in use
  output logic [PORTS-1:0]  running_o,           // a list is in force
  output logic [PORTS-1:0]  started_o,           // it began anew after a step of the clock
  output logic [PORTS-1:0]  pending_o,           // a change is ahead
  output logic [PORTS-1:0]  again_o,             // and has to be worked out anew
  output logic [PORTS-1:0]  short_o
);
  logic [PORTS-1:0]  send_new_q, send_start_q, send_last_q;
  logic [PORTS-1:0]  moved_q;             // worked out anew, in the other slot, and not yet told
  logic [PORT_W+1:0] look_q;
  logic              ends_again;

  assign look_port_o = look_q[PORT_W+1:2];
  assign look_time_o = look_q[1:0];
  assign waits_o     = (send_new_q | send_start_q | send_last_q) != '0;
  assign send_new_o  = send_new_q;
  assign send_last_o = send_last_q;
  assign ends_again  = again_o == PORTS'(1) << port_i;

  always_comb begin
    unique case (look_time_o)
      TIME_CHANGE: look_hit_o = send_new_q[look_port_o];
      TIME_START:  look_hit_o = send_start_q[look_port_o];
      TIME_LAST:   look_hit_o = send_last_q[look_port_o];
      default:     look_hit_o = 1'b0;
    endcase
  end

  always_ff @(posedge clk_i) begin
    unique case (1'b1)
      step_i[LOOK]: begin
        if (!look_hit_o) look_q <= look_q + 1'b1;
        if (look_q == '1) looked_o <= 1'b1;
      end
      step_i[SEND]: if (is_eighth_i) begin
        if (is_near_i) begin
          unique case (look_time_o)
            TIME_CHANGE: send_new_q[look_port_o]   <= 1'b0;
            TIME_START:  send_start_q[look_port_o] <= 1'b0;
            default:     send_last_q[look_port_o]  <= 1'b0;
          endcase
        end
        look_q <= look_q + 1'b1;
      end
      step_i[CANCELLED]: if (withdraw_i) begin
        pending_o[port_i]   <= 1'b0;
        send_new_q[port_i]  <= 1'b0;
        send_last_q[port_i] <= 1'b0;
      end
      step_i[KEEP_TIME]: if (is_eighth_i) begin
        if (purpose_i == FOR_CLOCK) begin
          started_o[port_i]    <= 1'b1;
          send_start_q[port_i] <= 1'b1;
        end else begin
          slot_o[port_i]  <= !slot_o[port_i];
          moved_q[port_i] <= again_o[port_i];
        end
      end
      step_i[LAST_LENGTH]: if (length_known_i) short_o[port_i] <= is_short_i;
      step_i[WAIT]: begin
        look_q <= {port_i, hold_new_i ? TIME_CHANGE : TIME_LAST};
        if (tell_i) begin
          pending_o[port_i]   <= 1'b1;
          again_o[port_i]     <= 1'b0;
          send_new_q[port_i]  <= hold_new_i;
          send_last_q[port_i] <= !hold_new_i;
          if (hold_new_i) send_start_q[port_i] <= 1'b0;
          if (ends_again) begin
            moved_q  <= '0;
            looked_o <= 1'b0;
            look_q   <= '0;
          end
        end
      end
      default: ;
    endcase

    for (int unsigned p = 0; p < PORTS; p++) begin
      if (changed_i[p]) begin
        bank_o[p]    <= !bank_o[p];
        running_o[p] <= 1'b1;
        pending_o[p] <= 1'b0;
        started_o[p] <= 1'b0;
        again_o[p]   <= 1'b0;
      end
    end

    if (stepped_i) begin
      looked_o     <= 1'b0;
      look_q       <= '0;
      again_o      <= (again_o | pending_o) & ~changed_i;
      slot_o       <= slot_o ^ moved_q;
      moved_q      <= '0;
      send_new_q   <= '0;
      send_start_q <= '0;
      send_last_q  <= '0;
    end

    if (rst_i) begin
      bank_o       <= '1;
      slot_o       <= '0;
      running_o    <= '0;
      pending_o    <= '0;
      started_o    <= '0;
      again_o      <= '0;
      moved_q      <= '0;
      send_new_q   <= '0;
      send_start_q <= '0;
      send_last_q  <= '0;
      looked_o     <= 1'b1;
      look_q       <= '0;
    end
  end

  logic unused;
  assign unused = &{1'b0, step_i};

`ifdef FORMAL
  // Contract: only the gates themselves put another list in force.
  logic             f_past_q = 1'b0;
  logic [PORTS-1:0] f_bank_q, f_changed_q;

  always_ff @(posedge clk_i) begin
    f_past_q    <= !rst_i;
    f_bank_q    <= bank_o;
    f_changed_q <= changed_i;
    if (f_past_q) assert ((bank_o ^ f_bank_q) == f_changed_q);
  end
`endif
endmodule
