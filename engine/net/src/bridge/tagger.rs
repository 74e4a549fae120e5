// SPDX-License-Identifier: Apache-2.0
//! What the egress ports of a bridge make of frames, for one that does not tell: hardware that was set once.
use penstock_frame::Edit;

use super::arrivals::Received;
use super::classify::{Classification, Seen};
use super::config::{BridgeConfig, BridgeError};
use super::tables::Tables;
use super::timing::Cycles;
use super::Tick;
use crate::header::Header;

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
    pub fn number(&mut self, reception: u16, frame: &[u8]) -> Option<u16> {
        let (header, received) = parsed(frame);
        let seen = Seen::new(reception, &received, &header);
        let stream = Classification::now(&seen, &self.tables).numbered_stream(&seen)?;
        self.tables.take_number(stream)
    }

    /// What an egress port makes of a frame, from destination address to FCS, that has this number.
    pub fn edit(&self, reception: u16, egress: u16, frame: &[u8], number: Option<u16>) -> Edit {
        let (header, received) = parsed(frame);
        let seen = Seen::new(reception, &received, &header);
        let tagging = Classification::now(&seen, &self.tables).tagging(&seen);
        tagging.with_number(number).edit(egress, received.bytes)
    }

    /// Whether a frame that came from a wire gets the time that it was inside.
    pub fn is_corrected(&self, reception: u16, frame: &[u8]) -> bool {
        let (header, received) = parsed(frame);
        let seen = Seen::new(reception, &received, &header);
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

fn parsed(frame: &[u8]) -> (Header, Received) {
    (Header::parse(frame), Received { bytes: frame.len() as u16, ..Received::default() })
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
