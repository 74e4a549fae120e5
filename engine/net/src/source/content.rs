// SPDX-License-Identifier: Apache-2.0
//! What a source's frames are. Bytes are made when somebody wants to see them.
use std::path::Path;

use penstock_frame::{finish, read_capture, FrameSpec, Ipv4Udp, MacAddress, Payload, Tag};

use super::media::Media;
use super::schedule::Schedule;
use super::{Released, SourceError};
use crate::describe::{FrameDescription, PayloadDescription};
use crate::header::{Header, HeaderId, Headers};
use penstock_shaper::Time;

/// Lengths are kept in 16 bits.
const LONGEST: u32 = 65_535;

pub struct Captured {
    time: Time,
    header: HeaderId,
    pcp: u8,
    /// With FCS.
    bytes: Vec<u8>,
}

pub enum Content {
    Captured(Vec<Captured>),
    Built { spec: FrameSpec, header: HeaderId, pcp: u8, media: Option<Box<Media>> },
}

impl Content {
    pub fn captured(path: &Path, headers: &mut Headers) -> Result<Self, SourceError> {
        let mut frames = Vec::new();
        for (number, frame) in read_capture(path)?.frames.into_iter().enumerate() {
            let mut bytes = frame.bytes;
            bytes.resize(frame.original_bytes as usize, 0); // what a snap length cut off
            let bytes = finish(bytes);
            if bytes.len() > LONGEST as usize {
                return Err(SourceError::Long { number, bytes: bytes.len(), most: LONGEST });
            }
            let header = Header::parse(&bytes);
            let pcp = header.tag.map_or(0, |tag| tag.pcp);
            frames.push(Captured { time: Time::from(frame.time.0), header: headers.intern(&header), pcp, bytes });
        }
        Ok(Self::Captured(frames))
    }

    pub fn built(
        described: Option<&FrameDescription>,
        schedule: &Schedule,
        headers: &mut Headers,
    ) -> Result<Self, SourceError> {
        let described = described.ok_or(SourceError::NoFrame)?;
        let (spec, sizes) = (frame_spec(described)?, schedule.frame_sizes());
        for &size in sizes {
            spec.check(size)?;
        }
        let media = match (&described.media, schedule) {
            (None, _) => None,
            (Some(media), Schedule::Pattern { start, pattern }) => {
                Some(Box::new(Media::new(media, &spec, pattern, *start)?))
            }
            (Some(_), _) => return Err(SourceError::Payloads),
        };
        let any = spec.build(sizes.first().copied().unwrap_or(FrameSpec::MAX_FRAME_BYTES), 0)?;
        let pcp = spec.tag.map_or(0, |tag| tag.pcp);
        Ok(Self::Built { spec, header: headers.intern(&Header::parse(&any)), pcp, media })
    }

    /// How many there are at most.
    pub fn frames(&self) -> u64 {
        match self {
            Self::Captured(frames) => frames.len() as u64,
            Self::Built { .. } => u64::MAX,
        }
    }

    /// Of a captured frame, since the first.
    pub fn time(&self, n: u64) -> Time {
        match self {
            Self::Captured(frames) => frames.get(n as usize).map_or(Time::MAX, |frame| frame.time),
            Self::Built { .. } => 0,
        }
    }

    #[inline]
    pub fn next(&self, number: u64, schedule: &Schedule) -> Released {
        match self {
            Self::Captured(frames) => {
                let frame = &frames[number as usize % frames.len()];
                Released { number, bytes: frame.bytes.len() as u16, header: frame.header, pcp: frame.pcp }
            }
            Self::Built { header, pcp, .. } => {
                Released { number, bytes: schedule.frame_bytes(number) as u16, header: *header, pcp: *pcp }
            }
        }
    }

    pub fn fill(&self, number: u64, bytes: u16, schedule: &Schedule, buffer: &mut Vec<u8>) -> Result<(), SourceError> {
        match self {
            Self::Captured(frames) => {
                buffer.clear();
                buffer.extend_from_slice(&frames[number as usize % frames.len()].bytes);
            }
            Self::Built { spec, media, .. } => match (media, schedule) {
                (Some(media), Schedule::Pattern { pattern, .. }) => {
                    let (content_bytes, lead) = media.content(number, pattern);
                    spec.build_around(u32::from(bytes), content_bytes, &lead, buffer)?;
                }
                _ => spec.build_into(u32::from(bytes), number, buffer)?,
            },
        }
        Ok(())
    }
}

fn frame_spec(described: &FrameDescription) -> Result<FrameSpec, SourceError> {
    let address = |text: &String| text.parse().map_err(|_| SourceError::Address(text.clone()));
    let payload = match &described.payload {
        PayloadDescription::Raw { ethertype } => Payload::Raw { ethertype: *ethertype },
        PayloadDescription::Ipv4Udp { source, destination, source_port, destination_port } => {
            Payload::Ipv4Udp(Ipv4Udp {
                source: address(source)?,
                destination: address(destination)?,
                source_port: *source_port,
                destination_port: *destination_port,
            })
        }
    };
    Ok(FrameSpec {
        destination: described.destination_mac.parse::<MacAddress>()?,
        source: described.source_mac.parse::<MacAddress>()?,
        tag: described.vlan.map(|vlan| Tag { vlan, pcp: described.pcp.unwrap_or(0) }),
        payload,
    })
}
