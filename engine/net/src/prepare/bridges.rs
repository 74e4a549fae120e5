// SPDX-License-Identifier: Apache-2.0
//! What stands between stations.
use std::collections::BTreeMap;
use std::sync::Arc;

use penstock_shaper::gates::Lists;
use penstock_shaper::Time;

use super::{once, Part};
use crate::bridge::{Bridge, Timing};
use crate::clock::Clock;
use crate::describe::{self, BridgeKind, Fault, Network};
use crate::error::{wrong, RunError};
use crate::header::Header;
use crate::links::Links;
use crate::node::Node;
use crate::nodes::{BridgeNode, Foreign, Guest, Hosted, Member};

/// Of every port of the hardware, and of models of it.
const HARDWARE_BPS: u64 = 1_000_000_000;

pub(super) fn members(
    network: &Network,
    guests: Vec<Box<dyn Node>>,
    links: &Links,
    headers: &Arc<[Header]>,
    end: Time,
    part: Option<&Part>,
) -> Result<Vec<Member>, RunError> {
    let stations = network.stations.iter().map(|station| &station.name);
    once("nodes", network.bridges.iter().map(|bridge| &bridge.name).chain(stations))?;
    let mut guests = guests.into_iter();
    let (mut made, mut lists) = (Vec::new(), Lists::default());
    for (index, bridge) in network.bridges.iter().enumerate() {
        let name = &bridge.name;
        let describe::Clock { offset_ps, drift_ppb } = bridge.clock;
        let clocked = |source| RunError::Clock { node: name.clone(), source };
        let hardware_like = match bridge.kind {
            BridgeKind::Rtl => true,
            BridgeKind::Model => bridge.timing == describe::Timing::Hardware,
            BridgeKind::Own => false,
        };
        let clock = if hardware_like { Clock::cycles(offset_ps, drift_ppb) } else { Clock::fine(offset_ps, drift_ppb) };
        let clock = clock.map_err(clocked)?;
        let rates = links.of_bridge(index, bridge.ports);
        if hardware_like {
            if let Some(wire) = rates.iter().flatten().find(|wire| wire.rate.bps() != HARDWARE_BPS) {
                let rate = wire.rate.bps();
                return Err(wrong(format!(
                    "bridge \"{name}\": a link of {rate} b/s; its timing allows {HARDWARE_BPS} only"
                )));
            }
        }
        if let Some(partition) = part.and_then(|part| part.foreign(index)) {
            made.push(Member::Foreign(Box::new(Foreign { clock, partition })));
            continue;
        }
        let first_port = links.index(index as u32, 0) as u32;
        made.push(match bridge.kind {
            BridgeKind::Rtl | BridgeKind::Own => {
                let node = guests.next().ok_or_else(|| wrong(format!("bridge \"{name}\": no node for it")))?;
                if node.ports() != bridge.ports {
                    let (has, wanted) = (node.ports(), bridge.ports);
                    return Err(wrong(format!("bridge \"{name}\": {wanted} ports, but its node has {has}")));
                }
                Member::Guest(Box::new(Guest::new(name, node, first_port)))
            }
            BridgeKind::Model => {
                let timing = match bridge.timing {
                    describe::Timing::Hardware => Timing::Hardware,
                    describe::Timing::Ideal { processing_delay_ps, cut_through_bytes } => Timing::Ideal {
                        processing_delay_ps,
                        cut_through_bytes,
                        // A port without a link sends as fast as any.
                        rates_bps: rates.iter().map(|wire| wire.map_or(HARDWARE_BPS, |wire| wire.rate.bps())).collect(),
                    },
                };
                let wrong = |source| RunError::Bridge { bridge: name.clone(), source };
                let mut model = Bridge::new(bridge.ports, &bridge.config, &timing).map_err(wrong)?;
                model.start_clock(clock.at_or_before(0), &bridge.config, &mut lists).map_err(wrong)?;
                let mut model = BridgeNode::new(model, clock, first_port, headers, end);
                if bridge.config.host {
                    model.set_host();
                }
                if bridge.config.ptp_correction != 0 {
                    model.set_correcting();
                }
                if network.faults.iter().any(|fault| matches!(fault, Fault::NodeDown { node, .. } if *node == index)) {
                    model.set_mortal();
                }
                Member::Bridge(Box::new(model))
            }
        });
    }
    Ok(made)
}

/// What is no model has no state to come back with.
pub(super) fn check_deaths(network: &Network, programs: &BTreeMap<u32, Hosted>) -> Result<(), RunError> {
    for fault in &network.faults {
        let Fault::NodeDown { node, .. } = *fault else { continue };
        let is_foreign = match network.bridges.get(node) {
            Some(bridge) => bridge.kind != BridgeKind::Model,
            None => {
                let index = node - network.bridges.len();
                let has_card = network.stations.get(index).is_some_and(|station| station.card.is_some());
                has_card || programs.contains_key(&(index as u32))
            }
        };
        if is_foreign {
            return Err(wrong(format!("a fault of node {node}: only models of bridges and of stations can die")));
        }
    }
    Ok(())
}
