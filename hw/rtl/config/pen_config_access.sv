// SPDX-License-Identifier: Apache-2.0
// The accesses to registers of which many are settings of units: AXI4-Lite, a memory and the chain.
//
// The memory keeps what was written for whoever reads it back. Each setting also goes on the chain to the unit that acts
// on it; what units know themselves is asked of them on the same way. After reset the memory is filled and all settings go
// on the chain once, so that what a unit starts with stands in the RDL alone.
//
//   s_axil_awvalid_i  |W|.|.|.|.        |.|.|.
//   request_o         |.|W|.|.|.        |.|.|.
//   acts_q            |.|.|A|.|.        |.|.|.
//   chain_o           |.|.|.|W|.  ...   |.|.|.
//   chain_i           |.|.|.|.|.  ...   |W|.|.      all units act
//   s_axil_bvalid_o   |.|.|.|.|.  ...   |.|B|.      of what is only staged: three cycles after the write came
//
// A commit, a command and a read of a unit are answered when the answer has come back. What is said of an address has a
// register before it decides anything.
module pen_config_access
  import pen_config_pkg::*;
#(
  parameter logic [15:0] WALK_FIRST = '0,  // of what is set after reset
  parameter logic [15:0] WALK_END = '0     // behind them
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
  input  logic         init_busy_i,     // tables are being cleared: writes wait
  output logic         busy_o,          // an access is on its way, or its answer is

  // An access; what it is about is held until the next one
  output logic         request_o,       // one cycle
  output logic         write_o,
  output logic [15:0]  address_o,
  output logic [31:0]  data_o,

  // What is at address_o
  input  logic         known_i,         // a register, or a unit that knows whether there is one; else an error is answered
  input  logic         acts_i,          // a write is answered when somebody has acted
  input  logic [31:0]  kept_i,          // bits that are kept
  input  logic         is_live_i,       // with request_o: what is read is not what was kept, but live_i
  input  logic [31:0]  live_i,
  input  logic         latches_i,       // a read puts high_i in the word behind it, where that is read
  input  logic [31:0]  high_i,
  input  logic         setting_i,       // a unit acts on it
  input  logic         staged_i,        // but only when it is told to
  input  logic         of_unit_i,       // with request_o: a read asks a unit
  input  logic         aside_i,         // a write that acts goes elsewhere, not on the chain
  output logic         aside_o,         // held until it is done
  input  logic         aside_done_i,

  // After reset
  output logic         walks_o,         // what is read, as live_i, is what is kept
  output logic [15:0]  walk_address_o,
  input  logic         walk_skips_i,    // nothing is there
  input  logic [15:0]  walk_next_i,     // the address behind it

  output config_word_t chain_o,
  input  config_word_t chain_i          // from the last node
);
  typedef enum logic [2:0] {
    IDLE,
    REQUEST,   // to the memory
    JUDGE,     // what is said of the address
    READING,
    PASSING,   // on the chain, until all units have acted
    ASKING,    // on the chain, until a unit has answered
    ASIDE
  } state_e;

  state_e       state_q;
  logic         write, read, write_q, load_q, walk_q, walk_reads, read_ready, write_done, read_done;
  logic         acts_q, unknown_q, of_unit_q, setting_q, staged_q, aside_q;  // what is said of the address
  logic         answered;                      // one cycle: by the unit that was asked, or told to act
  logic         read_ack;
  logic [31:0]  read_data;
  config_word_t issue_q;

  // The walk after reset reads as if it came from the bus, which waits.
  assign walk_reads       = !load_q && walk_address_o != WALK_END && !walk_skips_i;
  assign s_axil_arready_o = read_ready && !walk_q;

  pen_axil_slave u_slave (
    .clk_i,
    .rst_i,
    .s_axil_awaddr_i,
    .s_axil_awprot_i,
    .s_axil_awvalid_i(s_axil_awvalid_i && !init_busy_i && !walk_q),
    .s_axil_awready_o,
    .s_axil_wdata_i,
    .s_axil_wstrb_i,
    .s_axil_wvalid_i,
    .s_axil_wready_o,
    .s_axil_bresp_o,
    .s_axil_bvalid_o,
    .s_axil_bready_i,
    .s_axil_araddr_i (walk_q ? walk_address_o : s_axil_araddr_i),
    .s_axil_arprot_i,
    .s_axil_arvalid_i(walk_q ? walk_reads : s_axil_arvalid_i),
    .s_axil_arready_o(read_ready),
    .s_axil_rdata_o,
    .s_axil_rresp_o,
    .s_axil_rvalid_o,
    .s_axil_rready_i,
    .idle_i      (state_q == IDLE),
    .write_o     (write),
    .read_o      (read),
    .address_o,
    .data_o,
    .write_done_i(write_done),
    .read_done_i (read_done),
    .error_i     (unknown_q),
    .data_i      (read_data)
  );

  pen_register_memory u_memory (
    .clk_i,
    .rst_i,
    .request_i  (request_o),
    .write_i    (write_o),
    .address_i  (address_o),
    .data_i     (data_o),
    .walks_i    (walk_q),
    .kept_i,
    .is_live_i,
    .live_i,
    .latches_i,
    .high_i,
    .of_unit_i  (of_unit_q),
    .answered_i (answered),
    .answer_i   (chain_i.data),
    .read_ack_o (read_ack),
    .read_data_o(read_data)
  );

  assign request_o  = state_q == REQUEST;
  assign write_o    = write_q;
  assign aside_o    = state_q == ASIDE;
  assign answered   = chain_i.kind == CONFIG_ANSWER;
  assign walks_o    = walk_q;
  assign chain_o    = issue_q;

  logic told;
  assign told    = setting_q && !staged_q && !unknown_q;  // answered when the units have acted
  assign write_done = (state_q == JUDGE && write_q && !acts_q && !told) || (state_q == PASSING && chain_i.kind == CONFIG_WRITE && !walk_q)
                      || (state_q == ASKING && answered && write_q) || (state_q == ASIDE && aside_done_i);
  assign read_done  = state_q == READING && read_ack && !walk_q;

  always_ff @(posedge clk_i) begin
    load_q       <= 1'b0;
    issue_q.kind <= CONFIG_NONE;
    issue_q.address <= address_o;
    issue_q.data    <= data_o;

    acts_q    <= acts_i;
    unknown_q <= !known_i;
    of_unit_q <= of_unit_i;
    setting_q <= setting_i;
    staged_q  <= staged_i;
    aside_q   <= aside_i;

    unique case (state_q)
      IDLE: begin
        write_q <= write;
        if (walk_q && !load_q) begin
          if (walk_address_o == WALK_END) walk_q <= 1'b0;
          walk_address_o <= walk_next_i;
        end
        if (write || read) state_q <= REQUEST;
      end
      REQUEST: state_q <= JUDGE;
      JUDGE: begin
        if (!write_q) begin
          if (of_unit_q) issue_q.kind <= CONFIG_READ;
          state_q <= of_unit_q ? ASKING : READING;
        end else if (!acts_q) begin
          if (setting_q && !unknown_q) issue_q.kind <= staged_q ? CONFIG_STAGE : CONFIG_WRITE;
          state_q <= told ? PASSING : IDLE;
        end else if (aside_q) state_q <= ASIDE;
        else begin
          issue_q.kind <= CONFIG_WRITE;
          state_q      <= ASKING;
        end
      end
      READING: if (read_ack) begin
        state_q <= IDLE;
        if (walk_q && setting_q) begin
          issue_q.kind <= staged_q ? CONFIG_STAGE : CONFIG_WRITE;
          issue_q.data <= read_data;
          if (!staged_q) state_q <= PASSING;
        end
      end
      PASSING: if (chain_i.kind == CONFIG_WRITE) state_q <= IDLE;
      ASKING:  if (answered) state_q <= write_q ? IDLE : READING;
      ASIDE:   if (aside_done_i) state_q <= IDLE;
      default: state_q <= IDLE;
    endcase

    if (rst_i) begin
      state_q        <= IDLE;
      issue_q.kind   <= CONFIG_NONE;
      walk_q         <= 1'b1;
      walk_address_o <= WALK_FIRST;
      load_q         <= 1'b1;
    end
  end

`ifdef SYNTHESIS  // no clock rests
  assign busy_o = 1'b1;
`else
  assign busy_o = state_q != IDLE || walk_q || s_axil_bvalid_o || s_axil_rvalid_o;
`endif

  logic unused;
  assign unused = &{1'b0, chain_i.address};
endmodule
