// SPDX-License-Identifier: Apache-2.0
//! A time that one partition tells and others read.
use penstock_shaper::Time;

/// What was written before a time is set is seen by who gets that time.
#[cfg(not(feature = "wide"))]
#[derive(Default)]
pub struct Promise(std::sync::atomic::AtomicU64);

#[cfg(not(feature = "wide"))]
impl Promise {
    pub fn new(time: Time) -> Self {
        Self(time.into())
    }

    pub fn get(&self) -> Time {
        self.0.load(std::sync::atomic::Ordering::Acquire)
    }

    /// Without what was written before it.
    pub fn get_alone(&self) -> Time {
        self.0.load(std::sync::atomic::Ordering::Relaxed)
    }

    pub fn set(&self, time: Time) {
        self.0.store(time, std::sync::atomic::Ordering::Release);
    }
}

/// The same of a time that no processor writes at once.
#[cfg(feature = "wide")]
#[derive(Default)]
pub struct Promise(std::sync::Mutex<Time>);

#[cfg(feature = "wide")]
impl Promise {
    pub fn new(time: Time) -> Self {
        Self(time.into())
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, Time> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub fn get(&self) -> Time {
        *self.locked()
    }

    pub fn get_alone(&self) -> Time {
        self.get()
    }

    pub fn set(&self, time: Time) {
        *self.locked() = time;
    }
}
