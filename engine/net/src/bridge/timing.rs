// SPDX-License-Identifier: Apache-2.0
//! How long things take, in ticks: of the hardware's cycles, or of picoseconds. docs/model.md says where they come from.
use penstock_frame::{wire_length, Bytes, Edit, RTagAction, TagAction, PREAMBLE_BYTES, TAG_BYTES};
use penstock_shaper::egress::{GateDelays, GateTime, LineTime, Queued};
use penstock_shaper::gate_config::GATES_CYCLES;
use penstock_shaper::lifetime::GivingUp;
pub use penstock_shaper::turns::CYCLE_NS;
use penstock_shaper::turns::{self, Turns};
use penstock_shaper::Time;

use super::config::{BridgeError, Timing};
use super::Tick;
use crate::limits::LONGEST_DELAY_PS;
use crate::link::Rate;

/// From a frame's last byte taken to the first cycle in which it may be selected, without twice the ports.
const VISIBLE_CYCLES: Tick = 19;
/// From the end of the last bit on the wire to its byte taken.
pub const RX_LATENCY_CYCLES: Tick = 4;
/// From the turn in which a frame's record goes out to its place in the row of admission.
pub const TURN_TO_ADMISSION: Tick = 13;
/// From the turn in which cells are given back to the first decision that does not know of it yet.
pub const RELEASE_TO_ADMISSION: Tick = 1;
/// Between the decisions about two frames.
const ADMISSION_INTERVAL: Tick = 2;
/// From the begin of a decision to the verdict.
pub const ADMISSION_TO_VERDICT: Tick = 5;
/// From the turn in which a frame's record goes out to when all is known that decides about it, without the ports.
const TURN_TO_JUDGE: Tick = 16;
/// From the selection to the first byte behind the delimiter.
const SELECTION_TO_FIRST: Tick = 12;
/// From a selection to the next, without the frame.
const SELECTION_TO_NEXT: Tick = 20;
/// By so much longer than preamble and delimiter is the header to the host.
const HOST_HEADER: Tick = 8;
/// Of a switch whose words come faster than it sends them.
const MOST_FAST_PORTS: Tick = 4;
/// The word that is wanted with the addresses, and the one that is wanted with the word that holds the VLAN tag; all others
/// are wanted with words that stand behind all tags.
const ADDRESS_WORD: Tick = 4;
const TAG_WORD: Tick = 5;
/// Of the hardware, in nanoseconds and cycles.
pub const GATE_DELAYS: GateDelays = GateDelays { lead: 56, states: GATES_CYCLES, windows: 4 };

/// From a frame's last byte taken to the first cycle in which it may be selected.
pub fn visible_cycles(ports: u16) -> Tick {
    2 * Tick::from(ports) + VISIBLE_CYCLES
}

/// From the issue of a word on the chain of settings to the cycle in which all units act on it: the nodes of the chain.
pub fn chain_cycles(ports: u16) -> Tick {
    2 * Tick::from(ports) + 6
}

/// The row of admission, in the order of turns.
#[derive(Clone, Copy, Debug, Default)]
pub struct Row {
    /// The first cycle in which another decision can begin.
    next: Tick,
}

impl Row {
    /// When the decision about a frame begins; those of earlier turns have their places.
    #[inline(always)]
    pub fn place(&mut self, turn: Tick) -> Tick {
        let begin = (turn + TURN_TO_ADMISSION).max(self.next);
        self.next = begin + ADMISSION_INTERVAL;
        begin
    }
}

/// Of a bridge with hardware timing.
#[derive(Clone, Copy, Debug)]
pub struct Cycles {
    pub ports: Tick,
    turns: Turns,
    /// The egress port of the host; none: the number that no port has.
    host: u16,
}

impl Cycles {
    /// Of 2 to 8 ports, the last of which may be the host's.
    pub fn new(ports: u16, host: bool) -> Self {
        Self { ports: ports.into(), turns: Turns::new(ports), host: if host { ports - 1 } else { u16::MAX } }
    }

    #[inline(always)]
    pub fn visible(self) -> Tick {
        visible_cycles(self.ports as u16)
    }

