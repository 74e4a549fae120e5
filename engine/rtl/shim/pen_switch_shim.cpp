// SPDX-License-Identifier: Apache-2.0
// Drives the Verilated switch cycle by cycle, and says what became of each frame.
//
// One cycle, in this order:
//
//   clk  ____/~~~~\____/~~~~\
//        ^   ^
//        |   rising edge: the switch samples its inputs
//        inputs of this cycle are set, outputs of the last edge are observed
//
// The receive clock of a port rises with it. One that is slower leaves out an edge at times, one that is faster has a
// second one within the cycle.
#include "pen_switch_shim.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <deque>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "Vpen_switch.h"
#include "Vpen_switch___024root.h"
#include "pen_axi_lite.h"
#include "pen_fields.h"
#include "verilated.h"
#ifdef PEN_WAVES
#include "verilated_fst_c.h"
#endif

namespace {

constexpr unsigned PORTS = PEN_PORTS;
constexpr bool HAS_HOST = PEN_HOST;
constexpr unsigned HOST = PORTS - 1;           // its port
constexpr uint64_t HOST_IN = 4;                // cycles that a byte of the host comes later than one on a wire
constexpr uint64_t HOST_OUT = 7;               // and that it goes later
constexpr unsigned HOST_HEADER_IN = 4, HOST_HEADER_OUT = 16;
constexpr uint8_t HOST_STAMPED = 2;            // bit of its first byte
constexpr uint8_t KIND_STAMP = 1;              // first byte to the host, of what is no frame
constexpr unsigned CELLS_MAX = 1u << layout::verdict::frame.width;
constexpr uint64_t NEVER = ~uint64_t{0};
constexpr int64_t NOT_PLANNED = INT64_MAX;
constexpr uint64_t RESET_CYCLES = 32;
constexpr uint64_t INIT_CYCLES = 4096 + 128;   // every table writes its initial values
constexpr uint64_t QUIET_CYCLES = 64;          // until nothing is left in the MACs, which idle_o does not see
constexpr uint64_t JUMP_MOST = uint64_t{1} << 39;
constexpr unsigned GAP = 12, PREAMBLE = 7;
constexpr uint8_t PREAMBLE_BYTE = 0x55, DELIMITER = 0xD5;

using Bytes = std::span<const uint8_t>;
constexpr size_t ADDRESS_BYTES = 12, TAG_BYTES = 4, R_TAG_BYTES = 6, FCS_BYTES = 4;
constexpr size_t CORRECTION_AT = 10, CORRECTION_BYTES = 8;  // in a PTP message, from the EtherType on

bool fcs_is_good(Bytes frame) {
  uint32_t crc = ~0u;
  for (const uint8_t byte : frame) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
  }
  return crc == 0xDEBB20E3u;  // what is left with the FCS
}

bool has_type(Bytes frame, size_t at, uint8_t high, uint8_t low) {
  return at + 1 < frame.size() && frame[at] == high && frame[at + 1] == low;
}

// What stands behind the addresses to the FCS, and the same without the tags that it may begin with.
std::vector<Bytes> payloads(Bytes frame) {
  std::vector<size_t> begins{ADDRESS_BYTES};
  if (has_type(frame, ADDRESS_BYTES, 0x81, 0x00)) begins.push_back(ADDRESS_BYTES + TAG_BYTES);
  for (const size_t at : std::vector(begins)) {
    if (has_type(frame, at, 0xF1, 0xC1)) begins.push_back(at + R_TAG_BYTES);
  }
  std::vector<Bytes> found;
  for (const size_t at : begins) {
    if (at + FCS_BYTES <= frame.size()) found.push_back(frame.subspan(at, frame.size() - FCS_BYTES - at));
  }
  return found;
}

// Whether a PTP message begins with this EtherType.
bool is_message(Bytes frame) {
  return has_type(frame, 0, 0x88, 0xF7) && frame.size() >= CORRECTION_AT + CORRECTION_BYTES;
}

