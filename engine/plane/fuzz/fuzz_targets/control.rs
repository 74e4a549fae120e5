// SPDX-License-Identifier: Apache-2.0
//! Whatever is asked is answered, with what is allowed where it is wrong; what can be a file is a plane or refused.
#![no_main]
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

use penstock_plane::config::Config;
use penstock_plane::control::{answer, Line};
use penstock_plane::plane::Plane;

fuzz_target!(|text: &[u8]| {
    // Nobody is at its other end, so that what is right is answered at once, too.
    static LINE: OnceLock<Line> = OnceLock::new();
    let line = LINE.get_or_init(|| Line::new().expect("a pipe").0);
    let told = answer(text, &["a".into(), "b".into()], line);
    assert_eq!(told["ok"], false);
    assert!(told["error"]["allowed"].as_str().is_some_and(|allowed| !allowed.is_empty()));
    if let Ok(mut config) = serde_json::from_slice::<Config>(text) {
        config.buffers = config.buffers.min(64);
        if let Err(refused) = Plane::new(&config, 1_000, 5_000_000_000) {
            assert!(!refused.allowed.is_empty());
        }
    }
});
