# SPDX-License-Identifier: Apache-2.0
"""Held against frames that are built anew, FCS and all."""

import random
import zlib

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from runner import run_module
from structs import pack

KEEP, REMOVE, INSERT, REWRITE = range(4)
SHORTEST = 64


def with_fcs(body):
    return body + zlib.crc32(body).to_bytes(4, "little")


def is_good(frame):
    return with_fcs(frame[:-4]) == frame


def vlan_tag(pcp, dei, vlan):
    return b"\x81\x00" + (pcp << 13 | dei << 12 | vlan).to_bytes(2, "big")


class Bench:
    """Reader and MAC in one: a byte is taken when the MAC takes one, and the bytes that are skipped are left out."""

    def __init__(self, dut):
        self.dut = dut

    async def reset(self):
        dut = self.dut
        for name in ("start_i", "edit_i", "label_i", "pad_i", "data_valid_i", "data_i", "data_ready_i", "left_i"):
            getattr(dut, name).value = 0
        cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start())
        await FallingEdge(dut.clk_i)

    async def send(self, came, length, edit, label, pad=0):
        """What leaves of a frame, in so many bytes."""
        dut = self.dut
        dut.start_i.value = 1
        dut.edit_i.value = edit
        dut.label_i.value = label
        dut.pad_i.value = pad
        dut.data_ready_i.value = 0
        await FallingEdge(dut.clk_i)
        dut.start_i.value = 0
        left, at = [], 0
        for n in range(length):
            while random.random() < 0.1:  # the preamble, or nothing
                dut.data_ready_i.value = 0
                dut.data_i.value = random.getrandbits(8)
                await FallingEdge(dut.clk_i)
            dut.data_ready_i.value = 1
            dut.left_i.value = length - 1 - n
            dut.data_valid_i.value = int(at < len(came))
            dut.data_i.value = came[at] if at < len(came) else random.getrandbits(8)
            await cocotb.triggers.Timer(1, "ns")
            assert dut.data_valid_o.value == 1, f"byte {n} is missing"
            left.append(int(dut.data_o.value))
            if dut.data_ready_o.value == 1:
                at += 5 if dut.skip_o.value == 1 else 1
            await FallingEdge(dut.clk_i)
        dut.data_ready_i.value = 0
        assert at == len(came), f"{at} of {len(came)} bytes were taken"
        return bytes(left)


def draw(tag):
    """A frame, what should leave of it, the edit, and its label."""
    pcp, dei, vlan = random.randrange(8), random.randrange(2), random.randrange(1, 4095)
    is_priority_tagged = tag in (REMOVE, REWRITE) and random.random() < 0.5
    translate, egress_pcp, egress_vlan = random.randrange(2), random.randrange(8), random.randrange(1, 4095)
    addresses = random.randbytes(12)
    size = random.choice((46, 47, 48, 49, 50, random.randrange(46, 200), 1500))
    if tag in (REMOVE, REWRITE):
        size = random.choice((size, 42, 43, 44, 45))
    rest = random.randbytes(2 + size)
    old = vlan_tag(pcp, dei, 0 if is_priority_tagged else vlan) if tag in (REMOVE, REWRITE) else b""
    came = addresses + old + rest
    written = vlan_tag(egress_pcp, dei, egress_vlan) if translate else vlan_tag(pcp, dei, vlan)
    new = {KEEP: b"", REMOVE: b"", INSERT: written, REWRITE: written}[tag]
    wanted = (addresses + new + rest).ljust(SHORTEST - 4 if tag == REMOVE else 0, b"\0")
    pad = len(wanted) - len(addresses + new + rest)
    label = pack(
        "label", is_priority_tagged=int(is_priority_tagged), pcp=pcp, dei=dei, vlan_id=vlan,
        egress_pcp=egress_pcp, egress_vlan_id=egress_vlan,
    )  # fmt: skip
    return with_fcs(came), with_fcs(wanted), pack("edit", translate=translate, tag=tag), label, pad


@cocotb.test()
async def every_edit_leaves_a_frame_with_its_own_fcs(dut):
    bench = Bench(dut)
    await bench.reset()
    pads = set()
    for _ in range(200):
        tag = random.choice((KEEP, REMOVE, INSERT, REWRITE))
        came, wanted, edit, label, pad = draw(tag)
        pads.add(pad)
        assert await bench.send(came, len(wanted), edit, label, pad) == wanted
    assert pads == {0, 1, 2, 3, 4}


@cocotb.test()
async def what_is_damaged_stays_damaged(dut):
    """But within the tag that is taken away: nothing of it is left."""
    bench = Bench(dut)
    await bench.reset()
    for _ in range(150):
        tag = random.choice((KEEP, REMOVE, INSERT))
        came, wanted, edit, label, pad = draw(tag)
        places = [n for n in range(len(came)) if tag != REMOVE or not 12 <= n < 16]
        at = random.choice(places)
        damaged = came[:at] + bytes([came[at] ^ 1 << random.randrange(8)]) + came[at + 1 :]
        left = await bench.send(damaged, len(wanted), edit, label, pad)
        assert not is_good(left), f"damage of byte {at} of {len(came)} is no longer seen (edit {tag})"


def test_pen_editor():
    run_module("pen_editor", __name__)
