// SPDX-License-Identifier: Apache-2.0
//! When a stream's frames are released, and what they are. Times are those of the station's own clock.
mod content;
mod handover;
mod jitter;
mod media;
mod origin;
mod schedule;

use rand_xoshiro::rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use thiserror::Error;

use penstock_frame::{BuildError, CaptureError};

use crate::describe::{Jitter, Source, SourceKind, Stream};
use crate::header::{HeaderId, Headers};
use crate::near::near;
use content::Content;
use penstock_shaper::{SignedTime, Time};
use schedule::Schedule;

pub use handover::{Handover, Waiting};
pub use origin::Origin;

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
    #[error("{key} is empty; one element or more is wanted")]
    Empty { key: &'static str },
    #[error("quantiles_ps: parts that rise from 0 to 1 with values that do not fall are wanted")]
    Quantiles,
    #[error("media: a sample of 16, 24 or 32 bits and a rate above 0 are wanted")]
    Audio,
    #[error("media: payload_bytes has other lists than the sizes of its pattern, or there is no pattern")]
    Payloads,
    #[error("a handover needs a source with times of its own")]
    NoTimes,
    #[error("IPv4 address \"{0}\": four numbers from 0 to 255 with points between are wanted")]
    Address(String),
    #[error("frame {number} of the capture has {bytes} bytes; up to {most} are allowed")]
    Long { number: usize, bytes: usize, most: u32 },
    #[error("it takes {spread_ps} ps to release a period's frames, more than the period of {period_ps} ps")]
    Spread { spread_ps: Time, period_ps: Time },
}

/// When the next frame is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    At(Time),
    /// As soon as the port is free, but not before this.
    WhenFree(Time),
    /// When another stream's frame has come.
    OnRequest,
}

/// What is released.
#[derive(Clone, Copy, Debug)]
pub struct Released {
    /// Which frame of the stream.
    pub number: u64,
    pub bytes: u16,
    pub header: HeaderId,
    /// Of its tag.
    pub pcp: u8,
}

/// A stream's frames, one after the other.
pub struct Generator {
    schedule: Schedule,
    jitter: Option<Jitter>,
    content: Content,
    random: Xoshiro256PlusPlus,
    /// Frames that are still to be planned, the next one among them.
    left: u64,
    /// Frames given.
    number: u64,
    next: Option<Release>,
    /// The release before the next one, as planned without jitter, and as it was.
    nominal: Time,
    last: Time,
    /// By which the releases of a burst or a period are displaced.
    shift: SignedTime,
}

impl Generator {
    pub fn new(stream: &Stream, headers: &mut Headers) -> Result<Self, SourceError> {
        let schedule = Schedule::of(&stream.source)?;
        let Source { count, seed, ref jitter, ref kind, .. } = stream.source;
        jitter::check(jitter.as_ref())?;
        let jitter = jitter.clone();
        let content = match kind {
            SourceKind::Capture { path } => Content::captured(path, headers)?,
            _ => Content::built(stream.frame.as_ref(), &schedule, headers)?,
        };
        let left = count.unwrap_or(u64::MAX).min(content.frames());
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (nominal, last) = (schedule.start(), 0);
        let mut generator =
            Self { schedule, jitter, content, random, left, number: 0, next: None, nominal, last, shift: 0 };
        generator.plan();
        Ok(generator)
    }

    /// Has what a release needs fetched into the cache.
    #[inline]
    pub fn bring(&self) {
        near(&self.schedule);
        near(&self.jitter);
        near(&self.content);
        near(&self.random);
        near(&self.next);
    }

    /// None when there is no further frame.
    #[inline]
    pub fn next_release(&self) -> Option<Release> {
        self.next
    }

    /// What is between the stream's frames and the talker's port.
    pub fn handover(stream: &Stream) -> Result<Option<Handover>, SourceError> {
        let Some(described) = &stream.handover else { return Ok(None) };
        if matches!(stream.source.kind, SourceKind::BackToBack { .. } | SourceKind::Response { .. }) {
            return Err(SourceError::NoTimes);
        }
        Handover::new(described, stream.source.seed).map(Some)
    }

    /// When the next frame would be released without jitter.
    pub fn nominal(&self) -> Time {
        self.nominal
    }

    /// The next frame.
    pub fn take(&mut self) -> Released {
        let released = self.content.next(self.number, &self.schedule);
        self.number += 1;
        match self.next {
            Some(Release::At(time)) => {
                self.last = time;
                self.left -= 1;
                self.plan();
            }
            Some(Release::WhenFree(_)) => {
                self.left -= 1;
                self.plan();
            }
            _ => {}
        }
        released
    }

    /// Whether it waits for the port to be free, and how long it lets it be free.
    pub fn pause(&mut self) -> Time {
        self.displacement().max(0).unsigned_abs()
    }

    pub fn has_jitter(&self) -> bool {
        self.jitter.is_some()
    }

    /// Of all its frames, unless they come from a capture.
    pub fn pcp(&self) -> u8 {
        match &self.content {
            Content::Built { pcp, .. } => *pcp,
            Content::Captured(_) => 0,
        }
    }

    /// Which stream's frames it answers.
    pub fn answers(&self) -> Option<usize> {
        match self.schedule {
            Schedule::Response { to_stream, .. } => Some(to_stream),
            _ => None,
        }
    }

    /// When it answers what came at a time; none if it answers no more.
    pub fn answer(&mut self, came: Time) -> Option<Time> {
        let Schedule::Response { after, .. } = self.schedule else { return None };
        self.left = self.left.checked_sub(1)?;
        let nominal = came.saturating_add(after);
        self.last = nominal.saturating_add_signed(self.displacement().max(0)).max(self.last);
        Some(self.last)
    }

