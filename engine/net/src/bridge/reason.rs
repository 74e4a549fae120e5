// SPDX-License-Identifier: Apache-2.0
//! The reasons that a bridge gives; the numbers of `reason_e` in pen_pkg.sv.
use crate::trace::Reason;

pub const NONE: Reason = Reason(0);
pub const PREAMBLE: Reason = Reason(1);
pub const RX_ER: Reason = Reason(2);
pub const GIANT: Reason = Reason(3);
pub const RUNT: Reason = Reason(4);
pub const FCS: Reason = Reason(5);
pub const OVERRUN: Reason = Reason(6);
pub const PORT_DISABLED: Reason = Reason(7);
pub const RESERVED_ADDRESS: Reason = Reason(8);
pub const VLAN: Reason = Reason(9);
pub const NO_DESTINATION: Reason = Reason(10);
pub const RESIDENCE: Reason = Reason(11);
pub const STORE_FULL: Reason = Reason(12);
pub const QUEUE_FULL: Reason = Reason(13);
pub const CLASS_FULL: Reason = Reason(14);
pub const LIFETIME: Reason = Reason(15);
pub const MAX_SDU: Reason = Reason(16);
