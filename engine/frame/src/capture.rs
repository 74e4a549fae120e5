// SPDX-License-Identifier: Apache-2.0
//! Reads pcap (micro- and nanoseconds) and pcapng, in both byte orders.
//!
//! Of pcapng the sections, interfaces, enhanced, simple and (obsolete) packet blocks are read; all others are passed
//! over by their length. Every error says at which byte of the file it is.
use std::path::{Path, PathBuf};

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

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capture {
    pub frames: Vec<CapturedFrame>,
}

#[derive(Debug, Error)]
pub enum CaptureError {
    #[error("{path}: cannot be read: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{path}: not a capture; pcap and pcapng are read")]
    NotACapture { path: PathBuf },
    #[error("{path}: cut short: the {what} at byte {offset} ends beyond the end of the file")]
    CutShort { path: PathBuf, offset: usize, what: &'static str },
    #[error("{path}: damaged at byte {offset}: {what}")]
    Damaged { path: PathBuf, offset: usize, what: &'static str },
    #[error("{path}: link type {link_type} at byte {offset}; only Ethernet (1) is read")]
    LinkType { path: PathBuf, offset: usize, link_type: u32 },
    #[error("{path}: holds no frame")]
    Empty { path: PathBuf },
}

/// What is wrong, before the name of the file is added.
enum Fault {
    NotACapture,
    CutShort(usize, &'static str),
    Damaged(usize, &'static str),
    LinkType(usize, u32),
    Empty,
}

/// No frame on any Ethernet is longer; what claims to be is damage, or memory would be taken for it.
const LONGEST: u32 = 262_144;
const ETHERNET: u32 = 1;

pub fn read_capture(path: &Path) -> Result<Capture, CaptureError> {
    let bytes = std::fs::read(path).map_err(|source| CaptureError::Read { path: path.to_owned(), source })?;
    let path = path.to_owned();
    parse(&bytes).map_err(|fault| match fault {
        Fault::NotACapture => CaptureError::NotACapture { path },
        Fault::CutShort(offset, what) => CaptureError::CutShort { path, offset, what },
        Fault::Damaged(offset, what) => CaptureError::Damaged { path, offset, what },
        Fault::LinkType(offset, link_type) => CaptureError::LinkType { path, offset, link_type },
        Fault::Empty => CaptureError::Empty { path },
    })
}

fn parse(bytes: &[u8]) -> Result<Capture, Fault> {
    let magic = bytes.first_chunk::<4>().ok_or(Fault::NotACapture)?;
    let frames = match *magic {
        [0x0A, 0x0D, 0x0D, 0x0A] => parse_pcapng(bytes)?,
        [0xD4, 0xC3, 0xB2, 0xA1] => parse_pcap(Reader::new(bytes, false), 1_000_000)?,
        [0xA1, 0xB2, 0xC3, 0xD4] => parse_pcap(Reader::new(bytes, true), 1_000_000)?,
        [0x4D, 0x3C, 0xB2, 0xA1] => parse_pcap(Reader::new(bytes, false), 1_000)?,
        [0xA1, 0xB2, 0x3C, 0x4D] => parse_pcap(Reader::new(bytes, true), 1_000)?,
        _ => return Err(Fault::NotACapture),
    };
    // Absolute times overflow 64 bits of picoseconds; differences do not.
    let first = frames.first().ok_or(Fault::Empty)?.0;
    let mut latest = 0;
    let mut capture = Capture::default();
    for (time, original_bytes, bytes) in frames {
        latest = u64::try_from(time - first).unwrap_or(0).max(latest);
        capture.frames.push(CapturedFrame { time: Picoseconds(latest), original_bytes, bytes });
    }
    Ok(capture)
}

/// Absolute time in ps, original length, captured bytes.
type Raw = (i128, u32, Vec<u8>);

struct Reader<'a> {
    bytes: &'a [u8],
    big_endian: bool,
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8], big_endian: bool) -> Self {
        Self { bytes, big_endian }
    }

    fn slice(&self, at: usize, length: usize) -> Option<&'a [u8]> {
        self.bytes.get(at..at.checked_add(length)?)
    }

