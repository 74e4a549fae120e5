// SPDX-License-Identifier: Apache-2.0
//! What is wrong with a plan that could be read: all of it, with what is allowed.
use penstock_frame::{IPV4_ETHERTYPE, VLAN_ETHERTYPE};

use super::{Mode, Plan, Receive, Stream, MAX_FRAMES, MAX_FRAME_BYTES, MAX_TIME_NS, VERSION};

/// Something in a plan is wrong: where, what, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub key: String,
    pub what: String,
    pub allowed: String,
}

/// All that is wrong with a plan that could be read.
pub fn check(plan: &Plan) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut refuse = |key: String, what: String, allowed: &str| {
        faults.push(Fault { key, what, allowed: allowed.to_owned() });
    };
    if plan.version != VERSION {
        refuse("version".into(), format!("{} is not known", plan.version), "1");
    }
    if plan.interface.is_empty() || plan.interface.len() > 15 {
        refuse("interface".into(), format!("\"{}\" is no name", plan.interface), "1 to 15 characters");
    }
    if plan.cycle_ns == 0 || plan.cycle_ns > MAX_TIME_NS {
        refuse("cycle_ns".into(), format!("is {}", plan.cycle_ns), "1 ns or more");
    }
    let times = [
        ("base_time_tai_ns", plan.base_time_tai_ns.unwrap_or(0)),
        ("start_in_ns", plan.start_in_ns),
        ("duration_ns", plan.duration_ns.unwrap_or(0)),
        ("late.tolerance_ns", plan.late.tolerance_ns),
        ("listen.window_offset_ns", plan.listen.window_offset_ns.unsigned_abs()),
    ];
    for (key, time) in times.into_iter().filter(|&(_, time)| time >= MAX_TIME_NS) {
        refuse(key.into(), format!("{time} is out of range"), "less than 2^62");
    }
    if plan.realtime.fifo_priority.is_some_and(|p| !(1..=99).contains(&p)) {
        refuse("realtime.fifo_priority".into(), "is no priority of SCHED_FIFO".into(), "1 to 99");
    }
    if plan.clock.pmc.as_ref().is_some_and(|pmc| pmc.command.is_empty()) {
        refuse("clock.pmc.command".into(), "is empty".into(), "a program and its options");
    }
    if plan.streams.is_empty() {
        refuse("streams".into(), "there is none".into(), "at least one");
    }
    for (n, stream) in plan.streams.iter().enumerate() {
        for (key, what, allowed) in stream_faults(plan, stream) {
            refuse(format!("streams[{n}].{key}"), what, allowed);
        }
        let twin = |other: &Stream| other.id == stream.id || other.name == stream.name;
        if plan.streams[..n].iter().any(twin) {
            refuse(format!("streams[{n}]"), "has the id or the name of another".into(), "ids and names once");
        }
    }
    let frames: u64 = plan.streams.iter().filter_map(|s| s.count(plan)).fold(0, u64::saturating_add);
    if plan.cycle_ns > 0 && frames > MAX_FRAMES {
        refuse("streams".into(), format!("have {frames} frames in all"), "50,000,000 in one run");
    }
    faults
}

