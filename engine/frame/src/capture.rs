// SPDX-License-Identifier: Apache-2.0
//! Reads pcap (micro- and nanoseconds) and pcapng, in both byte orders, and writes pcapng with nanoseconds.
//!
//! The formats are those of `pcap-parser`; `pcap-file` refuses pcapng options without an end marker, which the format allows.
use std::borrow::Cow;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use pcap_parser::nom;
use pcap_parser::pcapng::{parse_block_be, parse_block_le, Block};
use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{
    parse_pcap_frame, parse_pcap_frame_be, parse_pcap_header, InterfaceDescriptionBlock, Linktype, OptionCode,
    PcapNGOption, SectionHeaderBlock, ToVec,
};
use thiserror::Error;

use crate::Picoseconds;

/// A frame as captured: without FCS, and cut when `bytes` is shorter than `original_bytes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedFrame {
    /// Since the first frame of the capture; a clock that was set back gives the time of the frame before.
    pub time: Picoseconds,
    pub original_bytes: u32,
    pub bytes: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    pub frames: Vec<CapturedFrame>,
    /// Time of the first frame since 1970, which 64 bits do not hold.
    pub start_ps: i128,
    /// The clock was never set back.
    pub in_order: bool,
}

/// A capture that cannot be read.
#[derive(Debug, Error)]
#[error("{} {fault}", path.display())]
pub struct CaptureError {
    pub path: PathBuf,
    pub fault: CaptureFault,
}