    fn u16(&self, at: usize) -> Option<u16> {
        let bytes = *self.slice(at, 2)?.first_chunk()?;
        Some(if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    }

    fn u32(&self, at: usize) -> Option<u32> {
        let bytes = *self.slice(at, 4)?.first_chunk()?;
        Some(if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }
}

fn parse_pcap(file: Reader, ps_per_fraction: i128) -> Result<Vec<Raw>, Fault> {
    const HEADER: usize = 24;
    const RECORD: usize = 16;
    if file.bytes.len() < HEADER {
        return Err(Fault::CutShort(0, "file header"));
    }
    // The upper bits say whether an FCS follows the frame, and of how many 16-bit words.
    let link = file.u32(20).unwrap_or_default();
    if link & 0xFFFF != ETHERNET {
        return Err(Fault::LinkType(20, link & 0xFFFF));
    }
    let fcs_bytes = if link & 0x0400_0000 != 0 { (link >> 28) * 2 } else { 0 };
    let mut frames = Vec::new();
    let mut at = HEADER;
    while at < file.bytes.len() {
        let word = |n: usize| file.u32(at + 4 * n).ok_or(Fault::CutShort(at, "record"));
        let (seconds, fraction, captured, original) = (word(0)?, word(1)?, word(2)?, word(3)?);
        if captured > LONGEST || original > LONGEST || captured > original {
            return Err(Fault::Damaged(at, "a record with an impossible length"));
        }
        let data = file.slice(at + RECORD, captured as usize).ok_or(Fault::CutShort(at, "record"))?;
        let time = i128::from(seconds) * 1_000_000_000_000 + i128::from(fraction) * ps_per_fraction;
        frames.push(without_fcs(time, original, data, fcs_bytes));
        at += RECORD + captured as usize;
    }
    Ok(frames)
}

struct Interface {
    ethernet: Result<(), (usize, u32)>,
    /// Picoseconds of one unit of time, as a fraction.
    ps_numerator: i128,
    ps_denominator: i128,
    offset_ps: i128,
    fcs_bytes: u32,
    snap_bytes: u32,
}

fn parse_pcapng(bytes: &[u8]) -> Result<Vec<Raw>, Fault> {
    const SECTION: u32 = 0x0A0D_0D0A;
    const INTERFACE: u32 = 1;
    const PACKET: u32 = 2;
    const SIMPLE: u32 = 3;
    const ENHANCED: u32 = 6;
    let mut file = Reader::new(bytes, false);
    let mut interfaces: Vec<Interface> = Vec::new();
    let mut frames: Vec<Raw> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let cut = || Fault::CutShort(at, "block");
        // A section header reads the same in both byte orders, and says which one follows.
        if bytes.get(at..at + 4) == Some(&SECTION.to_le_bytes()) {
            file.big_endian = match file.slice(at + 8, 4).ok_or_else(cut)? {
                [0x4D, 0x3C, 0x2B, 0x1A] => false,
                [0x1A, 0x2B, 0x3C, 0x4D] => true,
                _ => return Err(Fault::Damaged(at, "a section header without byte order")),
            };
            interfaces.clear();
        }
        let kind = file.u32(at).ok_or_else(cut)?;
        let length = file.u32(at + 4).ok_or_else(cut)? as usize;
        if length < 12 || length % 4 != 0 {
            return Err(Fault::Damaged(at, "a block with an impossible length"));
        }
        let block = file.slice(at, length).ok_or_else(cut)?;
        let block = Reader::new(block, file.big_endian);
        if block.u32(length - 4) != Some(length as u32) {
            return Err(Fault::Damaged(at, "a block whose two lengths differ"));
        }
        let body = Reader::new(&block.bytes[8..length - 4], file.big_endian);
        let small = || Fault::Damaged(at, "a block that is too small for its content");
        let interface = |n: u32| {
            let found = interfaces.get(n as usize);
            let found = found.ok_or(Fault::Damaged(at, "a frame of an interface that is not described"))?;
            found.ethernet.map_err(|(offset, link_type)| Fault::LinkType(offset, link_type))?;
            Ok(found)
        };
        match kind {
            INTERFACE => interfaces.push(parse_interface(&body, at).ok_or_else(small)??),
            ENHANCED | PACKET => {
                let word = |n: usize| body.u32(4 * n).ok_or_else(small);
                let number = if kind == ENHANCED { word(0)? } else { body.u16(0).ok_or_else(small)?.into() };
                let interface = interface(number)?;
                let ticks = i128::from(word(1)?) << 32 | i128::from(word(2)?);
                let (captured, original) = (word(3)?, word(4)?);
                if original > LONGEST || captured > original {
                    return Err(Fault::Damaged(at, "a frame with an impossible length"));
                }
                let data = body.slice(20, captured as usize).ok_or_else(small)?;
                let time = interface.offset_ps + ticks * interface.ps_numerator / interface.ps_denominator;
                frames.push(without_fcs(time, original, data, interface.fcs_bytes));
            }
            SIMPLE => {
                let interface = interface(0)?;
                let original = body.u32(0).ok_or_else(small)?;
                if original > LONGEST {
                    return Err(Fault::Damaged(at, "a frame with an impossible length"));
                }
                let captured = original.min(interface.snap_bytes);
                let data = body.slice(4, captured as usize).ok_or_else(small)?;
                // These blocks have no time: the frame follows the one before at once.
                let time = frames.last().map_or(0, |f| f.0);
                frames.push(without_fcs(time, original, data, interface.fcs_bytes));
            }
            _ => {}
        }
        at += length;
    }
    Ok(frames)
}

/// `None`: the block is too small.
fn parse_interface(body: &Reader, at: usize) -> Option<Result<Interface, Fault>> {
    const END: u16 = 0;
    const RESOLUTION: u16 = 9;
    const FCS_LENGTH: u16 = 13;
    const OFFSET: u16 = 14;
    let link_type = u32::from(body.u16(0)?);
    let snap_bytes = match body.u32(4)? {
        0 => u32::MAX,
        bytes => bytes,
    };
    let mut interface = Interface {
        ethernet: if link_type == ETHERNET { Ok(()) } else { Err((at + 8, link_type)) },
        ps_numerator: 1_000_000,
        ps_denominator: 1,
        offset_ps: 0,
        fcs_bytes: 0,
        snap_bytes,
    };
    let mut option = 8;
    while let Some(code) = body.u16(option) {
        let length = usize::from(body.u16(option + 2)?);
        let value = body.slice(option + 4, length)?;
        match (code, value) {
            (END, _) => break,
            (RESOLUTION, &[resolution]) => {
                let exponent = u32::from(resolution & 0x7F);
                let units_per_second = if resolution & 0x80 != 0 {
                    1_i128.checked_shl(exponent).filter(|_| exponent < 64)
                } else {
                    10_i128.checked_pow(exponent).filter(|_| exponent < 20)
                };
                let Some(units_per_second) = units_per_second else {
                    return Some(Err(Fault::Damaged(at, "a resolution of time beyond 64 bits")));
                };
                interface.ps_numerator = 1_000_000_000_000;
                interface.ps_denominator = units_per_second;
            }
            (FCS_LENGTH, &[bytes]) => interface.fcs_bytes = u32::from(bytes),
            (OFFSET, seconds) if length == 8 => {
                let bytes = *seconds.first_chunk::<8>()?;
                let seconds = if body.big_endian { i64::from_be_bytes(bytes) } else { i64::from_le_bytes(bytes) };
                interface.offset_ps = i128::from(seconds) * 1_000_000_000_000;
            }
            _ => {}
        }
        option += 4 + length.div_ceil(4) * 4;
    }
    Some(Ok(interface))
}

fn without_fcs(time: i128, original: u32, data: &[u8], fcs_bytes: u32) -> Raw {
    let original = original.saturating_sub(fcs_bytes);
    let kept = data.len().min(original as usize);
    (time, original, data[..kept].to_vec())
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
        parse(file).ok().unwrap().frames.iter().map(|f| f.time.0).collect()
    }

