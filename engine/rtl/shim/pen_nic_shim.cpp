// SPDX-License-Identifier: Apache-2.0
// Drives the Verilated network card cycle by cycle: its memory, its registers, and what comes and leaves by its wires.
//
//   clk  ____/~~~~\____/~~~~\
//        ^   ^
//        |   rising edge: the card samples its inputs
//        inputs of this cycle are set, outputs of the last edge are observed
#include "pen_nic_shim.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "Vpen_nic.h"
#include "Vpen_nic___024root.h"
#include "pen_axi_lite.h"
#include "verilated.h"

namespace {

constexpr uint64_t RESET_CYCLES = 32;
constexpr uint64_t INIT_MOST = 16384;
constexpr uint64_t QUIET_CYCLES = 64;          // until an access or a byte has had its effect on idle_o
constexpr unsigned GAP = 12, PREAMBLE = 7;
constexpr uint8_t PREAMBLE_BYTE = 0x55, DELIMITER = 0xD5;
constexpr uint8_t OKAY = 0, DECODE_ERROR = 3;
constexpr unsigned WORD = 8, BURST_MOST = 128;
constexpr unsigned PORTS = PEN_PORTS;

struct Read {                                  // a burst
  uint64_t address, at;                        // at: the cycle of its first beat, at the earliest
  unsigned words, position = 0;
  bool begun = false, good = false;
  std::array<uint8_t, BURST_MOST> data{};
};

struct Write {
  uint64_t address = 0;
  unsigned words = 0, position = 0;
  std::array<uint8_t, BURST_MOST> data{};
  std::array<bool, BURST_MOST> strobe{};
};

struct Answer {
  uint64_t at;
  uint8_t response;
};

struct Coming {
  uint64_t start;                              // of its preamble
  std::vector<uint8_t> line;                   // with its preamble
  size_t position = 0;
};

struct Sent {
  uint64_t cycle;
  std::vector<uint8_t> bytes;
  uint8_t queue;
  bool damaged;
};

// What comes and leaves by the wire of a port.
struct Port {
  uint32_t raised = 0;
  std::deque<uint8_t> selected;                // queues of the frames that will leave next
  std::deque<pen_nic_queued> queued;
  std::deque<pen_nic_selected> told;
  std::deque<pen_nic_steered> steered;
  std::deque<Sent> sent;
  std::vector<uint8_t> shown;                  // to whoever took a frame last
  std::vector<uint8_t> line;                   // what is on the wire, with its preamble
  uint64_t free_since = 0;
  bool damaged = false;
  std::deque<Coming> coming;
  uint64_t next_start = 0;                     // of the frame that comes next, at the earliest

  void push(const uint8_t *bytes, uint32_t length, uint64_t start) {
    Coming frame{start, std::vector<uint8_t>(PREAMBLE, PREAMBLE_BYTE)};
    frame.line.push_back(DELIMITER);
    frame.line.insert(frame.line.end(), bytes, bytes + length);
    coming.push_back(std::move(frame));
  }

  // The byte that comes in a cycle, or -1.
  int come(uint64_t cycle) {
    if (coming.empty()) return -1;
    Coming &frame = coming.front();
    if (cycle < std::max(frame.start, next_start) && frame.position == 0) return -1;
    const uint8_t byte = frame.line[frame.position];
    if (++frame.position == frame.line.size()) {
      next_start = cycle + 1 + GAP;
      coming.pop_front();
    }
    return byte;
  }

  void leave(uint64_t cycle, bool enable, bool error, uint8_t byte) {
    if (enable) {
      if (line.empty()) damaged = cycle - free_since < GAP;
      damaged |= error;
      line.push_back(byte);
    } else if (!line.empty()) {
      finish_frame(cycle);
    }
  }

  void finish_frame(uint64_t cycle) {
    constexpr unsigned header = PREAMBLE + 1;
    const auto is_preamble = [](uint8_t byte) { return byte == PREAMBLE_BYTE; };
    const bool begins = line.size() > header && std::all_of(line.begin(), line.begin() + PREAMBLE, is_preamble)
                     && line[PREAMBLE] == DELIMITER;
    Sent &frame = sent.emplace_back();
    frame.cycle = cycle - line.size() + header;
    frame.damaged = damaged || !begins || selected.empty();
    frame.bytes.assign(line.begin() + std::min<size_t>(header, line.size()), line.end());
    if (!selected.empty()) {
      frame.queue = selected.front();
      selected.pop_front();
    }
    line.clear();
    free_since = cycle;
  }

  bool idle() const { return line.empty() && coming.empty(); }

  template <class Event>
  static bool take(std::deque<Event> &from, Event &given) {
    if (from.empty()) return false;
    given = from.front();
    from.pop_front();
    return true;
  }

  bool take(pen_nic_sent &given) {
    if (sent.empty()) return false;
    Sent &frame = sent.front();
    shown = std::move(frame.bytes);
    given = {frame.cycle, shown.data(), static_cast<uint32_t>(shown.size()), frame.queue, frame.damaged, {}};
    sent.pop_front();
    return true;
  }
};

}  // namespace