fn stream_faults(plan: &Plan, stream: &Stream) -> Vec<(&'static str, String, &'static str)> {
    let mut faults = Vec::new();
    let least = stream.least_bytes();
    let lengths = stream.frames.iter().flatten().map(|&(_, bytes)| bytes).chain([stream.bytes]);
    if let Some(wrong) = lengths.into_iter().find(|&bytes| (bytes as usize) < least || bytes > MAX_FRAME_BYTES) {
        let what = format!("{wrong} is too short or too long; the headers need {least}");
        faults.push(("bytes", what, "up to 9018, FCS included"));
    }
    if stream.name.is_empty() || stream.name.chars().any(|c| c.is_control() || c == ',' || c == '"') {
        faults.push(("name", format!("{:?} cannot stand in a table", stream.name), "no comma, quote or line end"));
    }
    if stream.vlan.is_some_and(|vlan| vlan > 4094) {
        faults.push(("vlan", "is no VLAN".into(), "0 to 4094"));
    }
    if stream.pcp > 7 {
        faults.push(("pcp", format!("is {}", stream.pcp), "0 to 7"));
    }
    let period = stream.period_ns(plan);
    if period == 0 || period > MAX_TIME_NS {
        faults.push(("period_ns", format!("is {period}"), "1 ns or more"));
    }
    if stream.members() == 0 {
        faults.push(("frames", "has none".into(), "one or more in a period"));
        return faults;
    }
    if let Some(audio) = &stream.audio {
        let wanted = audio.packet_bytes(period).map(|payload| payload + stream.overhead_bytes());
        if wanted.is_none() || audio.channels == 0 {
            faults.push(("audio", "has no whole number of samples in a period".into(), "as 48000 Hz in 1 ms"));
        } else if wanted != Some(stream.bytes as usize) {
            let what = format!("is {}, but the samples of a period make {}", stream.bytes, wanted.unwrap_or(0));
            faults.push(("bytes", what, "what the samples make"));
        }
        if stream.members() != 1 || stream.frames.is_some() || stream.capture.is_some() {
            faults.push(("audio", "has one packet in a period, and no capture".into(), "frames_per_period 1"));
        }
    }
    if stream.capture.is_some() && (stream.mode == Mode::Udp || plan.listen.receive == Receive::Udp) {
        faults.push(("capture", "has whole frames".into(), "mode raw"));
    }
    if let Some(frames) = &stream.frames {
        let longest = frames.iter().map(|&(_, bytes)| bytes).max();
        if longest != Some(stream.bytes) || !frames.is_sorted_by_key(|&(at, _)| at) {
            faults.push((
                "frames",
                "are not in order, or `bytes` is not the longest".into(),
                "[[0, 300], [5000, 128]]",
            ));
        }
        if stream.frames_per_period != 1 || stream.spacing_ns != 0 {
            faults.push(("frames", "stand beside frames_per_period or spacing_ns".into(), "one or the other"));
        }
    }
    let last = stream.member_ns(stream.members() - 1);
    if stream.window_ns.is_some_and(|window| window == 0 || window > period || last >= window) {
        faults.push(("window_ns", "does not hold the frames of a period".into(), "up to the period"));
    } else if last >= period {
        faults.push(("spacing_ns", "spreads frames over more than a period".into(), "frames within a period"));
    }
    if stream.transmit_offset_ns(plan) >= MAX_TIME_NS {
        faults.push(("transmit_offset_ns", "is out of range".into(), "less than 2^62"));
    }
    if stream.offset_ns >= MAX_TIME_NS {
        faults.push(("offset_ns", "is out of range".into(), "less than 2^62"));
    }
    if stream.count == Some(0) || stream.count.is_some_and(|count| count > u64::from(u32::MAX)) {
        faults.push(("count", "is out of range".into(), "1 to 4294967295"));
    }
    match stream.mode {
        Mode::Raw => {
            if stream.destination_mac.is_none() && stream.capture.is_none() {
                faults.push(("destination_mac", "is missing".into(), "an address, for a raw stream"));
            }
            if stream.ethertype().lt(&0x0600) || [VLAN_ETHERTYPE, IPV4_ETHERTYPE].contains(&stream.ethertype()) {
                faults.push((
                    "ethertype",
                    format!("{:#06x} has a meaning of its own", stream.ethertype()),
                    "0x88b5 and others",
                ));
            }
        }
        Mode::Udp => {
            if stream.destination.is_none() {
                faults.push(("destination", "is missing".into(), "an IPv4 address, for a UDP stream"));
            }
            if stream.destination_port.is_none_or(|port| port == 0) {
                faults.push(("destination_port", "is missing".into(), "1 to 65535, for a UDP stream"));
            }
        }
    }
    if plan.listen.receive == Receive::Udp && stream.mode == Mode::Raw {
        faults.push(("mode", "a raw stream cannot be received by UDP sockets".into(), "listen.receive = \"packet\""));
    }
    faults
}
