// SPDX-License-Identifier: Apache-2.0
//! When a stream's frames are released, and what they are.
use penstock_frame::{
    finish, read_capture, BuildError, CaptureError, CapturedFrame, FrameSpec, Ipv4Udp, MacAddress, Payload, Tag,
};
use rand::RngExt;
use rand_distr::{Exp1, StandardNormal};
use rand_xoshiro::rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use thiserror::Error;

use crate::describe::{FrameDescription, Jitter, PayloadDescription, Source, Stream};

#[derive(Debug, Error)]
pub enum SourceError {
    #[error("{0}")]
    Capture(#[from] CaptureError),
    #[error("{0}")]
    Frame(#[from] BuildError),
    #[error("a generated stream needs \"frame\"")]
    NoFrame,
    #[error("{key} is 0; 1 or more is allowed")]
    Zero { key: &'static str },
    #[error("IPv4 address \"{0}\": four numbers from 0 to 255 with points between are wanted")]
    Address(String),
}

/// When the next frame is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    At(u64),
    /// As soon as the port is free, but not before this.
    WhenFree(u64),
}

enum Timing {
    Capture,
    Periodic { period: u64, jitter: Option<Jitter> },
    BackToBack,
    Burst { size: u64, period: u64 },
    Poisson { mean: u64 },
    Normal { mean: u64, deviation: u64 },
}

enum Content {
    Captured(std::vec::IntoIter<CapturedFrame>),
    Built { spec: FrameSpec, frame_bytes: u32 },
}

/// A stream's frames, one after the other.
pub struct Generator {
    timing: Timing,
    content: Content,
    random: Xoshiro256PlusPlus,
    start: u64,
    /// Frames that are still to come.
    left: u64,
    /// Frames given.
    number: u64,
    next: Option<Release>,
    /// Release before the next one.
    last: u64,
}

impl Generator {
    pub fn new(stream: &Stream) -> Result<Self, SourceError> {
        let positive = |key, value| if value == 0 { Err(SourceError::Zero { key }) } else { Ok(value) };
        let built = |frame_bytes: u32| -> Result<Content, SourceError> {
            let spec = frame_spec(stream.frame.as_ref().ok_or(SourceError::NoFrame)?)?;
            spec.check(frame_bytes)?;
            Ok(Content::Built { spec, frame_bytes })
        };
        let (timing, content, seed, count, start) = match &stream.source {
            Source::Capture { path, start_ps, count } => {
                let frames = read_capture(path)?.frames;
                let most = frames.len() as u64;
                let count = count.map_or(most, |count| count.min(most));
                (Timing::Capture, Content::Captured(frames.into_iter()), 0, Some(count), *start_ps)
            }
            Source::Periodic { frame_bytes, period_ps, jitter, seed, count, start_ps } => {
                let period = positive("period_ps", *period_ps)?;
                (Timing::Periodic { period, jitter: jitter.clone() }, built(*frame_bytes)?, *seed, *count, *start_ps)
            }
            Source::BackToBack { frame_bytes, seed, count, start_ps } => {
                (Timing::BackToBack, built(*frame_bytes)?, *seed, *count, *start_ps)
            }
            Source::Burst { frame_bytes, size, period_ps, seed, count, start_ps } => {
                let (size, period) = (positive("size", *size)?, positive("period_ps", *period_ps)?);
                (Timing::Burst { size, period }, built(*frame_bytes)?, *seed, *count, *start_ps)
            }
            Source::Poisson { frame_bytes, mean_ps, seed, count, start_ps } => {
                let mean = positive("mean_ps", *mean_ps)?;
                (Timing::Poisson { mean }, built(*frame_bytes)?, *seed, *count, *start_ps)
            }
            Source::Normal { frame_bytes, mean_ps, deviation_ps, seed, count, start_ps } => {
                let mean = positive("mean_ps", *mean_ps)?;
                (Timing::Normal { mean, deviation: *deviation_ps }, built(*frame_bytes)?, *seed, *count, *start_ps)
            }
        };
        let mut generator = Self {
            timing,
            content,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            start,
            left: count.unwrap_or(u64::MAX),
            number: 0,
            next: None,
            last: start,
        };
        generator.plan();
        Ok(generator)
    }

    /// None when there is no further frame.
    pub fn next_release(&self) -> Option<Release> {
        self.next
    }

    /// The next frame, with FCS.
    pub fn take(&mut self) -> Result<Vec<u8>, SourceError> {
        let frame = match &mut self.content {
            Content::Captured(frames) => {
                let frame = frames.next().map_or_else(Vec::new, |f| {
                    let mut bytes = f.bytes;
                    bytes.resize(f.original_bytes as usize, 0); // what a snap length cut off
                    bytes
                });
                finish(frame)
            }
            Content::Built { spec, frame_bytes } => spec.build(*frame_bytes, self.number)?,
        };
        self.number += 1;
        self.left -= 1;
        if let Some(Release::At(time)) = self.next {
            self.last = time;
        }
        self.plan();
        Ok(frame)
    }

    fn plan(&mut self) {
        if self.left == 0 {
            self.next = None;
            return;
        }
        let n = self.number;
        let grid = |period: u64, n: u64| self.start.saturating_add(period.saturating_mul(n));
        let at = match &self.timing {
            Timing::BackToBack => {
                self.next = Some(Release::WhenFree(self.start));
                return;
            }
            Timing::Capture => match &self.content {
                Content::Captured(frames) => {
                    frames.as_slice().first().map_or(u64::MAX, |f| self.start.saturating_add(f.time.0))
                }
                Content::Built { .. } => u64::MAX,
            },
            Timing::Periodic { period, jitter } => {
                let nominal = grid(*period, n);
                match jitter {
                    None => nominal,
                    Some(Jitter::UniformPs(0)) => nominal,
                    Some(Jitter::UniformPs(most)) => nominal.saturating_add(self.random.random_range(0..=*most)),
                    Some(Jitter::NormalPs(deviation)) => {
                        let shift = *deviation as f64 * self.random.sample::<f64, _>(StandardNormal);
                        nominal.saturating_add_signed(shift.round() as i64)
                    }
                }
            }
            Timing::Burst { size, period } => grid(*period, n / size),
            Timing::Poisson { mean } => {
                let gap = if n == 0 { 0.0 } else { *mean as f64 * self.random.sample::<f64, _>(Exp1) };
                self.last.saturating_add(gap.round() as u64)
            }
            Timing::Normal { mean, deviation } => {
                let mut normal = || *mean as f64 + *deviation as f64 * self.random.sample::<f64, _>(StandardNormal);
                let gap = if n == 0 { 0.0 } else { normal() };
                self.last.saturating_add(gap.round() as u64) // a conversion from below zero gives zero
            }
        };
        // A stream never overtakes itself.
        self.next = Some(Release::At(if n == 0 { at } else { at.max(self.last) }));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn releases(source: &str, n: usize) -> Vec<u64> {
        let text = format!(
            r#"{{"name":"s","from":"a","to":["b"],"frame":{{"destination_mac":"02:00:00:00:00:02",
            "source_mac":"02:00:00:00:00:01","vlan":10,"pcp":3,"payload":{{"kind":"raw"}}}},"source":{source}}}"#
        );
        let mut generator = Generator::new(&serde_json::from_str(&text).unwrap()).unwrap();
        let mut times = Vec::new();
        while let (Some(Release::At(time)), true) = (generator.next_release(), times.len() < n) {
            times.push(time);
            assert_eq!(generator.take().unwrap().len(), 100);
        }
        times
    }

    #[test]
    fn every_source_keeps_its_time() {
        let periodic = r#"{"kind":"periodic","frame_bytes":100,"period_ps":5,"start_ps":2,"count":3}"#;
        assert_eq!(releases(periodic, 9), [2, 7, 12]);
        let burst = r#"{"kind":"burst","frame_bytes":100,"size":2,"period_ps":5,"count":5}"#;
        assert_eq!(releases(burst, 9), [0, 0, 5, 5, 10]);
        let poisson = r#"{"kind":"poisson","frame_bytes":100,"mean_ps":1000000,"seed":3}"#;
        let times = releases(poisson, 20_001);
        assert!((times[20_000] as f64 / 20e9 - 1.0).abs() < 0.03);
        let normal = r#"{"kind":"normal","frame_bytes":100,"mean_ps":1000,"deviation_ps":100,"seed":3}"#;
        assert!((releases(normal, 10_001)[10_000] as f64 / 10e6 - 1.0).abs() < 0.01);
        assert_eq!(releases(normal, 50), releases(normal, 50));
    }

    /// Locked versions, a named generator and logarithms that are not the system's: a seed says the same everywhere.
    #[test]
    fn a_seed_gives_the_same_times_on_every_machine() {
        let of = |source: &str| releases(&format!(r#"{{{source},"frame_bytes":100,"seed":7}}"#), 5);
        let poisson = of(r#""kind":"poisson","mean_ps":1000000"#);
        let normal = of(r#""kind":"normal","mean_ps":1000000,"deviation_ps":1000"#);
        let jitter = of(r#""kind":"periodic","period_ps":1000000,"jitter":{"uniform_ps":999}"#);
        assert_eq!(poisson, [0, 152_512, 875_969, 2_205_231, 3_391_809]);
        assert_eq!(normal, [0, 998_173, 1_996_461, 2_997_171, 3_996_871]);
        assert_eq!(jitter, [55, 1_000_172, 2_000_717, 3_000_427, 4_000_963]);
    }

    #[test]
    fn jitter_is_about_the_grid_and_never_reorders() {
        let source = r#"{"kind":"periodic","frame_bytes":100,"period_ps":1000,"jitter":{"normal_ps":900},"seed":1}"#;
        let times = releases(source, 10_000);
        assert!(times.windows(2).all(|w| w[0] <= w[1]));
        assert!((times[9_999] as f64 - 9_999_000.0).abs() < 10_000.0);
        let source = r#"{"kind":"periodic","frame_bytes":100,"period_ps":1000,"jitter":{"uniform_ps":100},"seed":1}"#;
        assert!(releases(source, 1000).iter().enumerate().all(|(n, t)| (0..=100).contains(&(t - 1000 * n as u64))));
    }
}
