// SPDX-License-Identifier: Apache-2.0
//! Strict priority (802.1Q 8.6.8.1): the highest traffic class that may send is served. Twin of `pen_selection`.

/// The highest of a mask of classes, bit k for class k.
#[inline(always)]
pub(super) fn first(classes: u8) -> Option<usize> {
    classes.checked_ilog2().map(|class| class as usize)
}
