// SPDX-License-Identifier: Apache-2.0
// The registers of the switch, and the chain by which settings, tables and questions reach each unit.
//
//   registers ─► clock ─► way in of each port ─► ingress ─► buffer ─► shapers ─► way out of each port ─► counters ─┐
//       ▲                                                                                                          │
//       └──────────────────────────────────────── status of the ports ◄────────────────────────────────────────────┘
module pen_config
  import pen_pkg::*, pen_config_pkg::*, pen_switch_map_pkg::*;
#(
  parameter int unsigned PORTS = 4,
  parameter int unsigned STREAMS = 256,
  parameter int unsigned CELLS = 1024,
  parameter int unsigned FDB_SETS = 512,
  parameter bit          HOST = 0,                             // the last port is the host's
  parameter int unsigned PROCESSING_DELAY_MAX_NS = 400  // what the register says after reset
) (
  input  logic                               clk_i,
  input  logic                               rst_i,
  input  logic [15:0]                        s_axil_awaddr_i,
  input  logic [2:0]                         s_axil_awprot_i,
  input  logic                               s_axil_awvalid_i,
  output logic                               s_axil_awready_o,
  input  logic [31:0]                        s_axil_wdata_i,
  input  logic [3:0]                         s_axil_wstrb_i,
  input  logic                               s_axil_wvalid_i,
  output logic                               s_axil_wready_o,
  output logic [1:0]                         s_axil_bresp_o,
  output logic                               s_axil_bvalid_o,
  input  logic                               s_axil_bready_i,
  input  logic [15:0]                        s_axil_araddr_i,
  input  logic [2:0]                         s_axil_arprot_i,
  input  logic                               s_axil_arvalid_i,
  output logic                               s_axil_arready_o,
  output logic [31:0]                        s_axil_rdata_o,
  output logic [1:0]                         s_axil_rresp_o,
  output logic                               s_axil_rvalid_o,
  input  logic                               s_axil_rready_i,
  input  time_ns_t                           time_ns_i,
  input  logic                               init_busy_i,         // tables are being cleared: writes wait
  output logic                               busy_o,              // an access is on its way, or its answer is
  // Ways in
  output ingress_port_config_t [PORTS-1:0]   ingress_port_config_o,
  output logic [PORTS-1:0]                   receive_reset_o,
  output ingress_config_t                    ingress_config_o,
  output table_write_t                       ingress_table_o,     // held until ready; data zero while init_busy_i
  input  logic                               ingress_table_ready_i,
  // Admission
  output buffer_config_t                     buffer_config_o,
  output table_write_t                       buffer_table_o,
  // Gate lists and credit
  output port_mask_t                         gate_enable_o,
  output table_write_t                       shaper_table_o,
  input  logic                               entry_ready_i,
  input  logic                               credit_ready_i,
  output gate_admin_t                        gate_admin_o,        // with gate_commit_o
  output logic                               gate_commit_o,       // held until gate_ready_i
  input  logic                               gate_ready_i,
  input  logic [15:0]                        credit_errors_i,
  input  logic [2:0]                         credit_error_i,
  // Ways out
  output egress_port_config_t [PORTS-1:0]    egress_port_config_o,
  output logic [PORTS-1:0]                   send_reset_o,
  // PTP clock
  output logic                               clock_request_o,     // one cycle; the answer may take any time
  output logic                               clock_write_o,
  output logic [5:0]                         clock_addr_o,        // word; this and the data are held until the answer
  output logic [15:0]                        clock_data_o,        // all that its registers take
  output logic [79:0]                        clock_staged_o,      // what a command takes of what is staged
  input  logic                               clock_ack_i,
  input  logic [31:0]                        clock_data_i,
  // Counters
  output logic                               counter_request_o,   // as for the clock
  output logic [8:0]                         counter_addr_o,      // {port, word}
  input  logic                               counter_ack_i,
  input  logic [31:0]                        counter_data_i,
  // Status of the ports
  output logic                               status_request_o,
  output logic                               status_write_o,
  output logic [8:0]                         status_addr_o,
  input  logic                               status_ack_i,
  input  logic [31:0]                        status_data_i
);
  localparam int unsigned NODES = nodes(PORTS);
  localparam int unsigned NODE_CLOCK = 0;
  localparam int unsigned NODE_INGRESS_PORT = 1;             // and the others behind it
  localparam int unsigned NODE_INGRESS = PORTS + 1;
  localparam int unsigned NODE_BUFFER = PORTS + 2;
  localparam int unsigned NODE_SHAPER = PORTS + 3;
  localparam int unsigned NODE_EGRESS_PORT = PORTS + 4;      // and the others behind it
  localparam int unsigned NODE_COUNTERS = 2 * PORTS + 4;
  localparam int unsigned NODE_STATUS = 2 * PORTS + 5;

  config_word_t   [NODES:0]           chain;
  config_access_t [NODES-1:0]         node_access;
  logic           [NODES-1:0]         node_answer;
  logic           [NODES-1:0][31:0]   node_data;

  config_access_t clock_access, counter_access, status_access;
  table_write_t   clock_staged;
  logic           clock_staged_answer;

  pen_registers #(
    .PORTS                  (PORTS),
    .STREAMS                (STREAMS),
    .CELLS                  (CELLS),
    .FDB_SETS               (FDB_SETS),
    .HOST                   (HOST),
    .PROCESSING_DELAY_MAX_NS(PROCESSING_DELAY_MAX_NS)
  ) u_registers (
    .clk_i,
    .rst_i,
    .s_axil_awaddr_i,
    .s_axil_awprot_i,
    .s_axil_awvalid_i,
    .s_axil_awready_o,
    .s_axil_wdata_i,
    .s_axil_wstrb_i,
    .s_axil_wvalid_i,
    .s_axil_wready_o,
    .s_axil_bresp_o,
    .s_axil_bvalid_o,
    .s_axil_bready_i,
    .s_axil_araddr_i,
    .s_axil_arprot_i,
    .s_axil_arvalid_i,
    .s_axil_arready_o,
    .s_axil_rdata_o,
    .s_axil_rresp_o,
    .s_axil_rvalid_o,
    .s_axil_rready_i,
    .time_ns_i        (time_ns_i),
    .init_busy_i      (init_busy_i),
    .busy_o           (busy_o),
    .chain_o          (chain[0]),
    .chain_i          (chain[NODES])
  );

  for (genvar n = 0; n < NODES; n++) begin : gen_node
    pen_chain_node #(.POSITION(n), .NODES(NODES)) u_node (
      .clk_i,
      .rst_i,
      .chain_i      (chain[n]),
      .chain_o      (chain[n+1]),
      .access_o     (node_access[n]),
      .answer_i     (node_answer[n]),
      .answer_data_i(node_data[n])
    );
  end

  pen_ingress_settings #(.PORTS(PORTS)) u_ingress_settings (
    .clk_i,
    .rst_i,
    .access_i     (node_access[NODE_INGRESS]),
    .config_o     (ingress_config_o),
    .table_o      (ingress_table_o),
    .table_ready_i(ingress_table_ready_i),
    .answer_o     (node_answer[NODE_INGRESS]),
    .answer_data_o(node_data[NODE_INGRESS])
  );

  pen_buffer_settings #(.PORTS(PORTS)) u_buffer_settings (
    .clk_i,
    .rst_i,
    .access_i(node_access[NODE_BUFFER]),
    .config_o(buffer_config_o),
    .table_o (buffer_table_o),
    .answer_o(node_answer[NODE_BUFFER])
  );
  assign node_data[NODE_BUFFER] = '0;

  pen_shaper_settings #(.PORTS(PORTS)) u_shaper_settings (
    .clk_i,
    .rst_i,
    .access_i       (node_access[NODE_SHAPER]),
    .gate_enable_o  (gate_enable_o),
    .table_o        (shaper_table_o),
    .entry_ready_i  (entry_ready_i),
    .other_ready_i  (1'b1),
    .credit_ready_i (credit_ready_i),
    .gate_admin_o   (gate_admin_o),
    .gate_commit_o  (gate_commit_o),
    .gate_ready_i   (gate_ready_i),
    .credit_errors_i(credit_errors_i),
    .credit_error_i (credit_error_i),
    .answer_o       (node_answer[NODE_SHAPER]),
    .answer_data_o  (node_data[NODE_SHAPER])
  );

  for (genvar p = 0; p < PORTS; p++) begin : gen_port_settings
    pen_ingress_port_settings #(.PORT(p)) u_in (
      .clk_i,
      .rst_i,
      .access_i    (node_access[NODE_INGRESS_PORT+p]),
      .config_o    (ingress_port_config_o[p]),
      .port_reset_o(receive_reset_o[p])
    );
    assign node_answer[NODE_INGRESS_PORT+p] = 1'b0;
    assign node_data[NODE_INGRESS_PORT+p]   = '0;

    pen_egress_port_settings #(.PORT(p)) u_out (
      .clk_i,
      .rst_i,
      .access_i    (node_access[NODE_EGRESS_PORT+p]),
      .config_o    (egress_port_config_o[p]),
      .port_reset_o(send_reset_o[p])
    );
    assign node_answer[NODE_EGRESS_PORT+p] = 1'b0;
    assign node_data[NODE_EGRESS_PORT+p]   = '0;
  end

  // ---- Units with registers of their own -------------------------------------------------------------------------
  assign clock_access   = node_access[NODE_CLOCK];
  assign counter_access = node_access[NODE_COUNTERS];
  assign status_access  = node_access[NODE_STATUS];

  // A command of the clock takes what is staged, as the tables do.
  pen_table_shadow #(.TABLES('0)) u_clock_shadow (
    .clk_i, .rst_i, .access_i(clock_access), .table_o(clock_staged), .ready_i(1'b1), .answer_o(clock_staged_answer)
  );

  assign clock_request_o = (clock_access.read || clock_access.write) && clock_access.address[15:8] == REG_PTP[15:8];
  assign clock_write_o   = clock_access.write;
  assign clock_addr_o    = clock_access.address[7:2];
  assign clock_data_o    = clock_access.data[15:0];
  assign clock_staged_o  = clock_staged.data[79:0];
  assign node_answer[NODE_CLOCK] = clock_ack_i;
  assign node_data[NODE_CLOCK]   = clock_data_i;

  // Counters are read; a write has no effect.
  logic of_counters;
  assign of_counters       = counter_access.address[15:11] == REG_COUNTERS[15:11];
  assign counter_request_o = counter_access.read && of_counters;
  assign counter_addr_o    = counter_access.address[10:2];
  assign node_answer[NODE_COUNTERS] = counter_ack_i || (counter_access.write && of_counters);
  assign node_data[NODE_COUNTERS]   = counter_data_i;

  assign status_request_o = (status_access.read || status_access.write)
                            && status_access.address[15:11] == REG_STATUS_OF[15:11];
  assign status_write_o   = status_access.write;
  assign status_addr_o    = status_access.address[10:2];
  assign node_answer[NODE_STATUS] = status_ack_i;
  assign node_data[NODE_STATUS]   = status_data_i;

  logic unused;
  assign unused = &{1'b0, clock_access, counter_access, status_access, clock_staged, clock_staged_answer};
endmodule
