// SPDX-License-Identifier: Apache-2.0
//! The model of a card with several ports: each is a card by itself, and they have nothing in common but their number.
use std::sync::Arc;
use std::time::Duration;

use super::{Model, PORT, PORTS};
use crate::card::{Card, NoRegister, Outcome};
use crate::memory::Memory;
use crate::ring::{Layout, RingError};

pub struct Ports {
    models: Vec<Model>,
    port: usize,
}

impl Ports {
    /// So many ports, one at least, each as [`Model::new`] makes them.
    pub fn new(count: usize, pairs: usize, rate_bps: u64) -> Self {
        Self { models: (0..count.max(1)).map(|_| Model::new(pairs, rate_bps)).collect(), port: 0 }
    }

    fn selected(&mut self) -> &mut Model {
        &mut self.models[self.port]
    }
}

impl Card for Ports {
    fn ports(&self) -> usize {
        self.models.len()
    }

    fn select(&mut self, port: usize) {
        self.port = port.min(self.models.len() - 1);
    }

    fn pairs(&self) -> usize {
        self.models[self.port].pairs()
    }

    fn set_memory(&mut self, memory: Arc<Memory>) {
        self.selected().set_memory(memory);
    }

    fn set_features(&mut self, features: u64) {
        self.selected().set_features(features);
    }

    fn start(&mut self, ring: usize, layout: Layout, next: u16) -> Result<(), RingError> {
        self.selected().start(ring, layout, next)
    }

    fn stop(&mut self, ring: usize) -> u16 {
        self.selected().stop(ring)
    }

    fn kick(&mut self, ring: usize) {
        self.selected().kick(ring);
    }

    fn receive(&mut self, frame: &[u8]) {
        self.selected().receive(frame);
    }

    fn advance(&mut self, since_begin: Duration, outcome: &mut Outcome) -> Option<Duration> {
        self.selected().advance(since_begin, outcome)
    }

    fn read(&mut self, address: u16) -> Result<u32, NoRegister> {
        match address & 0xFFFC {
            PORTS => Ok(self.models.len() as u32),
            PORT => Ok(self.port as u32),
            _ => self.selected().read(address),
        }
    }

    fn write(&mut self, address: u16, value: u32) -> Result<(), NoRegister> {
        self.selected().write(address, value)
    }
}
