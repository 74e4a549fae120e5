// SPDX-License-Identifier: Apache-2.0
//! Each different header of a frame is kept once, while it is needed.
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

pub use penstock_frame::{Header, HostWay, Ipv4Fields, Tag};

/// Index into [`Headers`].
pub type HeaderId = u32;

/// Headers that are kept though no frame has them.
const IDLE: usize = 1024;

/// Headers, each once: those of sources, which last, and those of frames that are inside, for as long.
#[derive(Clone, Debug, Default)]
pub struct Headers {
    lasting: Arc<[Header]>,
    /// And how many frames have it.
    passing: HashMap<HeaderId, (Header, u32)>,
    ids: HashMap<Header, HeaderId>,
    /// Those that no frame has any more, as long ago as they were needed.
    idle: VecDeque<HeaderId>,
    /// The number of the next one, less those that last. It comes again after all others only, when nobody remembers what
    /// followed from the header that had it.
    next: u32,
}

impl Headers {
    pub fn new() -> Self {
        Self::default()
    }

    /// With those that others know by the same numbers.
    pub fn over(lasting: &Arc<[Header]>) -> Self {
        Self { lasting: Arc::clone(lasting), ..Self::default() }
    }

    /// All that were interned, by their numbers, if none was released.
    pub fn into_lasting(self) -> Arc<[Header]> {
        let mut all: Vec<(HeaderId, Header)> = self.passing.into_iter().map(|(id, (header, _))| (id, header)).collect();
        all.sort_unstable_by_key(|(id, _)| *id);
        all.into_iter().map(|(_, header)| header).collect()
    }

    /// Until it is released as often.
    pub fn intern(&mut self, header: &Header) -> HeaderId {
        let known = self.ids.get(header).copied();
        let id = known.unwrap_or_else(|| self.free());
        self.ids.insert(*header, id);
        self.passing.entry(id).or_insert((*header, 0)).1 += 1;
        id
    }

    fn free(&mut self) -> HeaderId {
        let first = self.lasting.len() as HeaderId;
        loop {
            let id = first + self.next;
            self.next = (self.next + 1) % (HeaderId::MAX - first);
            if !self.passing.contains_key(&id) {
                return id;
            }
        }
    }

    /// A header that was interned here is needed once less. It keeps its number for a while, since frames that follow each
    /// other often have the same.
    pub fn release(&mut self, id: HeaderId) {
        let Some((_, count)) = self.passing.get_mut(&id) else { return };
        *count = count.saturating_sub(1);
        if *count > 0 {
            return;
        }
        self.idle.push_back(id);
        if self.idle.len() <= IDLE {
            return;
        }
        let oldest =
            self.idle.pop_front().filter(|oldest| self.passing.get(oldest).is_some_and(|(_, count)| *count == 0));
        if let Some((header, _)) = oldest.and_then(|oldest| self.passing.remove(&oldest)) {
            self.ids.remove(&header);
        }
    }

    /// The number of one that is interned.
    pub fn find(&self, header: &Header) -> Option<HeaderId> {
        self.ids.get(header).copied()
    }

    /// One that lasts or is interned.
    #[inline]
    pub fn get(&self, id: HeaderId) -> &Header {
        self.lasting.get(id as usize).unwrap_or_else(|| &self.passing[&id].0)
    }

    /// Different ones that are kept.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_kept_once() {
        let mut headers = Headers::new();
        let (a, b) = (Header { source: 1, ..Header::default() }, Header::default());
        assert_eq!((headers.intern(&a), headers.intern(&b), headers.intern(&a)), (0, 1, 0));
        assert_eq!((headers.len(), *headers.get(1)), (2, b));
    }
}
