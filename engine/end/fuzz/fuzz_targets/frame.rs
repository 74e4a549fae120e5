// SPDX-License-Identifier: Apache-2.0
//! Whatever comes from the wire is answered; what is taken for a frame holds the header that was found in it.
#![no_main]
use libfuzzer_sys::fuzz_target;

use penstock_end::frame::{parse, Carrier};
use penstock_end::header::Header;

fuzz_target!(|input: (Option<u16>, u32, &[u8])| {
    let (stripped, sequence, bytes) = input;
    check(stripped, bytes);
    // No fuzzer guesses a checksum, so that one is given a good header behind all that it makes up.
    let header = Header { flags: 0, stream: 1, run: 2, sequence, construction_tai_ns: 3, due_tai_ns: 4, clock: 5 };
    let mut whole = bytes.to_vec();
    whole.extend(header.encode());
    check(stripped, &whole);
});

fn check(stripped: Option<u16>, bytes: &[u8]) {
    if let Ok(found) = parse(bytes, stripped) {
        let header = found.header.encode();
        assert!(bytes.windows(header.len()).any(|window| window == header));
        assert!(found.tag.is_none_or(|tag| tag.vlan < 4096 && tag.pcp < 8));
        assert!(!matches!(found.carrier, Carrier::Raw { ethertype: ..0x0600 }));
    }
}
