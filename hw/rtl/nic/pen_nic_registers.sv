// SPDX-License-Identifier: Apache-2.0
// AXI4-Lite registers of the network card, one access at a time (pen_config_access), and the begin of the chain of
// settings that it shares with the switch.
//
// Which registers there are, which of their bits are kept and what they are after reset, comes from hw/regs/pen_nic.rdl.
// Flip-flops have only what the card goes by all the time. What the virtqueues are told is answered by themselves.
module pen_nic_registers
  import pen_pkg::*, pen_nic_pkg::*, pen_config_pkg::*, pen_nic_map_pkg::*;
#(
  parameter int unsigned PORTS = 1,  // of the card, and which of them this is
  parameter int unsigned PORT = 0,
  parameter int unsigned PAIRS = 4,
  parameter int unsigned SLOTS = 4,
  parameter bit          ATS = 1
) (
  input  logic            clk_i,
  input  logic            rst_i,
  input  logic [15:0]     s_axil_awaddr_i,
  input  logic [2:0]      s_axil_awprot_i,
  input  logic            s_axil_awvalid_i,
  output logic            s_axil_awready_o,
  input  logic [31:0]     s_axil_wdata_i,
  input  logic [3:0]      s_axil_wstrb_i,
  input  logic            s_axil_wvalid_i,
  output logic            s_axil_wready_o,
  output logic [1:0]      s_axil_bresp_o,
  output logic            s_axil_bvalid_o,
  input  logic            s_axil_bready_i,
  input  logic [15:0]     s_axil_araddr_i,
  input  logic [2:0]      s_axil_arprot_i,
  input  logic            s_axil_arvalid_i,
  output logic            s_axil_arready_o,
  output logic [31:0]     s_axil_rdata_o,
  output logic [1:0]      s_axil_rresp_o,
  output logic            s_axil_rvalid_o,
  input  logic            s_axil_rready_i,
  input  time_ns_t        time_ns_i,
  input  logic            init_busy_i,        // tables are being cleared: writes wait
  output config_word_t    chain_o,
  input  config_word_t    chain_i,            // from the last node
  // Virtqueues
  output logic [31:0]     notify_o,           // one cycle
  output logic            start_o,            // held until command_ready_i, as stop_o
  output logic            stop_o,
  output virtqueue_t      queue_o,            // of start_o and stop_o, and whose state is asked
  output queue_settings_t settings_o,
  output logic            settings_good_o,
  input  logic            command_ready_i,
  input  logic [15:0]     next_available_i,   // in the cycle behind command_ready_i
  input  logic [31:0]     running_i,
  input  queue_error_e [31:0] error_i,
  input  logic [31:0]     interrupt_i,        // one cycle
  output window_range_t [WINDOWS-1:0] windows_o,
  output length_t         max_frame_bytes_o,
  output logic [MAX_QUEUES/2-1:0] launch_enable_o,
  output logic [MAX_QUEUES/2-1:0] launch_drop_o,
  output logic [31:0]     launch_horizon_ns_o,
  output logic [MAX_QUEUES/2-1:0] ats_enable_o,
  output logic [7:0]      ats_overhead_bytes_o
);
  // ---- One access at a time -----------------------------------------------------------------------------------------
  logic        request, write, written, known;
  logic [15:0] address;
  logic [31:0] write_data, live;
  logic        of_unit, acts, is_live, of_queues, queue_write, queue_done, staged, setting, walks, access_busy;

  // After reset what is kept is set from the first address on, and settings go on the chain.
  logic [15:0] walk_address, walk_next;
  always_comb begin
    case (walk_address)
      REG_WINDOW_LAST + 16'(4 * WINDOWS - 4):   walk_next = REG_MAX_FRAME;
      REG_MAX_FRAME:                            walk_next = REG_PORT_RESET;
      REG_PORT_RESET:                           walk_next = REG_TABLE_DATA;
      REG_TABLE_INDEX:                          walk_next = REG_ADMIN_BASE_TIME_SECONDS_LOW;
      REG_ROUND_ROBIN + 16'(4 * MAX_PORTS - 4): walk_next = REG_LAUNCH_ENABLE;
      default:                                  walk_next = walk_address + 16'd4;
    endcase
  end

  assign staged  = address[15:4] == REG_TABLE_DATA[15:4] || address == REG_TABLE_INDEX
                   || (address >= REG_ADMIN_BASE_TIME_SECONDS_LOW && address <= REG_ADMIN_CONTROL_LIST_LENGTH);
  assign setting = address == REG_PORT_RESET || address >= REG_TABLE_DATA;

  pen_config_access #(.WALK_FIRST(REG_ID), .WALK_END(REG_ATS_OVERHEAD + 16'd4)) u_access (
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
    .aside_i       (of_queues),
    .aside_o       (queue_write),
    .aside_done_i  (queue_done),
    .walks_o       (walks),
    .walk_address_o(walk_address),
    .walk_skips_i  (walk_address inside {REG_GATE_COMMIT, REG_CREDIT_ERRORS}),
    .walk_next_i   (walk_next),
    .chain_o,
    .chain_i
  );

  // ---- What is where ------------------------------------------------------------------------------------------------
  assign written   = request && write;
  assign known     = is_register(address) || is_of_block(address);
  assign of_unit   = !write && (is_of_block(address) || address == REG_CREDIT_ERRORS);
  assign of_queues = address == REG_QUEUE_COMMAND;
  assign acts      = is_of_block(address) || of_queues || address inside {REG_TABLE_COMMIT, REG_GATE_COMMIT};

  // ---- What is read -------------------------------------------------------------------------------------------------
  logic [31:0] at_reset, interrupts_q, errors;
  logic        stops_q;
  logic [15:0] stopped_at_q;

  // After reset; some are those of the parameters.
  always_comb begin
    case (address)
      REG_PORTS:      at_reset = PORTS;
      REG_PORT:       at_reset = PORT;
      REG_PAIRS:      at_reset = PAIRS;
      REG_SLOTS:      at_reset = SLOTS;
      REG_SCHEDULERS: at_reset = ATS ? PAIRS : 0;
      default:        at_reset = reset_value(address);
    endcase
  end

  assign is_live = walks || !known || acts
                   || address inside {REG_STATUS, REG_TIME_LOW, REG_INTERRUPTS, REG_ERRORS, REG_QUEUE_STATE};
  always_comb begin
    for (int unsigned v = 0; v < 32; v++) errors[v] = error_i[v] != QUEUE_ERROR_NONE;
    case (address)
      REG_STATUS:      live = 32'(init_busy_i);
      REG_TIME_LOW:    live = time_ns_i[31:0];
      REG_INTERRUPTS:  live = interrupts_q;
      REG_ERRORS:      live = errors;
      REG_QUEUE_STATE: live = {8'b0, error_i[queue_o], 3'b0, running_i[queue_o], stopped_at_q};
      default:         live = '0;
    endcase
    if (walks) live = at_reset;
  end

  // ---- Virtqueues ---------------------------------------------------------------------------------------------------
  logic commanded_q;
  assign start_o    = queue_write && write_data[0] && !commanded_q;
  assign stop_o     = queue_write && !write_data[0] && !commanded_q;
  assign queue_done = queue_write && commanded_q;

  always_comb begin
    notify_o = '0;
    if (written && address == REG_NOTIFY) notify_o[write_data[4:0]] = 1'b1;
    if (queue_done && write_data[0]) notify_o[queue_o] = 1'b1;  // it runs since this cycle
  end

  always_ff @(posedge clk_i) begin
    commanded_q <= queue_write && (commanded_q || command_ready_i);
    stops_q <= queue_write && command_ready_i && !commanded_q;
    if (stops_q) stopped_at_q <= next_available_i;
    interrupts_q <= interrupts_q | interrupt_i;
    if (written && address == REG_INTERRUPTS) interrupts_q <= (interrupts_q & ~write_data) | interrupt_i;
    if (rst_i) begin
      commanded_q  <= 1'b0;
      interrupts_q <= '0;
      stopped_at_q <= '0;
    end
  end

  // ---- What the card goes by ----------------------------------------------------------------------------------------
  // The settings of a queue are judged word by word, in the cycle behind their write.
  typedef enum logic [2:0] {DESCRIPTORS, DESCRIPTORS_HIGH, DRIVER, DRIVER_HIGH, DEVICE, DEVICE_HIGH, SIZE, INDEX} queue_word_e;
  logic [7:0] word_q, good_q;
  logic [3:0] size_log2;
  assign settings_good_o = &good_q;
  always_comb begin
    size_log2 = '0;
    for (int unsigned n = 1; n < 16; n++) if (write_data[n]) size_log2 = 4'(n);
  end

  always_ff @(posedge clk_i) begin
    if (written) begin
      for (int unsigned w = 0; w < WINDOWS; w++) begin
        if (address == REG_WINDOW_FIRST + 16'(4 * w)) windows_o[w].first <= write_data;
        if (address == REG_WINDOW_LAST + 16'(4 * w)) windows_o[w].last <= write_data;
      end
      case (address)
        REG_QUEUE_SELECT:   queue_o <= write_data[4:0];
        REG_MAX_FRAME:
          max_frame_bytes_o <= write_data[10:0] > 11'd2000 ? 11'd2000 : write_data[10:0] < 11'd64 ? 11'd64 : write_data[10:0];
        REG_LAUNCH_ENABLE:  launch_enable_o <= write_data[15:0];
        REG_LAUNCH_DROP:    launch_drop_o <= write_data[15:0];
        REG_LAUNCH_HORIZON: launch_horizon_ns_o <= write_data;
        REG_ATS_QUEUES:     ats_enable_o <= write_data[15:0];
        REG_ATS_OVERHEAD:   ats_overhead_bytes_o <= write_data[7:0];
        default: ;
      endcase
    end
    if (rst_i) begin
      for (int unsigned w = 0; w < WINDOWS; w++)
        windows_o[w] <= '{first: reset_value(REG_WINDOW_FIRST), last: reset_value(REG_WINDOW_LAST)};
      queue_o              <= 5'(reset_value(REG_QUEUE_SELECT));
      max_frame_bytes_o    <= 11'(reset_value(REG_MAX_FRAME));
      launch_enable_o      <= 16'(reset_value(REG_LAUNCH_ENABLE));
      launch_drop_o        <= 16'(reset_value(REG_LAUNCH_DROP));
      launch_horizon_ns_o  <= reset_value(REG_LAUNCH_HORIZON);
      ats_enable_o         <= 16'(reset_value(REG_ATS_QUEUES));
      ats_overhead_bytes_o <= 8'(reset_value(REG_ATS_OVERHEAD));
    end
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned w = 0; w < 8; w++) begin
      word_q[w] <= written && address == REG_QUEUE_DESCRIPTORS + 16'(4 * w) && !rst_i;
      if (word_q[w]) begin
        unique case (queue_word_e'(w))
          DESCRIPTORS:      settings_o.descriptors[31:0] <= write_data;
          DESCRIPTORS_HIGH: settings_o.descriptors[47:32] <= write_data[15:0];
          DRIVER:           settings_o.driver[31:0] <= write_data;
          DRIVER_HIGH:      settings_o.driver[47:32] <= write_data[15:0];
          DEVICE:           settings_o.device[31:0] <= write_data;
          DEVICE_HIGH:      settings_o.device[47:32] <= write_data[15:0];
          SIZE:             settings_o.size_log2 <= size_log2;
          default:          {settings_o.next_used, settings_o.next_available} <= write_data;
        endcase
        unique case (queue_word_e'(w))
          DESCRIPTORS: good_q[w] <= write_data[3:0] == '0;
          DRIVER:      good_q[w] <= !write_data[0];
          DEVICE:      good_q[w] <= write_data[1:0] == '0;
          SIZE:        good_q[w] <= size_log2 != '0 && write_data[15:0] == 16'd1 << size_log2;
          INDEX:       good_q[w] <= 1'b1;
          default:     good_q[w] <= write_data[31:16] == '0;
        endcase
      end
    end
    if (rst_i) begin  // all are zero, which is no size
      settings_o   <= '0;
      good_q       <= '1;
      good_q[SIZE] <= 1'b0;
    end
  end

  logic unused;
  assign unused = &{1'b0, access_busy};
endmodule
