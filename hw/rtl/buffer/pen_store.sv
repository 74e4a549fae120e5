// SPDX-License-Identifier: Apache-2.0
// The frame store: words of all cells, and the chain that leads from a cell of a frame to its next one.
//
//   cycle        |  t    |  t+1  |  t+2
//   read_i       | valid |       |
//   store_data_o |       |       | valid
//
// A read looks chain and label up with the first word of a cell only: they are valid there. The other cycles are left
// to the unit that follows the chains of frames that are to be freed, so that it never starves.
module pen_store
  import pen_pkg::*;
#(
  parameter int unsigned CELLS = 1024
) (
  input  logic         clk_i,
  input  logic         rst_i,
  input  port_t        turn_i,
  input  store_write_t write_i,
  input  label_write_t label_i,
  input  store_read_t  read_i,
  output store_data_t  store_data_o,
  input  logic         chain_valid_i,   // chain_next_o in the next cycle
  output logic         chain_ready_o,
  input  cell_t        chain_cell_i,
  output cell_t        chain_next_o
);
  localparam int unsigned CELL_W = $clog2(CELLS);
  if (CELLS < 32 || CELLS > 4096 || CELLS != 1 << CELL_W) begin : gen_check
    $fatal(1, "pen_store: CELLS must be a power of two, 32 to 4096, is %0d (%m)", CELLS);
  end

  logic              valid_q;
  port_t             port_q;
  logic [63:0]       data;
  logic [CELL_W-1:0] next_cell, chain_addr;
  logic              chain_first;
  label_t            label_of;

  assign chain_first   = read_i.valid && read_i.word == '0;
  assign chain_ready_o = !chain_first;
  assign chain_addr    = chain_first ? read_i.cell_index[CELL_W-1:0] : chain_cell_i[CELL_W-1:0];
  assign chain_next_o  = cell_t'(next_cell);

  // A frame is read when all of it has been written.
  pen_ram_1r1w #(.WIDTH(64), .DEPTH(CELLS * WORDS_PER_CELL), .READ_OLD(0)) u_data (
    .clk_i,
    .write_i     (write_i.valid),
    .write_addr_i({write_i.cell_index[CELL_W-1:0], write_i.word}),
    .write_data_i(write_i.data),
    .read_i      (read_i.valid),
    .read_addr_i ({read_i.cell_index[CELL_W-1:0], read_i.word}),
    .read_data_o (data)
  );

  // A link is read when its frame has been written, and not written again before the cell is free.
  pen_ram_1r1w #(.WIDTH(CELL_W), .DEPTH(CELLS), .READ_OLD(0)) u_chain (
    .clk_i,
    .write_i     (write_i.link_valid),
    .write_addr_i(write_i.link_from[CELL_W-1:0]),
    .write_data_i(write_i.link_to[CELL_W-1:0]),
    .read_i      (chain_first || chain_valid_i),
    .read_addr_i (chain_addr),
    .read_data_o (next_cell)
  );

  // Of a frame, by its first cell; written before the frame is queued.
  pen_ram_1r1w #(.WIDTH($bits(label_t)), .DEPTH(CELLS), .READ_OLD(0)) u_labels (
    .clk_i,
    .write_i     (label_i.valid),
    .write_addr_i(label_i.frame[CELL_W-1:0]),
    .write_data_i(label_i.value),
    .read_i      (chain_first),
    .read_addr_i (read_i.cell_index[CELL_W-1:0]),
    .read_data_o (label_of)
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      valid_q            <= 1'b0;
      store_data_o.valid <= 1'b0;
    end else begin
      valid_q            <= read_i.valid;
      store_data_o.valid <= valid_q;
    end
    port_q <= turn_i;
    if (valid_q) begin
      store_data_o.port      <= port_q;
      store_data_o.data      <= data;
      store_data_o.next_cell <= cell_t'(next_cell);
      store_data_o.label_of  <= label_of;
    end
  end

  logic unused;
  assign unused = &{1'b0, write_i, label_i, read_i, chain_cell_i};
endmodule
