// SPDX-License-Identifier: Apache-2.0
//! What a frame begins with: addresses, a tag, an EtherType.
use std::fmt;
use std::str::FromStr;

use serde::{de, Deserialize, Deserializer, Serialize, Serializer};

use crate::BuildError;

pub const VLAN_ETHERTYPE: u16 = 0x8100;
pub const IPV4_ETHERTYPE: u16 = 0x0800;
/// Of the R-TAG (802.1CB 7.8).
pub const R_TAG_ETHERTYPE: u16 = 0xF1C1;
pub const PTP_ETHERTYPE: u16 = 0x88F7;
/// Destination and source.
pub const ADDRESSES_BYTES: usize = 12;
pub const TAG_BYTES: usize = 4;
/// EtherType, two bytes that are reserved, and the sequence number.
pub const R_TAG_BYTES: usize = 6;
const ETHERTYPE_BYTES: usize = 2;

/// Six bytes, the first on the wire first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MacAddress(pub [u8; 6]);

impl FromStr for MacAddress {
    type Err = BuildError;

    fn from_str(text: &str) -> Result<Self, BuildError> {
        let wrong = || BuildError::Mac(text.to_owned());
        let mut bytes = [0; 6];
        let mut parts = text.split(':');
        for byte in &mut bytes {
            let part = parts.next().filter(|p| p.len() == 2 && p.bytes().all(|b| b.is_ascii_hexdigit()));
            *byte = u8::from_str_radix(part.ok_or_else(wrong)?, 16).map_err(|_| wrong())?;
        }
        match parts.next() {
            None => Ok(Self(bytes)),
            Some(_) => Err(wrong()),
        }
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl Serialize for MacAddress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for MacAddress {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// The tag of 802.1Q, without the drop eligible indicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tag {
    /// 0: priority-tagged, the VLAN is that of the port.
    pub vlan: u16,
    pub pcp: u8,
}

impl Tag {
    /// From the tag control information.
    pub fn from_tci(tci: u16) -> Self {
        Self { vlan: tci & 0xFFF, pcp: (tci >> 13) as u8 }
    }

    fn tci(self) -> u16 {
        u16::from(self.pcp) << 13 | self.vlan & 0xFFF
    }
}

/// Bytes of a frame up to its EtherType.
pub fn link_header_bytes(is_tagged: bool) -> usize {
    ADDRESSES_BYTES + if is_tagged { TAG_BYTES } else { 0 } + ETHERTYPE_BYTES
}

/// The first bytes of a frame.
pub fn append_link_header(
    frame: &mut Vec<u8>,
    destination: MacAddress,
    source: MacAddress,
    tag: Option<Tag>,
    ethertype: u16,
) {
    frame.extend(destination.0);
    frame.extend(source.0);
    if let Some(tag) = tag {
        frame.extend(VLAN_ETHERTYPE.to_be_bytes());
        frame.extend(tag.tci().to_be_bytes());
    }
    frame.extend(ethertype.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mac_addresses_are_read_and_printed() {
        assert_eq!("02:00:5E:00:00:0a".parse::<MacAddress>().unwrap().to_string(), "02:00:5e:00:00:0a");
        for text in [
            "",
            "02:00:5e:00:00",
            "02:00:5e:00:00:0a:00",
            "02:00:5e:00:00:+a",
            "020:0:5e:00:00:0a",
            "02-00-5e-00-00-0a",
        ] {
            assert!(text.parse::<MacAddress>().is_err(), "{text}");
        }
    }
}