#[derive(Debug, Error)]
pub enum CaptureFault {
    #[error("cannot be read: {0}")]
    Read(#[from] std::io::Error),
    #[error("is not a capture; pcap and pcapng are read")]
    NotACapture,
    #[error("is cut short after {frames} whole frames: the {what} at byte {offset} is not whole")]
    CutShort { frames: usize, offset: usize, what: &'static str },
    #[error("is damaged at byte {offset}: {what}")]
    Damaged { offset: usize, what: &'static str },
    #[error("has link type {link_type} at byte {offset}; only Ethernet (1) is read")]
    LinkType { offset: usize, link_type: u32 },
    #[error("is empty: it holds no frame")]
    Empty,
}

/// No frame on any Ethernet is longer; what claims to be is damage, or memory would be taken for it.
const LONGEST: u32 = 262_144;
const PS_PER_S: i128 = 1_000_000_000_000;

pub fn read_capture(path: &Path) -> Result<Capture, CaptureError> {
    let content = std::fs::read(path).map_err(CaptureFault::Read);
    content.and_then(|bytes| parse(&bytes)).map_err(|fault| CaptureError { path: path.to_owned(), fault })
}

fn parse(bytes: &[u8]) -> Result<Capture, CaptureFault> {
    let frames = match bytes {
        [] => return Err(CaptureFault::Empty),
        [0x0A, 0x0D, 0x0D, 0x0A, ..] => parse_pcapng(bytes)?,
        _ => parse_pcap(bytes)?,
    };
    // Absolute times overflow 64 bits of picoseconds; differences do not.
    let start_ps = frames.first().ok_or(CaptureFault::Empty)?.0;
    let mut latest = 0;
    let mut capture = Capture { frames: Vec::new(), start_ps, in_order: true };
    for (time, original_bytes, bytes) in frames {
        let since = u64::try_from(time - start_ps).unwrap_or(0);
        capture.in_order &= time >= start_ps && since >= latest;
        latest = since.max(latest);
        capture.frames.push(CapturedFrame { time: Picoseconds(latest), original_bytes, bytes });
    }
    Ok(capture)
}

/// Absolute time in ps, original length, captured bytes.
type Raw = (i128, u32, Vec<u8>);

fn parse_pcap(bytes: &[u8]) -> Result<Vec<Raw>, CaptureFault> {
    let (mut rest, header) = parse_pcap_header(bytes).map_err(|error| match error {
        nom::Err::Incomplete(_) => CaptureFault::CutShort { frames: 0, offset: 0, what: "file header" },
        _ => CaptureFault::NotACapture,
    })?;
    if header.is_modified_format() {
        return Err(CaptureFault::NotACapture);
    }
    let record = if header.is_bigendian() { parse_pcap_frame_be } else { parse_pcap_frame };
    let ps_per_fraction = if header.is_nanosecond_precision() { 1_000 } else { 1_000_000 };
    // The upper bits say whether an FCS follows the frame, and of how many 16-bit words.
    let link = header.network.0 as u32;
    if link & 0xFFFF != Linktype::ETHERNET.0 as u32 {
        return Err(CaptureFault::LinkType { offset: 20, link_type: link & 0xFFFF });
    }
    let fcs_bytes = if link & 0x0400_0000 != 0 { (link >> 28) * 2 } else { 0 };
    let mut frames = Vec::new();
    while !rest.is_empty() {
        let offset = bytes.len() - rest.len();
        let cut = |_| CaptureFault::CutShort { frames: frames.len(), offset, what: "record" };
        let (after, record) = record(rest).map_err(cut)?;
        let time = i128::from(record.ts_sec) * PS_PER_S + i128::from(record.ts_usec) * ps_per_fraction;
        frames.push(frame(time, record.origlen, record.caplen, record.data, fcs_bytes, offset)?);
        rest = after;
    }
    Ok(frames)
}

struct Interface {
    ethernet: Result<(), (usize, u32)>,
    units_per_second: i128,
    offset_ps: i128,
    fcs_bytes: u32,
    snap_bytes: u32,
}

fn parse_pcapng(bytes: &[u8]) -> Result<Vec<Raw>, CaptureFault> {
    const OBSOLETE_PACKET: u32 = 2;
    let mut big_endian = false;
    let mut interfaces: Vec<Interface> = Vec::new();
    let mut frames: Vec<Raw> = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let offset = bytes.len() - rest.len();
        let damaged = |what| CaptureFault::Damaged { offset, what };
        let (after, block) =
            if big_endian { parse_block_be(rest) } else { parse_block_le(rest) }.map_err(|error| match error {
                nom::Err::Incomplete(_) => CaptureFault::CutShort { frames: frames.len(), offset, what: "block" },
                _ => damaged("a block whose lengths or content are impossible"),
            })?;
        let interface = |n: u32| {
            let found = interfaces.get(n as usize).ok_or(damaged("a frame of an interface that is not described"))?;
            found.ethernet.map_err(|(offset, link_type)| CaptureFault::LinkType { offset, link_type })?;
            Ok::<_, CaptureFault>(found)
        };
        match block {
            Block::SectionHeader(section) => {
                big_endian = section.big_endian();
                interfaces.clear();
            }
            Block::InterfaceDescription(block) => interfaces.push(describe(&block, big_endian, offset)?),
            Block::EnhancedPacket(packet) => {
                let interface = interface(packet.if_id)?;
                let units = i128::from(packet.ts_high) << 32 | i128::from(packet.ts_low);
                let time = interface.offset_ps + units * PS_PER_S / interface.units_per_second;
                let data = packet.packet_data();
                frames.push(frame(time, packet.origlen, packet.caplen, data, interface.fcs_bytes, offset)?);
            }
            Block::SimplePacket(packet) => {
                let interface = interface(0)?;
                // These blocks have no time: the frame follows the one before at once.
                let time = frames.last().map_or(0, |f| f.0);
                let captured = packet.origlen.min(interface.snap_bytes);
                frames.push(frame(time, packet.origlen, captured, packet.data, interface.fcs_bytes, offset)?);
            }
            // The crate reads the type of a block as little-endian always.
            Block::Unknown(block) if [OBSOLETE_PACKET, OBSOLETE_PACKET.swap_bytes()].contains(&block.block_type) => {
                return Err(damaged("a packet block of the obsolete kind; enhanced and simple ones are read"));
            }
            _ => {}
        }
        rest = after;
    }
    Ok(frames)
}

fn describe(block: &InterfaceDescriptionBlock, big_endian: bool, offset: usize) -> Result<Interface, CaptureFault> {
    const FCS_LENGTH: OptionCode = OptionCode(13);
    // The crate reads neither binary resolutions nor big-endian offsets by itself.
    let resolution = block.if_tsresol;
    let exponent = u32::from(resolution & 0x7F);
    let units_per_second = if resolution & 0x80 != 0 {
        1_i128.checked_shl(exponent).filter(|_| exponent < 64)
    } else {
        10_i128.checked_pow(exponent).filter(|_| exponent < 20)
    };
    let what = "a resolution of time beyond 64 bits";
    let mut interface = Interface {
        ethernet: if block.linktype == Linktype::ETHERNET {
            Ok(())
        } else {
            Err((offset + 8, block.linktype.0 as u32))
        },
        units_per_second: units_per_second.ok_or(CaptureFault::Damaged { offset, what })?,
        offset_ps: 0,
        fcs_bytes: 0,
        snap_bytes: if block.snaplen == 0 { u32::MAX } else { block.snaplen },
    };
    for option in block.options.iter().take_while(|option| option.code != OptionCode::EndOfOpt) {
        match (option.code, option.as_bytes()) {
            (FCS_LENGTH, Ok(&[bytes])) => interface.fcs_bytes = u32::from(bytes),
            (OptionCode::IfTsoffset, Ok(&[a, b, c, d, e, f, g, h])) => {
                let bytes = [a, b, c, d, e, f, g, h];
                let seconds = if big_endian { i64::from_be_bytes(bytes) } else { i64::from_le_bytes(bytes) };
                interface.offset_ps = i128::from(seconds) * PS_PER_S;
            }
            _ => {}
        }
    }
    Ok(interface)
}

/// One frame without its FCS; an error where its lengths contradict each other.
fn frame(
    time: i128,
    original: u32,
    captured: u32,
    data: &[u8],
    fcs_bytes: u32,
    offset: usize,
) -> Result<Raw, CaptureFault> {
    let data = data.get(..captured as usize).filter(|_| captured <= original && original <= LONGEST);
    let data = data.ok_or(CaptureFault::Damaged { offset, what: "a frame with an impossible length" })?;
    let original = original.saturating_sub(fcs_bytes);
    let kept = data.len().min(original as usize);
    Ok((time, original, data[..kept].to_vec()))
}

/// A frame to be written: since 1970, without FCS.
pub struct FrameToWrite<'a> {
    pub time_ns: u64,
    pub original_bytes: u32,
    pub bytes: &'a [u8],
}

/// Writes frames with nanosecond stamps, as of one interface of that name.
pub fn write_pcapng<'a>(
    path: &Path,
    interface: &str,
    application: &str,
    frames: impl IntoIterator<Item = FrameToWrite<'a>>,
) -> std::io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    file.write_all(&pcapng_header(interface, application)?)?;
    let mut block = Vec::new();
    for frame in frames {
        block.clear();
        append_frame(&mut block, &frame);
        file.write_all(&block)?;
    }
    file.flush()
}