// Whether what left, from the EtherType on, is what came: of a PTP message but for its correctionField.
bool is_same(Bytes came, Bytes left) {
  if (!is_message(came)) return std::ranges::equal(came, left);
  const size_t behind = CORRECTION_AT + CORRECTION_BYTES;
  return std::ranges::equal(came.first(CORRECTION_AT), left.first(CORRECTION_AT))
      && std::ranges::equal(came.subspan(behind), left.subspan(behind));
}

// Whether a frame that left is one that came but for its tags, its correctionField and padding, with a good FCS.
bool is_edited(Bytes came, Bytes left) {
  if (std::min(came.size(), left.size()) < ADDRESS_BYTES + TAG_BYTES + FCS_BYTES || !fcs_is_good(left)) return false;
  if (!std::ranges::equal(came.first(ADDRESS_BYTES), left.first(ADDRESS_BYTES))) return false;
  const auto is_zero = [](uint8_t byte) { return byte == 0; };
  // Tags of the one, of the other or of both are left out: what follows may begin with another tag.
  for (const Bytes before : payloads(came)) {
    for (const Bytes after : payloads(left)) {
      const bool is_whole = before.data() == &came[ADDRESS_BYTES] && after.data() == &left[ADDRESS_BYTES];
      if (is_whole && (before.size() != after.size() || !is_message(before))) continue;
      if (before.size() <= after.size() && is_same(before, after.first(before.size()))
          && std::ranges::all_of(after.subspan(before.size()), is_zero))
        return true;
    }
  }
  return false;
}

struct Frame {
  uint64_t number;
  uint64_t start;
  std::unique_ptr<uint8_t[]> bytes;
  uint32_t length, gap, preamble, header;  // header: preamble and delimiter
  int64_t rx_er_at;
  std::array<uint8_t, HOST_HEADER_IN> host;
  uint32_t cell;
  uint8_t port;
  uint8_t copies;                          // bit e: the copy for port e is inside
  bool finished;                           // nothing of it is inside
  std::list<Frame>::iterator self;
};

struct Receiver {                          // the wire into a port
  std::deque<Frame *> queue;
  Frame *current = nullptr;
  uint32_t position = 0;
  int64_t free_since = 0;                  // first idle cycle after the frame before; in cycles of the receive clock
  int64_t next_start = NOT_PLANNED;        // so is this
  std::deque<Frame *> unjudged;            // begun, and without verdict
  bool up = true;                          // else there is no carrier
  bool broken = false;                     // the link went down within `current`
  int64_t rate_ppb = 0, phase_ppb = 0;     // of the receive clock against the core's
  int64_t ahead = 0;                       // by how many cycles it is

  void plan() {
    const bool can = up && rate_ppb != PEN_CLOCK_STOPPED && !queue.empty();
    if (!can) next_start = NOT_PLANNED;
    else next_start = std::max(static_cast<int64_t>(queue.front()->start) + ahead, free_since + queue.front()->gap);
  }

  // Rising edges of the receive clock in the next cycle.
  unsigned edges() {
    constexpr int64_t WHOLE = 1'000'000'000;
    if (rate_ppb == PEN_CLOCK_STOPPED) return 0;
    phase_ppb += rate_ppb;
    if (phase_ppb >= WHOLE) return phase_ppb -= WHOLE, 2;
    if (phase_ppb <= -WHOLE) return phase_ppb += WHOLE, 0;
    return 1;
  }
};

struct Transmitter {                       // the wire out of a port
  struct Selected {
    Frame *frame;
    uint8_t traffic_class;
  };
  std::deque<Selected> selected;
  bool active = false, inside = false, cut = false;
  Selected current{};
  uint32_t preamble = 0, position = 0;
  uint64_t first = 0, free_since = 0;
  std::array<uint8_t, 16> header{};        // to the host
  bool is_stamp = false;                   // what comes to the host is one
  struct Stamped {
    uint64_t frame;
    uint8_t tag;
  };
  std::deque<Stamped> stamped;             // frames that left, of which the host is to be told
  uint8_t flags = 0;
  std::array<uint8_t, 1u << layout::verdict::length.width> bytes{};  // longer than any frame that is sent

  bool busy() const { return current.frame || !selected.empty(); }
};