    /// The constant delay of the bridge, which is its ProcessingDelayMax.
    pub fn delay_ns(self) -> Time {
        CYCLE_NS * (RX_LATENCY_CYCLES + self.visible())
    }

    /// So many cycles in units of 2^-16 ns.
    pub fn units(self, cycles: Tick) -> u64 {
        (cycles as u64 * CYCLE_NS as u64) << 16
    }

    /// The first turn of a port at or after a cycle.
    #[inline(always)]
    pub fn turn(self, port: u16, from: Tick) -> Tick {
        self.turns.turn(port, from)
    }

    /// The first cycle in which a selected frame no longer costs credit.
    #[inline(always)]
    pub fn sent(self, selection: Tick, bytes: u16, gap: bool) -> Tick {
        selection + Tick::from(bytes) + if gap { SELECTION_TO_NEXT } else { Tick::from(PREAMBLE_BYTES) }
    }

    #[inline(always)]
    pub fn judge(self, turn: Tick) -> Tick {
        turn + TURN_TO_JUDGE + self.ports
    }

    /// When all frames have been judged that are queued up to a cycle.
    #[inline(always)]
    pub fn enqueues_known(self, at: Tick) -> Tick {
        (at + TURN_TO_JUDGE + self.ports).saturating_sub(TURN_TO_ADMISSION + ADMISSION_TO_VERDICT)
    }

    #[inline(always)]
    pub fn first_byte(self, selection: Tick, edit: Edit) -> Tick {
        selection + SELECTION_TO_FIRST + self.waits(edit)
    }

    /// A frame that loses tags is sent so much later: the words of a switch of more ports come no faster than it sends them.
    #[inline(always)]
    fn waits(self, edit: Edit) -> Tick {
        if self.ports > MOST_FAST_PORTS && !edit.is_none() {
            Tick::from(edit.length_change().min(0).unsigned_abs())
        } else {
            0
        }
    }

    #[inline(always)]
    pub fn next_selection(self, selection: Tick, bytes: u16) -> Tick {
        selection + SELECTION_TO_NEXT + Tick::from(bytes)
    }

    /// The turn in which the cells of a copy that was selected are given back.
    #[inline(always)]
    pub fn release(self, selection: Tick, bytes: u16, egress: u16, edit: Edit) -> Tick {
        let header = if egress == self.host { HOST_HEADER } else { 0 };
        let wanted = |word: Tick| turns::wanted(selection + header + self.waits(edit), word);
        self.turns.release(egress, selection, bytes, |last_word| {
            let turn = |word: Tick| self.turn(egress, wanted(word).saturating_add_signed(later(edit, word).into()));
            // One in each turn, also where those behind tags that go are wanted sooner.
            let behind = |word: Tick| turn(word) + (last_word - word) * self.ports;
            match last_word {
                _ if edit.is_none() || last_word <= ADDRESS_WORD => turn(last_word),
                TAG_WORD => turn(TAG_WORD).max(behind(ADDRESS_WORD)),
                _ => turn(last_word).max(behind(TAG_WORD)).max(behind(ADDRESS_WORD)),
            }
        })
    }
}

/// So much later a word is wanted of a frame that is edited.
fn later(edit: Edit, word: Tick) -> i64 {
    let (tag, r_tag) = (edit.action(), edit.r_tag());
    let keeps_tag = matches!(tag, TagAction::Keep | TagAction::Rewrite);
    let is_cut = tag == TagAction::Remove || r_tag == RTagAction::Remove;
    match word {
        ..=ADDRESS_WORD => 0,
        TAG_WORD if keeps_tag => 0,
        // The last byte of the addresses takes all with it that is left out behind them.
        TAG_WORD if is_cut => -(TAG_BYTES as i64),
        _ => edit.length_change().into(),
    }
}

/// Of a bridge of another maker.
#[derive(Clone, Debug)]
pub struct Ideal {
    pub processing_delay_ps: Tick,
    /// Of its header, behind which a frame may be sent on; none: it has to be whole.
    pub cut_through_bytes: Option<u16>,
    /// Of each port.
    rates: Vec<Rate>,
}