/// What stands before the frames of a file: nanosecond stamps, one interface of that name.
pub fn pcapng_header(interface: &str, application: &str) -> std::io::Result<Vec<u8>> {
    // Types and lengths of blocks are put right by `to_vec`.
    let mut section = SectionHeaderBlock {
        block_type: 0,
        block_len1: 0,
        bom: 0,
        major_version: 1,
        minor_version: 0,
        section_len: -1,
        options: vec![option(OptionCode::ShbUserAppl, application.as_bytes())],
        block_len2: 0,
    };
    let mut options = vec![option(OptionCode::IfTsresol, &[9])];
    if !interface.is_empty() {
        options.insert(0, option(OptionCode::IfName, interface.as_bytes()));
    }
    let mut description = InterfaceDescriptionBlock {
        block_type: 0,
        block_len1: 0,
        linktype: Linktype::ETHERNET,
        reserved: 0,
        snaplen: 0,
        options,
        block_len2: 0,
        if_tsresol: 9,
        if_tsoffset: 0,
    };
    let mut header = section.to_vec().map_err(std::io::Error::other)?;
    header.extend(description.to_vec().map_err(std::io::Error::other)?);
    Ok(header)
}

/// One frame as it follows the header or another frame.
pub fn append_frame(file: &mut Vec<u8>, frame: &FrameToWrite) {
    const ENHANCED_PACKET: u32 = 6;
    const INTERFACE: u32 = 0;
    let padded = frame.bytes.len().next_multiple_of(4);
    let length = 32 + padded as u32;
    let (high, low) = ((frame.time_ns >> 32) as u32, frame.time_ns as u32);
    for word in [ENHANCED_PACKET, length, INTERFACE, high, low, frame.bytes.len() as u32, frame.original_bytes] {
        file.extend_from_slice(&word.to_le_bytes());
    }
    file.extend_from_slice(frame.bytes);
    file.resize(file.len() + padded - frame.bytes.len(), 0);
    file.extend_from_slice(&length.to_le_bytes());
}

