// SPDX-License-Identifier: Apache-2.0
//! Whatever comes from the wire is answered; what is taken for a frame is put together again from its parts.
#![no_main]
use libfuzzer_sys::fuzz_target;

use penstock_end::frame::{parse, Carrier};

fuzz_target!(|input: (Option<u16>, &[u8])| {
    let (stripped, bytes) = input;
    if let Ok(found) = parse(bytes, stripped) {
        let header = found.header.encode();
        assert!(bytes.windows(header.len()).any(|window| window == header));
        assert!(found.tag.is_none_or(|tag| tag.vlan < 4096 && tag.pcp < 8));
        assert!(!matches!(found.carrier, Carrier::Raw { ethertype: ..0x0600 }));
    }
});
