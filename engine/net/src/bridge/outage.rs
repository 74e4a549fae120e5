// SPDX-License-Identifier: Apache-2.0
//! What a bridge does when a link of it goes down, or when it dies.
use penstock_shaper::admission::CLASSES;

use super::arrivals::Pending;
use super::{Bridge, Tick};

/// A frame or a copy that is inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inside {
    pub frame: u32,
    /// That it waits for; of a frame that is not judged, by which it came.
    pub port: u16,
    /// None: it is not judged.
    pub traffic_class: Option<u8>,
    /// Of a frame that is not judged: copies that left by cut-through.
    pub forwarded: u64,
}

impl Bridge {
    /// The link of a port goes down: what is being sent ends there, and nothing is selected before `until`. Gives when the
    /// port is to select, if that is new.
    pub fn cut(&mut self, port: u16, at: Tick, until: Tick) -> Option<Tick> {
        let (state, line) = self.ports.at(&self.clock, port);
        state.egress.interrupt(&line, at, until);
        let before = state.due;
        state.plan(&line, at).filter(|due| *due != before)
    }

    /// Without detours, the bridge need not know of its links.
    pub fn has_detours(&self) -> bool {
        !self.forwarding.detours.is_empty()
    }

    /// The bridge knows now that the link of a port is up, or down; gives what waited for it then, which is lost.
    pub fn set_link(&mut self, port: u16, is_up: bool, at: Tick) -> Vec<Inside> {
        self.forwarding.detours.set_link(port, is_up);
        if is_up {
            return Vec::new();
        }
        let lost = self.lose_port(port, at);
        let (state, line) = self.ports.at(&self.clock, port);
        state.plan(&line, at);
        lost
    }

    /// Links are as another bridge knows them.
    pub fn know_links_of(&mut self, other: &Self) {
        self.forwarding.detours.know_links_of(&other.forwarding.detours);
    }

    /// Takes out what waits for a port.
    fn lose_port(&mut self, port: u16, at: Tick) -> Vec<Inside> {
        let mut lost = Vec::new();
        let (state, line) = self.ports.at(&self.clock, port);
        for class in (0..CLASSES).rev() {
            while let Some(copy) = state.egress.drop_head(&line, at, class) {
                self.store.release(port, at, &copy);
                lost.push(Inside { frame: copy.frame, port, traffic_class: Some(copy.traffic_class), forwarded: 0 });
            }
        }
        lost
    }

    /// Takes out all frames, as the bridge dies; what it is afterwards is of no use.
    pub fn lose_all(&mut self, at: Tick) -> Vec<Inside> {
        let unjudged = |(port, place, pending): (u16, usize, &Pending)| {
            let frame = pending.received.frame;
            // Of several frames that came by a port, the first alone can have begun to leave.
            let forwarded = if place == 0 { self.cut_through.left(port) } else { 0 };
            Inside { frame, port, traffic_class: None, forwarded }
        };
        let mut lost: Vec<Inside> = self.arrivals.iter().map(unjudged).collect();
        for port in 0..self.ports() {
            if let Some(give_up) = self.ports.get(port).lifetime.given_up() {
                let (frame, traffic_class) = (give_up.copy.frame, Some(give_up.copy.traffic_class));
                lost.push(Inside { frame, port, traffic_class, forwarded: 0 });
            }
            lost.extend(self.lose_port(port, at));
        }
        lost
    }
}
