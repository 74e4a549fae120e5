// SPDX-License-Identifier: Apache-2.0
// The PTP clock with its time stamps and the registers of both; `ptp` in hw/regs/pen_switch.rdl.
//
//   request_i    1
//   cycle        |  0      |  1      |  2     |
//   read         | request | decoded | ack_o  |
//   command      | request | given to the clock; ack_o one cycle after it acts
module pen_clock
  import pen_pkg::*;
#(
  parameter int unsigned PORTS = 4,
  parameter int unsigned LEAD_CYCLES = 4
) (
  input  logic                  clk_i,
  input  logic                  rst_i,
  input  logic                  awake_i,         // settings may change
  // Registers
  input  logic                  request_i,       // one cycle
  input  logic                  write_i,
  input  logic [5:0]            addr_i,          // word
  input  logic [15:0]           data_i,
  input  logic [79:0]           command_data_i,  // held from the request of a command to its answer
  output logic                  ack_o,
  output logic [31:0]           data_o,
  // What is stamped
  input  logic [PORTS-1:0]      delimiter_i,
  input  parsed_byte_t [PORTS-1:0] received_i,
  input  logic [PORTS-1:0][7:0] gmii_txd_i,
  input  logic [PORTS-1:0]      gmii_tx_en_i,
  input  logic [PORTS-1:0]      gmii_tx_er_i,
  input  logic                  capture_i,
  output logic                  pps_o,
  // Gates
  output ptp_time_t             time_o,
  output logic [63:0]           gate_time_next_o,  // in the next cycle, as the following
  output logic                  stepped_next_o,
  output logic                  idle_o           // no command is under way
);
  // Words of the block.
  localparam logic [5:0] COMMAND = 6'h00;
  localparam logic [5:0] STATUS = 6'h01;
  localparam logic [5:0] NANOSECONDS = 6'h02;
  localparam logic [5:0] FRACTION = 6'h03;
  localparam logic [5:0] SECONDS_LOW = 6'h04;
  localparam logic [5:0] SECONDS_HIGH = 6'h05;
  localparam logic [5:0] INCREMENT_FRACTION = 6'h06;
  localparam logic [5:0] INCREMENT_NS = 6'h07;
  localparam logic [5:0] STAMP_WAITING = 6'h20;
  localparam logic [5:0] STAMP_LOST = 6'h21;
  localparam logic [5:0] STAMP_TAKE = 6'h22;
  localparam logic [5:0] STAMP_TAG = 6'h23;
  localparam logic [5:0] STAMP_NANOSECONDS = 6'h24;
  localparam logic [5:0] STAMP_FRACTION = 6'h25;
  localparam logic [5:0] STAMP_SECONDS_LOW = 6'h26;
  localparam logic [5:0] STAMP_SECONDS_HIGH = 6'h27;
  localparam logic [5:0] STAMP_ALL = 6'h28;

  typedef enum logic [1:0] {IDLE, DECODE, ACT, ANSWER} state_e;

  state_e             state_q;
  logic               write_q;
  logic [5:0]         addr_q;
  logic [15:0]        written_q;
  logic [4:0]         source;                     // of a stamp: {input, sent, port}
  logic [2*PORTS-1:0] all_q;                      // {sent, received}
  ptp_command_e       command_q;
  logic [31:0]        data_d, data_q;
  logic               command_ready, clock_idle, slewing;
  ptp_error_e         error;
  logic [39:0]        increment;
  ptp_time_t          now;
  logic [47:0]        seconds_q;
  logic [31:0]        fraction_q;
  logic [2*PORTS:0]   waiting, lost;
  logic               take, clear_lost;
  logic [4:0]         take_source;
  stamp_t             stamp;

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      IDLE: if (request_i) state_q <= DECODE;
      DECODE: state_q <= write_q && addr_q == COMMAND ? ACT : ANSWER;
      ACT: if (command_ready) state_q <= ANSWER;
      ANSWER: state_q <= IDLE;
      default: state_q <= IDLE;
    endcase
    if (rst_i) state_q <= IDLE;
    if (request_i) begin
      write_q   <= write_i;
      addr_q    <= addr_i;
      written_q <= data_i;
      command_q <= ptp_command_e'(data_i[2:0]);
    end
    if (state_q == DECODE) begin
      data_q <= data_d;
      if (!write_q && addr_q == NANOSECONDS) begin
        seconds_q  <= now.seconds;
        fraction_q <= now.fraction;
      end
      if (write_q && addr_q == STAMP_ALL) all_q <= {written_q[8+:PORTS], written_q[PORTS-1:0]};
    end
    if (rst_i) all_q <= '0;
  end

  assign ack_o  = state_q == ANSWER;
  assign data_o = data_q;

  always_comb begin
    data_d = '0;
    unique case (addr_q)
      STATUS: data_d = {23'd0, slewing, 5'd0, error};
      NANOSECONDS: data_d = 32'(now.ns);
      FRACTION: data_d = fraction_q;
      SECONDS_LOW: data_d = seconds_q[31:0];
      SECONDS_HIGH: data_d = 32'(seconds_q[47:32]);
      INCREMENT_FRACTION: data_d = increment[31:0];
      INCREMENT_NS: data_d = 32'(increment[39:32]);
      STAMP_WAITING: data_d = {15'd0, waiting[2*PORTS], 8'(waiting[PORTS+:PORTS]), 8'(waiting[PORTS-1:0])};
      STAMP_LOST: data_d = {15'd0, lost[2*PORTS], 8'(lost[PORTS+:PORTS]), 8'(lost[PORTS-1:0])};
      STAMP_TAG: data_d = {stamp.valid, 10'd0, stamp.other, 2'd0, stamp.message_type, stamp.sequence_id};
      STAMP_NANOSECONDS: data_d = 32'(stamp.moment.ns);
      STAMP_FRACTION: data_d = stamp.moment.fraction;
      STAMP_SECONDS_LOW: data_d = stamp.moment.seconds[31:0];
      STAMP_SECONDS_HIGH: data_d = 32'(stamp.moment.seconds[47:32]);
      STAMP_ALL: data_d = {16'd0, 8'(all_q[PORTS+:PORTS]), 8'(all_q[PORTS-1:0])};
      default: ;
    endcase
  end

  assign clear_lost = state_q == DECODE && !write_q && addr_q == STAMP_LOST;
  assign take       = state_q == DECODE && write_q && addr_q == STAMP_TAKE;

  // A source that the switch does not have is the number behind the last one.
  assign source = written_q[4:0];
  always_comb begin
    take_source = 5'(2 * PORTS + 1);
    if (source[4]) take_source = 5'(2 * PORTS);
    else if (4'(source[2:0]) < 4'(PORTS)) take_source = 5'(source[2:0]) + (source[3] ? 5'(PORTS) : 5'd0);
  end

  pen_ptp_clock #(.LEAD_CYCLES(LEAD_CYCLES)) u_clock (
    .clk_i,
    .rst_i,
    .command_valid_i(state_q == ACT),
    .command_i      (command_q),
    .command_data_i,
    .command_ready_o(command_ready),
    .error_o        (error),
    .slewing_o      (slewing),
    .increment_o    (increment),
    .time_o         (now),
    .gate_time_next_o,
    .stepped_next_o,
    .pps_o,
    .idle_o         (clock_idle)
  );

  pen_time_stamp #(.PORTS(PORTS)) u_stamp (
    .clk_i,
    .rst_i,
    .awake_i,
    .time_i       (now),
    .all_i        (all_q),
    .delimiter_i,
    .received_i,
    .gmii_txd_i,
    .gmii_tx_en_i,
    .gmii_tx_er_i,
    .capture_i,
    .waiting_o    (waiting),
    .lost_o       (lost),
    .clear_lost_i (clear_lost),
    .take_i       (take),
    .take_source_i(take_source),
    .stamp_o      (stamp)
  );

  assign time_o = now;
  assign idle_o = clock_idle && state_q == IDLE;

  logic unused;
  assign unused = ^written_q;
endmodule