/// Addresses and a tag, which a way follows from.
const SHORTEST_HEADER_BYTES: u16 = 16;

impl Ideal {
    pub fn new(processing_delay_ps: Tick, cut_through_bytes: Option<u16>, rates_bps: Vec<u64>) -> Self {
        Self { processing_delay_ps, cut_through_bytes, rates: rates_bps.into_iter().map(Rate::new).collect() }
    }

    /// Of `bytes` bytes, rounded up.
    #[inline(always)]
    fn duration(&self, port: u16, bytes: u64) -> Tick {
        self.rates[usize::from(port)].duration(bytes as u32)
    }

    pub fn rate_bps(&self, port: u16) -> u64 {
        self.rates[usize::from(port)].bps()
    }

    #[inline(always)]
    pub fn last_bit(&self, port: u16, first: Tick, bytes: u16) -> Tick {
        first + self.duration(port, u64::from(bytes))
    }

    /// When the header of a frame is there, if frames are sent on behind it.
    #[inline(always)]
    pub fn header(&self, port: u16, first: Tick, bytes: u16) -> Option<Tick> {
        let header = self.cut_through_bytes?;
        Some(first + self.duration(port, u64::from(bytes.min(header))))
    }

    pub fn is_slower_or_equal(&self, egress: u16, ingress: u16) -> bool {
        self.rate_bps(egress) <= self.rate_bps(ingress)
    }

    #[inline(always)]
    pub fn first_bit(&self, port: u16, selection: Tick) -> Tick {
        selection + self.rates[usize::from(port)].lead()
    }

    /// How long a frame has the wire, its gap counted.
    #[inline(always)]
    fn wire(&self, port: u16, bytes: u16) -> Tick {
        self.rates[usize::from(port)].occupancy(u32::from(bytes))
    }

    #[inline(always)]
    pub fn end(&self, port: u16, selection: Tick, bytes: u16) -> Tick {
        selection + self.duration(port, u64::from(PREAMBLE_BYTES) + u64::from(bytes))
    }

    #[inline(always)]
    pub fn next_selection(&self, port: u16, selection: Tick, bytes: u16) -> Tick {
        selection + self.wire(port, bytes)
    }
}

#[derive(Clone, Debug)]
pub enum Clock {
    Hardware(Cycles),
    Ideal(Ideal),
}

impl Clock {
    /// Whether a frame that is judged after `now` comes too late for a selection at `due`, if the next one that has
    /// arrived is judged at `next`. One that has not arrived yet is not judged within the bridge's own delay.
    #[inline(always)]
    pub fn is_settled(&self, now: Tick, due: Tick, next: Tick) -> bool {
        match self {
            Self::Hardware(cycles) => due < next && due <= now + cycles.ports + 2,
            // What is judged later becomes visible later.
            Self::Ideal(ideal) => now < next && due <= now + ideal.processing_delay_ps,
        }
    }

    /// The edit of a copy, with the time that it takes on the wire of this bridge.
    pub fn edit(&self, edit: Edit) -> Edit {
        match self {
            Self::Hardware(cycles) => edit.longer_by(cycles.waits(edit) as i8),
            Self::Ideal(_) => edit,
        }
    }

    /// A time in units of 2^-16 ns, rounded down.
    pub fn units(&self, ticks: Tick) -> u64 {
        match self {
            Self::Hardware(cycles) => cycles.units(ticks),
            Self::Ideal(_) => ((ticks as u128) << 16).wrapping_div(1_000) as u64,
        }
    }

    /// When a frame is judged, from its turn.
    #[inline(always)]
    pub fn judge(&self, turn: Tick) -> Tick {
        match self {
            Self::Hardware(cycles) => cycles.judge(turn),
            Self::Ideal(_) => turn,
        }
    }

    /// Some frames are forwarded before they are whole.
    #[inline(always)]
    pub fn cuts_through(&self) -> bool {
        matches!(self, Self::Ideal(ideal) if ideal.cut_through_bytes.is_some())
    }

