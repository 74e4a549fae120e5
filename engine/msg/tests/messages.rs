// SPDX-License-Identifier: Apache-2.0
//! Nodes on the loopback network, each with an address of its own.
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::process;
use std::thread;
use std::time::{Duration, Instant};

use penstock_msg::{Endpoint, Error, Identity, Options, Tile};

const A: Identity = Identity(0x0000_0000);
const B: Identity = Identity(0x0001_0100);

/// Each test has a port of its own, and each process a network: what others bind in between is not in the way.
fn options() -> Options {
    let free = TcpListener::bind((address(A), 0)).expect("an address of loopback");
    let port = free.local_addr().expect("its own").port();
    Options { network: network(), port, timeout: Some(Duration::from_secs(20)), ..Options::default() }
}

fn network() -> [u8; 2] {
    [127, 1 + (process::id() % 254) as u8]
}

fn address(node: Identity) -> Ipv4Addr {
    node.address(Tile::default(), network()).expect("a node")
}

fn opened(node: Identity, options: &Options) -> Endpoint {
    Endpoint::open(node, options.clone()).expect("an address of loopback")
}

#[test]
fn messages_come_whole_and_in_order() {
    let options = options();
    let (a, b) = (opened(A, &options), opened(B, &options));
    let sizes = [1_usize, 64, 65_537, 4 << 20, 3];
    let content = |size: usize| (0..size).map(|n| (n * 7 + size) as u8).collect::<Vec<_>>();
    thread::scope(|scope| {
        scope.spawn(|| sizes.iter().for_each(|&size| a.send(B, &content(size)).expect("sent")));
        for size in sizes {
            assert_eq!(b.next_bytes(A).expect("a message"), size as u32);
            let mut buffer = vec![0; size];
            b.receive(A, &mut buffer).expect("received");
            assert!(buffer == content(size), "{size} bytes");
        }
    });
    b.send(A, b"back").expect("sent");
    let mut buffer = [0; 4];
    a.receive(B, &mut buffer).expect("received");
    assert_eq!(&buffer, b"back");
}

#[test]
fn each_peer_has_a_line_of_its_own() {
    let options = options();
    let nodes: Vec<_> = [0, 1, 0x0100, 0x0101].map(|n| opened(Identity(n), &options)).into();
    thread::scope(|scope| {
        for (number, node) in nodes.iter().enumerate().skip(1) {
            scope.spawn(move || {
                for round in 0..100_u32 {
                    node.send(A, &[[number as u8; 4], round.to_le_bytes()].concat()).expect("sent");
                }
            });
        }
        // The last first: nobody waits for another.
        for (number, from) in [(3, 0x0101), (2, 0x0100), (1, 1)] {
            for round in 0..100_u32 {
                let mut buffer = [0; 8];
                nodes[0].receive(Identity(from), &mut buffer).expect("received");
                assert_eq!(buffer.to_vec(), [[number; 4], round.to_le_bytes()].concat());
            }
        }
    });
}

#[test]
fn a_message_of_another_length_is_kept() {
    let options = options();
    let (a, b) = (opened(A, &options), opened(B, &options));
    a.send(B, b"seven b").expect("sent");
    for size in [6, 8] {
        let error = b.receive(A, &mut vec![0; size]).expect_err("of another length");
        assert!(matches!(error, Error::OtherLength { has: 7, wanted, .. } if wanted == size as u64), "{error}");
    }
    let mut buffer = [0; 7];
    b.receive(A, &mut buffer).expect("it is still there");
    assert_eq!(&buffer, b"seven b");
}

#[test]
fn what_cannot_be_is_refused_with_what_can() {
    let options = Options { timeout: Some(Duration::from_millis(50)), ..options() };
    let a = opened(A, &options);
    assert_eq!(a.send(B, b"").expect_err("empty").to_string(), "a message of 0 bytes; 1 to 4294967295 are allowed");
    assert_eq!(a.receive(B, &mut []).expect_err("empty").code(), -2);
    for (node, code) in [(Identity(0x0000_0200), -1), (Identity(0xffff_0000), -1), (B, -6)] {
        assert_eq!(a.send(node, b"x").expect_err("nobody").code(), code, "{node}");
    }
    let begin = Instant::now();
    assert_eq!(a.receive(B, &mut [0]).expect_err("nothing came").code(), -4);
    assert!(begin.elapsed() >= Duration::from_millis(50));
    assert_eq!(Endpoint::open(A, options.clone()).expect_err("its address is taken").code(), -9);
    drop(a);
    opened(A, &options);
}

