// SPDX-License-Identifier: Apache-2.0
//! The tables and settings by which frames are classified, and what each stage reads of them.
use std::collections::HashMap;

use penstock_shaper::identification::{destination_key, ipv4_key, source_key, Key, StreamTable, FIELDS};
use penstock_shaper::sequence_generation::SequenceGenerator;

use super::change::Change;
use super::classify::Seen;
use super::config::{refuse, within, BridgeConfig, BridgeError, Identify, Translation};
use crate::header::{Header, HostWay};

/// 4095: reserved, so that no port is a member.
const NO_VLAN: u16 = 0xFFF;

/// An entry of the VLAN table.
#[derive(Clone, Copy, Debug, Default)]
struct Vlan {
    members: u64,
    /// Of these: they send without a tag.
    untagged: u64,
    translation: Translation,
}

/// What every frame needs stands first and together.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Tables {
    /// Counts changes: what was classified holds for one of them.
    version: u32,
    learning_enable: bool,
    reserved_to_host: u16,
    /// Bit k: class k.
    ats_classes: u8,
    class_of_untagged: u8,
    class_of_pcp: [u8; 8],
    port_enable: u64,
    all_ports: u64,
    /// The host's port.
    host_port: u64,
    port_vlan_id: Vec<u16>,
    identify: Identify,
    ipv4_mask: u128,
    streams: StreamTable,
    vlans: HashMap<u16, Vlan>,
    pcp_of_untagged: u8,
    /// Ports that tag and untag.
    vlan_tagging: u64,
    /// And write what VLANs are translated to.
    vlan_translation: u64,
    /// Ports from which frames leave without an R-TAG.
    r_tag_removal: u64,
    /// Ports of which event messages of PTP get the time that they were inside.
    ptp_correction: u64,
    sequence_generator: SequenceGenerator,
}

/// What is known of a frame before its header is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ingress {
    pub vlan: u16,
    pub class_of_untagged: u8,
    pub pcp_of_untagged: u8,
    pub identify: Identify,
}

/// What decides whether a frame is let in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filter {
    /// The reception port is.
    pub is_enabled: bool,
    pub members: u64,
    /// Ports that it goes to, whatever its address and VLAN lead to.
    pub led_to: Option<u64>,
    /// Ports that send without a tag.
    pub untagged: u64,
    pub translation: Translation,
    /// By which a stream is looked for.
    pub ipv4_key: Option<Key>,
}

impl Filter {
    pub fn is_member(&self, port: u16) -> bool {
        self.members >> port & 1 == 1
    }
}

/// What is known of all egress ports.
#[derive(Clone, Copy, Debug)]
pub(super) struct Egress {
    /// In use.
    pub ports: u64,
    pub ats_classes: u8,
    pub vlan_tagging: u64,
    pub vlan_translation: u64,
    pub r_tag_removal: u64,
    pub ptp_correction: u64,
}

impl Tables {
    /// With room for so many streams.
    pub fn new(ports: u16, config: &BridgeConfig, streams: u32) -> Result<Self, BridgeError> {
        within("class of untagged frames", config.class_of_untagged, 0, 7)?;
        within("priority code point of untagged frames", config.pcp_of_untagged, 0, 7)?;
        for &class in config.class_of_pcp.iter().chain(&config.ats_classes) {
            within("traffic class", class, 0, 7)?;
        }
        let mut port_vlan_id = config.port_vlan_id.clone();
        within("number of port VLAN ids", port_vlan_id.len(), 0, usize::from(ports))?;
        port_vlan_id.resize(usize::from(ports), 1);
        for &vlan in &port_vlan_id {
            within("VLAN id of a port", vlan, 1, 4094)?;
        }
        let ipv4_mask =
            u128::from_str_radix(&config.ipv4_mask, 16).ok().filter(|mask| mask & !FIELDS == 0).ok_or_else(|| {
                refuse(format!("ipv4_mask is {:?}", config.ipv4_mask), "26 hexadecimal digits are allowed")
            })?;
        let all_ports = u64::MAX >> (64 - u32::from(ports));
        let mut tables = Self {
            version: 1,
            all_ports,
            vlans: HashMap::from([(1, Vlan { members: all_ports, untagged: all_ports, ..Vlan::default() })]),
            pcp_of_untagged: config.pcp_of_untagged,
            vlan_tagging: config.vlan_tagging,
            vlan_translation: config.vlan_translation,
            r_tag_removal: config.r_tag_removal,
            ptp_correction: config.ptp_correction,
            sequence_generator: sequence_generator(config, streams),
            streams: stream_table(ports, config, ipv4_mask, streams)?,
            port_enable: config.port_enable,
            learning_enable: config.learning_enable,
            reserved_to_host: config.reserved_to_host,
            host_port: if config.host { 1 << (ports - 1) } else { 0 },
            port_vlan_id,
            class_of_pcp: config.class_of_pcp,
            class_of_untagged: config.class_of_untagged,
            ats_classes: config.ats_classes.iter().fold(0, |mask, class| mask | 1 << class),
            identify: config.identify,
            ipv4_mask,
        };
        for &(vlan, members) in &config.vlans {
            tables.set_vlan(within("VLAN id", vlan, 1, 4094)?, Vlan { members, ..Vlan::default() });
        }
        for &(vlan, untagged) in &config.untagged {
            let entry = Vlan { untagged, ..tables.vlan(within("VLAN id", vlan, 1, 4094)?) };
            tables.set_vlan(vlan, entry);
        }
        for &(vlan, translation) in &config.translations {
            within("VLAN id that a VLAN is translated to", translation.vlan, 0, 4094)?;
            within("priority code point of a translation", translation.pcp.unwrap_or(0), 0, 7)?;
            let entry = Vlan { translation, ..tables.vlan(within("VLAN id", vlan, 1, 4094)?) };
            tables.set_vlan(vlan, entry);
        }
        Ok(tables)
    }

