// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//! The program that the kernel runs for each frame of a port: to the socket of the queue that it came by.
//!
//! A tag that stands in no frame, since device or sender keeps it apart, is asked for and told ahead of the frame. The kernel's
//! functions are for programs under the GPL alone, so this file may be had under it, too.
use std::ffi::CStr;
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::OnceLock;

use super::btf;

/// As this file's first line has it, in the words that the kernel knows.
pub(super) const LICENSE: &CStr = c"GPL";
/// Ahead of each frame, by the program that asks for tags.
pub(super) const TOLD_BYTES: usize = 8;
const UNTAGGED: u32 = 0x5045_4E00;
const TAGGED: u32 = 0x5045_4E01;

const DATA: i16 = 0; // of struct xdp_md
const DATA_META: i16 = 8;
const QUEUE: i16 = 16;
const REDIRECT_MAP: i32 = 51;
const ADJUST_META: i32 = 54;
const PASS: i32 = 2;
const KERNEL_FUNCTION: u8 = 2; // BPF_PSEUDO_KFUNC_CALL
const MAP_BY_DESCRIPTOR: u8 = 1; // BPF_PSEUDO_MAP_FD

/// struct bpf_insn.
const fn instruction(code: u8, to: u8, from: u8, offset: i16, value: i32) -> u64 {
    let [low, high] = offset.to_le_bytes();
    let [a, b, c, d] = value.to_le_bytes();
    u64::from_ne_bytes([code, from << 4 | to, low, high, a, b, c, d])
}

const fn copy(to: u8, from: u8) -> u64 {
    instruction(0xBF, to, from, 0, 0)
}

const fn set(to: u8, value: i32) -> u64 {
    instruction(0xB7, to, 0, 0, value)
}

const fn add(to: u8, value: i32) -> u64 {
    instruction(0x07, to, 0, 0, value)
}

/// 32 bit.
const fn load(to: u8, from: u8, offset: i16) -> u64 {
    instruction(0x61, to, from, offset, 0)
}

const fn store(to: u8, offset: i16, from: u8) -> u64 {
    instruction(0x63, to, from, offset, 0)
}

const fn call(function: i32) -> u64 {
    instruction(0x85, 0, 0, 0, function)
}

const EXIT: u64 = instruction(0x95, 0, 0, 0, 0);

/// r6 is the context; a frame whose queue has no socket goes where it went without a program.
fn redirect(map: &OwnedFd) -> [u64; 6] {
    [
        instruction(0x18, 1, MAP_BY_DESCRIPTOR, 0, map.as_raw_fd()),
        0,
        load(2, 6, QUEUE),
        set(3, PASS),
        call(REDIRECT_MAP),
        EXIT,
    ]
}

/// Leads all frames to sockets.
pub(super) fn plain(map: &OwnedFd) -> Vec<u64> {
    [&[copy(6, 1)][..], &redirect(map)].concat()
}

/// Leads all frames to sockets, and tells of tags; None: this kernel has no word about them.
pub(super) fn telling(map: &OwnedFd) -> Option<Vec<u64>> {
    static FUNCTION: OnceLock<Option<u32>> = OnceLock::new();
    let told = || btf::function(&fs::read("/sys/kernel/btf/vmlinux").ok()?, "bpf_xdp_metadata_rx_vlan_tag");
    let ask = (*FUNCTION.get_or_init(told))? as i32;
    let make_room = [copy(6, 1), set(2, -(TOLD_BYTES as i32)), call(ADJUST_META), instruction(0x55, 0, 0, 25, 0)];
    let ask_for_tag = [
        instruction(0x62, 10, 0, -4, 0), // EtherType and control information, 16 bit each
        copy(1, 6),
        copy(2, 10),
        add(2, -4),
        copy(3, 10),
        add(3, -2),
        instruction(0x85, 0, KERNEL_FUNCTION, 0, ask),
        copy(7, 0),
    ];
    let write = [
        load(1, 6, DATA_META),
        load(2, 6, DATA),
        copy(3, 1),
        add(3, TOLD_BYTES as i32),
        instruction(0x2D, 3, 2, 12, 0),
        set(4, TAGGED as i32),
        instruction(0x16, 7, 0, 1, 0),
        set(4, UNTAGGED as i32),
        store(1, 0, 4),
        load(4, 10, -4),
        store(1, 4, 4),
    ];
    // Where there is no room ahead of a frame, it goes where it went without a program.
    Some([&make_room[..], &ask_for_tag, &write, &redirect(map), &[set(0, PASS), EXIT]].concat())
}

/// EtherType and control information of a tag, of what the program wrote ahead of a frame.
pub(super) fn tag_of(told: [u8; TOLD_BYTES]) -> Option<(u16, u16)> {
    let [a, b, c, d, tag @ ..] = told;
    let [high, low, first, second] = tag;
    (u32::from_ne_bytes([a, b, c, d]) == TAGGED)
        .then(|| (u16::from_be_bytes([high, low]), u16::from_ne_bytes([first, second])))
}
