// SPDX-License-Identifier: Apache-2.0
//! When frames of one class come to one egress port, noted for as long as somebody wants to know.
use penstock_shaper::admission::CLASSES;
use serde::Serialize;

/// Noted of one watch; what comes behind it is counted.
pub const MOST_ARRIVALS: usize = 8192;

/// What tells one flow of a class from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Flow {
    pub vlan: u16,
    /// The first octet on the wire in bits 47:40.
    pub source: u64,
    pub destination: u64,
    /// Of UDP or TCP over IPv4; 0 of others.
    pub destination_port: u16,
}

/// A frame that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noted {
    pub time_tai_ns: u64,
    /// Destination address to FCS.
    pub bytes: u16,
    pub flow: Flow,
}

/// What was noted of a class of a port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watched {
    pub port: usize,
    pub class: usize,
    pub frames: Vec<Noted>,
    /// Frames for which there was no room.
    pub beyond: u64,
}

/// Watches one class of one port, or nothing.
#[derive(Debug, Default)]
pub struct Watch(Option<Watched>);

impl Watch {
    /// Another watch begins; one that runs is forgotten.
    pub fn begin(&mut self, port: usize, class: usize) {
        debug_assert!(class < CLASSES);
        self.0 = Some(Watched { port, class, frames: Vec::with_capacity(MOST_ARRIVALS), beyond: 0 });
    }

    /// Whether what comes to a class of a port is to be noted.
    pub fn wants(&self, port: usize, class: usize) -> bool {
        self.0.as_ref().is_some_and(|watched| (watched.port, watched.class) == (port, class))
    }

    pub fn note(&mut self, noted: Noted) {
        match &mut self.0 {
            Some(watched) if watched.frames.len() < MOST_ARRIVALS => watched.frames.push(noted),
            Some(watched) => watched.beyond += 1,
            None => {}
        }
    }

    /// What was noted, once. None: nobody asked to watch.
    pub fn end(&mut self) -> Option<Watched> {
        self.0.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOW: Flow = Flow { vlan: 10, source: 1, destination: 2, destination_port: 0 };

    #[test]
    fn what_finds_no_room_is_counted_and_a_watch_ends_once() {
        let mut watch = Watch::default();
        assert!(!watch.wants(1, 7));
        assert_eq!(watch.end(), None);
        watch.begin(0, 3);
        watch.begin(1, 7);
        assert!(watch.wants(1, 7) && !watch.wants(0, 3) && !watch.wants(1, 6));
        for number in 0..MOST_ARRIVALS as u64 + 5 {
            watch.note(Noted { time_tai_ns: number, bytes: 64, flow: FLOW });
        }
        let watched = watch.end().unwrap();
        assert_eq!((watched.port, watched.class, watched.frames.len(), watched.beyond), (1, 7, MOST_ARRIVALS, 5));
        assert_eq!(watch.end(), None);
    }
}