struct HostByte {                          // on its way to the stream
  uint64_t at;
  uint8_t byte;
  bool last;
};

#ifdef PEN_WAVES
class Waves {
 public:
  void plan(Vpen_switch &top, const char *path, uint64_t zero, uint64_t from, uint64_t until) {
    file_.close();
    top.trace(&file_, ALL_LEVELS);
    path_ = path;
    zero_ = zero;
    from_ = from;
    until_ = until;
  }

  bool within(uint64_t cycle) const { return cycle >= from_ && cycle < until_; }
  uint64_t next(uint64_t cycle) const { return cycle < from_ ? from_ : within(cycle) ? cycle : NEVER; }

  // `before_ns`: so long before the rising edge of the cycle.
  void dump(uint64_t cycle, uint64_t before_ns) {
    if (within(cycle)) {
      if (!file_.isOpen()) file_.open(path_.c_str());
      file_.dump(1000 * (8 * (cycle - zero_) - before_ns));
    } else if (cycle >= until_) {
      file_.close();
      until_ = from_ = NEVER;
    }
  }

 private:
  static constexpr int ALL_LEVELS = 99;
  VerilatedFstC file_;
  std::string path_;
  uint64_t zero_ = 0, from_ = NEVER, until_ = NEVER;
};
#else
struct Waves {  // of a library without
  uint64_t next(uint64_t) const { return NEVER; }
  void dump(uint64_t, uint64_t) {}
};
#endif

}  // namespace

struct pen_switch {
  VerilatedContext context;
  Vpen_switch top{&context};
  Waves waves;
  uint64_t cycle = 0, simulated = 0, jumped = 0, frames = 0, inside = 0, waiting = 0, quiet_at = 0;
  unsigned receiving = 0, sending = 0;     // masks of ports
  unsigned odd_clocks = 0;                 // ports whose receive clock is not the core's
  uint64_t rxd = 0;
  unsigned rx_dv = 0, rx_er = 0;
  std::array<Receiver, PORTS> receivers;
  std::array<Transmitter, PORTS> transmitters;
  std::deque<HostByte> host_bytes;
  std::list<Frame> live;
  std::array<Frame *, CELLS_MAX> frame_of_cell{};
  std::vector<pen_event> events;

  static_assert(holds<decltype(Vpen_switch::verdict_o), layout::verdict::WIDTH>);
  static_assert(holds<decltype(Vpen_switch::egress_event_o), PORTS * layout::egress_event::WIDTH>);

  pen_switch() {
    context.traceEverOn(true);
    top.rst_i = 1;
    top.s_axil_wstrb_i = 0xF;
    top.capture_i = 0;
    top.m_axis_host_tready_i = 1;
    for (uint64_t n = 0; n < RESET_CYCLES; ++n) step();
    top.rst_i = 0;
    cycle = top.time_ns_o / 8;
    // A switch of more than 2048 streams takes longer.
    for (uint64_t n = 0; n < INIT_CYCLES || (n < 2 * INIT_CYCLES && !top.idle_o); ++n) step();
    simulated = 0;
    check_clock();
  }

  ~pen_switch() { top.final(); }

  pen_event &event(pen_kind kind, unsigned port, const Frame *frame) {
    pen_event &e = events.emplace_back();
    e.cycle = cycle;
    e.kind = kind;
    e.port = static_cast<uint8_t>(port);
    e.frame = frame ? frame->number : NEVER;
    e.length = frame ? frame->length : 0;
    return e;
  }

  void fault(pen_fault code, unsigned port, const Frame *frame) { event(PEN_FAULT, port, frame).reason = code; }

  void check_clock() {
    if (top.time_ns_o != cycle * 8) fault(PEN_FAULT_CLOCK, 0, nullptr);
  }

  // ---- in

