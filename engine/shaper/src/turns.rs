// SPDX-License-Identifier: Apache-2.0
//! The fixed turns in which ports use what they share: of the hardware's cycles, each is one port's.
use crate::egress::Tick;
use crate::Time;

/// At every rate.
pub const CYCLE_NS: Time = 8;

/// So many words are read ahead of the transmitter.
const WORDS_AHEAD: Tick = 4;

/// The cycle from which on the transmitter wants a word of a frame, one in eight cycles.
#[inline(always)]
pub fn wanted(selection: Tick, word: Tick) -> Tick {
    (selection + 8 * word).saturating_sub(13)
}

#[derive(Clone, Copy, Debug)]
pub struct Turns {
    pub ports: Tick,
    /// 2^64 divided by the ports and rounded up, by which cycles below 2^61 are divided exactly.
    reciprocal: u64,
}

impl Turns {
    /// Of 2 to 8 ports.
    pub fn new(ports: u16) -> Self {
        Self { ports: ports.into(), reciprocal: u64::MAX / u64::from(ports) + 1 }
    }

    /// Whose turn a cycle is.
    #[inline(always)]
    fn phase(self, cycle: Tick) -> Tick {
        let turns = (u128::from(cycle) * u128::from(self.reciprocal)) >> 64;
        cycle - turns as Tick * self.ports
    }

    /// The first turn of a port at or after a cycle.
    #[inline(always)]
    pub fn turn(self, port: u16, from: Tick) -> Tick {
        let phase = Tick::from(port) + self.ports - self.phase(from);
        from + if phase >= self.ports { phase - self.ports } else { phase }
    }

    /// The turn in which the cells of a selected frame are given back: the one after its last word was read, one in each
    /// turn. `wanted`: the turn in which the transmitter wants the last word, by its number.
    #[inline(always)]
    pub fn release(self, port: u16, selection: Tick, bytes: u16, wanted: impl FnOnce(Tick) -> Tick) -> Tick {
        let last_word = Tick::from(bytes.div_ceil(8)) - 1;
        let supplied = self.turn(port, selection + 1) + last_word * self.ports;
        self.ports + if last_word < WORDS_AHEAD { supplied } else { supplied.max(wanted(last_word)) }
    }

    /// The first turn of a port at or after a cycle that is none of those.
    pub fn free_turn(self, port: u16, from: Tick, busy: &[Tick]) -> Tick {
        let mut turn = self.turn(port, from);
        while busy.contains(&turn) {
            turn += self.ports;
        }
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_port_has_its_turn_once_in_as_many_cycles_as_there_are_ports() {
        for ports in 2..=8 {
            let turns = Turns::new(ports);
            for from in (0..40).chain((1 << 61) - 40..1 << 61) {
                for port in 0..ports {
                    let turn = turns.turn(port, from);
                    assert!((from..from + u64::from(ports)).contains(&turn));
                    assert_eq!(turn % u64::from(ports), u64::from(port));
                }
            }
        }
    }
    /// The words of a frame are read one in each turn from the one after its selection on; its cells are given back in the
    /// turn after the last, or after the one in which the transmitter wants that. By hand, for port 1 of 4.
    #[test]
    fn cells_are_given_back_after_the_last_word() {
        let turns = Turns::new(4);
        // Turns 101, 105, ...; a word of eight bytes in each.
        for (bytes, wanted, release) in [(1, 900, 105), (8, 900, 105), (9, 900, 109), (32, 900, 117), (33, 100, 121)] {
            assert_eq!(turns.release(1, 97, bytes, |_| wanted), release, "{bytes}");
        }
        assert_eq!(turns.release(1, 100, 1, |_| 900), 105);
        // The fifth word and later ones wait for the transmitter.
        let asked = |word| {
            assert_eq!(word, 4);
            129
        };
        assert_eq!(turns.release(1, 97, 33, asked), 133);
        assert_eq!(
            [(0, 0), (13, 0), (14, 0), (100, 5)].map(|(selection, word)| super::wanted(selection, word)),
            [0, 0, 1, 127]
        );
    }

    #[test]
    fn a_turn_in_which_others_are_is_left_out() {
        let turns = Turns::new(4);
        assert_eq!(turns.free_turn(1, 98, &[]), 101);
        assert_eq!(turns.free_turn(1, 98, &[105, 101]), 109);
    }
}
