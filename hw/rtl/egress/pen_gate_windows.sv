// SPDX-License-Identifier: Apache-2.0
// How long the gate of each class stays open: at the start of a cycle, at most, and beyond an entry.
//
// Classes are worked on one after the other: a pass takes eight cycles, in each of which the vectors turn by one class,
// so that class k is at hand in the k-th; `is_open_i` is the gate of that class in the entry. At most one of the passes
// is under way.
//
//   forward    `cut_i` for each entry of a cycle from its first; then `end_i`, as the window that ends the cycle goes on
//              with the one that begins it; then the windows at the start (`initial_i`) and the largest ones
//              (`largest_i`) come into `run_ns_o`, each by a pass of its own
//   backward   `copy_i` puts there what follows the cycle; then `open_i` for each entry from the last one. Before an
//              entry's pass, `run_ns_o` is how long each class stays open beyond it
//
// The largest window is found one cycle after its candidate.
module pen_gate_windows
  import pen_pkg::*;
(
  input  logic          clk_i,
  input  logic          clear_i,       // before a list
  input  logic          cut_i,
  input  logic          end_i,
  input  logic          initial_i,
  input  logic          largest_i,
  input  logic          copy_i,
  input  logic          open_i,
  input  logic          is_open_i,
  input  logic          is_first_i,    // the first entry of the cycle
  input  logic [32:0]   interval_ns_i, // of the entry
  output window_t [7:0] run_ns_o
);
  localparam window_t HORIZON = '1;

  function automatic window_t add(input window_t window, input logic [32:0] ns);
    logic [$bits(window_t):0] sum_ns;
    sum_ns = {1'b0, window} + {1'b0, ns[$high(window_t):0]};
    return ns[32:$bits(window_t)] != '0 || sum_ns[$bits(window_t)] ? HORIZON : sum_ns[$high(window_t):0];
  endfunction

  window_t [7:0] run_q, initial_q, largest_q;
  logic [7:0]    whole_q;              // open since the start of the cycle
  window_t       run_next, largest_with, candidate_q;
  logic          run_shift, candidate_shift_q, largest_shift, initial_shift;
  window_t       run_in, largest_in, initial_in;

  always_comb begin
    run_next = add(run_q[0], end_i ? 33'(initial_q[0]) : interval_ns_i);
    if (!end_i && !is_open_i) run_next = '0;
    largest_with = candidate_q > largest_q[0] ? candidate_q : largest_q[0];
  end

  assign initial_shift = cut_i || end_i || initial_i || copy_i;
  assign run_shift     = initial_shift || largest_i || open_i;
  assign largest_shift = candidate_shift_q || largest_i;

  always_comb begin
    run_in     = run_next;
    largest_in = largest_with;
    initial_in = initial_q[0];
    unique case (1'b1)
      cut_i: if (whole_q[0] && (is_open_i || is_first_i)) initial_in = run_next;
      end_i: begin
        run_in = run_q[0];
        if (whole_q[0]) initial_in = HORIZON;
      end
      largest_i: begin
        run_in     = largest_q[0];
        largest_in = largest_q[0];
      end
      initial_i, copy_i: run_in = initial_q[0];
      default: ;
    endcase
  end

  always_ff @(posedge clk_i) begin
    candidate_shift_q <= cut_i || end_i;
    candidate_q       <= end_i && whole_q[0] ? HORIZON : run_next;
    if (run_shift) run_q <= {run_in, run_q[7:1]};
    if (largest_shift) largest_q <= {largest_in, largest_q[7:1]};
    if (initial_shift) initial_q <= {initial_in, initial_q[7:1]};
    if (cut_i || end_i) whole_q <= {whole_q[0] && (is_open_i || end_i), whole_q[7:1]};
    if (clear_i) begin
      run_q     <= '0;
      largest_q <= '0;
      whole_q   <= '1;
    end
  end

  assign run_ns_o = run_q;
endmodule