fn option(code: OptionCode, value: &[u8]) -> PcapNGOption<'static> {
    let mut padded = value.to_vec();
    padded.resize(value.len().next_multiple_of(4), 0);
    PcapNGOption { code, len: value.len() as u16, value: Cow::Owned(padded) }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Order(bool);

    impl Order {
        fn u16(&self, v: u16) -> Vec<u8> {
            if self.0 { v.to_be_bytes() } else { v.to_le_bytes() }.to_vec()
        }
        fn u32(&self, v: u32) -> Vec<u8> {
            if self.0 { v.to_be_bytes() } else { v.to_le_bytes() }.to_vec()
        }
        fn words(&self, words: &[u32]) -> Vec<u8> {
            words.iter().flat_map(|&w| self.u32(w)).collect()
        }
        fn block(&self, kind: u32, mut body: Vec<u8>) -> Vec<u8> {
            body.resize(body.len().div_ceil(4) * 4, 0);
            let length = body.len() as u32 + 12;
            [self.words(&[kind, length]), body, self.u32(length)].concat()
        }
        fn option(&self, code: u16, value: &[u8]) -> Vec<u8> {
            let mut padded = value.to_vec();
            padded.resize(value.len().div_ceil(4) * 4, 0);
            [self.u16(code), self.u16(value.len() as u16), padded].concat()
        }
    }

    fn pcap(order: &Order, magic: u32, link: u32, records: &[(u32, u32, &[u8], u32)]) -> Vec<u8> {
        let mut file = order.words(&[magic]);
        file.extend([order.u16(2), order.u16(4)].concat());
        file.extend(order.words(&[0, 0, 65535, link]));
        for (seconds, fraction, data, original) in records {
            file.extend(order.words(&[*seconds, *fraction, data.len() as u32, *original]));
            file.extend_from_slice(data);
        }
        file
    }

    fn pcapng(order: &Order, options: &[Vec<u8>], frames: &[(u64, &[u8], u32)]) -> Vec<u8> {
        let section = [order.u32(0x1A2B_3C4D), order.u16(1), order.u16(0), order.words(&[!0, !0])].concat();
        let mut file = order.block(0x0A0D_0D0A, section);
        let interface = [order.u16(1), order.u16(0), order.u32(96), options.concat()].concat();
        file.extend(order.block(1, interface));
        file.extend(order.block(5, vec![0; 12])); // statistics: passed over
        for (ticks, data, original) in frames {
            let words = [0, (ticks >> 32) as u32, *ticks as u32, data.len() as u32, *original];
            file.extend(order.block(6, [order.words(&words), data.to_vec()].concat()));
        }
        file
    }

    fn times(file: &[u8]) -> Vec<u64> {
        parse(file).unwrap().frames.iter().map(|f| f.time.0).collect()
    }

    #[test]
    fn pcap_in_all_four_forms() {
        for (magic, step) in [(0xA1B2_C3D4, 1_000_000), (0xA1B2_3C4D, 1_000)] {
            for order in [Order(false), Order(true)] {
                let file =
                    pcap(&order, magic, 1, &[(1_700_000_000, 999_999, b"abc", 3), (1_700_000_001, 1, b"de", 60)]);
                assert_eq!(times(&file), [0, 1_000_000_000_000 - 999_998 * step]);
                let capture = parse(&file).unwrap();
                assert_eq!(capture.frames[1].bytes, b"de");
                assert_eq!(capture.frames[1].original_bytes, 60);
            }
        }
    }

    #[test]
    fn pcapng_in_both_orders_and_any_resolution() {
        for order in [Order(false), Order(true)] {
            assert_eq!(times(&pcapng(&order, &[], &[(5, b"a", 1), (7, b"b", 1)])), [0, 2_000_000]);
            let nano = order.option(9, &[9]);
            let now = 1_700_000_000_123_456_789;
            let file = pcapng(&order, &[nano, order.option(0, &[])], &[(now, b"a", 1), (now + 1, b"b", 1)]);
            assert_eq!(times(&file), [0, 1_000]);
            let binary = order.option(9, &[0x80 | 20]);
            let file = pcapng(&order, &[binary], &[(0, b"a", 1), (1 << 19, b"b", 1), (3, b"c", 1)]);
            assert_eq!(times(&file), [0, 500_000_000_000, 500_000_000_000]);
        }
    }

    #[test]
    fn offsets_simple_and_obsolete_packets() {
        for order in [Order(false), Order(true)] {
            let seconds = if order.0 { 5_i64.to_be_bytes() } else { 5_i64.to_le_bytes() };
            let mut file = pcapng(&order, &[order.option(14, &seconds)], &[(7, b"a", 1)]);
            assert_eq!(parse(&file).unwrap().start_ps, 5_000_007_000_000);
            file.extend(order.block(3, [order.u32(5), b"abcde".to_vec()].concat()));
            assert_eq!(parse(&file).unwrap().frames[1].bytes, b"abcde");
            file.extend(order.block(2, vec![0; 20]));
            assert!(matches!(parse(&file), Err(CaptureFault::Damaged { what, .. }) if what.contains("obsolete")));
        }
    }

    #[test]
    fn a_clock_set_back_is_seen() {
        let order = Order(false);
        assert!(parse(&pcapng(&order, &[], &[(5, b"a", 1), (5, b"b", 1)])).unwrap().in_order);
        for ticks in [4, 6] {
            let file = pcapng(&order, &[], &[(5, b"a", 1), (7, b"b", 1), (ticks, b"c", 1)]);
            assert!(!parse(&file).unwrap().in_order);
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let path = std::env::temp_dir().join(format!("penstock-{}.pcapng", std::process::id()));
        let frames = [(1_700_000_000_123_456_789, &b"abcde"[..], 5), (1_700_000_000_123_456_790, &b"fg"[..], 60)];
        let written = frames.map(|(time_ns, bytes, original_bytes)| FrameToWrite { time_ns, original_bytes, bytes });
        write_pcapng(&path, "eth0", "a test", written).unwrap();
        let capture = read_capture(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(capture.start_ps, 1_700_000_000_123_456_789_000);
        let read: Vec<_> = capture.frames.iter().map(|f| (f.time.0, &f.bytes[..], f.original_bytes)).collect();
        assert_eq!(read, [(0, &b"abcde"[..], 5), (1_000, &b"fg"[..], 60)]);
    }

    #[test]
    fn a_captured_fcs_is_taken_off() {
        let order = Order(false);
        let file = pcapng(&order, &[order.option(13, &[4])], &[(0, b"abcdefgh", 8)]);
        assert_eq!(parse(&file).unwrap().frames[0].bytes, b"abcd");
    }

    #[test]
    fn wrong_files_are_refused_with_their_place() {
        let order = Order(false);
        assert!(matches!(parse(b""), Err(CaptureFault::Empty)));
        assert!(matches!(parse(b"#!/bin/sh"), Err(CaptureFault::NotACapture)));
        assert!(matches!(
            parse(&pcap(&order, 0xA1B2_C3D4, 101, &[])),
            Err(CaptureFault::LinkType { offset: 20, link_type: 101 })
        ));
        assert!(matches!(parse(&pcap(&order, 0xA1B2_C3D4, 1, &[])), Err(CaptureFault::Empty)));
        let good = pcap(&order, 0xA1B2_C3D4, 1, &[(0, 0, b"abcd", 4)]);
        for length in 4..good.len() {
            let result = parse(&good[..length]);
            assert!(
                matches!(result, Err(CaptureFault::CutShort { frames: 0, .. } | CaptureFault::Empty)),
                "cut at {length}"
            );
        }
        let good = pcapng(&order, &[], &[(0, b"abcd", 4), (1, b"abcd", 4)]);
        let whole = good.len() - 36;
        for length in whole + 1..good.len() {
            let result = parse(&good[..length]);
            assert!(
                matches!(result, Err(CaptureFault::CutShort { frames: 1, offset, what: "block" }) if offset == whole),
                "cut at {length}"
            );
        }
    }

    #[test]
    fn random_damage_never_panics() {
        let good = pcapng(&Order(true), &[Order(true).option(9, &[6])], &[(0, b"abcd", 4), (1, b"abcd", 4)]);
        let mut state = 1_u64;
        for _ in 0..20_000 {
            let mut bad = good.clone();
            for _ in 0..2 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let place = (state >> 33) as usize % bad.len();
                bad[place] = (state >> 20) as u8;
            }
            let _ = parse(&bad);
        }
    }
}