struct pen_nic {
  VerilatedContext context;
  Vpen_nic top{&context};
  pen_nic_memory memory;
  uint64_t latency, cycle = 0, quiet_at = 0;
  std::deque<Read> reads;
  std::deque<Answer> answers;
  Write write_burst;
  std::array<Port, PORTS> ports;

  pen_nic(const pen_nic_memory &given, uint32_t latency_cycles) : memory{given}, latency{latency_cycles} {
    top.rst_i = 1;
    top.s_axil_wstrb_i = 0xF;
    for (uint64_t n = 0; n < RESET_CYCLES; ++n) step();
    top.rst_i = 0;
    cycle = top.time_ns_o / 8;
    for (uint64_t n = 0; n < INIT_MOST && !top.idle_o; ++n) step();
    for (Port &port : ports) port.raised = 0;
  }

  ~pen_nic() { top.final(); }

  // ---- memory

  // Sets what the next edge samples of the bus.
  void offer() {
    top.m_axi_arready_i = 1;
    top.m_axi_rvalid_i = 0;
    if (!reads.empty() && reads.front().at <= cycle) {
      Read &read = reads.front();
      if (!read.begun) {
        read.begun = true;
        read.good = memory.read(memory.user, read.address, read.data.data(), WORD * read.words) == 0;
      }
      top.m_axi_rvalid_i = 1;
      top.m_axi_rlast_i = read.position + 1 == read.words;
      top.m_axi_rresp_i = read.good ? OKAY : DECODE_ERROR;
      std::memcpy(&top.m_axi_rdata_i, &read.data[WORD * read.position], WORD);
    }
    top.m_axi_awready_i = write_burst.words == 0;
    top.m_axi_wready_i = write_burst.words != 0;
    top.m_axi_bvalid_i = !answers.empty() && answers.front().at <= cycle;
    if (top.m_axi_bvalid_i) top.m_axi_bresp_i = answers.front().response;
  }

  void accept() {
    if (top.m_axi_rvalid_i && top.m_axi_rready_o && ++reads.front().position == reads.front().words) reads.pop_front();
    if (top.m_axi_arvalid_o) {
      const unsigned words = std::min(top.m_axi_arlen_o + 1u, BURST_MOST / WORD);
      reads.push_back({.address = top.m_axi_araddr_o, .at = cycle + 1 + latency, .words = words});
    }
    if (top.m_axi_bvalid_i && top.m_axi_bready_o) answers.pop_front();
    if (top.m_axi_wready_i && top.m_axi_wvalid_o) {
      const unsigned base = WORD * write_burst.position;
      std::memcpy(&write_burst.data[base], &top.m_axi_wdata_o, WORD);
      for (unsigned lane = 0; lane < WORD; ++lane) write_burst.strobe[base + lane] = top.m_axi_wstrb_o >> lane & 1;
      if (++write_burst.position == write_burst.words) finish_write();
    } else if (top.m_axi_awready_i && top.m_axi_awvalid_o) {
      write_burst.address = top.m_axi_awaddr_o;
      write_burst.words = std::min(top.m_axi_awlen_o + 1u, BURST_MOST / WORD);
    }
  }

  // Each run of bytes that are written, in one piece: an index is never torn.
  void finish_write() {
    const unsigned end = WORD * write_burst.words;
    bool good = true;
    for (unsigned at = 0; at < end;) {
      unsigned until = at;
      while (until < end && write_burst.strobe[until]) ++until;
      if (until > at)
        good &= memory.write(memory.user, write_burst.address + at, &write_burst.data[at], until - at) == 0;
      at = std::max(until, at + 1);
    }
    answers.push_back({cycle + 1 + latency, good ? OKAY : DECODE_ERROR});
    write_burst = {};
  }

  // ---- wires

  void receive() {
    uint32_t valid = 0, data = 0;
    for (unsigned p = 0; p < PORTS; ++p) {
      const int byte = ports[p].come(cycle);
      if (byte < 0) continue;
      valid |= 1u << p;
      data |= static_cast<uint32_t>(byte) << 8 * p;
    }
    top.gmii_rx_dv_i = valid;
    top.gmii_rxd_i = data;
    if (valid) quiet_at = cycle + QUIET_CYCLES;
  }