    /// With `host` the last port is the host's.
    pub fn new(ports: u16, host: bool, timing: &Timing) -> Result<Self, BridgeError> {
        let refuse = |what: String, allowed: &str| Err(BridgeError::Config { what, allowed: allowed.to_owned() });
        match timing {
            Timing::Hardware if !(2..=8).contains(&ports) => {
                refuse(format!("{ports} ports with the hardware's timing"), "it has 2 to 8")
            }
            Timing::Hardware => Ok(Self::Hardware(Cycles::new(ports, host))),
            Timing::Ideal { processing_delay_ps, cut_through_bytes, rates_bps } => {
                if rates_bps.len() != usize::from(ports) {
                    let what = format!("{} rates for {ports} ports", rates_bps.len());
                    return refuse(what, "each port has one");
                }
                if *processing_delay_ps > LONGEST_DELAY_PS {
                    let what = format!("a processing delay of {processing_delay_ps} ps");
                    return refuse(what, &format!("up to {LONGEST_DELAY_PS} ps is allowed"));
                }
                if let Some(rate) = rates_bps.iter().find(|rate| !(1_000_000..=1_000_000_000_000).contains(*rate)) {
                    return refuse(format!("a port of {rate} b/s"), "1 Mb/s to 1 Tb/s are allowed");
                }
                if let Some(bytes) = cut_through_bytes.filter(|bytes| *bytes < SHORTEST_HEADER_BYTES) {
                    let allowed = format!("{SHORTEST_HEADER_BYTES} or more are allowed");
                    return refuse(format!("cut-through behind {bytes} bytes"), &allowed);
                }
                Ok(Self::Ideal(Ideal::new(*processing_delay_ps, *cut_through_bytes, rates_bps.clone())))
            }
        }
    }
}

/// What ports count. The default is as in the hardware; other simulators count otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counting {
    /// The gap behind a frame costs credit.
    pub gap_costs_credit: bool,
    /// A frame has to end before its gate closes, but not the gap behind it.
    pub window_without_gap: bool,
    /// Credit does not rise while the first frame of the class waits for another window.
    pub credit_frozen_in_guard_band: bool,
}

/// The line of a bridge's port, and the time by which its gates go.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    pub clock: &'a Clock,
    pub gate_time: &'a GateTime,
    pub port: u16,
    pub counting: Counting,
}

impl Line<'_> {
    /// Of a copy that is selected: when its first bit after the delimiter leaves, and when its cells come back.
    #[inline(always)]
    pub fn leaves(&self, selection: Tick, copy: &Queued) -> (Tick, Tick) {
        match self.clock {
            Clock::Hardware(cycles) => {
                let release = cycles.release(selection, copy.stored_bytes(), self.port, copy.edit);
                (cycles.first_byte(selection, copy.edit), release)
            }
            Clock::Ideal(ideal) => (ideal.first_bit(self.port, selection), ideal.end(self.port, selection, copy.bytes)),
        }
    }

    /// Of a copy, from destination address to FCS as it is sent.
    #[inline(always)]
    pub fn sent_bytes(&self, copy: &Queued) -> u16 {
        match self.clock {
            Clock::Hardware(cycles) => copy.bytes - cycles.waits(copy.edit) as u16,
            Clock::Ideal(_) => copy.bytes,
        }
    }
}

impl GivingUp for Line<'_> {
    #[inline(always)]
    fn receptions(&self) -> Option<u16> {
        match self.clock {
            Clock::Hardware(cycles) => Some(cycles.ports as u16),
            Clock::Ideal(_) => None,
        }
    }

    fn free_turn(&self, from: Tick, busy: &[Tick]) -> Tick {
        match self.clock {
            Clock::Hardware(cycles) => cycles.turns.free_turn(self.port, from, busy),
            Clock::Ideal(_) => from,
        }
    }
}

