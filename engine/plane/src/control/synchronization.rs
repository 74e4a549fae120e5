// SPDX-License-Identifier: Apache-2.0
//! What is told of in-band synchronization.
use penstock_shaper::egress::Tick;
use penstock_shaper::in_band::{Drift, Phase, Sample, Time, SLOPE_BITS};
use penstock_shaper::ptp_clock::PtpClock;
use serde_json::{json, Value};

use crate::plane::{Plane, Role};

/// As the plane's thread copies it.
#[derive(Debug)]
pub struct Synchronization {
    tick: Tick,
    clock: PtpClock,
    told: Option<Told>,
}

#[derive(Debug)]
enum Told {
    Origin { phase: Phase, samples: Vec<(Phase, Sample)>, drift: Option<Drift>, given: Option<Drift>, lost: u32 },
    Follower { is_set: bool, is_compensated: bool },
}

fn ns(time: Time) -> f64 {
    time as f64 / 2_f64.powi(32)
}

fn line(drift: Option<Drift>) -> Value {
    let of = |drift: Drift| {
        let slope_ppb = drift.slope as f64 / 2_f64.powi(SLOPE_BITS as i32) * 1e9;
        json!({"at_ns": (drift.at >> 32) as i64, "intercept_ns": ns(drift.intercept), "slope_ppb": slope_ppb})
    };
    drift.map_or(Value::Null, of)
}

impl Synchronization {
    pub fn of(plane: &Plane, port: usize, tick: Tick) -> Self {
        let told = plane.role(port).map(|role| match role {
            Role::Origin(origin) => Told::Origin {
                phase: origin.phase(),
                samples: origin.samples().to_vec(),
                drift: origin.drift(),
                given: origin.given(),
                lost: origin.lost(),
            },
            Role::Follower(follower) => {
                Told::Follower { is_set: follower.is_set(), is_compensated: follower.is_compensated() }
            }
        });
        Self { tick, clock: *plane.clock(), told }
    }

    pub fn shown(&self) -> Value {
        let time = self.clock.time_at(self.tick);
        // Two planes of one machine have the same ticks: what each clock shows in one of them is their true difference.
        let clock = json!({
            "tick": self.tick,
            "time_ns": (time >> 32) as i64,
            "fraction": time as u32,
            "increment": self.clock.increment(),
        });
        match &self.told {
            None => json!({"ok": true, "role": null, "clock": clock}),
            Some(Told::Follower { is_set, is_compensated }) => {
                json!({"ok": true, "role": "follower", "set": is_set, "compensated": is_compensated, "clock": clock})
            }
            Some(Told::Origin { phase, samples, drift, given, lost }) => {
                let each = samples.iter().map(|(phase, sample)| {
                    json!({
                        "phase": phase.name(),
                        "at_ns": (sample.at >> 32) as i64,
                        "round_trip_ns": ns(sample.round_trip),
                        "error_ns": ns(sample.error),
                    })
                });
                json!({
                    "ok": true,
                    "role": "origin",
                    "phase": phase.name(),
                    "samples": each.collect::<Vec<_>>(),
                    "drift": line(*drift),
                    "compensated": line(*given),
                    "lost": lost,
                    "clock": clock,
                })
            }
        }
    }
}
