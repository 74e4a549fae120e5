// SPDX-License-Identifier: Apache-2.0
// The host's side of AXI4-Lite, for any top module that has such a port.
#pragma once
#include <cstdint>

namespace axi_lite {

// In cycles: a gate list is taken after the change before it, which may be as long ahead as a cycle of its port's list.
constexpr uint64_t PATIENCE = 4'000'000;

// `step` lets a cycle pass and calls what it is given with the outputs before the rising edge. Gives the response, or -1.
template <class Top, class Step>
int32_t write(Top &top, uint32_t address, uint32_t data, Step step) {
  top.s_axil_awaddr_i = address;
  top.s_axil_wdata_i = data;
  top.s_axil_awvalid_i = top.s_axil_wvalid_i = top.s_axil_bready_i = 1;
  int32_t response = -1;
  for (uint64_t n = 0; n < PATIENCE && response < 0; ++n) {
    bool address_taken = false, data_taken = false;
    step([&] {
      address_taken = top.s_axil_awready_o;
      data_taken = top.s_axil_wready_o;
      if (top.s_axil_bvalid_o) response = top.s_axil_bresp_o;
    });
    if (address_taken) top.s_axil_awvalid_i = 0;
    if (data_taken) top.s_axil_wvalid_i = 0;
  }
  top.s_axil_awvalid_i = top.s_axil_wvalid_i = top.s_axil_bready_i = 0;
  return response;
}

template <class Top, class Step>
int32_t read(Top &top, uint32_t address, uint32_t &data, Step step) {
  top.s_axil_araddr_i = address;
  top.s_axil_arvalid_i = top.s_axil_rready_i = 1;
  int32_t response = -1;
  for (uint64_t n = 0; n < PATIENCE && response < 0; ++n) {
    bool address_taken = false;
    step([&] {
      address_taken = top.s_axil_arready_o;
      if (top.s_axil_rvalid_o) {
        response = top.s_axil_rresp_o;
        data = top.s_axil_rdata_o;
      }
    });
    if (address_taken) top.s_axil_arvalid_i = 0;
  }
  top.s_axil_arvalid_i = top.s_axil_rready_i = 0;
  return response;
}

}  // namespace axi_lite
