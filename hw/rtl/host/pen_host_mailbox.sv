// SPDX-License-Identifier: Apache-2.0
// The host port by registers: for a processor that reaches the switch by a bus only, or by a serial line.
//
//   AXI4-Lite ─► pen_axil_slave ─► register block ─┬─► pen_mailbox_send ────► stream to the switch
//                                                  └─◄ pen_mailbox_receive ◄─ stream from the switch
//
// Registers and what a program does with them: hw/regs/pen_host_mailbox.rdl.
module pen_host_mailbox #(
  parameter int unsigned BYTES = 4096  // of memory in each direction; a power of two from 2048 to 4096
) (
  input  logic        clk_i,
  input  logic        rst_i,
  input  logic [15:0] s_axil_awaddr_i,
  input  logic [2:0]  s_axil_awprot_i,
  input  logic        s_axil_awvalid_i,
  output logic        s_axil_awready_o,
  input  logic [31:0] s_axil_wdata_i,
  input  logic [3:0]  s_axil_wstrb_i,
  input  logic        s_axil_wvalid_i,
  output logic        s_axil_wready_o,
  output logic [1:0]  s_axil_bresp_o,
  output logic        s_axil_bvalid_o,
  input  logic        s_axil_bready_i,
  input  logic [15:0] s_axil_araddr_i,
  input  logic [2:0]  s_axil_arprot_i,
  input  logic        s_axil_arvalid_i,
  output logic        s_axil_arready_o,
  output logic [31:0] s_axil_rdata_o,
  output logic [1:0]  s_axil_rresp_o,
  output logic        s_axil_rvalid_o,
  input  logic        s_axil_rready_i,
  // To the host port
  output logic        m_axis_tvalid_o,
  input  logic        m_axis_tready_i,
  output logic [7:0]  m_axis_tdata_o,
  output logic        m_axis_tlast_o,
  // From the host port
  input  logic        s_axis_tvalid_i,
  output logic        s_axis_tready_o,
  input  logic [7:0]  s_axis_tdata_i,
  input  logic        s_axis_tlast_i,
  input  logic        s_axis_tuser_i
);
  if (BYTES != 2048 && BYTES != 4096) $fatal(1, "pen_host_mailbox: BYTES must be 2048 or 4096, is %0d (%m)", BYTES);

  pen_host_mailbox_regs_pkg::pen_host_mailbox__in_t  hwif_in;
  pen_host_mailbox_regs_pkg::pen_host_mailbox__out_t hwif_out;

  // ---- One access at a time -----------------------------------------------------------------------------------------
  typedef enum logic [1:0] {IDLE, REQUEST, ANSWER} state_e;
  state_e      state_q;
  logic        write, read, write_q, stall_write, stall_read, write_ack, read_ack, write_error, read_error;
  logic [15:0] address;
  logic [31:0] write_data, read_data;

  pen_axil_slave u_slave (
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
    .idle_i      (state_q == IDLE),
    .write_o     (write),
    .read_o      (read),
    .address_o   (address),
    .data_o      (write_data),
    .write_done_i(write_ack),
    .read_done_i (read_ack),
    .error_i     (write_ack ? write_error : read_error),
    .data_i      (read_data)
  );

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      IDLE: begin
        write_q <= write;
        if (write || read) state_q <= REQUEST;
      end
      REQUEST: if (!(write_q ? stall_write : stall_read)) state_q <= write_ack ? IDLE : ANSWER;
      ANSWER: if (write_ack || read_ack) state_q <= IDLE;
      default: state_q <= IDLE;
    endcase
    if (rst_i) state_q <= IDLE;
  end

  pen_host_mailbox_regs u_regs (
    .clk                 (clk_i),
    .rst                 (rst_i),
    .s_cpuif_req         (state_q == REQUEST),
    .s_cpuif_req_is_wr   (write_q),
    .s_cpuif_addr        (address),
    .s_cpuif_wr_data     (write_data),
    .s_cpuif_wr_biten    ('1),           // byte strobes count for nothing: see the RDL
    .s_cpuif_req_stall_wr(stall_write),
    .s_cpuif_req_stall_rd(stall_read),
    .s_cpuif_rd_ack      (read_ack),
    .s_cpuif_rd_err      (read_error),
    .s_cpuif_rd_data     (read_data),
    .s_cpuif_wr_ack      (write_ack),
    .s_cpuif_wr_err      (write_error),
    .hwif_in,
    .hwif_out
  );

  // A memory answers in the cycle behind.
  logic send_write_q, send_read_q, receive_write_q, receive_read_q, commit_q, release_q;
  always_ff @(posedge clk_i) begin
    send_write_q    <= !rst_i && hwif_out.send_data.req && hwif_out.send_data.req_is_wr;
    send_read_q     <= !rst_i && hwif_out.send_data.req && !hwif_out.send_data.req_is_wr;
    receive_write_q <= !rst_i && hwif_out.receive_data.req && hwif_out.receive_data.req_is_wr;
    receive_read_q  <= !rst_i && hwif_out.receive_data.req && !hwif_out.receive_data.req_is_wr;
    commit_q        <= !rst_i && hwif_out.send_commit.bytes.swmod;
    release_q       <= !rst_i && hwif_out.receive_release.ordinal.swmod;
  end

  assign hwif_in.send_data.wr_ack    = send_write_q;
  assign hwif_in.send_data.rd_ack    = send_read_q;
  assign hwif_in.send_data.rd_data   = '0;
  assign hwif_in.receive_data.wr_ack = receive_write_q;
  assign hwif_in.receive_data.rd_ack = receive_read_q;

  // ---- Frames -------------------------------------------------------------------------------------------------------
  pen_mailbox_send #(.BYTES(BYTES)) u_send (
    .clk_i,
    .rst_i,
    .write_i         (hwif_out.send_data.req && hwif_out.send_data.req_is_wr),
    .write_index_i   (hwif_out.send_data.addr[11:2]),
    .write_data_i    (hwif_out.send_data.wr_data),
    .commit_i        (commit_q),
    .commit_bytes_i  (hwif_out.send_commit.bytes.value),
    .commit_ordinal_i(hwif_out.send_commit.ordinal.value),
    .room_bytes_o    (hwif_in.send.room.next),
    .ordinal_o       (hwif_in.send.ordinal.next),
    .refused_o       (hwif_in.send_refused.count.next),
    .m_axis_tvalid_o,
    .m_axis_tready_i,
    .m_axis_tdata_o,
    .m_axis_tlast_o
  );

  pen_mailbox_receive #(.BYTES(BYTES)) u_receive (
    .clk_i,
    .rst_i,
    .s_axis_tvalid_i,
    .s_axis_tready_o,
    .s_axis_tdata_i,
    .s_axis_tlast_i,
    .s_axis_tuser_i,
    .bytes_o          (hwif_in.receive.bytes.next),
    .ordinal_o        (hwif_in.receive.ordinal.next),
    .cut_o            (hwif_in.receive_cut.count.next),
    .read_i           (hwif_out.receive_data.req && !hwif_out.receive_data.req_is_wr),
    .read_index_i     (hwif_out.receive_data.addr[11:2]),
    .read_data_o      (hwif_in.receive_data.rd_data),
    .release_i        (release_q),
    .release_ordinal_i(hwif_out.receive_release.ordinal.value)
  );

  logic unused;
  assign unused = &{1'b0, hwif_out.send_data.wr_biten, hwif_out.send_data.addr[1:0], hwif_out.receive_data.wr_biten,
                    hwif_out.receive_data.wr_data, hwif_out.receive_data.addr[1:0]};
endmodule
