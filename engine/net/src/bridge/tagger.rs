// SPDX-License-Identifier: Apache-2.0
//! What the egress ports of a bridge make of frames, for one that does not tell: hardware that was set once.
use penstock_frame::Edit;

use super::arrivals::Received;
use super::classify::{Classification, Seen};
use super::config::{BridgeConfig, BridgeError};
use super::tables::Tables;
use super::timing::Cycles;
use super::Tick;
use crate::header::{Header, HostWay};

/// As the tables of a bridge say, which do not change.
#[derive(Clone, Debug)]
pub struct Tagger {
    tables: Tables,
    cycles: Cycles,
}

impl Tagger {
    /// Of a bridge with so many ports.
    pub fn new(ports: u16, config: &BridgeConfig) -> Result<Self, BridgeError> {
        let tables = Tables::new(ports, config, config.streams_of_hardware())?;
        Ok(Self { tables, cycles: Cycles::new(ports, config.host) })
    }

    /// Some port edits what it sends, or sends what is corrected.
    pub fn is_any(&self) -> bool {
        self.tables.edits()
    }

    /// The number of a frame that is forwarded, if it gets one: to be asked of each once, in their order.
    pub fn number(&mut self, came: &Came) -> Option<u16> {
        let (header, received) = came.parsed();
        let seen = Seen::new(came.reception, &received, &header);
        let stream = Classification::now(&seen, &self.tables).numbered_stream(&seen)?;
        self.tables.take_number(stream)
    }

    /// What an egress port makes of a frame that has this number.
    pub fn edit(&self, egress: u16, came: &Came, number: Option<u16>) -> Edit {
        let (header, received) = came.parsed();
        let seen = Seen::new(came.reception, &received, &header);
        let tagging = Classification::now(&seen, &self.tables).tagging(&seen);
        tagging.with_number(number).edit(egress, received.bytes)
    }

    /// Whether a frame gets the time that it was inside.
    pub fn is_corrected(&self, came: &Came) -> bool {
        let (header, received) = came.parsed();
        let seen = Seen::new(came.reception, &received, &header);
        Classification::now(&seen, &self.tables).is_corrected(&seen)
    }

    /// How long a frame was inside, in units of 2^-16 ns.
    pub fn residence(&self, came: Tick, leaves: Tick) -> u64 {
        self.cycles.units(leaves - came)
    }

    /// When the first byte behind the delimiter leaves, of a frame selected in a cycle.
    pub fn first_byte(&self, selection: Tick, edit: Edit) -> Tick {
        self.cycles.first_byte(selection, edit)
    }
}

/// A frame as it came to a port.
#[derive(Clone, Debug)]
pub struct Came {
    pub reception: u16,
    /// What the host said of it; none: it came from a wire.
    pub way: Option<HostWay>,
    /// From destination address to FCS.
    pub bytes: Box<[u8]>,
}

impl Came {
    fn parsed(&self) -> (Header, Received) {
        let header = Header { host: self.way, ..Header::parse(&self.bytes) };
        (header, Received { bytes: self.bytes.len() as u16, ..Received::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_edit_what_they_send_if_they_tag() {
        let is_any = |vlan_tagging| {
            let config = BridgeConfig { vlan_tagging, ..BridgeConfig::default() };
            Tagger::new(4, &config).unwrap().is_any()
        };
        assert_eq!([0, 0b1000, 0b1_0000].map(is_any), [false, true, false], "of four ports");
    }
}
