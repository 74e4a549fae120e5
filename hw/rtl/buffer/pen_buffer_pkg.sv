// SPDX-License-Identifier: Apache-2.0
// What the units around the store agree upon.
package pen_buffer_pkg;
  import pen_pkg::*;

  // A frame whose cells are to be freed.
  typedef struct packed {
    logic        valid;
    cell_t       frame;               // its first cell
    cell_count_t cells;
  } reclaim_t;

  // Cells that a frame occupies; a frame always has one.
  function automatic cell_count_t cells_of(input length_t length);
    cell_count_t count;
    count = {1'b0, length[10:7]} + {4'b0, |length[6:0]};
    return count == '0 ? 5'd1 : count;
  endfunction

  function automatic logic [3:0] count_ports(input port_mask_t mask);
    logic [3:0] count;
    count = '0;
    for (int unsigned p = 0; p < MAX_PORTS; p++) count += {3'b0, mask[p]};
    return count;
  endfunction

  // Cells of several copies; three times as many are known already, so that one sum is left, and none with up to 4 ports.
  function automatic logic [7:0] times(
    input logic [3:0] copies, input cell_count_t cells, input logic [6:0] triple, input int unsigned ports
  );
    logic [7:0] some, rest;
    some = ({8{copies[1:0] == 2'd1}} & 8'(cells)) | ({8{copies[1:0] == 2'd2}} & 8'({cells, 1'b0}))
        | ({8{copies[1:0] == 2'd3}} & 8'(triple));
    rest = ({8{copies[2]}} & 8'({cells, 2'b0})) | ({8{copies[3]}} & {cells, 3'b0});
    return ports > 4 ? some + rest : some | rest;
  endfunction

endpackage