#[test]
fn a_peer_that_dies_in_the_middle_of_a_message_is_told_and_comes_back() {
    let options = options();
    let b = opened(B, &options);
    let dying = |bytes: &[u8]| {
        let made = socket_from(address(A), SocketAddrV4::new(address(B), options.port));
        (&made).write_all(bytes).expect("sent");
    };
    dying(b"pmg1\x03\0\0\0abc");
    let mut buffer = [0; 3];
    b.receive(A, &mut buffer).expect("it came whole");
    assert_eq!(&buffer, b"abc");
    for bytes in [&b"pmg1\x03\0\0\0ab"[..], b"pmg1\x03\0", b"pmg"] {
        dying(bytes);
        assert_eq!(b.receive(A, &mut buffer).expect_err("a part of it").code(), -5, "{bytes:?}");
    }
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"pmg2\x03\0\0\0abc"] {
        dying(bytes);
        assert_eq!(b.receive(A, &mut buffer).expect_err("no message").code(), -7, "{bytes:?}");
    }
    let a = opened(A, &options);
    a.send(B, b"new").expect("sent");
    b.receive(A, &mut buffer).expect("it is back");
    assert_eq!(&buffer, b"new");
}

#[test]
fn time_that_is_over_before_a_message_loses_nothing() {
    let options = Options { timeout: Some(Duration::from_millis(100)), ..options() };
    let b = opened(B, &options);
    let slow = socket_from(address(A), SocketAddrV4::new(address(B), options.port));
    let mut buffer = [0; 3];
    for part in [&b"pm"[..], b"g1\x03", b"\0\0\0"] {
        (&slow).write_all(part).expect("sent");
        assert_eq!(b.receive(A, &mut buffer).expect_err("not yet").code(), -4);
    }
    (&slow).write_all(b"abc\x03\0\0\0d").expect("sent");
    b.receive(A, &mut buffer).expect("whole");
    assert_eq!(&buffer, b"abc");
    assert_eq!(b.receive(A, &mut buffer).expect_err("a part of it").code(), -4);
    // The part is gone, and so is its connection.
    assert!((0..100).any(|_| {
        thread::sleep(Duration::from_millis(10));
        (&slow).write_all(b"e").is_err()
    }));
}

#[test]
fn a_peer_that_is_gone_is_noticed_by_the_sender() {
    let options = options();
    let (a, b) = (opened(A, &options), opened(B, &options));
    a.send(B, b"x").expect("sent");
    b.receive(A, &mut [0]).expect("received");
    drop(b);
    let error = (0..100).find_map(|_| {
        thread::sleep(Duration::from_millis(10));
        a.send(B, b"y").err()
    });
    assert!(matches!(error.map(|error| error.code()), Some(-5 | -6)));
}

#[test]
fn a_sender_hears_of_a_peer_that_does_not_read_and_of_one_that_dies_meanwhile() {
    let options = Options { timeout: Some(Duration::from_millis(200)), ..options() };
    let a = opened(A, &options);
    let message = vec![7; 64 << 20];
    let deaf = TcpListener::bind((address(B), options.port)).expect("an address of loopback");
    assert_eq!(a.send(B, &message).expect_err("nobody reads").code(), -4);
    thread::scope(|scope| {
        scope.spawn(|| {
            // The first is that of the message before.
            let _kept = deaf.accept().expect("connected");
            let (mut dying, _) = deaf.accept().expect("connected");
            let mut part = [0; 1 << 16];
            std::io::Read::read(&mut dying, &mut part).expect("a part of it");
        });
        assert_eq!(a.send(B, &message).expect_err("it died").code(), -5);
    });
}

#[test]
fn who_waits_hears_that_the_node_ends() {
    let options = Options { timeout: None, ..options() };
    let b = std::sync::Arc::new(opened(B, &options));
    // A listener of nobody: connections of strangers stay outside.
    let stranger = TcpStream::connect(SocketAddrV4::new(address(B), options.port)).expect("connected");
    drop(stranger);
    let waiting = {
        let b = b.clone();
        thread::spawn(move || b.receive(A, &mut [0]))
    };
    thread::sleep(Duration::from_millis(50));
    b.close();
    assert_eq!(waiting.join().expect("no panic").expect_err("closed").code(), -8);
    TcpListener::bind((address(B), options.port)).expect_err("it still has its address until it is dropped");
}

fn socket_from(own: Ipv4Addr, to: SocketAddrV4) -> TcpStream {
    use nix::sys::socket::{bind, connect, socket, AddressFamily, SockFlag, SockType, SockaddrIn};
    use std::os::fd::AsRawFd;
    let made = socket(AddressFamily::Inet, SockType::Stream, SockFlag::empty(), None).expect("a socket");
    bind(made.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(own, 0))).expect("an address of loopback");
    connect(made.as_raw_fd(), &SockaddrIn::from(to)).expect("connected");
    made.into()
}
