// SPDX-License-Identifier: Apache-2.0
//! The event messages of PTP (IEEE 1588 7.3.3), those whose times count.
use crate::header::UDP;
use crate::{Header, ADDRESSES_BYTES, PTP_ETHERTYPE, TAG_BYTES, VLAN_ETHERTYPE};

const UDP_PORT: u16 = 319;
const UDP_BYTES: usize = 8;
const PORTS_BYTES: usize = 4;
const SEQUENCE_AT: usize = 30;

/// What tells one frame from another by its time stamp. Twin of `pen_ptp_parser`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StampTag {
    /// Of an event message, 0 to 3: Sync, Delay_Req, Pdelay_Req, Pdelay_Resp. None: another frame.
    pub message_type: Option<u8>,
    /// Of another frame the octets that stand where a message has it.
    pub sequence_id: u16,
}

impl StampTag {
    /// Of a frame from its destination address to its FCS, if it is an event message: on Ethernet or in UDP over IPv4, behind one
    /// tag or none.
    pub fn of_event(frame: &[u8]) -> Option<Self> {
        let at = on_ethernet(frame).or_else(|| in_udp(frame))?;
        Self::at(frame, at, true).filter(|tag| tag.message_type.is_some())
    }

    /// Of any frame. In UDP a message is one if its port stands before where a message on Ethernet has its sequenceId.
    pub fn of_frame(frame: &[u8]) -> Option<Self> {
        let payload = payload(frame);
        let is_in_time = |message: &usize| message - UDP_BYTES + PORTS_BYTES <= payload + SEQUENCE_AT;
        let in_udp = in_udp(frame).filter(is_in_time);
        Self::at(frame, in_udp.unwrap_or(payload), in_udp.is_some() || on_ethernet(frame).is_some())
    }

    fn at(frame: &[u8], message: usize, is_ptp: bool) -> Option<Self> {
        // No message ends with it.
        let &[high, low, _, ..] = frame.get(message + SEQUENCE_AT..)? else { return None };
        let message_type = (is_ptp && is_event(frame, message)).then(|| frame[message] & 3);
        Some(Self { message_type, sequence_id: u16::from_be_bytes([high, low]) })
    }
}

fn has_type(frame: &[u8], at: usize, wanted: u16) -> bool {
    frame.get(at..at + 2) == Some(&wanted.to_be_bytes()[..])
}

/// Where what the EtherType names begins, behind one tag or none.
fn payload(frame: &[u8]) -> usize {
    let is_tagged = has_type(frame, ADDRESSES_BYTES, VLAN_ETHERTYPE);
    ADDRESSES_BYTES + if is_tagged { TAG_BYTES } else { 0 } + 2
}

fn is_event(frame: &[u8], message: usize) -> bool {
    frame.get(message).is_some_and(|first| first & 0xC == 0)
}

/// Where an event message with its own EtherType begins.
pub(crate) fn on_ethernet(frame: &[u8]) -> Option<usize> {
    let message = payload(frame);
    (has_type(frame, message - 2, PTP_ETHERTYPE) && is_event(frame, message)).then_some(message)
}

/// Where what is sent to the port of event messages begins.
fn in_udp(frame: &[u8]) -> Option<usize> {
    let ipv4 = Header::parse(frame).ipv4?;
    let packet = payload(frame);
    let words = usize::from(frame.get(packet)? & 0xF);
    (ipv4.protocol == UDP && ipv4.destination_port == UDP_PORT).then_some(packet + 4 * words + UDP_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESSES: [u8; 12] = [1, 0x1B, 0x19, 0, 0, 0, 2, 0, 0, 0, 0, 2];

    fn message(message_type: u8) -> Vec<u8> {
        let mut message = vec![0x10 | message_type, 2, 0, 44];
        message.resize(44, 0);
        message[30..32].copy_from_slice(&[0xAB, 0xCD]);
        message
    }

    fn udp(port: u16, options: u8, fragment: u16) -> Vec<u8> {
        let mut packet = vec![8, 0, 0x45 + options, 0, 0, 0, 0, 0];
        packet.extend(fragment.to_be_bytes());
        packet.extend([64, UDP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        packet.resize(packet.len() + 4 * usize::from(options), 0);
        packet.extend([0x12, 0x34]);
        packet.extend(port.to_be_bytes());
        packet.extend([0; 4]);
        packet
    }

    #[test]
    fn events_are_found_behind_each_header() {
        let tag = [0x81, 0, 0x60, 1];
        let heads = [vec![0x88, 0xF7], udp(UDP_PORT, 0, 0), udp(UDP_PORT, 3, 0)];
        for (head, tag) in heads.iter().flat_map(|head| [(head, &tag[..]), (head, &[])]) {
            let frame = |message_type| [&ADDRESSES, tag, head, &message(message_type)].concat();
            for message_type in 0..16 {
                let event = StampTag { message_type: Some(message_type), sequence_id: 0xABCD };
                assert_eq!(StampTag::of_event(&frame(message_type)), (message_type < 4).then_some(event), "{head:?}");
            }
            let whole = frame(0);
            let shortest = whole.len() - 44 + SEQUENCE_AT + 3;
            assert!((0..shortest).all(|length| StampTag::of_event(&whole[..length]).is_none()));
            assert!(StampTag::of_event(&whole[..shortest]).is_some());
        }
    }

    #[test]
    fn nothing_else_is_one() {
        let two_tags = vec![0x81, 0, 0, 1, 0x81, 0, 0, 1, 0x88, 0xF7];
        for head in [vec![0x88, 0xF8], udp(320, 0, 0), udp(UDP_PORT, 0, 1), two_tags] {
            assert_eq!(StampTag::of_event(&[&ADDRESSES[..], &head, &message(0)].concat()), None, "{head:?}");
        }
    }

    #[test]
    fn every_frame_has_a_tag() {
        let of =
            |head: &[u8], message_type| StampTag::of_frame(&[&ADDRESSES[..], head, &message(message_type)].concat());
        let tag = |message_type, sequence_id| Some(StampTag { message_type, sequence_id });
        for head in [vec![0x88, 0xF7], udp(UDP_PORT, 0, 0), udp(UDP_PORT, 1, 0)] {
            assert_eq!(of(&head, 1), tag(Some(1), 0xABCD), "{head:?}");
            assert_eq!(of(&head, 4), tag(None, 0xABCD), "{head:?}");
        }
        assert_eq!(of(&[0x88, 0xB5], 1), tag(None, 0xABCD));
        assert_eq!(of(&[0x81, 0, 0, 1, 0x88, 0xB5], 1), tag(None, 0xABCD));
        // The octets 30 and 31 behind the EtherType: of the message, or in the options that push the port behind them.
        assert_eq!(of(&udp(320, 0, 0), 1), tag(None, 44));
        assert_eq!(of(&udp(UDP_PORT, 2, 0), 1), tag(None, 0x013F));
    }
}
