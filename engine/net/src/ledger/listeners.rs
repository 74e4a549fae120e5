// SPDX-License-Identifier: Apache-2.0
//! Whom a stream is meant for.
use penstock_shaper::Time;

/// A station that a stream is meant for.
pub(crate) struct Listener {
    pub station: u32,
    pub last_delivered: Option<Time>,
}

/// In the order of stations. Most streams have one.
pub(crate) enum Listeners {
    One(Listener),
    Several(Vec<Listener>),
}

impl Listeners {
    /// Sorted.
    pub fn of(stations: &[u32]) -> Self {
        let listener = |station| Listener { station, last_delivered: None };
        match *stations {
            [station] => Self::One(listener(station)),
            _ => Self::Several(stations.iter().map(|&station| listener(station)).collect()),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Several(listeners) => listeners.len(),
        }
    }

    /// With its place among them.
    #[inline]
    pub(super) fn find(&mut self, station: u32) -> Option<(usize, &mut Listener)> {
        match self {
            Self::One(listener) => (listener.station == station).then_some((0, listener)),
            Self::Several(listeners) => {
                let place = listeners.binary_search_by_key(&station, |listener| listener.station).ok()?;
                Some((place, &mut listeners[place]))
            }
        }
    }
}