impl LineTime for Line<'_> {
    fn gate_time(&self) -> &GateTime {
        self.gate_time
    }

    #[inline]
    fn wire(&self, bytes: u16) -> Time {
        match self.clock {
            Clock::Hardware(_) if self.counting.window_without_gap => {
                CYCLE_NS * (Tick::from(PREAMBLE_BYTES) + Tick::from(bytes))
            }
            Clock::Hardware(_) => CYCLE_NS * Time::from(wire_length(Bytes(bytes.into())).0),
            Clock::Ideal(ideal) if self.counting.window_without_gap => ideal.end(self.port, 0, bytes),
            Clock::Ideal(ideal) => ideal.wire(self.port, bytes),
        }
    }

    #[inline]
    fn credit_guard(&self, bytes: u16) -> Time {
        if self.counting.credit_frozen_in_guard_band {
            // The guard band begins with the last instant in which the frame may start.
            self.wire(bytes) + 1
        } else {
            0
        }
    }

    #[inline(always)]
    fn next_selection(&self, selection: Tick, bytes: u16) -> Tick {
        match self.clock {
            Clock::Hardware(cycles) => cycles.next_selection(selection, bytes),
            Clock::Ideal(ideal) => ideal.next_selection(self.port, selection, bytes),
        }
    }

    #[inline(always)]
    fn spent(&self, selection: Tick, bytes: u16) -> Tick {
        match self.clock {
            Clock::Hardware(cycles) => cycles.sent(selection, bytes, self.counting.gap_costs_credit),
            Clock::Ideal(ideal) if self.counting.gap_costs_credit => ideal.next_selection(self.port, selection, bytes),
            Clock::Ideal(ideal) => ideal.end(self.port, selection, bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use penstock_shaper::ptp_clock::PtpClock;

    use super::*;

    fn ideal() -> Clock {
        Clock::Ideal(Ideal::new(0, None, vec![1_000_000_000; 2]))
    }

    fn of_line<T>(clock: &Clock, counting: Counting, of: impl Fn(&Line) -> T) -> T {
        let gate_time = GateTime::new(PtpClock::new(0, 0), GATE_DELAYS);
        of(&Line { clock, gate_time: &gate_time, port: 0, counting })
    }

    /// Of 100 bytes, at 8 ns each: in nanoseconds of gates for hardware, else in picoseconds.
    #[test]
    fn a_gap_belongs_to_a_frame_or_not() {
        let hardware = Clock::new(2, false, &Timing::Hardware).unwrap();
        for (clock, byte) in [(hardware, 8), (ideal(), 8_000)] {
            let plain = Counting::default();
            let without = Counting { window_without_gap: true, ..plain };
            let frozen = Counting { credit_frozen_in_guard_band: true, ..plain };
            assert_eq!(of_line(&clock, plain, |line| line.wire(100)), 120 * byte);
            assert_eq!(of_line(&clock, without, |line| line.wire(100)), 108 * byte);
            assert_eq!(of_line(&clock, plain, |line| line.credit_guard(100)), 0);
            assert_eq!(of_line(&clock, frozen, |line| line.credit_guard(100)), 120 * byte + 1);
            // In ticks, which are cycles of hardware.
            let byte = if byte == 8 { 1 } else { byte };
            for (gap_costs_credit, bytes) in [(false, 108), (true, 120)] {
                let counting = Counting { gap_costs_credit, ..plain };
                assert_eq!(of_line(&clock, counting, |line| line.spent(1_000, 100)), 1_000 + bytes * byte);
            }
        }
    }

    #[test]
    fn a_time_inside_counts_in_parts_of_nanoseconds() {
        let hardware = Clock::new(2, false, &Timing::Hardware).unwrap();
        assert_eq!([0, 1, 100].map(|cycles| hardware.units(cycles)), [0, 8 << 16, 800 << 16]);
        assert_eq!([1, 999, 1_000, 1_500].map(|ps| ideal().units(ps)), [65, 65_470, 65_536, 98_304]);
    }

    #[test]
    fn hardware_has_two_to_eight_ports() {
        let is_made = |ports| Clock::new(ports, false, &Timing::Hardware).is_ok();
        assert_eq!([1, 2, 8, 9].map(is_made), [false, true, true, false]);
    }
}
