// SPDX-License-Identifier: Apache-2.0
//! The device's side of the vhost-user protocol (QEMU's docs/interop/vhost-user.rst), as far as a network card with several
//! queue pairs needs it. QEMU enables rings before it sets features, which the usual crate refuses.
mod connection;
mod message;
mod session;

pub use connection::{Connection, Received};
pub use message::{Message, MessageError, MOST_FILES, MOST_PAYLOAD_BYTES};
pub use session::{Session, SessionError};
