// SPDX-License-Identifier: Apache-2.0
// Registers over a serial line: each request becomes one AXI4-Lite access and is answered before the next is taken.
//
//     request to read     52 'R'  address[7:0]  address[15:8]  check
//     request to write    57 'W'  address[7:0]  address[15:8]  data, lowest byte first (4)  check
//     answer              status  data, lowest byte first (4)  check
//
// `check` is the CRC-8 of all bytes before it (polynomial 07, initial value 00). The status is 4B 'K' when the access
// was done, 45 'E' when the bus refused it and 43 'C' when the check of the request was wrong, which then had no
// effect; the data of anything but a read that was done is zero. Bytes outside of a request that do not begin one are
// passed over. After a silence of IDLE_CYCLES, or a byte without stop bit, what has come of a request is forgotten: a
// client that got no answer waits that long and asks again.
module pen_uart_axi #(
  parameter int unsigned BIT_CYCLES  = 125,       // of clk_i to a bit of the line; 8 to 65535
  parameter int unsigned IDLE_CYCLES = 12_500_000 // more than 16 bits of the line
) (
  input  logic        clk_i,
  input  logic        rst_i,
  input  logic        serial_i,
  output logic        serial_o,
  // AXI4-Lite, 32 bit
  output logic [15:0] m_axil_awaddr_o,
  output logic [2:0]  m_axil_awprot_o,
  output logic        m_axil_awvalid_o,
  input  logic        m_axil_awready_i,
  output logic [31:0] m_axil_wdata_o,
  output logic [3:0]  m_axil_wstrb_o,
  output logic        m_axil_wvalid_o,
  input  logic        m_axil_wready_i,
  input  logic [1:0]  m_axil_bresp_i,
  input  logic        m_axil_bvalid_i,
  output logic        m_axil_bready_o,
  output logic [15:0] m_axil_araddr_o,
  output logic [2:0]  m_axil_arprot_o,
  output logic        m_axil_arvalid_o,
  input  logic        m_axil_arready_i,
  input  logic [31:0] m_axil_rdata_i,
  input  logic [1:0]  m_axil_rresp_i,
  input  logic        m_axil_rvalid_i,
  output logic        m_axil_rready_o
);
  if (IDLE_CYCLES <= 16 * BIT_CYCLES)
    $fatal(1, "pen_uart_axi: IDLE_CYCLES must be above %0d, is %0d (%m)", 16 * BIT_CYCLES, IDLE_CYCLES);

  localparam logic [7:0] COMMAND_READ   = 8'h52;
  localparam logic [7:0] COMMAND_WRITE  = 8'h57;
  localparam logic [7:0] STATUS_DONE    = 8'h4B;
  localparam logic [7:0] STATUS_REFUSED = 8'h45;
  localparam logic [7:0] STATUS_CHECK   = 8'h43;
  localparam logic [2:0] ANSWER_BYTES   = 3'd5;  // without the check
  localparam int unsigned IDLE_W = $clog2(IDLE_CYCLES);

  typedef enum logic [2:0] {COMMAND, ADDRESS, DATA, CHECK, BUS, SEND, SEND_CHECK} state_e;

  function automatic logic [7:0] crc8(input logic [7:0] crc, input logic [7:0] data);
    logic [7:0] value;
    value = crc ^ data;
    for (int unsigned i = 0; i < 8; i++) value = value[7] ? {value[6:0], 1'b0} ^ 8'h07 : {value[6:0], 1'b0};
    return value;
  endfunction

  // ---- The line ---------------------------------------------------------------------------------------------------
  logic       rx_valid, rx_error, tx_valid, tx_ready;
  logic [7:0] rx_data, tx_data;

  pen_uart_rx #(.BIT_CYCLES(BIT_CYCLES)) u_rx (
    .clk_i, .rst_i, .serial_i, .valid_o(rx_valid), .data_o(rx_data), .error_o(rx_error)
  );
  pen_uart_tx #(.BIT_CYCLES(BIT_CYCLES)) u_tx (
    .clk_i, .rst_i, .valid_i(tx_valid), .ready_o(tx_ready), .data_i(tx_data), .serial_o
  );

  // ---- Requests and answers ---------------------------------------------------------------------------------------
  state_e            state_q, state_d;
  logic              write_q, begins, in_request, silent, started, answered;
  logic [2:0]        left_q, left_d;     // bytes of this part after this one
  logic [7:0]        crc_q, crc_d;
  logic [15:0]       address_q;
  logic [31:0]       data_q;             // lowest byte goes first
  logic [7:0]        status_q;
  logic [IDLE_W-1:0] idle_q;             // cycles until the request is forgotten

  assign begins     = state_q == COMMAND && rx_valid && !rx_error && (rx_data == COMMAND_READ || rx_data == COMMAND_WRITE);
  assign in_request = state_q inside {ADDRESS, DATA, CHECK};
  assign silent     = idle_q == '0;

  always_comb begin
    state_d = state_q;
    left_d  = left_q;
    crc_d   = crc_q;
    started = 1'b0;
    unique case (state_q)
      COMMAND: begin
        left_d = 3'd1;
        crc_d  = crc8('0, rx_data);
        if (begins) state_d = ADDRESS;
      end
      ADDRESS: if (rx_valid) begin
        crc_d  = crc8(crc_q, rx_data);
        left_d = left_q == '0 ? 3'd3 : left_q - 1'b1;
        if (left_q == '0) state_d = write_q ? DATA : CHECK;
      end
      DATA: if (rx_valid) begin
        crc_d  = crc8(crc_q, rx_data);
        left_d = left_q - 1'b1;
        if (left_q == '0) state_d = CHECK;
      end
      CHECK: begin
        left_d = ANSWER_BYTES - 1'b1;
        if (rx_valid) begin
          crc_d   = '0;
          started = rx_data == crc_q;
          state_d = started ? BUS : SEND;
        end
      end
      BUS: if (answered) state_d = SEND;
      SEND: if (tx_ready) begin
        crc_d  = crc8(crc_q, tx_data);
        left_d = left_q - 1'b1;
        if (left_q == '0) state_d = SEND_CHECK;
      end
      SEND_CHECK: if (tx_ready) state_d = COMMAND;
      default: state_d = COMMAND;
    endcase
    if (in_request && (silent || (rx_valid && rx_error))) begin
      state_d = COMMAND;
      started = 1'b0;
    end
  end

  assign tx_valid = state_q == SEND || state_q == SEND_CHECK;
  always_comb begin
    tx_data = data_q[7:0];
    if (state_q == SEND && left_q == ANSWER_BYTES - 1'b1) tx_data = status_q;
    if (state_q == SEND_CHECK) tx_data = crc_q;
  end

  // ---- The bus ----------------------------------------------------------------------------------------------------
  logic aw_q, w_q, ar_q;  // still to be taken

  assign answered = write_q ? m_axil_bvalid_i : m_axil_rvalid_i;

  always_ff @(posedge clk_i) begin
    left_q <= left_d;
    crc_q  <= crc_d;
    idle_q <= rx_valid || !in_request ? IDLE_W'(IDLE_CYCLES - 1) : idle_q - 1'b1;
    if (begins) write_q <= rx_data == COMMAND_WRITE;
    if (state_q == ADDRESS && rx_valid) address_q <= {rx_data, address_q[15:8]};

    if (state_q == DATA && rx_valid) data_q <= {rx_data, data_q[31:8]};
    if (state_q == SEND && tx_ready && left_q != ANSWER_BYTES - 1'b1) data_q <= data_q >> 8;
    if (state_q == CHECK && rx_valid && !started) begin
      status_q <= STATUS_CHECK;
      data_q   <= '0;
    end
    if (state_q == BUS && answered) begin
      status_q <= STATUS_DONE;
      data_q   <= write_q ? '0 : m_axil_rdata_i;
      if ((write_q ? m_axil_bresp_i : m_axil_rresp_i) != '0) begin
        status_q <= STATUS_REFUSED;
        data_q   <= '0;
      end
    end

    if (m_axil_awready_i) aw_q <= 1'b0;
    if (m_axil_wready_i) w_q <= 1'b0;
    if (m_axil_arready_i) ar_q <= 1'b0;
    if (started) begin
      aw_q <= write_q;
      w_q  <= write_q;
      ar_q <= !write_q;
    end

    state_q <= state_d;
    if (rst_i) begin
      state_q <= COMMAND;
      aw_q    <= 1'b0;
      w_q     <= 1'b0;
      ar_q    <= 1'b0;
    end
  end

  assign m_axil_awaddr_o  = address_q;
  assign m_axil_awprot_o  = '0;
  assign m_axil_awvalid_o = aw_q;
  assign m_axil_wdata_o   = data_q;
  assign m_axil_wstrb_o   = '1;
  assign m_axil_wvalid_o  = w_q;
  assign m_axil_bready_o  = state_q == BUS;
  assign m_axil_araddr_o  = address_q;
  assign m_axil_arprot_o  = '0;
  assign m_axil_arvalid_o = ar_q;
  assign m_axil_rready_o  = state_q == BUS;
endmodule