  uint64_t push(const pen_frame &given) {
    Frame *frame = &live.emplace_back();
    frame->self = std::prev(live.end());
    frame->number = frames++;
    frame->start = given.start;
    frame->bytes = std::make_unique<uint8_t[]>(given.length);
    std::memcpy(frame->bytes.get(), given.bytes, given.length);
    frame->length = given.length;
    frame->gap = given.gap;
    frame->preamble = given.preamble;
    frame->header = given.preamble + (given.delimiter ? 1 : 0);
    frame->rx_er_at = given.rx_er_at;
    std::copy_n(given.host, frame->host.size(), frame->host.begin());
    frame->port = given.port;
    Receiver &r = receivers[given.port];
    r.queue.push_back(frame);
    ++waiting;
    if (!r.current) r.plan();
    return frame->number;
  }

  void begin(unsigned port) {
    Receiver &r = receivers[port];
    r.current = r.queue.front();
    r.queue.pop_front();
    r.unjudged.push_back(r.current);
    r.position = 0;
    --waiting;
    ++inside;
    receiving |= 1u << port;
    // Without delimiter or content there is no byte after the delimiter to take the time of.
    if (r.current->header == r.current->preamble || r.current->length == 0) event(PEN_INPUT, port, r.current);
  }

  // This cycle, as the receive clock of a port counts.
  int64_t here(unsigned port) const { return static_cast<int64_t>(cycle) + receivers[port].ahead; }

  // Sets what the next edge of the receive clocks of these ports samples.
  void drive(unsigned ports) {
    for (unsigned p = 0; p < PORTS; ++p)
      if (here(p) >= receivers[p].next_start && !receivers[p].current && (ports >> p & 1)) begin(p);
    if (!(receiving & ports)) return;
    for (unsigned mask = receiving & ports; mask; mask &= mask - 1) {
      const unsigned p = static_cast<unsigned>(std::countr_zero(mask));
      Receiver &r = receivers[p];
      const Frame &frame = *r.current;
      const unsigned bit = 1u << p;
      rx_dv &= ~bit;
      rx_er &= ~bit;
      if (r.position == frame.header + frame.length || r.broken) {  // over
        if (frame.finished) live.erase(frame.self);
        r.current = nullptr;
        r.broken = false;
        r.free_since = here(p);
        receiving &= ~bit;
        r.plan();
        continue;
      }
      uint8_t byte = PREAMBLE_BYTE;
      if (r.position >= frame.header) {
        const uint32_t at = r.position - frame.header;
        byte = frame.bytes[at];
        if (at == 0 && frame.header != frame.preamble) event(PEN_INPUT, p, &frame);
        if (at == frame.rx_er_at) rx_er |= bit;
      } else if (r.position == frame.preamble) {
        byte = DELIMITER;
      }
      ++r.position;
      if (HAS_HOST && p == HOST) {
        to_host(frame, r.position - 1, byte);
        continue;
      }
      rx_dv |= bit;
      rxd = (rxd & ~(uint64_t{0xFF} << (8 * p))) | uint64_t{byte} << (8 * p);
    }
    using Data = std::remove_reference_t<decltype(top.gmii_rxd_i)>;
    top.gmii_rxd_i = static_cast<Data>(rxd);
    top.gmii_rx_dv_i = static_cast<std::remove_reference_t<decltype(top.gmii_rx_dv_i)>>(rx_dv);
    top.gmii_rx_er_i = static_cast<std::remove_reference_t<decltype(top.gmii_rx_er_i)>>(rx_er);
    quiet_at = cycle + QUIET_CYCLES;
  }

  // Byte `position` of a carrier.
  void to_host(const Frame &frame, uint32_t position, uint8_t byte) {
    const uint32_t header = frame.header - HOST_HEADER_IN;
    if (position < header) return;
    if (position < frame.header) byte = frame.host[position - header];
    host_bytes.push_back({cycle + HOST_IN, byte, position + 1 == frame.header + frame.length});
    quiet_at = cycle + QUIET_CYCLES;
  }

  // Sets what the next edge samples of the stream from the host.
  void offer() {
    const bool valid = !host_bytes.empty() && host_bytes.front().at <= cycle;
    top.s_axis_host_tvalid_i = valid;
    if (!valid) return;
    top.s_axis_host_tdata_i = host_bytes.front().byte;
    top.s_axis_host_tlast_i = host_bytes.front().last;
  }

