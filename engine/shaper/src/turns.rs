// SPDX-License-Identifier: Apache-2.0
//! The fixed turns in which ports use what they share: of the hardware's cycles, each is one port's.
use crate::egress::Tick;

/// At every rate.
pub const CYCLE_NS: u64 = 8;

#[derive(Clone, Copy, Debug)]
pub struct Turns {
    pub ports: Tick,
    /// 2^64 divided by the ports and rounded up, by which cycles below 2^61 are divided exactly.
    reciprocal: u64,
}

impl Turns {
    /// Of 2 to 8 ports.
    pub fn new(ports: u16) -> Self {
        let ports = Tick::from(ports);
        Self { ports, reciprocal: u64::MAX / ports + 1 }
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
}
