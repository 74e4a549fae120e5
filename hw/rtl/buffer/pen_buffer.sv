// SPDX-License-Identifier: Apache-2.0
// The frame store with all that decides what stands in it: free cells, admission, references.
module pen_buffer
  import pen_pkg::*;
  import pen_buffer_pkg::*;
#(
  parameter int unsigned PORTS = 4,
  parameter int unsigned CELLS = 1024,
  parameter bit          HOST  = 0
) (
  input  logic         clk_i,
  input  logic         rst_i,
  input  logic         init_busy_i,
  input  init_index_t  init_index_i,
  input  port_t        turn_i,        // of store_read_i
  input  pen_config_pkg::buffer_config_t config_i,
  input  logic         max_sdu_write_i,
  input  port_t        max_sdu_write_port_i,
  input  class_t       max_sdu_write_class_i,
  input  length_t      max_sdu_write_bytes_i,
  input  window_t [PORTS-1:0][CLASSES-1:0] largest_window_ns_i,
  input  store_write_t store_write_i,
  input  label_write_t label_i,
  input  store_read_t  store_read_i,
  output store_data_t  store_data_o,
  output logic         alloc_valid_o,
  output cell_t        alloc_cell_o,
  input  logic         alloc_take_i,
  input  classified_t  classified_i,
  output enqueue_t     enqueue_o,     // six cycles after classified_i, or up to PORTS - 1 more
  output verdict_t     verdict_o,     // with enqueue_o
  input  release_t     release_i,
  input  port_t        release_turn_i,// the egress port that it is of
  output logic         idle_o         // no frame is queued, none on its way in, all cells returned
);
  logic     chain_valid, chain_ready, free_valid;
  cell_t    chain_cell, chain_next, free_cell;
  reclaim_t dropped, released;
  logic     admission_idle, references_idle, reclaim_idle;

  assign idle_o = admission_idle && references_idle && reclaim_idle && !dropped.valid && !store_write_i.valid;

  pen_store #(.CELLS(CELLS)) u_store (
    .clk_i,
    .rst_i,
    .turn_i,
    .write_i      (store_write_i),
    .label_i,
    .read_i       (store_read_i),
    .store_data_o,
    .chain_valid_i(chain_valid),
    .chain_ready_o(chain_ready),
    .chain_cell_i (chain_cell),
    .chain_next_o (chain_next)
  );

  pen_free_list #(.CELLS(CELLS)) u_free_list (
    .clk_i,
    .rst_i,
    .init_busy_i,
    .init_index_i,
    .alloc_valid_o,
    .alloc_cell_o,
    .alloc_take_i,
    .free_valid_i(free_valid),
    .free_cell_i (free_cell)
  );

  pen_reclaim #(.CELLS(CELLS)) u_reclaim (
    .clk_i,
    .rst_i,
    .dropped_i    (dropped),
    .released_i   (released),
    .chain_valid_o(chain_valid),
    .chain_ready_i(chain_ready),
    .chain_cell_o (chain_cell),
    .chain_next_i (chain_next),
    .free_valid_o (free_valid),
    .free_cell_o  (free_cell),
    .idle_o       (reclaim_idle)
  );

  pen_references #(.CELLS(CELLS)) u_references (
    .clk_i,
    .rst_i,
    .init_busy_i,
    .init_index_i,
    .enqueue_i(enqueue_o),
    .release_i,
    .reclaim_o(released),
    .idle_o   (references_idle)
  );

  pen_admission #(.PORTS(PORTS), .CELLS(CELLS), .HOST(HOST)) u_admission (
    .clk_i,
    .rst_i,
    .init_busy_i,
    .init_index_i,
    .config_i,
    .max_sdu_write_i,
    .max_sdu_write_port_i,
    .max_sdu_write_class_i,
    .max_sdu_write_bytes_i,
    .largest_window_ns_i,
    .classified_i,
    .enqueue_o,
    .verdict_o,
    .reclaim_o(dropped),
    .release_i,
    .release_turn_i,
    .idle_o   (admission_idle)
  );
endmodule