  void accept() {
    if (top.s_axis_host_tvalid_i && top.s_axis_host_tready_o) host_bytes.pop_front();
  }

  // ---- out

  // Nothing of the frame is inside any more. One that the switch cut short may still be on the wire.
  void release(Frame *frame) {
    if (frame_of_cell[frame->cell] == frame) frame_of_cell[frame->cell] = nullptr;
    frame->finished = true;
    --inside;
    if (receivers[frame->port].current != frame) live.erase(frame->self);
  }

  void gone(Frame *frame, unsigned port) {
    frame->copies &= static_cast<uint8_t>(~(1u << port));
    if (!frame->copies) release(frame);
  }

  void verdict() {
    namespace f = layout::verdict;
    const auto &v = top.verdict_o;
    quiet_at = cycle + QUIET_CYCLES;
    const unsigned port = get(v, f::port);
    if (port >= PORTS || receivers[port].unjudged.empty()) return fault(PEN_FAULT_VERDICT, port, nullptr);
    Frame *frame = receivers[port].unjudged.front();
    receivers[port].unjudged.pop_front();
    pen_event &e = event(PEN_VERDICT, port, frame);
    e.reason = static_cast<uint8_t>(get(v, f::reason));
    e.destination = static_cast<uint8_t>(get(v, f::destination));
    e.refused = static_cast<uint8_t>(get(v, f::refused));
    constexpr layout::Field all = f::refused_reason;
    constexpr unsigned width = all.width / 8;  // of MAX_PORTS
    for (unsigned p = 0; p < PORTS; ++p)
      e.refused_reasons |= uint64_t{get(v, {all.lsb + p * width, width})} << (8 * p);
    e.traffic_class = static_cast<uint8_t>(get(v, f::traffic_class));
    e.stream = static_cast<uint16_t>(get(v, f::stream));
    const uint32_t ahead = (get(v, f::visible) - static_cast<uint32_t>(cycle)) << (32 - f::visible.width);
    e.visible = cycle + static_cast<uint64_t>(int64_t{static_cast<int32_t>(ahead) >> (32 - f::visible.width)});
    if (get(v, f::short_gap)) e.flags |= PEN_FLAG_SHORT_GAP;
    if (get(v, f::is_stream)) e.flags |= PEN_FLAG_STREAM;
    if (get(v, f::shaped)) e.flags |= PEN_FLAG_SHAPED;
    if (e.reason != 0) e.destination = e.refused = 0;
    frame->copies = e.destination;
    if (!e.destination) return release(frame);
    frame->cell = get(v, f::frame);
    if (get(v, f::length) != frame->length) fault(PEN_FAULT_LENGTH, port, frame);
    frame_of_cell[frame->cell] = frame;
  }

  void egress(unsigned port, bool sent) {
    namespace f = layout::egress_event;
    const unsigned base = port * f::WIDTH;
    quiet_at = cycle + QUIET_CYCLES;
    if (!sent && transmitters[port].busy()) {
      const unsigned reason = get(top.egress_event_o, f::reason, base);
      if (reason == PEN_REASON_PORT_DISABLED) return cut(port);
    }
    Frame *frame = frame_of_cell[get(top.egress_event_o, f::frame, base)];
    const auto traffic_class = static_cast<uint8_t>(get(top.egress_event_o, f::traffic_class, base));
    if (!frame || !(frame->copies >> port & 1)) return fault(PEN_FAULT_EGRESS, port, frame);
    pen_event &e = event(sent ? PEN_SELECTED : PEN_EXPIRED, port, frame);
    e.traffic_class = traffic_class;
    if (!sent) e.reason = static_cast<uint8_t>(get(top.egress_event_o, f::reason, base));
    if (sent) {
      transmitters[port].selected.push_back({frame, traffic_class});
    } else {
      gone(frame, port);
    }
  }

