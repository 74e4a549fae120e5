// SPDX-License-Identifier: Apache-2.0
//! What can be asked, a line of JSON each, and the answers.
use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::Duration;

use penstock_shaper::admission::CLASSES;
use penstock_shaper::in_band::{Plan, Time};
use serde::Deserialize;
use serde_json::{json, Value};

use super::metrics;
use super::snapshot::LevelShown;
use super::{Command, Line, Outcome};
use crate::arrivals::{Flow, Watched};
use crate::config::{refuse, GatesConfig, Refused, Rule, StreamConfig};
use crate::gating::admin_list;
use crate::quantity::Nanoseconds;
use crate::table::Table;

/// A longer line is none.
pub const MOST_REQUEST_BYTES: usize = 1 << 20;
const MOST_LIMIT: u32 = 1 << 20;
/// A list waits until the one that is pending has taken over, at most so often and long.
const RETRIES: u32 = 500;
const RETRY_AFTER: Duration = Duration::from_millis(2);

#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
enum Request {
    Gates {
        port: String,
        gates: GatesConfig,
    },
    Table {
        table: Vec<Rule>,
        #[serde(default)]
        streams: BTreeMap<String, StreamConfig>,
    },
    Limit {
        port: String,
        class: u8,
        frames: u32,
    },
    /// Begins; without a plan, asks how far it is.
    Sync {
        port: String,
        plan: Option<PlanConfig>,
    },
    Counters,
    Occupancy,
    Metrics,
    Watch {
        port: String,
        class: u8,
    },
    Arrivals,
    Stop,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanConfig {
    interval: Nanoseconds,
    probes: u32,
    probes_after_set: u32,
    #[serde(default)]
    checks: u32,
}

impl PlanConfig {
    fn checked(&self) -> Result<Plan, Refused> {
        let Self { interval, probes, probes_after_set, checks } = *self;
        let plan = Plan { interval: Time::from(interval.0) << 32, probes, probes_after_set, checks };
        plan.check().map_or_else(
            |error| {
                let told = error.to_string();
                let (what, allowed) = told.split_once("; ").unwrap_or((&told, "what it says"));
                refuse("plan", what, allowed.trim_end_matches(" are allowed"))
            },
            |()| Ok(plan),
        )
    }
}

/// Answers a line; `ports` are the names of the plane's.
pub fn answer(text: &[u8], ports: &[String], line: &Line) -> Value {
    match perform(text, ports, line) {
        Ok(answer) => answer,
        Err(Refused { place, what, allowed }) => {
            json!({"ok": false, "error": {"place": place, "what": what, "allowed": allowed}})
        }
    }
}

fn perform(text: &[u8], ports: &[String], line: &Line) -> Result<Value, Refused> {
    let request = match serde_json::from_slice(text) {
        Ok(request) => request,
        Err(error) => return refuse("request", error.to_string(), "a line of JSON as docs/plane.md has it"),
    };
    match request {
        Request::Gates { port, gates } => {
            let (port, list) = (port_of(&port, ports)?, admin_list("gates", &gates)?);
            for _ in 0..RETRIES {
                match ask(line, Command::Gates { port, list: list.clone() })? {
                    Outcome::Locked => thread::sleep(RETRY_AFTER),
                    outcome => return shown(outcome),
                }
            }
            refuse("gates", "the list that is pending has not taken over yet", "again later")
        }
        Request::Table { table, streams } => {
            let find = |name: &str| ports.iter().position(|port| port == name);
            shown(ask(line, Command::Table(Table::new(&table, &streams, &find, &ports.join(", "))?))?)
        }
        Request::Limit { port, class, frames } => {
            let (port, class) = (port_of(&port, ports)?, class_of(class)?);
            if frames > MOST_LIMIT {
                return refuse("frames", frames.to_string(), format!("0 to {MOST_LIMIT}"));
            }
            shown(ask(line, Command::Limit { port, class, frames })?)
        }
        Request::Sync { port, plan } => {
            let port = port_of(&port, ports)?;
            match plan {
                Some(plan) => shown(ask(line, Command::Synchronize { port, plan: plan.checked()? })?),
                None => shown(ask(line, Command::Synchronization { port })?),
            }
        }
        Request::Counters => shown(ask(line, Command::Counters)?),
        Request::Occupancy => shown(ask(line, Command::Occupancy)?),
        Request::Metrics => match ask(line, Command::Counters)? {
            Outcome::Counters(snapshot) => Ok(json!({"ok": true, "text": metrics::text(&snapshot.shown())})),
            outcome => shown(outcome),
        },
        Request::Watch { port, class } => {
            shown(ask(line, Command::Watch { port: port_of(&port, ports)?, class: class_of(class)? })?)
        }
        Request::Arrivals => match ask(line, Command::Arrivals)? {
            Outcome::Arrivals(Some(watched)) => Ok(arrivals(&watched, ports)),
            Outcome::Arrivals(None) => refuse("arrivals", "nothing is watched", "behind a request to watch"),
            outcome => shown(outcome),
        },
        Request::Stop => shown(ask(line, Command::Stop)?),
    }
}

fn port_of(name: &str, ports: &[String]) -> Result<usize, Refused> {
    match ports.iter().position(|port| port == name) {
        Some(port) => Ok(port),
        None => refuse("port", format!("\"{name}\" is no port"), ports.join(", ")),
    }
}

fn class_of(class: u8) -> Result<usize, Refused> {
    match usize::from(class) {
        class if class < CLASSES => Ok(class),
        _ => refuse("class", format!("class {class}"), "0 to 7"),
    }
}

/// Flows once, and of each frame when it came, its length and the number of its flow.
fn arrivals(watched: &Watched, ports: &[String]) -> Value {
    let flows: BTreeSet<Flow> = watched.frames.iter().map(|frame| frame.flow).collect();
    let flows: Vec<Flow> = flows.into_iter().collect();
    let number = |flow: &Flow| flows.binary_search(flow).unwrap_or_default();
    let frames = watched.frames.iter().map(|frame| (frame.time_tai_ns, frame.bytes, number(&frame.flow)));
    json!({
        "ok": true,
        "port": ports.get(watched.port),
        "class": watched.class,
        "frames": frames.collect::<Vec<_>>(),
        "flows": flows.iter().map(flow_shown).collect::<Vec<_>>(),
        "beyond": watched.beyond,
    })
}

fn flow_shown(flow: &Flow) -> Value {
    let &Flow { vlan, source, destination, destination_port } = flow;
    let port = (destination_port > 0).then_some(destination_port);
    json!({"vlan": vlan, "source": shown_mac(source), "destination": shown_mac(destination), "destination_port": port})
}

fn shown_mac(address: u64) -> String {
    let [_, _, octets @ ..] = address.to_be_bytes();
    octets.map(|octet| format!("{octet:02x}")).join(":")
}

fn ask(line: &Line, command: Command) -> Result<Outcome, Refused> {
    match line.ask(command) {
        Some(outcome) => Ok(outcome),
        None => refuse("request", "the plane gives no answer", "again later"),
    }
}

fn shown(outcome: Outcome) -> Result<Value, Refused> {
    Ok(match outcome {
        Outcome::Done => json!({"ok": true}),
        Outcome::Changes { tai_ns } => json!({"ok": true, "config_change_time_tai_ns": tai_ns}),
        Outcome::Refused(refused) => return Err(refused),
        Outcome::Arrivals(_) => json!({"ok": true}),
        Outcome::Synchronization(told) => told.shown(),
        Outcome::Locked => return refuse("gates", "another list is pending", "again later"),
        Outcome::Counters(snapshot) => match serde_json::to_value(snapshot.shown()) {
            Ok(Value::Object(mut told)) => {
                told.insert("ok".into(), true.into());
                Value::Object(told)
            }
            _ => json!({"ok": true}),
        },
        Outcome::Occupancy(levels) => {
            let ports: BTreeMap<&str, Vec<LevelShown>> = levels
                .1
                .iter()
                .map(|(name, of)| {
                    let each = of.iter().enumerate().map(|(class, &level)| LevelShown { class, level });
                    (name.as_str(), each.collect())
                })
                .collect();
            json!({"ok": true, "time_ns": levels.0, "ports": ports})
        }
    })
}