    #[test]
    fn pcap_in_all_four_forms() {
        for (magic, step) in [(0xA1B2_C3D4, 1_000_000), (0xA1B2_3C4D, 1_000)] {
            for order in [Order(false), Order(true)] {
                let file =
                    pcap(&order, magic, 1, &[(1_700_000_000, 999_999, b"abc", 3), (1_700_000_001, 1, b"de", 60)]);
                assert_eq!(times(&file), [0, 1_000_000_000_000 - 999_998 * step]);
                let capture = parse(&file).ok().unwrap();
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
    fn a_captured_fcs_is_taken_off() {
        let order = Order(false);
        let file = pcapng(&order, &[order.option(13, &[4])], &[(0, b"abcdefgh", 8)]);
        assert_eq!(parse(&file).ok().unwrap().frames[0].bytes, b"abcd");
    }

    #[test]
    fn wrong_files_are_refused_with_their_place() {
        let order = Order(false);
        assert!(matches!(parse(b""), Err(Fault::NotACapture)));
        assert!(matches!(parse(b"#!/bin/sh"), Err(Fault::NotACapture)));
        assert!(matches!(parse(&pcap(&order, 0xA1B2_C3D4, 101, &[])), Err(Fault::LinkType(20, 101))));
        assert!(matches!(parse(&pcap(&order, 0xA1B2_C3D4, 1, &[])), Err(Fault::Empty)));
        let good = pcap(&order, 0xA1B2_C3D4, 1, &[(0, 0, b"abcd", 4)]);
        for length in 4..good.len() {
            let result = parse(&good[..length]);
            assert!(matches!(result, Err(Fault::CutShort(..) | Fault::Empty)), "cut at {length}");
        }
        let good = pcapng(&order, &[], &[(0, b"abcd", 4), (1, b"abcd", 4)]);
        let whole = good.len() - 36;
        for length in whole + 1..good.len() {
            assert!(matches!(parse(&good[..length]), Err(Fault::CutShort(at, "block")) if at == whole), "{length}");
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
