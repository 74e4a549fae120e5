// SPDX-License-Identifier: Apache-2.0
//! Messages in the order of QEMU, and such as no virtual machine sends.
use std::fs::File;

use proptest::prelude::*;

use super::*;
use crate::model::Model;

fn message(request: u32, words: &[u64]) -> Message {
    Message { request, needs_reply: true, payload: words.iter().flat_map(|word| word.to_le_bytes()).collect() }
}

fn state(request: u32, ring: u32, value: u32) -> Message {
    message(request, &[u64::from(ring) | u64::from(value) << 32])
}

fn null() -> OwnedFd {
    File::open("/dev/null").unwrap().into()
}

#[test]
fn several_queues_are_enabled_before_features_are_set() {
    let (mut session, mut card) = (Session::new(4), Model::new(4, 1_000_000_000));
    let mut tell = |message: Message, files| session.handle(&message, files, &mut card);
    assert_eq!(tell(message(GET_QUEUE_NUM, &[]), vec![]), Ok(Some(4_u64.to_le_bytes().to_vec())));
    assert_eq!(tell(state(SET_VRING_ENABLE, 3, 1), vec![]), Ok(None));
    assert_eq!(tell(message(SET_FEATURES, &[FEATURES]), vec![]), Ok(None));
    assert_eq!(
        tell(message(SET_FEATURES, &[1 << 29]), vec![]),
        Err(SessionError::Features { features: 1 << 29 }),
        "EVENT_IDX was not offered"
    );
    assert_eq!(tell(state(GET_VRING_BASE, 3, 0), vec![]), Ok(Some(vec![3, 0, 0, 0, 0, 0, 0, 0])));
}

#[test]
fn what_does_not_fit_is_refused() {
    let (mut session, mut card) = (Session::new(2), Model::new(2, 1_000_000_000));
    let mut tell = |message: Message, files| session.handle(&message, files, &mut card).unwrap_err();
    assert_eq!(tell(message(99, &[]), vec![]), SessionError::Unknown { request: 99 });
    assert_eq!(tell(state(SET_VRING_NUM, 4, 8), vec![]), SessionError::Ring { ring: 4, rings: 4 });
    let request = SET_VRING_KICK;
    assert_eq!(tell(message(request, &[1]), vec![]), SessionError::Files { request, files: 0 });
    assert_eq!(tell(message(request, &[1 | NO_FILE]), vec![null()]), SessionError::Files { request, files: 1 });
    let request = SET_MEM_TABLE;
    assert_eq!(tell(message(request, &[1, 0, 0]), vec![null()]), SessionError::Payload { request, bytes: 24 });
    assert_eq!(tell(message(request, &[1, 0, 4096, 0, 0]), vec![]), SessionError::Files { request, files: 0 });
    let refused = tell(message(request, &[1, 0, 4096, 0, 0]), vec![null()]);
    assert!(matches!(refused, SessionError::Memory(_)), "{refused:?}: a file that is too short");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_messages_at_all(
        messages in prop::collection::vec((0_u32..40, prop::collection::vec(any::<u8>(), 0..48), 0_usize..3), 1..40),
    ) {
        let (mut session, mut card) = (Session::new(4), Model::new(4, 1_000_000_000));
        for (request, payload, files) in messages {
            let message = Message { request, needs_reply: false, payload };
            // Refused or not, the session goes on.
            let _ = session.handle(&message, (0..files).map(|_| null()).collect(), &mut card);
        }
        prop_assert!(session.handle(&message(GET_FEATURES, &[]), vec![], &mut card).is_ok());
    }
}