    /// Of all tables here: each change gives another.
    #[inline(always)]
    pub fn version(&self) -> u32 {
        self.version
    }

    fn set_vlan(&mut self, vlan: u16, entry: Vlan) {
        let (members, untagged) = (entry.members & self.all_ports, entry.untagged & self.all_ports);
        self.vlans.insert(vlan & 0xFFF, Vlan { members, untagged, ..entry });
    }

    fn vlan(&self, vlan: u16) -> Vlan {
        self.vlans.get(&vlan).copied().unwrap_or_default()
    }

    /// Some port edits what it sends, or sends what is corrected.
    #[inline(always)]
    pub fn edits(&self) -> bool {
        (self.vlan_tagging | self.r_tag_removal | self.ptp_correction) & self.all_ports != 0
            || self.sequence_generator.is_any()
    }

    /// The number of a frame of a stream whose frames are numbered.
    pub fn take_number(&mut self, stream: u16) -> Option<u16> {
        self.sequence_generator.take(stream)
    }

    /// Makes a change, if it is one of these tables.
    pub fn change(&mut self, change: &Change) {
        self.version = self.version.wrapping_add(1);
        match *change {
            Change::PortEnable(mask) => self.port_enable = mask,
            Change::Learning(enable) => self.learning_enable = enable,
            Change::ReservedToHost(mask) => self.reserved_to_host = mask,
            Change::PortVlan { port, vlan } => {
                if let Some(place) = self.port_vlan_id.get_mut(usize::from(port)) {
                    *place = vlan & 0xFFF;
                }
            }
            Change::ClassOfPcp(classes) => self.class_of_pcp = classes.map(|class| class & 7),
            Change::ClassOfUntagged(class) => self.class_of_untagged = class & 7,
            Change::AtsClasses(mask) => self.ats_classes = mask,
            Change::Identify(identify) => self.identify = identify,
            Change::Ipv4Mask(mask) => self.ipv4_mask = mask,
            Change::Stream { table, slot, entry } => self.streams.write(usize::from(table), slot as usize, entry),
            Change::Vlan { vlan, members, untagged, translation } => {
                self.set_vlan(vlan, Vlan { members, untagged, translation });
            }
            Change::PcpOfUntagged(pcp) => self.pcp_of_untagged = pcp & 7,
            Change::VlanTagging(mask) => self.vlan_tagging = mask,
            Change::VlanTranslation(mask) => self.vlan_translation = mask,
            Change::RTagRemoval(mask) => self.r_tag_removal = mask,
            Change::PtpCorrection(mask) => self.ptp_correction = mask,
            Change::Numbering { stream, numbered } => self.sequence_generator.set(stream, numbered),
            _ => {}
        }
    }

    // ---- the stages

    pub fn ingress(&self, port: u16, header: &Header) -> Ingress {
        let vlan = match header.tag {
            Some(tag) if tag.vlan != 0 => tag.vlan & 0xFFF,
            _ => self.port_vlan_id.get(usize::from(received_at(port, header))).copied().unwrap_or(NO_VLAN),
        };
        Ingress {
            vlan,
            class_of_untagged: self.class_of_untagged,
            pcp_of_untagged: self.pcp_of_untagged,
            identify: self.identify,
        }
    }

