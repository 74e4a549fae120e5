# SPDX-License-Identifier: Apache-2.0
"""The ATS schedulers against the integer arithmetic of the reference, frame by frame, to the cycle."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from ingress_model import Ats
from runner import run_module

from penstock._engine import ats_rate

EARLIEST_NS = 160
LATENCY = 6  # valid_i to valid_o
SPACING = 66  # the shortest distance of two frames of one port


async def start(dut):
    for name in (
        "overhead_bytes_i", "processing_delay_max_ns_i", "may_read_i", "read_i", "stream_i", "valid_i", "shape_i",
        "port_i", "traffic_class_i", "length_i", "arrival_ns_i", "write_rate_i", "write_rate_index_i",
        "write_ns_per_byte_i", "write_empty_to_full_i", "write_group_i", "write_group_port_i", "write_group_class_i",
        "write_residence_ns_i",
    ):  # fmt: skip
        getattr(dut, name).value = 0
    dut.rst_i.value = 1
    dut.init_busy_i.value = 1
    cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
    for index in range(300):
        dut.init_index_i.value = index
        await FallingEdge(dut.clk_i)
    dut.init_busy_i.value = 0
    dut.rst_i.value = 0


class Bench:
    def __init__(self, dut, rng, delay_ns, start_ns, schedulers=None):
        self.dut, self.rng = dut, rng
        self.ports, self.streams = dut.PORTS.value.to_unsigned(), dut.STREAMS.value.to_unsigned()
        self.model = Ats(EARLIEST_NS, 20, delay_ns, schedulers)
        dut.overhead_bytes_i.value = 20
        dut.processing_delay_max_ns_i.value = delay_ns
        self.time_ns = start_ns
        self.expected = []  # (cycles to go, visible or None)
        self.next = None  # (stream, port, class, length) that was read in the last cycle
        self.done = {"pass": 0, "discard": 0, "delayed": 0}

    async def cycle(self, read=None, *, may_read=True):
        """One clock; `read` is a frame whose stream is read now and which comes in the next cycle."""
        dut = self.dut
        dut.valid_i.value = int(self.next is not None)
        if self.next:
            stream, port, traffic_class, length, shape = self.next
            arrival_ns = self.time_ns - 48 - 8 * self.rng.randrange(1, 9)
            dut.shape_i.value = int(shape)
            dut.port_i.value, dut.traffic_class_i.value, dut.length_i.value = port, traffic_class, length
            dut.arrival_ns_i.value = arrival_ns
            earliest = (arrival_ns + EARLIEST_NS) // 8
            visible = self.model.frame(stream, (port, traffic_class), length, arrival_ns) if shape else earliest
            self.done["discard" if visible is None else "pass"] += 1
            self.done["delayed"] += visible is not None and visible > earliest
            self.expected.append([LATENCY, visible])
        dut.read_i.value = int(read is not None)
        dut.may_read_i.value = int(read is not None or (may_read and self.rng.random() < 0.2))
        if read:
            dut.stream_i.value = read[0]
        self.next = read
        await FallingEdge(dut.clk_i)
        self.time_ns += 8
        for entry in self.expected:
            entry[0] -= 1
        due = self.expected.pop(0) if self.expected and self.expected[0][0] == 0 else None
        assert dut.valid_o.value == (due is not None)
        if due:
            assert dut.pass_o.value == (due[1] is not None)
            if due[1] is not None:
                assert dut.visible_o.value == due[1] % (1 << 28)

    async def commit(self, stream, rate):
        dut = self.dut
        dut.write_rate_index_i.value = stream
        await self.cycle()
        await self.cycle()
        dut.write_rate_i.value = 1
        dut.write_ns_per_byte_i.value, dut.write_empty_to_full_i.value = rate
        while True:
            await self.cycle()
            # The output belongs to the inputs of this moment, the rising edge to come makes the write.
            if dut.write_rate_ready_o.value == 1:
                break
        await self.cycle(may_read=False)
        dut.write_rate_i.value = 0
        self.model.commit(stream, rate)

    async def residence(self, port, traffic_class, ns):
        dut = self.dut
        dut.write_group_i.value = 1
        dut.write_group_port_i.value, dut.write_group_class_i.value = port, traffic_class
        dut.write_residence_ns_i.value = ns
        await self.cycle()
        dut.write_group_i.value = 0
        self.model.residence(port, traffic_class, ns)


@cocotb.test()
async def random_streams(dut):
    """Many streams on all ports, of 10 kb/s to 1 Gb/s, in random cycles and right behind each other."""
    await start(dut)
    rng = random.Random(random.getrandbits(32))
    schedulers = None
    for delay_ns, start_ns in ((0, 0), (217, (1 << 31) - 60_000), (50_000, (1 << 62) + 12_344)):
        # The groups still hold the times of the part before, which were earlier.
        bench = Bench(dut, rng, delay_ns, start_ns, schedulers)
        schedulers = bench.model.schedulers
        for stream in range(bench.streams):
            await bench.commit(stream, ats_rate(int(10 ** rng.uniform(4, 9)), rng.choice((1542, 3000, 20_000))))
        for port in range(bench.ports):
            for traffic_class in range(8):
                await bench.residence(port, traffic_class, int(10 ** rng.uniform(3.5, 9)))
        last = [-SPACING] * bench.ports
        for now in range(6000):
            read = None
            port = now % bench.ports
            if now - last[port] >= SPACING and rng.random() < 0.3:
                last[port] = now
                stream = rng.randrange(bench.streams // bench.ports) * bench.ports + port
                read = (stream, port, rng.choice((6, 6, 7, 0)), rng.randrange(64, 1523), rng.random() < 0.9)
            await bench.cycle(read)
        for _ in range(20):
            await bench.cycle()
        dut._log.info("%s", bench.done)
        assert min(bench.done.values()) > 0


@cocotb.test()
async def rate_is_exact(dut):
    """The rate of a stream is its CIR, plus one part in a million at most, and never less."""
    await start(dut)
    rng = random.Random(random.getrandbits(32))
    for stream, cir in enumerate((10_000, 999_983, 123_456_789, 1_000_000_000)):
        bench = Bench(dut, rng, 0, 1_000_000 * (stream + 1))
        ns_per_byte, empty_to_full = ats_rate(cir, 1542)
        await bench.commit(stream, (ns_per_byte, empty_to_full))
        assert 0 <= 1 - ns_per_byte * cir / (8e9 * 2**24) < 1e-6
        await bench.residence(0, stream, 1_000_000_000)
        for _ in range(10):
            await bench.cycle((stream, 0, stream, 1522, True))
            for _ in range(SPACING):
                await bench.cycle()


@cocotb.test()
async def what_is_set_beyond_the_limits_acts_as_the_limits(dut):
    """A frame that is due later than half the range of the cycles ahead would leave at once: none is."""
    await start(dut)
    rng = random.Random(random.getrandbits(32))
    for stream, delay_ns in enumerate((2**26 - 1, 2**26, 2**32 - 1)):
        bench = Bench(dut, rng, delay_ns, 3_000_000_000 * (stream + 1))
        await bench.commit(stream, ats_rate(10_000, 1542))
        await bench.residence(0, stream, (1_000_000_000, 1_000_000_001, 2**32 - 1)[stream])
        # The second is due after 1.067 s, the third would be after 2.1 s.
        for size in (1522, 1229, 1229, 1522):
            await bench.cycle((stream, 0, stream, size, True))
            for _ in range(SPACING):
                await bench.cycle()
        assert bench.done["delayed"] == 2 and bench.done["discard"] == 2


@pytest.mark.parametrize("ports", [2, 4])
def test_pen_ats(ports):
    run_module("pen_ats", __name__, {"PORTS": ports, "STREAMS": 32, "EARLIEST_NS": EARLIEST_NS})
