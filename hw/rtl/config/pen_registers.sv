// SPDX-License-Identifier: Apache-2.0
// AXI4-Lite registers of the switch, one access at a time (pen_config_access).
//
// Which registers there are, which of their bits are kept and what they are after reset, comes from hw/regs/pen_switch.rdl.
module pen_registers
  import pen_pkg::*, pen_config_pkg::*, pen_switch_map_pkg::*;
#(
  parameter int unsigned PORTS = 4,
  parameter int unsigned STREAMS = 256,
  parameter int unsigned CELLS = 1024,
  parameter int unsigned FDB_SETS = 512,
  parameter bit          HOST = 0,
  parameter int unsigned PROCESSING_DELAY_MAX_NS = 400  // what the register says after reset
) (
  input  logic         clk_i,
  input  logic         rst_i,

  input  logic [15:0]  s_axil_awaddr_i,
  input  logic [2:0]   s_axil_awprot_i,
  input  logic         s_axil_awvalid_i,
  output logic         s_axil_awready_o,
  input  logic [31:0]  s_axil_wdata_i,
  input  logic [3:0]   s_axil_wstrb_i,
  input  logic         s_axil_wvalid_i,
  output logic         s_axil_wready_o,
  output logic [1:0]   s_axil_bresp_o,
  output logic         s_axil_bvalid_o,
  input  logic         s_axil_bready_i,
  input  logic [15:0]  s_axil_araddr_i,
  input  logic [2:0]   s_axil_arprot_i,
  input  logic         s_axil_arvalid_i,
  output logic         s_axil_arready_o,
  output logic [31:0]  s_axil_rdata_o,
  output logic [1:0]   s_axil_rresp_o,
  output logic         s_axil_rvalid_o,
  input  logic         s_axil_rready_i,

  input  time_ns_t     time_ns_i,
  input  logic         init_busy_i,            // tables are being cleared: writes wait
  output logic         busy_o,                 // an access is on its way, or its answer is
  output config_word_t chain_o,
  input  config_word_t chain_i                 // from the last node
);
  if (PORTS < 2 || PORTS > MAX_PORTS)
    $fatal(1, "pen_registers: PORTS must be 2 to %0d, is %0d (%m)", MAX_PORTS, PORTS);
  if (CELLS < 256 || CELLS > 4096) $fatal(1, "pen_registers: CELLS must be 256 to 4096, is %0d (%m)", CELLS);

  // The shares after reset. A frame of 1522 bytes takes 12 cells: each queue is guaranteed one and each reception port
  // two, as long as that leaves a quarter of the store to all. Of each port, cells are set aside for a frame being
  // received, one that has been sent and is still to be reclaimed, and the first cells of the next.
  localparam int unsigned TRANSIT_CELLS = 36;
  localparam int unsigned RECEPTION_GUARANTEE = 24;
  localparam int unsigned PER_PORT = TRANSIT_CELLS + RECEPTION_GUARANTEE;
  localparam int unsigned ROOM = 3 * CELLS / 4 > PORTS * PER_PORT ? 3 * CELLS / 4 - PORTS * PER_PORT : 0;
  localparam int unsigned FAIR = ROOM / (PORTS * CLASSES);
  localparam int unsigned QUEUE_GUARANTEE = FAIR > 12 ? 12 : FAIR;
  localparam int unsigned TAKEN = PORTS * (PER_PORT + CLASSES * QUEUE_GUARANTEE);
  if (TAKEN >= CELLS)
    $fatal(1, "pen_registers: CELLS must be above %0d for %0d ports, is %0d (%m)", TAKEN, PORTS, CELLS);
  if (HOST && QUEUE_GUARANTEE == 0)  // the host port's queues have no room but this
    $fatal(1, "pen_registers: CELLS must be at least %0d for %0d ports with a host port, is %0d (%m)",
           4 * PORTS * (PER_PORT + CLASSES) / 3, PORTS, CELLS);

  // ---- One access at a time -----------------------------------------------------------------------------------------
  logic        request, write, known;
  logic [15:0] address;
  logic [31:0] write_data, live;
  logic        of_unit, acts, is_live, staged, setting, walks, aside, access_busy;

  // After reset what is kept is set from the first address on, and settings go on the chain.
  logic [15:0] walk_address, walk_next;
  logic        walk_skips;
  always_comb begin
    case (walk_address)
      REG_HOST:        walk_next = REG_PORT_ENABLE;
      REG_TABLE_INDEX: walk_next = REG_ADMIN_BASE_TIME_SECONDS_LOW;
      default:         walk_next = walk_address + 16'd4;
    endcase
  end
  assign walk_skips = walk_address inside {REG_GATE_COMMIT, REG_CREDIT_ERRORS}
                      || walk_address[15:4] == REG_IDENTIFY_IPV4_MASK[15:4];

  assign staged  = address[15:4] == REG_TABLE_DATA[15:4] || address == REG_TABLE_INDEX
                   || (address >= REG_ADMIN_BASE_TIME_SECONDS_LOW && address <= REG_ADMIN_CONTROL_LIST_LENGTH);
  assign setting = address >= REG_PORT_ENABLE;

  pen_config_access #(
    .WALK_FIRST(REG_ID),
    .WALK_END  (REG_ROUND_ROBIN + 16'(4 * MAX_PORTS))
  ) u_access (
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
    .init_busy_i,
    .busy_o        (access_busy),
    .request_o     (request),
    .write_o       (write),
    .address_o     (address),
    .data_o        (write_data),
    .known_i       (known),
    .acts_i        (acts),
    .kept_i        (kept_bits(address)),
    .is_live_i     (is_live),
    .live_i        (live),
    .latches_i     (address == REG_TIME_LOW),
    .high_i        (time_ns_i[63:32]),
    .setting_i     (setting),
    .staged_i      (staged),
    .of_unit_i     (of_unit),
    .aside_i       (1'b0),
    .aside_o       (aside),
    .aside_done_i  (1'b0),
    .walks_o       (walks),
    .walk_address_o(walk_address),
    .walk_skips_i  (walk_skips),
    .walk_next_i   (walk_next),
    .chain_o,
    .chain_i
  );

  // ---- What is where ----------------------------------------------------------------------------------------------
  assign known   = is_register(address) || is_of_block(address);
  assign of_unit = !write && (is_of_block(address) || address == REG_CREDIT_ERRORS
                              || address[15:4] == REG_IDENTIFY_IPV4_MASK[15:4]);
  assign acts    = is_of_block(address) || address inside {REG_TABLE_COMMIT, REG_GATE_COMMIT};

  // ---- What is read -----------------------------------------------------------------------------------------------
  logic [31:0] at_reset;

  // After reset; some are those of the parameters.
  always_comb begin
    case (address)
      REG_PORTS:                at_reset = PORTS;
      REG_STREAMS:              at_reset = STREAMS;
      REG_CELLS:                at_reset = CELLS;
      REG_FDB_SETS:             at_reset = FDB_SETS;
      REG_HOST:                 at_reset = 32'(HOST);
      REG_PROCESSING_DELAY_MAX: at_reset = PROCESSING_DELAY_MAX_NS;
      REG_QUEUE_GUARANTEE:      at_reset = QUEUE_GUARANTEE;
      REG_RECEPTION_GUARANTEE:  at_reset = RECEPTION_GUARANTEE;
      REG_SHARED_LIMIT:         at_reset = CELLS - TAKEN;
      default:                  at_reset = reset_value(address);
    endcase
  end

  assign is_live = walks || !known || acts || address inside {REG_STATUS, REG_TIME_LOW};
  always_comb begin
    case (address)
      REG_STATUS:   live = 32'(init_busy_i);
      REG_TIME_LOW: live = time_ns_i[31:0];
      default:      live = '0;
    endcase
    if (walks) live = at_reset;
  end

  // ---- What is on its way -----------------------------------------------------------------------------------------
  logic [7:0] resets_q;                        // the ports that are in reset
  always_ff @(posedge clk_i) begin
    if (rst_i) resets_q <= '0;
    else if (request && write && address == REG_PORT_RESET) resets_q <= write_data[7:0];
  end
  assign busy_o = access_busy || resets_q != '0;

  logic unused;
  assign unused = &{1'b0, aside, write_data};
endmodule
