// SPDX-License-Identifier: Apache-2.0
//! Fetches into the cache.
use prefetch_index::prefetch_index;

/// Has the cache line in which a value begins fetched.
#[inline(always)]
pub fn near<T>(value: &T) {
    prefetch_index(std::slice::from_ref(value), 0);
}
