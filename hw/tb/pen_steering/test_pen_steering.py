# SPDX-License-Identifier: Apache-2.0
"""Random rules, settings and frames against the order in which they decide."""

import random
import zlib
from collections import Counter

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from runner import card_sources, run_module
from structs import pack

RULES = 8
TABLE = 9
ADDRESSES = [bytes.fromhex(text) for text in ("025400000001", "025400000002", "01005e000001", "ffffffffffff")]
IPV4 = ((32, 72), (32, 40), (8, 32), (16, 16), (16, 0))  # width and place of the parts, bit 4 first
LAYER2 = {2: (16, 60), 1: (12, 48), 0: (48, 0)}


def drawn_frame():
    """A frame with its FCS, of few values, so that rules meet it."""
    tag = (
        b""
        if random.random() < 0.5
        else b"\x81\x00" + (random.randrange(8) << 13 | random.randrange(3)).to_bytes(2, "big")
    )
    options = bytes(4 * random.choice((0, 0, 1)))
    protocol = random.choice((1, 6, 17))
    fragment = random.choice((0, 0, 0, 7)).to_bytes(2, "big")
    head = bytes([0x45 + len(options) // 4, 0, 0, 40, 0, 0]) + fragment + bytes([64, protocol, 0, 0])
    ports = bytes([0, random.randrange(2), 0, random.randrange(2)])
    packet = head + bytes([10, 0, 0, random.randrange(3), 10, 0, 0, random.randrange(2)]) + options + ports
    kind = random.choice(
        ((b"\x08\x00", packet), (b"\x08\x00", packet), (b"\x88\xf7", bytes(40)), (b"\x08\x00", b"\x60" * 40))
    )
    return (random.choice(ADDRESSES) + random.randbytes(6) + tag + b"".join(kind)).ljust(64, b"\0")


def read_frame(frame):
    """(tag or none, fields of layer 2, fields of IPv4 or none)."""
    tag = int.from_bytes(frame[14:16], "big") if frame[12:14] == b"\x81\x00" else None
    at = 12 if tag is None else 16
    ethertype = int.from_bytes(frame[at : at + 2], "big")
    layer2 = ethertype << 60 | ((tag or 0) & 0xFFF) << 48 | int.from_bytes(frame[:6], "big")
    packet, key = frame[at + 2 :], None
    if ethertype == 0x0800 and packet[0] >> 4 == 4 and packet[0] & 15 >= 5:
        words, protocol = 4 * (packet[0] & 15), packet[9]
        has_ports = protocol in (6, 17) and int.from_bytes(packet[6:8], "big") & 0x1FFF == 0
        key = packet[12:20] + bytes([protocol]) + (packet[words : words + 4] if has_ports else bytes(4))
    return tag, layer2, key


def same(rule, layer2, key):
    if rule["ipv4"]:
        if key is None:
            return False
        places, value = dict(zip(range(4, -1, -1), IPV4, strict=True)), int.from_bytes(key, "big")
    else:
        places, value = LAYER2, layer2
    return all(
        (value ^ rule["fields"]) >> low & (1 << width) - 1 == 0
        for part, (width, low) in places.items()
        if rule["parts"] >> part & 1
    )


def decide(frame, rules, config, running):
    """(accepted, queue, by what); of what is not accepted no queue."""
    tag, layer2, key = read_frame(frame)
    first = running[0] if running else 0
    queue, why = first, "first"
    found = next((rule for rule in rules if rule and same(rule, layer2, key)), None)
    if found:
        if found["drop"]:
            return False, None, "dropped"
        queue, why = found["pair"], "rule"
    else:
        destination = frame[:6]
        is_group = destination[0] & 1
        own = destination == config["station"]
        if not (config["promiscuous"] or (is_group and (config["all_groups"] or destination == b"\xff" * 6)) or own):
            return False, None, "filtered"
        if config["by_pcp"] and tag is not None:
            queue, why = config["pcp"][tag >> 13], "pcp"
        elif config["by_hash"] and key is not None and running:
            queue, why = running[(zlib.crc32(key) >> 24) * len(running) >> 8], "hash"
    return True, queue if queue in running else first, why if queue in running else "first"


@cocotb.test()
async def each_frame_finds_its_queue(dut):
    queues = dut.QUEUES.value.to_unsigned()
    dut.table_i.value = dut.config_i.value = dut.running_i.value = 0
    dut.clear_i.value = dut.valid_i.value = dut.data_i.value = dut.decide_i.value = 0
    dut.rst_i.value = 1
    cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
    for _ in range(3):
        await FallingEdge(dut.clk_i)
    dut.rst_i.value = 0
    rules, met = [None] * RULES, Counter()
    for _ in range(600):
        if random.random() < 0.3:
            index = random.randrange(RULES)
            _, layer2, key = read_frame(drawn_frame())
            ipv4 = int(key is not None and random.random() < 0.6)
            rule = {
                "fields": int.from_bytes(key, "big") if ipv4 else layer2,
                "parts": random.randrange(1, 32) if ipv4 else random.randrange(1, 8),
                "ipv4": ipv4,
                "pair": random.randrange(16),
                "drop": int(random.random() < 0.3),
            }
            valid = int(random.random() < 0.5)
            rules[index] = rule if valid else None
            data = rule["fields"] | rule["parts"] << 104 | ipv4 << 109 | rule["pair"] << 110 | rule["drop"] << 114
            dut.table_i.value = pack("table_write", valid=1, which=TABLE, index=index, data=data | valid << 115)
            await FallingEdge(dut.clk_i)
            dut.table_i.value = 0
        config = {name: random.getrandbits(1) for name in ("promiscuous", "all_groups", "by_pcp", "by_hash")}
        config |= {"station": random.choice(ADDRESSES[:2]), "pcp": [random.randrange(16) for _ in range(8)]}
        vector = int("".join(str(config[name]) for name in ("promiscuous", "all_groups", "by_pcp", "by_hash")), 2)
        vector = vector << 48 | int.from_bytes(config["station"], "big")
        dut.config_i.value = vector << 32 | sum(queue << 4 * k for k, queue in enumerate(config["pcp"]))
        running = sorted(random.sample(range(queues), random.randint(0, queues)))
        dut.running_i.value = sum(1 << k for k in running)
        frame = drawn_frame()
        dut.clear_i.value = 1
        await FallingEdge(dut.clk_i)
        dut.clear_i.value = 0
        for byte in frame:
            while random.random() < 0.1:
                await FallingEdge(dut.clk_i)
            dut.valid_i.value, dut.data_i.value = 1, byte
            await FallingEdge(dut.clk_i)
            dut.valid_i.value = 0
        dut.decide_i.value = 1
        await FallingEdge(dut.clk_i)
        dut.decide_i.value = 0
        for _ in range(RULES + 2):
            assert dut.done_o.value == 0
            await FallingEdge(dut.clk_i)
        assert dut.done_o.value == 1
        accepted, queue, why = decide(frame, rules, config, running)
        assert (dut.accept_o.value == 1) == accepted, (why, frame.hex())
        if accepted:
            assert int(dut.queue_o.value) == queue, (why, frame.hex())
        met[why] += 1
    assert set(met) == {"rule", "dropped", "filtered", "pcp", "hash", "first"}, met


@pytest.mark.parametrize("queues", [4, 7])
def test_pen_steering(queues):
    run_module("pen_steering", __name__, {"QUEUES": queues}, extra_sources=card_sources())
