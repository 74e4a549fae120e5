// SPDX-License-Identifier: Apache-2.0
//! What the hardware under simulation and its model have in common.
use pyo3::prelude::*;

use penstock_net::bridge::device::{Device, DeviceError, Event, Frame, State, Ways};

use crate::{HardwareError, InputError};

/// A switch with wires and registers.
pub trait Driven: Send + Sync {
    /// Between two looks at whether the user wants to stop.
    fn slice_cycles(&self) -> u64;
    fn state(&self) -> State;
    fn pushed(&self) -> u64;
    fn push(&mut self, frame: Frame) -> PyResult<u64>;
    fn link(&mut self, port: usize, up: bool, rate_ppb: Option<i64>) -> PyResult<()>;
    fn run(&mut self, until_cycle: u64);
    fn take_events(&mut self) -> Vec<Event>;
    fn write(&mut self, address: u32, value: u32) -> PyResult<()>;
    fn read(&mut self, address: u32) -> PyResult<u32>;
    /// How often frames were judged each way; only a model has several.
    fn ways(&self) -> Option<Ways> {
        None
    }
}

pub fn hardware_error(error: penstock_rtl::HardwareError) -> PyErr {
    HardwareError::new_err(error.to_string())
}

pub fn device_error(error: DeviceError) -> PyErr {
    match error {
        DeviceError::Bridge(error) => InputError::new_err(error.to_string()),
        error => HardwareError::new_err(error.to_string()),
    }
}

impl Driven for penstock_rtl::Switch {
    fn slice_cycles(&self) -> u64 {
        500_000
    }

    fn state(&self) -> State {
        self.state()
    }

    fn pushed(&self) -> u64 {
        self.pushed()
    }

    fn push(&mut self, frame: Frame) -> PyResult<u64> {
        self.push(frame).map_err(hardware_error)
    }

    fn link(&mut self, port: usize, up: bool, rate_ppb: Option<i64>) -> PyResult<()> {
        self.link(port, up, rate_ppb).map_err(hardware_error)
    }

    fn run(&mut self, until_cycle: u64) {
        self.run(until_cycle);
    }

    fn take_events(&mut self) -> Vec<Event> {
        let events = self.events().to_vec();
        self.clear_events();
        events
    }

    fn write(&mut self, address: u32, value: u32) -> PyResult<()> {
        self.write(address, value).map_err(hardware_error)
    }

    fn read(&mut self, address: u32) -> PyResult<u32> {
        self.read(address).map_err(hardware_error)
    }
}

impl Driven for Device {
    fn slice_cycles(&self) -> u64 {
        50_000_000
    }

    fn state(&self) -> State {
        self.state()
    }

    fn pushed(&self) -> u64 {
        self.pushed()
    }

    fn push(&mut self, frame: Frame) -> PyResult<u64> {
        self.push(frame).map_err(device_error)
    }

    fn link(&mut self, _port: usize, _up: bool, _rate_ppb: Option<i64>) -> PyResult<()> {
        Err(HardwareError::new_err("the wires of the model are always up and in step; only the hardware's can be cut"))
    }

    fn run(&mut self, until_cycle: u64) {
        self.run(until_cycle);
    }

    fn take_events(&mut self) -> Vec<Event> {
        self.take_events()
    }

    fn write(&mut self, address: u32, value: u32) -> PyResult<()> {
        self.write(address, value).map_err(device_error)
    }

    fn read(&mut self, address: u32) -> PyResult<u32> {
        self.read(address).map_err(device_error)
    }

    fn ways(&self) -> Option<Ways> {
        Some(self.ways())
    }
}
