// SPDX-License-Identifier: Apache-2.0
// Reading the fields of packed structs that are ports of a Verilated model.
#pragma once
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "pen_layout.h"

// The value of a field of a packed struct whose lowest bit is at `base`; at most 32 bits wide.
template <class Signal>
uint32_t get(const Signal &signal, layout::Field field, unsigned base = 0) {
  const unsigned lsb = base + field.lsb;
  uint64_t value;
  if constexpr (std::is_integral_v<Signal>) {
    value = uint64_t{signal} >> lsb;
  } else {
    const unsigned word = lsb / 32;
    value = signal[word];
    if (lsb % 32 + field.width > 32) value |= uint64_t{signal[word + 1]} << 32;
    value >>= lsb % 32;
  }
  return static_cast<uint32_t>(value & ((uint64_t{1} << field.width) - 1));
}

// Whether a port of the model is as wide as its struct is said to be, as far as its type tells.
template <class Signal, unsigned WIDTH>
constexpr bool holds = [] {
  constexpr unsigned bits = 8 * sizeof(std::remove_reference_t<Signal>);
  return WIDTH <= 64 ? bits >= WIDTH && bits / 2 < std::max(WIDTH, 8u) : bits == (WIDTH + 31) / 32 * 32;
}();