  // A reset of the port takes the frame from the wire, or keeps it away.
  void cut(unsigned port) {
    Transmitter &t = transmitters[port];
    if (!t.current.frame) {
      t.current = t.selected.front();
      t.selected.pop_front();
    }
    pen_event &e = event(PEN_EXPIRED, port, t.current.frame);
    e.traffic_class = t.current.traffic_class;
    e.reason = PEN_REASON_PORT_DISABLED;
    gone(t.current.frame, port);
    t.current = {};
    t.cut = true;
  }

  void transmit(unsigned port, bool enabled) {
    Transmitter &t = transmitters[port];
    quiet_at = cycle + QUIET_CYCLES;
    if (!enabled) {
      finish(port);
      return;
    }
    const auto byte = static_cast<uint8_t>(uint64_t{top.gmii_txd_o} >> (8 * port));
    if (!t.active) {
      t.active = true;
      t.cut = false;
      sending |= 1u << port;
      t.inside = false;
      t.preamble = t.position = 0;
      t.flags = cycle - t.free_since < GAP ? PEN_FLAG_SHORT_GAP : 0;
      t.current = {};
    }
    if (top.gmii_tx_er_o >> port & 1) t.flags |= PEN_FLAG_TX_ER;
    if (!t.inside) {
      if (byte == DELIMITER) {
        t.inside = true;
        if (t.preamble != PREAMBLE) t.flags |= PEN_FLAG_PREAMBLE;
        if (!t.selected.empty()) {
          t.current = t.selected.front();
          t.selected.pop_front();
        }
      } else {
        ++t.preamble;
        if (byte != PREAMBLE_BYTE) t.flags |= PEN_FLAG_PREAMBLE;
      }
      return;
    }
    if (t.position == 0) {
      t.first = cycle;
      const Frame *frame = t.current.frame;
      if (HAS_HOST && frame && frame->port == HOST && frame->host[0] & HOST_STAMPED)
        t.stamped.push_back({frame->number, frame->host[3]});
    }
    if (t.position < t.bytes.size()) t.bytes[t.position] = byte;
    ++t.position;
  }

  // A byte to the host.
  void from_switch() {
    Transmitter &t = transmitters[HOST];
    quiet_at = cycle + QUIET_CYCLES;
    const uint8_t byte = top.m_axis_host_tdata_o;
    if (!t.active) {
      t.active = true;
      t.cut = false;
      t.preamble = t.position = 0;
      t.flags = 0;
      t.current = {};
      t.is_stamp = byte == KIND_STAMP;
      t.first = cycle;
      if (!t.is_stamp && !t.selected.empty()) {
        t.current = t.selected.front();
        t.selected.pop_front();
      }
    }
    const Frame *frame = t.current.frame;
    if (t.preamble < HOST_HEADER_OUT) {
      t.header[t.preamble++] = byte;
      if (t.is_stamp && top.m_axis_host_tlast_o) stamped();
      return;
    }
    if (t.position == 0) {
      t.first = cycle - HOST_OUT;
      if (frame && !is_header_of(*frame)) t.flags |= PEN_FLAG_PREAMBLE;
    }
    if (t.position < t.bytes.size()) t.bytes[t.position] = byte;
    ++t.position;
    if (!top.m_axis_host_tlast_o) return;
    if (top.m_axis_host_tuser_o) t.flags |= PEN_FLAG_TX_ER;
    finish(HOST);
  }

  // The host was told when a frame left. Those that were lost are passed over.
  void stamped() {
    Transmitter &t = transmitters[HOST];
    t.active = false;
    const unsigned port = t.header[1];
    const uint8_t tag = t.header[3];
    if (t.preamble != HOST_HEADER_OUT || t.header[15] != 0 || port >= HOST) return fault(PEN_FAULT_STAMP, port, nullptr);
    auto &left = transmitters[port].stamped;
    while (!left.empty() && left.front().tag != tag) left.pop_front();
    if (left.empty()) return fault(PEN_FAULT_STAMP, port, nullptr);
    pen_event &e = event(PEN_STAMP, port, nullptr);
    e.cycle = t.first;
    e.frame = left.front().frame;
    e.visible = stamp();
    e.fcs = t.header[14] | uint32_t{tag} << 8 | uint32_t{t.header[2]} << 16;
    left.pop_front();
  }

