// SPDX-License-Identifier: Apache-2.0
// Settings of all credit-based shapers: an entry that cannot be met is refused and changes nothing.
//
// A port may not promise more than it has: its idleSlopes together stay within portTransmitRate, unless its gates act,
// for then an idleSlope is that of the time in which the gate is open. When gates are switched off their port's sum is
// looked at again; one that is too much is counted as an error.
//
//   cycle    | c        | c+1          | c+2
//   valid_i  | held                    |
//            | read     | added        | ready_o, and write_o if it is taken
module pen_credit_config
  import pen_pkg::*;
#(
  parameter int unsigned PORTS = 4,
  parameter int unsigned RATE_W = 27             // portTransmitRate is 2^RATE_W a cycle
) (
  input  logic            clk_i,
  input  logic            rst_i,
  input  logic            init_busy_i,
  input  init_index_t     init_index_i,
  input  port_mask_t      gate_enable_i,
  input  logic            valid_i,               // held with the entry until ready_o
  input  logic [12:0]     port_i,
  input  class_t          class_i,
  input  logic            enable_i,              // low while init_busy_i
  input  logic [47:0]     idle_slope_i,
  output logic            ready_o,
  output logic [PORTS-1:0] write_o,              // per port; class, enable_i and idle_slope_i stand beside it
  output logic [15:0]     errors_o,
  output logic [2:0]      error_o                // of the last one refused
);
  localparam logic [47:0] RATE = 48'd1 << RATE_W;
  localparam int unsigned SUM_W = RATE_W + 4;    // eight slopes of at most RATE
  localparam int unsigned PLACE_W = PORTS > 1 ? $clog2(PORTS) : 1;
  localparam int unsigned PLACES = 1 << PLACE_W;  // for ports
  typedef logic [RATE_W:0]   slope_t;
  typedef logic [SUM_W-1:0]  sum_t;

  localparam logic [2:0] ERROR_NONE = 3'd0;
  localparam logic [2:0] ERROR_PORT = 3'd1;
  localparam logic [2:0] ERROR_ZERO = 3'd2;
  localparam logic [2:0] ERROR_RATE = 3'd3;
  localparam logic [2:0] ERROR_SUM  = 3'd4;

  logic [2:1]       step_q;
  slope_t           slope, old, old_q;
  sum_t             sum, sum_q, sum_2_q;
  port_mask_t       enable_q, ungated_q;         // ungated: gates were switched off, and the sum is to be looked at
  port_t            look_port;
  logic             looks, look_q, is_above;
  logic [2:0]       error, wrong_q;              // wrong: but for the sum
  logic             take;
  logic [PORTS-1:0] port;

  assign slope = enable_i ? idle_slope_i[RATE_W:0] : '0;

  // What is in force, for the sums.
  pen_lutram_1r1w #(.WIDTH(RATE_W + 1), .DEPTH(PLACES * CLASSES)) u_slopes (
    .clk_i,
    .write_i     (init_busy_i || take),
    .write_addr_i(init_busy_i ? init_index_i[PLACE_W+2:0] : {port_i[PLACE_W-1:0], class_i}),
    .write_data_i(slope),
    .read_addr_i ({port_i[PLACE_W-1:0], class_i}),
    .read_data_o (old)
  );

  pen_lutram_1r1w #(.WIDTH(SUM_W), .DEPTH(PLACES)) u_sums (
    .clk_i,
    .write_i     (init_busy_i || take),
    .write_addr_i(init_busy_i ? init_index_i[PLACE_W-1:0] : port_i[PLACE_W-1:0]),
    .write_data_i(sum_2_q),
    .read_addr_i (valid_i ? port_i[PLACE_W-1:0] : look_port[PLACE_W-1:0]),
    .read_data_o (sum)
  );

  always_comb begin
    error = wrong_q;
    if (wrong_q == ERROR_NONE && enable_i && sum_2_q > SUM_W'(RATE) && !gate_enable_i[port_i[2:0]]) error = ERROR_SUM;
    for (int unsigned p = 0; p < PORTS; p++) port[p] = port_i[2:0] == port_t'(p);
  end

  // Slopes that were taken beside gates may be too much without them. That is told, and what was set stays in force.
  always_comb begin
    look_port = '0;
    for (int unsigned p = 0; p < PORTS; p++) if (ungated_q[p]) look_port = port_t'(p);
  end
  assign looks    = ungated_q != '0 && !valid_i && step_q == '0;
  assign is_above = look_q && sum_q > SUM_W'(RATE);

  assign ready_o = step_q[2];
  assign take    = step_q[2] && error == ERROR_NONE;
  assign write_o = take ? port : '0;

  always_ff @(posedge clk_i) begin
    wrong_q <= port_i >= 13'(PORTS) ? ERROR_PORT
               : enable_i && idle_slope_i == '0 ? ERROR_ZERO
               : enable_i && idle_slope_i > RATE ? ERROR_RATE : ERROR_NONE;
    old_q   <= old;
    sum_q   <= sum;
    sum_2_q <= init_busy_i ? '0 : sum_q - SUM_W'(old_q) + SUM_W'(slope);
    if (rst_i) begin
      step_q    <= '0;
      enable_q  <= '0;
      ungated_q <= '0;
      look_q    <= 1'b0;
      errors_o  <= '0;
      error_o  <= ERROR_NONE;
    end else begin
      step_q <= {step_q[1], valid_i && !init_busy_i && step_q == '0};
      enable_q  <= gate_enable_i;
      ungated_q <= (ungated_q | (enable_q & ~gate_enable_i)) & ~gate_enable_i & port_mask_t'((1 << PORTS) - 1);
      look_q    <= looks;
      if (looks) ungated_q[look_port] <= enable_q[look_port] && !gate_enable_i[look_port];
      if (is_above || (ready_o && !take)) begin
        error_o <= is_above ? ERROR_SUM : error;
        if (errors_o != '1) errors_o <= errors_o + 1'b1;
      end
    end
  end

  logic unused;
  assign unused = &{1'b0, init_index_i, look_port};
endmodule
