// SPDX-License-Identifier: Apache-2.0
// Reads the header of a frame from its bytes as they come: addresses, VLAN tag, EtherType, R-TAG (802.1CB 7.8), and what
// identifies a flow by IPv4. One tag counts; whatever follows it is the type, an R-TAG too.
module pen_header_parser (
  input  logic             clk_i,
  input  logic             clear_i,   // between frames, or with the last byte of one
  input  logic             valid_i,   // a byte of the frame
  input  logic [7:0]       data_i,
  output pen_pkg::header_t header_o
);
  localparam logic [15:0] TYPE_VLAN = 16'h8100;
  localparam logic [15:0] TYPE_IPV4 = 16'h0800;
  localparam logic [4:0]  BEHIND = 5'd18;

  logic [4:0]   position_q;
  logic [7:0]   previous_q;
  logic [95:0]  addresses_q;
  logic         has_tag_q, is_known_q;
  logic [15:0]  last_two;
  logic         ends_type, ends_tag, type_valid, ipv4_complete, ipv4, has_ports;
  logic [103:0] ipv4_fields;
  logic [2:0]   r_tag_left_q;         // bytes behind its type
  logic         has_r_tag_q;
  logic [15:0]  sequence_number_q;

  assign last_two   = {previous_q, data_i};
  assign ends_type  = position_q == 5'd13;
  assign ends_tag   = has_tag_q && position_q == 5'd15;
  assign type_valid = valid_i && (ends_type ? last_two != TYPE_VLAN : has_tag_q && position_q == 5'd17);

  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      previous_q <= data_i;
      if (position_q < 5'd12) addresses_q <= {addresses_q[87:0], data_i};
      if (position_q != BEHIND) position_q <= position_q + 1'b1;
      if (ends_type) has_tag_q <= last_two == TYPE_VLAN;
      if (ends_type ? last_two != TYPE_VLAN : ends_tag) is_known_q <= 1'b1;
    end
    if (clear_i) begin
      position_q <= '0;
      has_tag_q  <= 1'b0;
      is_known_q <= 1'b0;
    end
  end

  // Behind the type two bytes that are reserved, and zero, and the number.
  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      if (r_tag_left_q != '0) r_tag_left_q <= r_tag_left_q == 3'd3 && last_two != '0 ? '0 : r_tag_left_q - 1'b1;
      if (type_valid && last_two == pen_pkg::TYPE_R_TAG) r_tag_left_q <= 3'd4;
      if (r_tag_left_q == 3'd1) begin
        has_r_tag_q       <= 1'b1;
        sequence_number_q <= last_two;
      end
    end
    if (clear_i) begin
      r_tag_left_q <= '0;
      has_r_tag_q  <= 1'b0;
    end
  end

  pen_ipv4_key u_ipv4 (
    .clk_i,
    .clear_i,
    .valid_i,
    .begin_i    (type_valid && last_two == TYPE_IPV4),
    .data_i,
    .complete_o (ipv4_complete),
    .valid_o    (ipv4),
    .has_ports_o(has_ports),
    .fields_o   (ipv4_fields)
  );

  assign header_o = '{
    position:            position_q,
    last_two:            last_two,
    destination_address: addresses_q[95:48],
    source_address:      addresses_q[47:0],
    has_tag:             has_tag_q,
    has_r_tag:           has_r_tag_q,
    sequence_number:     sequence_number_q,
    is_known:            is_known_q,
    type_valid:          type_valid,
    ipv4_complete:       ipv4_complete,
    ipv4:                ipv4,
    has_ports:           has_ports,
    ipv4_fields:         ipv4_fields
  };
endmodule
