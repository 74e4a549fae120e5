// SPDX-License-Identifier: Apache-2.0
//! One network on several cores, with the results of one.
//!
//! Each core simulates a part of the bridges and their stations, by a kernel of its own that knows the others' bridges
//! by their clocks only. A frame that crosses is known to the other side long before it can have an effect there, so that
//! each goes on by itself until the first instant at which something unknown could happen ([`lookahead`], [`foresight`],
//! [`exchange`]).
//! Events of one instant are acted on in an order that follows from what they are; rows, numbers of frames and fates are
//! put into that order behind the kernels ([`notes`], [`merge`]).
pub(crate) mod cut;
pub(crate) mod exchange;
mod foresight;
pub(crate) mod lookahead;
mod merge;
pub(crate) mod notes;
mod promise;
mod run;
mod team;
mod worker;

pub(crate) use run::run;