  void observe() {
    const auto &root = *top.rootp;             // hw/sim/nic/pen_nic_watch.sv
    for (unsigned p = 0; p < PORTS; ++p) {
      Port &port = ports[p];
      if (root.pen_nic__DOT__u_watch__DOT__queued[p]) [[unlikely]]
        port.queued.push_back({cycle, root.pen_nic__DOT__u_watch__DOT__launch_ns[p],
                               root.pen_nic__DOT__u_watch__DOT__arrival_ns[p],
                               root.pen_nic__DOT__u_watch__DOT__frame_bytes[p],
                               root.pen_nic__DOT__u_watch__DOT__transmit_queue[p],
                               root.pen_nic__DOT__u_watch__DOT__refused[p],
                               root.pen_nic__DOT__u_watch__DOT__first_cell[p]});
      if (root.pen_nic__DOT__u_watch__DOT__sent[p]) [[unlikely]] {
        const uint8_t queue = root.pen_nic__DOT__u_watch__DOT__sent_queue[p];
        port.selected.push_back(queue);
        port.told.push_back({cycle, queue, 0, root.pen_nic__DOT__u_watch__DOT__sent_cell[p], {}});
      }
      if (root.pen_nic__DOT__u_watch__DOT__decided[p]) [[unlikely]]
        port.steered.push_back({cycle, root.pen_nic__DOT__u_watch__DOT__receive_queue[p],
                                root.pen_nic__DOT__u_watch__DOT__accepted[p], {}});
      port.leave(cycle, top.gmii_tx_en_o >> p & 1, top.gmii_tx_er_o >> p & 1, top.gmii_txd_o >> 8 * p & 0xFF);
      port.raised |= root.pen_nic__DOT__u_watch__DOT__interrupt[p];
    }
  }

  // ---- time

  // One cycle; `sample` sees the outputs before the rising edge.
  template <class Sample>
  void step(Sample sample) {
    offer();
    receive();
    top.clk_i = 0;
    top.gmii_rx_clk_i = 0;
    top.eval();
    observe();
    sample();
    accept();
    top.clk_i = 1;
    top.gmii_rx_clk_i = (1u << PORTS) - 1;
    top.eval();
    ++cycle;
  }

  void step() {
    step([] {});
  }

  bool idle() const {
    return top.idle_o && cycle >= quiet_at && reads.empty() && answers.empty() && !write_burst.words
        && std::all_of(ports.begin(), ports.end(), [](const Port &port) { return port.idle(); });
  }

  uint32_t reached() const {
    const auto any = [this](auto holds) { return std::any_of(ports.begin(), ports.end(), holds); };
    const bool raised = any([](const Port &port) { return port.raised != 0; });
    const bool sent = any([](const Port &port) { return !port.sent.empty(); });
    return (raised ? PEN_NIC_INTERRUPT : 0u) | (sent ? PEN_NIC_SENT : 0u) | (idle() ? PEN_NIC_IDLE : 0u);
  }

  uint32_t run(uint64_t until, uint32_t stop) {
    while (cycle < until && !(reached() & stop)) step();
    return reached();
  }

  // ---- registers

  int32_t write(uint32_t address, uint32_t data) {
    const int32_t response = axi_lite::write(top, address, data, [this](auto sample) { step(sample); });
    quiet_at = cycle + QUIET_CYCLES;
    return response;
  }

  int32_t read(uint32_t address, uint32_t &data) {
    return axi_lite::read(top, address, data, [this](auto sample) { step(sample); });
  }
};

uint32_t pen_nic_abi(void) { return PEN_NIC_ABI; }
pen_nic *pen_nic_create(const pen_nic_memory *memory, uint32_t latency_cycles) {
  return new pen_nic{*memory, latency_cycles};
}
void pen_nic_destroy(pen_nic *self) {
  // A model takes its scopes out of the context of the thread, which may be another one's, also of one that is gone.
  Verilated::threadContextp(&self->context);
  delete self;
  Verilated::threadContextp(Verilated::defaultContextp());
}
uint64_t pen_nic_cycle(const pen_nic *self) { return self->cycle; }
uint32_t pen_nic_run(pen_nic *self, uint64_t until, uint32_t stop) { return self->run(until, stop); }
uint32_t pen_nic_ports(const pen_nic *) { return PORTS; }
uint32_t pen_nic_interrupts(pen_nic *self, uint32_t port) { return std::exchange(self->ports[port].raised, 0); }
int32_t pen_nic_sent_take(pen_nic *self, uint32_t port, pen_nic_sent *sent) { return self->ports[port].take(*sent) ? 1 : 0; }
void pen_nic_push(pen_nic *self, uint32_t port, const uint8_t *bytes, uint32_t length, uint64_t start) {
  self->ports[port].push(bytes, length, start);
}
uint32_t pen_nic_coming(const pen_nic *self, uint32_t port) { return static_cast<uint32_t>(self->ports[port].coming.size()); }
int32_t pen_nic_queued_take(pen_nic *self, uint32_t port, pen_nic_queued *queued) {
  return Port::take(self->ports[port].queued, *queued) ? 1 : 0;
}
int32_t pen_nic_selected_take(pen_nic *self, uint32_t port, pen_nic_selected *selected) {
  return Port::take(self->ports[port].told, *selected) ? 1 : 0;
}
int32_t pen_nic_steered_take(pen_nic *self, uint32_t port, pen_nic_steered *steered) {
  return Port::take(self->ports[port].steered, *steered) ? 1 : 0;
}
int32_t pen_nic_write(pen_nic *self, uint32_t address, uint32_t data) { return self->write(address, data); }
int32_t pen_nic_read(pen_nic *self, uint32_t address, uint32_t *data) { return self->read(address, *data); }
