# SPDX-License-Identifier: Apache-2.0
"""Held against frames that are built anew, FCS and all."""

import random
import zlib

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from runner import run_module
from structs import pack
from tags import INSERT, KEEP, R_INSERT, R_KEEP, R_REMOVE, REMOVE, REWRITE, SHORTEST, growth

LABEL_BYTES = 40  # it is that of the frame while these are sent


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
        for name in (
            "start_i",
            "edit_i",
            "translate_i",
            "label_i",
            "late_cycle_i",
            "pad_i",
            "data_valid_i",
            "data_i",
            "data_ready_i",
            "left_i",
        ):
            getattr(dut, name).value = 0
        cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start())
        await FallingEdge(dut.clk_i)

    async def send(self, came, length, edit, translate, label, pad=0, added=0):
        """What leaves of a frame, in so many bytes; this is the count of cycles that is added to its correction."""
        dut = self.dut
        dut.start_i.value = 1
        dut.edit_i.value = edit
        dut.translate_i.value = translate
        dut.label_i.value = label
        dut.pad_i.value = pad
        dut.data_ready_i.value = 0
        await FallingEdge(dut.clk_i)
        dut.start_i.value = 0
        left, at, skip = [], 0, 0
        for n in range(length):
            while random.random() < 0.1:  # the preamble, or nothing
                dut.data_ready_i.value = 0
                dut.data_i.value = random.getrandbits(8)
                await FallingEdge(dut.clk_i)
            dut.data_ready_i.value = 1
            dut.left_i.value = length - 1 - n
            dut.late_cycle_i.value = added if n == 4 else random.getrandbits(30)
            if n >= LABEL_BYTES:
                dut.label_i.value = random.getrandbits(len(dut.label_i))
            dut.data_valid_i.value = int(at < len(came))
            dut.data_i.value = came[at] if at < len(came) else random.getrandbits(8)
            await cocotb.triggers.Timer(1, "ns")
            assert dut.data_valid_o.value == 1, f"byte {n} is missing"
            left.append(int(dut.data_o.value))
            if dut.data_ready_o.value == 1:
                at += 1 + skip
                skip = int(dut.skip_o.value)
            await FallingEdge(dut.clk_i)
        dut.data_ready_i.value = 0
        assert at == len(came), f"{at} of {len(came)} bytes were taken"
        return bytes(left)


def r_tag_of(number):
    return b"\xf1\xc1\0\0" + number.to_bytes(2, "big")


def draw_message():
    """The begin of an event message, what it becomes, and what the editor is told: correction and count of cycles."""
    field = random.choice((0, 0xFF, 0x7FFE, 0xFFFF, random.getrandbits(16))) << 48
    field |= random.choice((0, (1 << 48) - 1, (1 << 48) - random.randrange(1 << 30), random.getrandbits(48)))
    arrival = random.getrandbits(30)
    inside = random.choice((1, 100, random.randrange(1 << 27), (1 << 29) - 1))
    correction = {
        "is_due": 1,
        "is_carried": int(field >> 48 & 0xFF == 0xFF),
        "cycles": ((field >> 19 & 0x1FFF_FFFF) - arrival) % (1 << 30),
    }
    head = b"\x88\xf7" + random.randbytes(8)
    sum_ = (field + (inside << 19)) % (1 << 64)
    return head + field.to_bytes(8, "big"), head + sum_.to_bytes(8, "big"), correction, (arrival + inside) % (1 << 30)


def draw(tag, r_tag, corrects=None):
    """A frame, what should leave of it, and what the editor is told: edit, translation, label, padding, cycles."""
    pcp, dei, vlan = random.randrange(8), random.randrange(2), random.randrange(1, 4095)
    has_tag = tag in (REMOVE, REWRITE) or (tag == KEEP and random.random() < 0.5)
    is_priority_tagged = has_tag and random.random() < 0.5
    translate, egress_pcp, egress_vlan = random.randrange(2), random.randrange(8), random.randrange(1, 4095)
    number = random.choice((0, 0xFFFF, random.randrange(0x10000)))
    addresses = random.randbytes(12)
    old = vlan_tag(pcp, dei, 0 if is_priority_tagged else vlan) if has_tag else b""
    r_old = r_tag_of(number) if r_tag == R_REMOVE else b""
    least = SHORTEST - 4 - len(addresses + old + r_old)
    size = random.choice((*range(least, least + 12), random.randrange(least, 200), 1500))
    correction = {"is_due": 0, "is_carried": random.randrange(2), "cycles": random.getrandbits(30)}
    rest, added = random.randbytes(size), 0
    new_rest = rest
    # What came with an R-TAG has none.
    if r_tag != R_REMOVE and (random.random() < 0.4 if corrects is None else corrects):
        message, new_message, correction, added = draw_message()
        rest, new_rest = message + rest[len(message) :], new_message + rest[len(message) :]
    came = addresses + old + r_old + rest
    written = vlan_tag(egress_pcp, dei, egress_vlan) if translate else vlan_tag(pcp, dei, vlan)
    new = {KEEP: old, REMOVE: b"", INSERT: written, REWRITE: written}[tag]
    new += r_tag_of(number) if r_tag == R_INSERT else b""
    wanted = (addresses + new + new_rest).ljust(SHORTEST - 4, b"\0")
    pad = len(wanted) - len(addresses + new + rest)
    label = pack(
        "label", has_tag=int(has_tag), is_priority_tagged=int(is_priority_tagged), pcp=pcp, dei=dei, vlan_id=vlan,
        egress_pcp=egress_pcp, egress_vlan_id=egress_vlan, sequence_number=number,
        correction=pack("correction", **correction),
    )  # fmt: skip
    return with_fcs(came), with_fcs(wanted), pack("edit", r_tag=r_tag, tag=tag), translate, label, pad, added


EDITS = [(tag, r_tag) for tag in (KEEP, REMOVE, INSERT, REWRITE) for r_tag in (R_KEEP, R_INSERT, R_REMOVE)]


@cocotb.test()
async def every_edit_leaves_a_frame_with_its_own_fcs(dut):
    bench = Bench(dut)
    await bench.reset()
    pads = set()
    for edit in EDITS * 40:
        came, wanted, *told = draw(*edit)
        pads.add(told[-2])
        assert await bench.send(came, len(wanted), *told) == wanted, f"edit {edit}"
    assert pads == {*range(11)}


@cocotb.test()
async def what_is_damaged_stays_damaged(dut):
    """But within a tag that is taken away: nothing of it is left."""
    bench = Bench(dut)
    await bench.reset()
    for tag, r_tag in EDITS * 25:
        came, wanted, *told = draw(tag, r_tag)
        left_out = range(12, 12 - growth(REMOVE if tag == REMOVE else KEEP, R_KEEP))
        if r_tag == R_REMOVE:
            begin = 16 if came[12:14] == b"\x81\0" else 12
            left_out = {*left_out, *range(begin, begin + 6)}
        at = random.choice([n for n in range(len(came)) if n not in left_out])
        damaged = came[:at] + bytes([came[at] ^ 1 << random.randrange(8)]) + came[at + 1 :]
        left = await bench.send(damaged, len(wanted), *told)
        assert not is_good(left), f"damage of byte {at} of {len(came)} is no longer seen (edit {tag}, {r_tag})"


def test_pen_editor():
    run_module("pen_editor", __name__)