    pub fn class_of_pcp(&self, pcp: u8) -> u8 {
        self.class_of_pcp[usize::from(pcp & 7)]
    }

    pub fn stream(&self, key: Key) -> Option<u16> {
        self.streams.find(key)
    }

    pub fn stream_by_destination(&self, port: u16, vlan: u16, header: &Header) -> Option<u16> {
        self.stream(destination_key(port, vlan, header.destination))
    }

    pub fn stream_by_source(&self, port: u16, vlan: u16, header: &Header) -> Option<u16> {
        self.stream(source_key(port, vlan, header.source))
    }

    pub fn filter(&self, seen: &Seen, vlan: u16) -> Filter {
        let entry = self.vlan(vlan);
        let fields = seen.header.ipv4.filter(|_| seen.is_whole() && self.identify.ipv4);
        Filter {
            is_enabled: self.is_enabled(seen.port),
            members: self.members(vlan),
            led_to: self.led_to(seen.header),
            untagged: entry.untagged,
            translation: entry.translation,
            ipv4_key: fields.map(|fields| ipv4_key(seen.port, fields.key() & self.ipv4_mask)),
        }
    }

    /// Ports that a frame goes to, whatever its address and VLAN lead to: as its host says, or as its address is reserved.
    pub fn led_to(&self, header: &Header) -> Option<u64> {
        if let Some(HostWay::Direct { ports, .. }) = header.host {
            return Some(ports);
        }
        let number = header.reserved_number().filter(|_| self.host_port != 0)?;
        (self.reserved_to_host >> number & 1 == 1).then_some(self.host_port)
    }

    pub fn egress(&self) -> Egress {
        Egress {
            ports: self.port_enable & self.all_ports,
            ats_classes: self.ats_classes,
            vlan_tagging: self.vlan_tagging,
            vlan_translation: self.vlan_translation,
            r_tag_removal: self.r_tag_removal,
            ptp_correction: self.ptp_correction,
        }
    }

    pub fn is_numbered(&self, stream: u16) -> bool {
        self.sequence_generator.is_numbered(stream)
    }

    /// Whether the source address of a frame goes to the database.
    pub fn learns(&self, seen: &Seen, vlan: u16) -> bool {
        let is_direct = matches!(seen.header.host, Some(HostWay::Direct { .. }));
        let may = seen.is_whole() && !seen.header.is_from_group() && !is_direct && vlan != NO_VLAN;
        may && self.learning_enable && self.is_enabled(seen.port)
    }

    pub fn is_member(&self, vlan: u16, port: u16) -> bool {
        self.members(vlan) >> port & 1 == 1
    }

    fn is_enabled(&self, port: u16) -> bool {
        self.port_enable >> port & 1 == 1
    }

    fn members(&self, vlan: u16) -> u64 {
        self.vlans.get(&vlan).filter(|_| vlan != NO_VLAN).map_or(0, |entry| entry.members)
    }
}

/// As where a frame is forwarded that came at a port.
pub(super) fn received_at(port: u16, header: &Header) -> u16 {
    match header.host {
        Some(HostWay::ReceivedAt(other)) => other,
        _ => port,
    }
}

/// Of so many streams, or those of the configuration if they are more.
fn sequence_generator(config: &BridgeConfig, streams: u32) -> SequenceGenerator {
    let highest = config.streams.iter().map(|entry| usize::from(entry.stream) + 1).max().unwrap_or(0);
    let mut generator = SequenceGenerator::new(highest.max(streams as usize));
    for entry in &config.streams {
        if entry.numbered {
            generator.set(entry.stream, true);
        }
    }
    generator
}

/// With twice as many slots as streams.
fn stream_table(ports: u16, config: &BridgeConfig, ipv4_mask: u128, streams: u32) -> Result<StreamTable, BridgeError> {
    let slots = 2 * streams as usize;
    let mut table = StreamTable::new(slots);
    for entry in &config.streams {
        within("reception port of a stream", entry.port, 0, ports - 1)?;
        let key = entry.key.at(entry.port, ipv4_mask);
        match entry.slot {
            Some((which, slot)) => {
                within("table of a stream", which, 0, 1)?;
                within("slot of a stream", slot as usize, 0, slots - 1)?;
                table.write(usize::from(which), slot as usize, Some((key, entry.stream)));
            }
            None => table.add(key, entry.stream),
        }
    }
    Ok(table)
}