  bool is_header_of(const Frame &frame) const {
    const Transmitter &t = transmitters[HOST];
    return t.header[1] == frame.port && t.header[2] == t.current.traffic_class
        && (t.header[0] | t.header[3] | t.header[15]) == 0;
  }

  // When the frame was received that goes to the host, in nanoseconds of TAI.
  uint64_t stamp() const {
    const auto &header = transmitters[HOST].header;
    uint64_t seconds = 0, ns = 0;
    std::memcpy(&seconds, &header[4], 6);
    std::memcpy(&ns, &header[10], 4);
    return seconds * 1'000'000'000 + ns;
  }

  void finish(unsigned port) {
    Transmitter &t = transmitters[port];
    t.active = false;
    t.free_since = cycle;
    sending &= ~(1u << port);
    if (t.cut) return;
    Frame *frame = t.current.frame;
    if (!frame) return fault(PEN_FAULT_OUTPUT, port, nullptr);
    pen_event &e = event(PEN_OUTPUT, port, frame);
    e.cycle = t.first;
    e.length = t.position;
    e.traffic_class = t.current.traffic_class;
    if (HAS_HOST && port == HOST) e.visible = stamp();
    e.flags = t.flags;
    const Bytes came{frame->bytes.get(), frame->length}, left{t.bytes.data(), std::min<size_t>(t.position, t.bytes.size())};
    if (!std::ranges::equal(came, left)) e.flags |= is_edited(came, left) ? PEN_FLAG_EDITED : PEN_FLAG_DAMAGED;
    for (size_t n = 0; n < FCS_BYTES && left.size() >= FCS_BYTES; ++n)
      e.fcs |= uint32_t{left[left.size() - FCS_BYTES + n]} << (8 * n);
    t.current = {};
    gone(frame, port);
  }

  // Looks at the outputs of the last edge.
  void observe() {
    if (get(top.verdict_o, layout::verdict::valid)) [[unlikely]] verdict();
    for (unsigned p = 0; p < PORTS; ++p) {
      const unsigned base = p * layout::egress_event::WIDTH;
      if (get(top.egress_event_o, layout::egress_event::sent, base)) [[unlikely]] egress(p, true);
      if (get(top.egress_event_o, layout::egress_event::expired, base)) [[unlikely]] egress(p, false);
    }
    if (HAS_HOST && top.m_axis_host_tvalid_o) from_switch();
    const unsigned enabled = top.gmii_tx_en_o;
    for (unsigned mask = enabled | sending; mask; mask &= mask - 1) {
      const unsigned p = static_cast<unsigned>(std::countr_zero(mask));
      transmit(p, enabled >> p & 1);
    }
  }

  // ---- time

  static constexpr unsigned ALL = (1u << PORTS) - 1;

  void falling() {
    top.clk_i = 0;
    top.gmii_rx_clk_i = 0;
    top.eval();
  }

  void rising(unsigned receive_clocks = ALL) {
    top.clk_i = 1;
    top.gmii_rx_clk_i = receive_clocks;
    top.eval();
  }

  // A further edge of these receive clocks within the cycle.
  void rise_again(unsigned receive_clocks) {
    for (unsigned p = 0; p < PORTS; ++p) receivers[p].ahead += receive_clocks >> p & 1;
    drive(receive_clocks);
    top.gmii_rx_clk_i = 0;
    top.eval();
    top.gmii_rx_clk_i = receive_clocks;
    top.eval();
  }

  // One cycle; `sample` sees the outputs before the rising edge, as the switch's neighbours do.
  template <class Sample>
  void step(Sample sample) {
    unsigned once = ALL, twice = 0;
    for (unsigned mask = odd_clocks; mask; mask &= mask - 1) {
      const auto p = static_cast<unsigned>(std::countr_zero(mask));
      const unsigned edges = receivers[p].edges();
      if (edges == 0) {
        once &= ~(1u << p);
        --receivers[p].ahead;
      }
      if (edges == 2) twice |= 1u << p;
    }
    drive(once);
    if (HAS_HOST) offer();
    falling();
    waves.dump(cycle, 4);
    observe();
    sample();
    if (HAS_HOST) accept();
    rising(once);
    waves.dump(cycle, 0);
    if (twice) rise_again(twice);
    ++cycle;
    ++simulated;
  }

