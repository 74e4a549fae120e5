// SPDX-License-Identifier: Apache-2.0
//! The parser of frames: each fault has its name, and no bytes can make it do anything but answer.
use penstock_end::frame::{parse, Carrier, Fault, LOCAL_ETHERTYPE};
use penstock_end::header::{Header, HeaderError, HEADER_BYTES};
use penstock_frame::{append_link_header, MacAddress, Tag};
use proptest::prelude::*;

const TO: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);
const FROM: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
const TAG: Tag = Tag { vlan: 10, pcp: 3 };

fn header() -> Header {
    Header { flags: 0, stream: 7, run: 1, sequence: 9, construction_tai_ns: 100, due_tai_ns: 200, clock: 5 }
}

fn link_header(tag: Option<Tag>, ethertype: u16) -> Vec<u8> {
    let mut bytes = Vec::new();
    append_link_header(&mut bytes, TO, FROM, tag, ethertype);
    bytes
}

fn raw(tag: Option<Tag>) -> Vec<u8> {
    let mut bytes = link_header(tag, LOCAL_ETHERTYPE);
    bytes.extend(header().encode());
    bytes.extend([0; 20]);
    bytes
}

fn udp(options: bool, protocol: u8, fragment: u16, length: u16) -> Vec<u8> {
    let mut bytes = link_header(None, 0x0800);
    let mut ip = [0; 20];
    ip[0] = if options { 0x46 } else { 0x45 };
    ip[6..8].copy_from_slice(&fragment.to_be_bytes());
    ip[9] = protocol;
    ip[16..20].copy_from_slice(&[192, 0, 2, 2]);
    bytes.extend(ip);
    bytes.extend([0x13, 0x88, 0x13, 0x89]);
    bytes.extend(length.to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(header().encode());
    bytes
}

#[test]
fn a_tag_is_found_in_the_frame_and_beside_it() {
    assert_eq!(parse(&raw(None), None).unwrap().tag, None);
    let inside = parse(&raw(Some(TAG)), None).unwrap();
    assert_eq!(parse(&raw(None), Some(0x600A)).unwrap(), inside);
    assert_eq!((inside.tag, inside.header, inside.destination, inside.source), (Some(TAG), header(), TO, FROM));
    assert_eq!(inside.carrier, Carrier::Raw { ethertype: LOCAL_ETHERTYPE });
    assert_eq!(parse(&raw(Some(TAG)), Some(1)), Err(Fault::DoubleTag));
    let mut twice = raw(Some(TAG));
    twice.splice(12..12, [0x81, 0, 0, 1]);
    assert_eq!(parse(&twice, None), Err(Fault::DoubleTag));
}

#[test]
fn a_datagram_is_read_up_to_its_length() {
    let whole = 8 + HEADER_BYTES as u16;
    let found = parse(&udp(false, 17, 0x4000, whole), None).unwrap();
    let destination = [192, 0, 2, 2].into();
    assert_eq!(found.carrier, Carrier::Udp { destination, destination_port: 5001 });
    assert_eq!(parse(&udp(false, 17, 0, whole - 1), None), Err(Fault::Header(HeaderError::Truncated)));
    assert_eq!(parse(&udp(false, 17, 0, whole + 1), None), Err(Fault::Truncated));
    assert_eq!(parse(&udp(false, 17, 0, 7), None), Err(Fault::Truncated));
    assert_eq!(parse(&udp(true, 17, 0, whole), None), Err(Fault::Ipv4Form));
    assert_eq!(parse(&udp(false, 17, 0x2000, whole), None), Err(Fault::Ipv4Form));
    assert_eq!(parse(&udp(false, 6, 0, whole), None), Err(Fault::Foreign));
}

#[test]
fn every_cut_is_noticed() {
    for (frame, end) in [(raw(Some(TAG)), 18 + HEADER_BYTES), (udp(false, 17, 0, 8 + HEADER_BYTES as u16), 84)] {
        assert!(parse(&frame[..end], None).is_ok());
        for cut in 0..end {
            let fault = parse(&frame[..cut], None).unwrap_err();
            assert!(matches!(fault, Fault::Truncated | Fault::Header(HeaderError::Truncated)), "{cut}: {fault}");
        }
    }
}

#[test]
fn other_protocols_are_foreign() {
    for ethertype in [0x0806_u16, 0x88F7, 0x86DD, 0x05DC, 0x002E] {
        let mut frame = link_header(None, ethertype);
        frame.extend([0xAB; 46]);
        assert_eq!(parse(&frame, None), Err(Fault::Foreign), "{ethertype:#06x}");
    }
}

/// What a fuzzer does, from a fixed seed and for a fixed number of frames: known good ones, damaged at random.
#[test]
fn damaged_frames_never_pass_for_others() {
    let seeds = [raw(None), raw(Some(TAG)), udp(false, 17, 0, 8 + HEADER_BYTES as u16)];
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let mut faults = 0;
    for round in 0..200_000 {
        let mut frame = seeds[round % seeds.len()].clone();
        for _ in 0..=random(4) {
            let at = random(frame.len());
            frame[at] ^= 1 << random(8);
        }
        if random(3) == 0 {
            frame.truncate(random(frame.len() + 1));
        }
        match parse(&frame, None) {
            // The checksum holds the header together; what is around it may have changed.
            Ok(found) => assert_eq!(found.header, header()),
            Err(_) => faults += 1,
        }
    }
    assert!(faults > 50_000, "{faults}");
}

proptest! {
    #[test]
    fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..200), stripped in any::<Option<u16>>()) {
        let _ = parse(&bytes, stripped);
    }

    #[test]
    fn any_header_survives_the_way(
        flags: u8, stream: u16, run: u16, sequence: u32, construction_tai_ns: u64, due_tai_ns: u64, clock: u64,
        vlan in 0_u16..4095, pcp in 0_u8..8,
    ) {
        let header = Header { flags, stream, run, sequence, construction_tai_ns, due_tai_ns, clock };
        let mut bytes = link_header(Some(Tag { vlan, pcp }), LOCAL_ETHERTYPE);
        bytes.extend(header.encode());
        let found = parse(&bytes, None).unwrap();
        prop_assert_eq!((found.header, found.tag), (header, Some(Tag { vlan, pcp })));
    }
}
