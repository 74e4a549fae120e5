// SPDX-License-Identifier: Apache-2.0
//! The match-action table: which rule a frame matches first, and what is done with it. Replaced whole.
use std::collections::BTreeMap;

use penstock_frame::{BitsPerSecond, Bytes, Header, Ipv4Fields, TAG_BYTES};
use penstock_shaper::admission::CLASSES;
use penstock_shaper::ats::Rate;

use crate::config::{refuse, Ipv4Match, NumberConfig, Prefix, Refused, Rule, StreamConfig, TagAction};

pub const MOST_RULES: usize = 4096;
pub const MOST_VLAN: u16 = 4094;

/// What rules look at.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    pub port: usize,
    pub vlan: u16,
    pub ethertype: u16,
    pub header: &'a Header,
}

/// What becomes of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Action {
    /// Bit p: a copy leaves by port p; none: the bridge says by which.
    pub egress: Option<u64>,
    pub class: Option<u8>,
    pub tag: Option<TagAction>,
    pub stream: Option<u16>,
    pub drop: bool,
}

#[derive(Clone, Debug)]
struct Checked {
    port: Option<usize>,
    vlan: Option<u16>,
    pcp: Option<u8>,
    source: Option<u64>,
    destination: Option<u64>,
    ethertype: Option<u16>,
    ipv4: Option<Ipv4Match>,
    action: Action,
}

/// A stream of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    pub name: String,
    pub ats: Option<Rate>,
    pub number: Option<NumberConfig>,
}

/// A table that can act.
#[derive(Clone, Debug, Default)]
pub struct Table {
    rules: Vec<Checked>,
    streams: Vec<Stream>,
}

impl Table {
    /// Checks rules against the ports, by name.
    pub fn new(
        rules: &[Rule],
        streams: &BTreeMap<String, StreamConfig>,
        port_of: &dyn Fn(&str) -> Option<usize>,
        ports: &str,
    ) -> Result<Self, Refused> {
        if rules.len() > MOST_RULES {
            return refuse("table", format!("{} rules", rules.len()), format!("{MOST_RULES} at most"));
        }
        let streams =
            streams.iter().map(|(name, stream)| checked_stream(name, stream)).collect::<Result<Vec<_>, _>>()?;
        let stream_of = |name: &str| streams.iter().position(|stream| stream.name == name);
        let find = |place: &str, name: &str| match port_of(name) {
            Some(port) => Ok(port),
            None => refuse(place, format!("\"{name}\" is no port"), ports),
        };
        let mut found = Vec::with_capacity(rules.len());
        for (number, rule) in rules.iter().enumerate() {
            let place = |key: &str| format!("table.{number}.{key}");
            let m = &rule.matching;
            check_tag(&place("match"), m.vlan, m.pcp)?;
            let mut action = Action { drop: rule.drop, class: rule.queue, tag: rule.tag, ..Action::default() };
            if rule.queue.is_some_and(|queue| usize::from(queue) >= CLASSES) {
                return refuse(place("queue"), format!("{:?} is no class", rule.queue.unwrap_or(0)), "0 to 7");
            }
            if let Some(TagAction::Set { vlan, pcp }) = rule.tag {
                check_tag(&place("tag"), Some(vlan), Some(pcp))?;
            }
            if let Some(name) = &rule.stream {
                let Some(stream) = stream_of(name) else {
                    return refuse(place("stream"), format!("\"{name}\" is no stream"), "one of `streams`");
                };
                action.stream = Some(stream as u16);
            }
            if let Some(to) = &rule.to {
                let mask = to.iter().map(|name| find(&place("to"), name).map(|port| 1_u64 << port));
                action.egress = Some(mask.sum::<Result<u64, _>>()?);
                if to.len() != action.egress.unwrap_or(0).count_ones() as usize {
                    return refuse(place("to"), "a port is named twice", "each port once");
                }
            }
            let wants_nothing =
                rule.to.is_none() && rule.queue.is_none() && rule.tag.is_none() && rule.stream.is_none();
            if rule.drop && !wants_nothing {
                return refuse(place("drop"), "stands beside another action", "drop alone");
            }
            found.push(Checked {
                port: m.port.as_ref().map(|name| find(&place("match.port"), name)).transpose()?,
                vlan: m.vlan,
                pcp: m.pcp,
                source: m.source.map(|mac| number_of(mac.0)),
                destination: m.destination.map(|mac| number_of(mac.0)),
                ethertype: m.ethertype,
                ipv4: m.ipv4.clone(),
                action,
            });
        }
        Ok(Self { rules: found, streams })
    }

