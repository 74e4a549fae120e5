# SPDX-License-Identifier: Apache-2.0
"""Random frames against what their headers say, byte by byte."""

import random
from collections import Counter

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from ingress_model import random_frame
from runner import run_module
from structs import unpack

BEHIND = 18  # where the position stays
ADDRESSES = (0x025400000001, 0x01005E000001, 0xFFFFFFFFFFFF, 0x8100_0800_4500)
FLOWS = tuple((0x0A000001, 0x0A000002, protocol, 319, 0x8100) for protocol in (1, 6, 17))


@cocotb.test()
async def headers_are_read(dut):
    dut.clear_i.value = 1
    dut.valid_i.value = dut.data_i.value = 0
    cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
    await FallingEdge(dut.clk_i)
    await FallingEdge(dut.clk_i)
    dut.clear_i.value = 0
    met = Counter()
    rng = random.Random(random.getrandbits(32))
    for _ in range(500):
        frame = random_frame(rng, ADDRESSES, ADDRESSES, (0, 1, 4095), FLOWS, (64, 65, 127))
        ends_type = 13 if frame.tag is None else 17
        clears_at_once = rng.random() < 0.5
        for index, byte in enumerate(frame.data):
            dut.valid_i.value = 0
            dut.data_i.value = rng.getrandbits(8)
            while rng.random() < 0.1:
                await FallingEdge(dut.clk_i)
            dut.valid_i.value, dut.data_i.value = 1, byte
            dut.clear_i.value = int(clears_at_once and index == len(frame.data) - 1)
            await Timer(1, "ns")
            header = unpack("header", dut.header_o.value.to_unsigned())
            assert header["position"] == min(index, BEHIND)
            assert index == 0 or header["last_two"] == int.from_bytes(frame.data[index - 1 : index + 1], "big")
            assert header["type_valid"] == (index == ends_type)
            assert header["is_known"] == (index > (13 if frame.tag is None else 15))
            assert header["has_tag"] == (index > 13 and frame.tag is not None)
            ends_r_tag = ends_type + 4
            assert header["has_r_tag"] == (index > ends_r_tag and frame.sequence_number is not None)
            assert not header["has_r_tag"] or header["sequence_number"] == frame.sequence_number
            if index >= 12:
                assert header["destination_address"] == frame.destination
                assert header["source_address"] == frame.source
            assert not header["ipv4"] or header["ipv4_complete"]
            await FallingEdge(dut.clk_i)
        dut.valid_i.value = 0
        if not clears_at_once:
            await FallingEdge(dut.clk_i)
            header = unpack("header", dut.header_o.value.to_unsigned())
            assert header["ipv4"] == (frame.ipv4 is not None)
            if frame.ipv4 is not None:
                has_ports = frame.ipv4 & 0xFFFFFFFF != 0
                assert header["has_ports"] == has_ports
                assert header["ipv4_fields"] >> 32 == frame.ipv4 >> 32
                assert not has_ports or header["ipv4_fields"] == frame.ipv4
                met["ports" if has_ports else "no ports"] += 1
            dut.clear_i.value = 1
            await FallingEdge(dut.clk_i)
        dut.clear_i.value = 0
        header = unpack("header", dut.header_o.value.to_unsigned())
        for field in ("position", "has_tag", "has_r_tag", "is_known", "type_valid", "ipv4_complete", "ipv4"):
            assert header[field] == 0, field
        met["tag" if frame.tag else "no tag"] += 1
        met["R-TAG"] += frame.sequence_number is not None
    assert all(met[kind] > 10 for kind in ("ports", "no ports", "tag", "no tag", "R-TAG")), met


def test_pen_header_parser():
    run_module("pen_header_parser", __name__)
