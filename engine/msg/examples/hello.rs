// SPDX-License-Identifier: Apache-2.0
//! Two nodes on the loopback network, and a message from one to the other.
use penstock_msg::{Endpoint, Error, Identity, Options};

fn main() -> Result<(), Error> {
    let options = Options { network: [127, 0], ..Options::default() };
    let (sensor, motor) = (Identity(0x0000_0000), Identity(0x0001_0100));
    let (from, to) = (Endpoint::open(sensor, options.clone())?, Endpoint::open(motor, options)?);
    from.send(motor, b"turn")?;
    let mut message = vec![0; to.next_bytes(sensor)? as usize];
    to.receive(sensor, &mut message)?;
    println!("{motor} has from {sensor}: {}", String::from_utf8_lossy(&message));
    Ok(())
}