  void step() {
    step([] {});
  }

  // Skips time up to the next thing to do; false if there is nothing to gain.
  bool jump(uint64_t until) {
    auto &leap_go = top.rootp->pen_switch__DOT__u_leap__DOT__go;  // hw/sim/pen_leap.sv
    const uint64_t wake = top.rootp->pen_switch__DOT__u_leap__DOT__wake_cycle;
    uint64_t target = std::min({until, wake, waves.next(cycle)});
    for (const Receiver &r : receivers)
      if (r.next_start != NOT_PLANNED) target = std::min(target, static_cast<uint64_t>(r.next_start - r.ahead));
    constexpr uint64_t MARGIN = 2;
    if (target < cycle + MARGIN + 4 * PORTS) return false;
    const uint64_t distance = std::min(target - cycle - MARGIN, JUMP_MOST) / PORTS * PORTS;
    top.rootp->pen_switch__DOT__u_leap__DOT__cycles = distance;
    leap_go = 1;
    top.eval();
    leap_go = 0;
    top.eval();
    jumped += distance;
    cycle += distance;
    check_clock();
    return true;
  }

  void run(uint64_t until) {
    while (cycle < until) {
      if (inside == 0 && !receiving && cycle >= quiet_at && top.idle_o && jump(until)) continue;
      step();
    }
    check_clock();
  }

  // A frame that is on the wire as the link goes down ends there.
  void link(unsigned port, bool up, int64_t rate_ppb) {
    Receiver &r = receivers[port];
    r.up = up;
    r.broken |= !up && r.current;
    r.rate_ppb = rate_ppb;
    if (rate_ppb) odd_clocks |= 1u << port;
    else odd_clocks &= ~(1u << port);
    r.plan();
  }

  // ---- AXI4-Lite

  int32_t write(uint32_t address, uint32_t data) {
    const int32_t response = axi_lite::write(top, address, data, [this](auto sample) { step(sample); });
    quiet_at = cycle + QUIET_CYCLES;  // a reset that ends takes its way into the MACs, a setting into its unit
    return response;
  }

  int32_t read(uint32_t address, uint32_t *data) {
    return axi_lite::read(top, address, *data, [this](auto sample) { step(sample); });
  }
};

uint32_t pen_abi(void) { return PEN_ABI; }
pen_switch *pen_create(void) { return new pen_switch; }
void pen_destroy(pen_switch *self) {
  // A model takes its scopes out of the context of the thread, which may be another switch's, also of one that is gone.
  Verilated::threadContextp(&self->context);
  delete self;
  Verilated::threadContextp(Verilated::defaultContextp());
}
uint64_t pen_push(pen_switch *self, const pen_frame *frame) { return self->push(*frame); }
void pen_link(pen_switch *self, uint32_t port, uint32_t up, int64_t rate_ppb) { self->link(port, up != 0, rate_ppb); }
void pen_run(pen_switch *self, uint64_t until) { self->run(until); }
int32_t pen_axi_write(pen_switch *self, uint32_t address, uint32_t data) { return self->write(address, data); }
int32_t pen_axi_read(pen_switch *self, uint32_t address, uint32_t *data) { return self->read(address, data); }
void pen_events_clear(pen_switch *self) { self->events.clear(); }
#ifdef PEN_WAVES
void pen_wave(pen_switch *self, const char *path, uint64_t zero, uint64_t from, uint64_t until) {
  self->waves.plan(self->top, path, zero, from, until);
}
#endif

const pen_event *pen_events(const pen_switch *self, uint64_t *count) {
  *count = self->events.size();
  return self->events.data();
}

void pen_state_read(const pen_switch *self, pen_state *state) {
  const bool idle = self->top.idle_o && self->cycle >= self->quiet_at;
  *state = {self->cycle, self->simulated, self->jumped, self->inside, self->waiting, idle, PORTS};
}
