// SPDX-License-Identifier: Apache-2.0
//! In-band synchronization at the ports of a plane: its frames wait in queues as any other, and are stamped when they leave.
use penstock_frame::{Edit, FCS_BYTES, MIN_FRAME_BYTES};
use penstock_shaper::admission::Pool;
use penstock_shaper::egress::{Queued, Tick, NEVER};
use penstock_shaper::in_band::{is_ours, Follower, Message, Origin, Plan, PlanError, FRAME_BYTES};
use penstock_shaper::ptp_clock::Command;

use super::{Departure, Note, Plane};
use crate::line::TICK_NS;

/// Of the frames of the protocol.
const CLASS: u8 = 7;
/// How often a compensated clock is trimmed.
const TRIM_EVERY: Tick = 1_000_000_000 / TICK_NS;

/// What a port is in the protocol.
#[derive(Clone, Debug)]
pub enum Role {
    Origin(Box<Origin>),
    Follower(Follower),
}

/// Of all ports.
#[derive(Debug)]
pub struct Sync {
    pub(super) roles: Vec<Option<Role>>,
    /// Frames of the protocol have been queued.
    is_used: bool,
    trim_at: Tick,
    source: [u8; 6],
}

impl Sync {
    /// Ports that may set the clock are told.
    pub fn new(follows: impl Iterator<Item = bool>, now: Tick) -> Self {
        let roles = follows.map(|follows| follows.then(|| Role::Follower(Follower::default()))).collect();
        // Locally administered; nobody answers to it.
        Self { roles, is_used: false, trim_at: now, source: [2, 0x50, 0x45, 0x4E, 0, 0] }
    }

    fn is_set(&self) -> bool {
        self.roles.iter().flatten().any(|role| matches!(role, Role::Follower(follower) if follower.is_set()))
    }
}

impl Plane {
    /// A port begins to synchronize whoever follows behind it. What it did before in the protocol is forgotten.
    pub fn synchronize(&mut self, port: usize, plan: Plan, now: Tick) -> Result<(), PlanError> {
        let origin = Origin::new(plan, self.time.clock().time_at(now))?;
        self.sync.roles[port] = Some(Role::Origin(Box::new(origin)));
        Ok(())
    }

    pub fn role(&self, port: usize) -> Option<&Role> {
        self.sync.roles[port].as_ref()
    }

    /// Whether somebody has set its clock, which then follows nothing else.
    pub fn is_set_in_band(&self) -> bool {
        self.sync.is_set()
    }

    /// When an origin sends next.
    pub(super) fn next_sync(&self) -> Tick {
        let clock = self.time.clock();
        let next = self.sync.roles.iter().flatten().filter_map(|role| match role {
            Role::Origin(origin) => origin.next(),
            Role::Follower(_) => None,
        });
        next.map(|time| clock.cycle_of(time)).min().unwrap_or(NEVER)
    }

    /// Sends what is due, and trims the clock.
    pub(super) fn advance_sync(&mut self, now: Tick) {
        let time = self.time.clock().time_at(now);
        for port in 0..self.sync.roles.len() {
            match &mut self.sync.roles[port] {
                Some(Role::Origin(origin)) => {
                    if let Some(message) = origin.send(time) {
                        self.emit(port, message, now);
                    }
                }
                Some(Role::Follower(follower)) if now >= self.sync.trim_at => {
                    if let Some(command) = follower.trim(now, self.time.clock()) {
                        self.obey(command, now);
                    }
                }
                _ => {}
            }
        }
        if now >= self.sync.trim_at {
            self.sync.trim_at = now + TRIM_EVERY;
        }
    }

    /// A frame of the protocol at a port that has a part in it; false: it is no such frame.
    pub(super) fn receive_sync(&mut self, port: usize, frame: &[u8], now: Tick) -> bool {
        let Some(message) = Some(frame).filter(|frame| is_ours(frame)).and_then(Message::decode) else { return false };
        let clock = *self.time.clock();
        match &mut self.sync.roles[port] {
            None => return false,
            Some(Role::Origin(origin)) => origin.receive(&message, clock.time_at(now)),
            Some(Role::Follower(follower)) => {
                let reaction = follower.receive(&message, clock.time_at(now), now, &clock);
                reaction.commands.into_iter().flatten().for_each(|command| self.obey(command, now));
                if let Some(answer) = reaction.answer {
                    self.emit(port, answer, now);
                }
            }
        }
        true
    }

    /// What a clock cannot do it does not.
    fn obey(&mut self, command: Command, now: Tick) {
        let _ = self.command_clock(command, now);
    }

    fn emit(&mut self, port: usize, message: Message, now: Tick) {
        let bytes = (FRAME_BYTES + FCS_BYTES as usize).max(MIN_FRAME_BYTES as usize) as u16;
        if self.ports[port].judge(&self.time, now, usize::from(CLASS), bytes).is_err() {
            return;
        }
        let Some(frame) = self.store.put(&message.encode(self.sync.source), None) else { return };
        self.notes[frame as usize] = Note::default();
        let (reception, traffic_class) = (port as u16, CLASS);
        let copy = Queued {
            visible: now,
            frame,
            bytes,
            reception,
            edit: Edit::NONE,
            traffic_class,
            pool: Pool::Shared,
            shaped: false,
        };
        self.ports[port].enqueue(copy, now);
        self.store.copied(frame);
        self.sync.is_used = true;
    }

    /// A frame leaves now: one of the protocol says so.
    pub fn stamp(&mut self, departure: &Departure, now: Tick) {
        if !self.sync.is_used {
            return;
        }
        let frame = self.store.frame_mut(departure.copy.frame);
        let Some(message) = Some(&*frame).filter(|frame| is_ours(frame)).and_then(Message::decode) else { return };
        let time = self.time.clock().time_at(now);
        let stamped = match message {
            Message::Probe { number, .. } => {
                if let Some(Role::Origin(origin)) = &mut self.sync.roles[departure.port] {
                    origin.left_at(number, time);
                }
                Message::Probe { number, sent: time }
            }
            Message::Set { number, .. } => Message::Set { number, time },
            other => other.leaving_at(time),
        };
        frame[..FRAME_BYTES].copy_from_slice(&stamped.encode(self.sync.source));
    }
}
