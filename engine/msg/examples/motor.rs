// SPDX-License-Identifier: Apache-2.0
use penstock_msg::{Endpoint, Error, Identity, Options};

fn main() -> Result<(), Error> {
    let (sensor, motor) = (Identity(0x0000_0000), Identity(0x0000_0001));
    let node = Endpoint::open(motor, Options::default())?;
    let mut what = [0; 4];
    node.receive(sensor, &mut what)?;
    node.send(sensor, b"done")?;
    println!("{}", String::from_utf8_lossy(&what));
    Ok(())
}
