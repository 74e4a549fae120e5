// SPDX-License-Identifier: Apache-2.0
//! What the receive MAC makes of a carrier. Twin of `pen_mac_rx`.
use crate::header::Header;
use crate::trace::Reason;

const DELIMITER: u8 = 0xD5;
const MOST_BYTES: usize = u16::MAX as usize;

/// A frame on the wire, and how it is wrong.
#[derive(Clone, Debug)]
pub struct Carrier {
    pub bytes: Vec<u8>,
    pub preamble: u32,
    pub delimiter: bool,
    /// Idle byte times before it, at least.
    pub gap: u32,
    pub rx_er_at: Option<u32>,
}

impl From<super::Frame<'_>> for Carrier {
    fn from(frame: super::Frame) -> Self {
        let super::Frame { preamble, delimiter, gap, rx_er_at, .. } = frame;
        Self { bytes: frame.bytes.to_vec(), preamble, delimiter, gap, rx_er_at }
    }
}

impl Carrier {
    /// Preamble and delimiter.
    pub fn header_bytes(&self) -> u64 {
        u64::from(self.preamble) + u64::from(self.delimiter)
    }

    /// Byte times with carrier.
    pub fn length(&self) -> u64 {
        self.header_bytes() + self.bytes.len() as u64
    }

    /// Where the frame starts. Without its delimiter a carrier is searched for one to its end.
    fn start(&self) -> Option<usize> {
        if self.delimiter {
            return Some(0);
        }
        let error_at = self.rx_er_at.map(|at| at as usize);
        let found = self.bytes.iter().enumerate().position(|(n, &byte)| byte == DELIMITER && Some(n) != error_at);
        found.map(|at| at + 1)
    }

    /// What is taken for the frame.
    pub fn content(&self) -> &[u8] {
        &self.bytes[self.start().unwrap_or(self.bytes.len())..]
    }

    pub fn receive(&self) -> Reception {
        let error_at = self.rx_er_at.map(|at| at as usize);
        let Some(start) = self.start() else {
            return Reception {
                offset: self.length(),
                bytes: 0,
                fault: Reason::PREAMBLE,
                header: Header::default(),
                is_whole: false,
            };
        };
        let content = &self.bytes[start..];
        let fault = match error_at.filter(|at| (start..self.bytes.len()).contains(at)) {
            Some(_) => Reason::RX_ER,
            None if penstock_frame::fcs_is_good(content) => Reason::NONE,
            None => Reason::FCS,
        };
        Reception {
            offset: self.header_bytes() + start as u64,
            bytes: content.len().min(MOST_BYTES) as u16,
            fault,
            header: Header::parse(content),
            is_whole: start == 0,
        }
    }

    /// What is wrong if only so many bytes are looked at.
    pub fn fault_within(&self, received: &Reception, longest: u16) -> Reason {
        if received.fault != Reason::RX_ER {
            return received.fault;
        }
        let start = received.offset - self.header_bytes();
        let seen = start + u64::from(longest) + 1;
        if self.rx_er_at.is_some_and(|at| u64::from(at) < seen) {
            Reason::RX_ER
        } else {
            Reason::FCS
        }
    }
}

#[derive(Clone, Debug)]
pub struct Reception {
    /// From the carrier's first byte to the first behind the delimiter; if there is none, to the end.
    pub offset: u64,
    pub bytes: u16,
    /// But for its length.
    pub fault: Reason,
    pub header: Header,
    /// It is the frame that was meant.
    pub is_whole: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a frame that is too long no more than a byte beyond the longest is looked at, from where it starts.
    #[test]
    fn an_error_of_the_phy_counts_as_far_as_a_frame_is_looked_at() {
        const LONGEST: u16 = 100;
        let found = vec![0x55, 0x55, DELIMITER];
        for (before, delimiter) in [(vec![], true), (found, false)] {
            let bytes = [before.clone(), vec![0; 300]].concat();
            for (into, fault) in [(0, Reason::RX_ER), (100, Reason::RX_ER), (101, Reason::FCS), (110, Reason::FCS)] {
                let rx_er_at = Some(before.len() as u32 + into);
                let carrier = Carrier { bytes: bytes.clone(), preamble: 7, delimiter, gap: 12, rx_er_at };
                let received = carrier.receive();
                assert_eq!((received.bytes, received.fault), (300, Reason::RX_ER));
                assert_eq!(carrier.fault_within(&received, LONGEST), fault, "{into} bytes into it");
            }
        }
    }
}
