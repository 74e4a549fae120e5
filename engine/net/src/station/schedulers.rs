// SPDX-License-Identifier: Apache-2.0
//! The ATS schedulers of a talker, between its streams and the queues of its port (802.1Q 8.6.5.6, 8.6.11.3). What is a
//! reception port at a bridge is here the station itself, so that each class has one scheduler group. A frame has arrived
//! in the instant in which it comes to the port, and nothing is added to its eligibility time.
use std::collections::BTreeMap;

use penstock_frame::{BitsPerSecond, Bytes};
use penstock_shaper::ats::Rate;
use penstock_shaper::egress::Tick;

use super::{CLASSES, PORT};
use crate::bridge::meters::{Meters, Shape};
use crate::bridge::{refuse, within, BridgeError};
use crate::describe::Ats;

#[derive(Clone, Debug)]
pub(super) struct Schedulers {
    meters: Meters,
    /// The scheduler of a stream, by its number in the network.
    of_stream: BTreeMap<u32, u16>,
    is_shaped: [bool; CLASSES],
}

impl Schedulers {
    pub fn new(config: &Ats) -> Result<Self, BridgeError> {
        let mut meters = Meters::new(1, config.schedulers.len(), config.overhead_bytes, 0)?;
        let mut is_shaped = [false; CLASSES];
        for &class in &config.classes {
            is_shaped[usize::from(within("class of ATS", class, 0, 7)?)] = true;
        }
        for &(class, ns) in &config.max_residence_ns {
            meters.set_residence_ns(PORT, within("traffic class of a group", class, 0, 7)?, ns);
        }
        let mut of_stream = BTreeMap::new();
        for (scheduler, described) in (0..=u16::MAX).zip(&config.schedulers) {
            let rate = Rate::new(BitsPerSecond(described.rate_bps), Bytes(described.burst_bytes));
            meters.set_rate(scheduler, rate.map_err(|error| refuse("an ATS scheduler".to_owned(), error.to_string()))?);
            for &stream in &described.streams {
                if of_stream.insert(stream, scheduler).is_some() {
                    return Err(refuse(format!("stream {stream} has two ATS schedulers"), "one is allowed"));
                }
            }
        }
        Ok(Self { meters, of_stream, is_shaped })
    }

    /// When a frame that comes now may be selected; none: no scheduler holds it.
    pub fn assign(&mut self, stream: u32, traffic_class: u8, now: Tick, bytes: u16) -> Option<Shape> {
        let scheduler = self.of_stream.get(&stream).filter(|_| self.is_shaped[usize::from(traffic_class & 7)])?;
        let metering = self.meters.metering(PORT, traffic_class & 7);
        Some(self.meters.shape((PORT, traffic_class & 7), u32::from(*scheduler), (now, bytes), &metering, now))
    }

    /// As after a start: all buckets are full.
    pub fn restart(&mut self) {
        self.meters.restart();
    }
}