    /// What the first rule says that a frame matches.
    pub fn find(&self, seen: &Seen) -> Action {
        self.rules.iter().find(|rule| rule.matches(seen)).map_or(Action::default(), |rule| rule.action)
    }

    /// Whether another table names the same streams in the same order.
    pub fn has_streams_of(&self, other: &Self) -> bool {
        self.streams.iter().map(|stream| &stream.name).eq(other.streams.iter().map(|stream| &stream.name))
    }

    pub fn streams(&self) -> &[Stream] {
        &self.streams
    }
}

fn number_of(mac: [u8; 6]) -> u64 {
    mac.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

fn check_tag(place: &str, vlan: Option<u16>, pcp: Option<u8>) -> Result<(), Refused> {
    if let Some(vlan) = vlan.filter(|&vlan| vlan > MOST_VLAN) {
        return refuse(place, format!("VLAN {vlan}"), format!("0 to {MOST_VLAN}"));
    }
    match pcp.filter(|&pcp| pcp > 7) {
        Some(pcp) => refuse(place, format!("PCP {pcp}"), "0 to 7"),
        None => Ok(()),
    }
}

fn checked_stream(name: &str, stream: &StreamConfig) -> Result<Stream, Refused> {
    let place = |key: &str| format!("streams.{name}.{key}");
    let ats = match stream.ats {
        Some(ats) => match Rate::new(BitsPerSecond(ats.rate.0), Bytes(ats.burst.0)) {
            Ok(rate) => Some(rate),
            Err(error) => return refuse(place("ats"), error.to_string(), "what it says"),
        },
        None => None,
    };
    if let Some(number) = stream.number.filter(|number| !(1..=8).contains(&number.bytes)) {
        return refuse(place("number.bytes"), number.bytes.to_string(), "1 to 8");
    }
    Ok(Stream { name: name.to_owned(), ats, number: stream.number })
}

impl Checked {
    fn matches(&self, seen: &Seen) -> bool {
        fn is<T: PartialEq>(wanted: Option<T>, found: T) -> bool {
            wanted.is_none_or(|wanted| wanted == found)
        }
        is(self.port, seen.port)
            && is(self.vlan, seen.vlan)
            && self.pcp.is_none_or(|pcp| seen.header.tag.is_some_and(|tag| tag.pcp == pcp))
            && is(self.source, seen.header.source)
            && is(self.destination, seen.header.destination)
            && is(self.ethertype, seen.ethertype)
            && self
                .ipv4
                .as_ref()
                .is_none_or(|wanted| seen.header.ipv4.as_ref().is_some_and(|ip| matches_ipv4(wanted, ip)))
    }
}

fn matches_ipv4(wanted: &Ipv4Match, found: &Ipv4Fields) -> bool {
    let within = |prefix: Option<Prefix>, address: u32| prefix.is_none_or(|p| address & p.mask == p.address);
    within(wanted.source, found.source)
        && within(wanted.destination, found.destination)
        && wanted.protocol.is_none_or(|protocol| protocol == found.protocol)
        && wanted.source_port.is_none_or(|port| port == found.source_port)
        && wanted.destination_port.is_none_or(|port| port == found.destination_port)
}

/// The number that tells a stream's frames apart; zero where the frame is too short.
pub fn number_in(frame: &[u8], at: NumberConfig) -> u64 {
    let from = usize::from(at.offset);
    let bytes = frame.get(from..from + usize::from(at.bytes)).unwrap_or(&[]);
    bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// EtherType behind the tag; zero where the frame is too short.
pub fn ethertype_of(frame: &[u8], is_tagged: bool) -> u16 {
    let at = 12 + if is_tagged { TAG_BYTES } else { 0 };
    frame.get(at..at + 2).map_or(0, |bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use penstock_frame::Tag;
    use proptest::prelude::*;

    fn table(rules: &str) -> Result<Table, Refused> {
        let rules: Vec<Rule> = serde_json::from_str(rules).unwrap();
        let streams = [("ST".to_owned(), StreamConfig::default())].into();
        let port_of = |name: &str| ["a", "b", "c"].iter().position(|&known| known == name);
        Table::new(&rules, &streams, &port_of, "a, b, c")
    }

    #[test]
    fn the_first_rule_that_matches_acts() {
        let table = table(
            r#"[{"match": {"vlan": 10, "port": "a"}, "to": ["b"], "queue": 7, "stream": "ST"},
                {"match": {"vlan": 10}, "drop": true},
                {"match": {"ipv4": {"destination": "10.1.0.0/16", "destination_port": 5000}}, "tag": {"set": {"vlan": 3, "pcp": 5}}},
                {"tag": "remove"}]"#,
        )
        .unwrap();
        let ipv4 =
            Ipv4Fields { source: 1, destination: 0x0A01_0203, protocol: 17, source_port: 9, destination_port: 5000 };
        let header = Header { ipv4: Some(ipv4), ..Header::default() };
        let find = |port, vlan, header| table.find(&Seen { port, vlan, ethertype: 0x0800, header });
        let first = Action { egress: Some(0b10), class: Some(7), stream: Some(0), ..Action::default() };
        assert_eq!(find(0, 10, &header), first);
        assert!(find(1, 10, &header).drop);
        assert_eq!(find(1, 1, &header).tag, Some(TagAction::Set { vlan: 3, pcp: 5 }));
        assert_eq!(find(1, 1, &Header::default()).tag, Some(TagAction::Remove));
    }

    #[test]
    fn what_cannot_act_is_refused_with_what_is_allowed() {
        for (rules, allowed) in [
            (r#"[{"to": ["d"]}]"#, "a, b, c"),
            (r#"[{"to": ["a", "a"]}]"#, "each port once"),
            (r#"[{"queue": 8}]"#, "0 to 7"),
            (r#"[{"match": {"vlan": 4095}}]"#, "0 to 4094"),
            (r#"[{"tag": {"set": {"vlan": 1, "pcp": 8}}}]"#, "0 to 7"),
            (r#"[{"stream": "BE"}]"#, "one of `streams`"),
            (r#"[{"drop": true, "queue": 1}]"#, "drop alone"),
        ] {
            assert_eq!(table(rules).unwrap_err().allowed, allowed, "{rules}");
        }
    }

    proptest! {
        /// A rule that asks for a value matches exactly the frames that have it.
        #[test]
        fn each_field_counts(vlan in 0_u16..4, pcp in 0_u8..3, port in 0_usize..3, wanted in (0_u16..4, 0_u8..3, 0_usize..3),
                             asked in 0_u8..8) {
            let name = ["a", "b", "c"][wanted.2];
            let mut fields = vec![];
            if asked & 1 != 0 { fields.push(format!("\"vlan\": {}", wanted.0)); }
            if asked & 2 != 0 { fields.push(format!("\"pcp\": {}", wanted.1)); }
            if asked & 4 != 0 { fields.push(format!("\"port\": \"{name}\"")); }
            let table = table(&format!(r#"[{{"match": {{{}}}, "queue": 5}}]"#, fields.join(", "))).unwrap();
            let header = Header { tag: Some(Tag { vlan, pcp }), ..Header::default() };
            let found = table.find(&Seen { port, vlan, ethertype: 0, header: &header }).class == Some(5);
            let expected = (asked & 1 == 0 || vlan == wanted.0) && (asked & 2 == 0 || pcp == wanted.1)
                && (asked & 4 == 0 || port == wanted.2);
            prop_assert_eq!(found, expected);
        }
    }
}