    /// The content of a frame that was taken, with FCS.
    pub fn fill(&self, number: u64, bytes: u16, buffer: &mut Vec<u8>) -> Result<(), SourceError> {
        self.content.fill(number, bytes, &self.schedule, buffer)
    }

    fn displacement(&mut self) -> SignedTime {
        self.jitter.as_ref().map_or(0, |jitter| jitter::draw(jitter, &mut self.random).into())
    }

    fn plan(&mut self) {
        self.next = if self.left == 0 { None } else { Some(self.plan_next()) };
    }

    fn plan_next(&mut self) -> Release {
        let n = self.number;
        let nominal = match &self.schedule {
            Schedule::BackToBack { start, .. } => return Release::WhenFree(*start),
            Schedule::Response { .. } => return Release::OnRequest,
            schedule => schedule.nominal(n, self.nominal, &self.content, &mut self.random),
        };
        self.nominal = nominal;
        if self.schedule.begins_group(n) {
            self.shift = self.displacement();
        }
        let at = nominal.saturating_add_signed(self.shift);
        // A stream never overtakes itself.
        Release::At(at.max(self.last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generator(source: &str) -> Generator {
        let text = format!(
            r#"{{"name":"s","from":0,"to":[1],"frame":{{"destination_mac":"02:00:00:00:00:02",
            "source_mac":"02:00:00:00:00:01","vlan":10,"pcp":3,"payload":{{"kind":"raw"}}}},"source":{source}}}"#
        );
        Generator::new(&serde_json::from_str(&text).unwrap(), &mut Headers::default()).unwrap()
    }

    fn releases(source: &str, n: usize) -> Vec<u64> {
        let mut generator = generator(source);
        let mut times = Vec::new();
        let mut buffer = Vec::new();
        while let (Some(Release::At(time)), true) = (generator.next_release(), times.len() < n) {
            times.push(time);
            let released = generator.take();
            generator.fill(released.number, released.bytes, &mut buffer).unwrap();
            assert_eq!(buffer.len(), usize::from(released.bytes));
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

    #[test]
    fn a_pattern_repeats_its_lists() {
        let source =
            r#"{"kind":"pattern","period_ps":100,"sizes":[[1000,200],[],[300]],"spread_ps":7,"start_ps":1,"count":7}"#;
        let mut pattern = generator(source);
        let mut seen = Vec::new();
        while let Some(Release::At(time)) = pattern.next_release() {
            seen.push((time, pattern.take().bytes));
        }
        let wanted = [(1, 1000), (8, 200), (201, 300), (301, 1000), (308, 200), (501, 300), (601, 1000)];
        assert_eq!(seen, wanted);
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

    #[test]
    fn every_scheduled_source_takes_every_jitter() {
        for source in [
            r#""kind":"periodic","frame_bytes":100,"period_ps":1000"#,
            r#""kind":"burst","frame_bytes":100,"size":3,"period_ps":1000"#,
            r#""kind":"poisson","frame_bytes":100,"mean_ps":1000"#,
            r#""kind":"normal","frame_bytes":100,"mean_ps":1000,"deviation_ps":10"#,
            r#""kind":"pattern","period_ps":1000,"sizes":[[100,100]],"spread_ps":10"#,
        ] {
            for jitter in [
                r#"{"normal_ps":2000}"#,
                r#"{"uniform_ps":2000}"#,
                r#"{"exponential_ps":2000}"#,
                r#"{"values_ps":[-50,0,3000]}"#,
            ] {
                let times = releases(&format!(r#"{{{source},"jitter":{jitter},"seed":4,"start_ps":5000}}"#), 3_000);
                assert!(times.windows(2).all(|w| w[0] <= w[1]), "{source} {jitter}");
                assert_ne!(times, releases(&format!(r#"{{{source},"seed":4,"start_ps":5000}}"#), 3_000));
            }
        }
    }

    #[test]
    fn answers_keep_their_order() {
        let mut response = generator(
            r#"{"kind":"response","to_stream":0,"after_ps":100,"frame_bytes":64,"count":2,"jitter":{"values_ps":[7]}}"#,
        );
        assert_eq!(response.next_release(), Some(Release::OnRequest));
        assert_eq!(response.answers(), Some(0));
        assert_eq!(response.answer(1_000), Some(1_107));
        assert_eq!(response.answer(990), Some(1_107));
        assert_eq!(response.answer(2_000), None);
        assert_eq!((response.take().number, response.take().number), (0, 1));
    }

    #[test]
    fn wrong_sources_are_refused() {
        let refused = |source: &str| {
            let text = format!(
                r#"{{"name":"s","from":0,"to":[1],"frame":{{"destination_mac":"02:00:00:00:00:02",
                "source_mac":"02:00:00:00:00:01","payload":{{"kind":"raw"}}}},"source":{source}}}"#
            );
            Generator::new(&serde_json::from_str(&text).unwrap(), &mut Headers::default()).err().unwrap().to_string()
        };
        let none = refused(r#"{"kind":"periodic","frame_bytes":100,"period_ps":0}"#);
        assert_eq!(none, "period_ps is 0; 1 or more is allowed");
        assert!(refused(r#"{"kind":"pattern","period_ps":10,"sizes":[[],[]]}"#).contains("sizes is empty"));
        assert!(refused(r#"{"kind":"pattern","period_ps":10,"sizes":[[64,64,64]],"spread_ps":6}"#).contains("12 ps"));
        assert!(refused(r#"{"kind":"poisson","mean_ps":9,"frame_bytes":63}"#).contains("63 bytes"));
        let values = r#"{"kind":"poisson","mean_ps":9,"frame_bytes":64,"jitter":{"values_ps":[]}}"#;
        assert!(refused(values).contains("values_ps is empty"));
    }
}
