# SPDX-License-Identifier: Apache-2.0
"""Frames by registers, both ways: whole, once and in order, and nothing lost when it is full."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge, with_timeout
from runner import run_module

ID, SEND, SEND_COMMIT, SEND_REFUSED = 0x00, 0x10, 0x14, 0x18
RECEIVE, RECEIVE_RELEASE, RECEIVE_CUT = 0x20, 0x24, 0x28
SEND_DATA, RECEIVE_DATA = 0x1000, 0x2000
FRAMES = 16  # that may wait in each direction


def words(frame):
    """As they are written; what fills the last one is of no meaning."""
    padded = frame + random.randbytes(-len(frame) % 4)
    return [int.from_bytes(padded[at : at + 4], "little") for at in range(0, len(padded), 4)]


def ordinal(value):
    return value >> 16 & 0xFF


class Bench:
    def __init__(self, dut):
        self.dut = dut
        self.bytes = int(dut.BYTES.value)
        self.busy = 0.0  # how often the switch takes no byte
        self.sent, self.to_give = [], []  # frames that the switch took; (frame, tuser) that it is to give

    async def start(self):
        dut = self.dut
        for name in ("awvalid", "wvalid", "bready", "arvalid", "rready", "awprot", "arprot"):
            getattr(dut, f"s_axil_{name}_i").value = 0
        dut.s_axil_wstrb_i.value = random.getrandbits(4)
        dut.m_axis_tready_i.value = dut.s_axis_tvalid_i.value = 0
        dut.rst_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
        await ClockCycles(dut.clk_i, 3)
        await FallingEdge(dut.clk_i)
        dut.rst_i.value = 0
        cocotb.start_soon(self._take())
        cocotb.start_soon(self._give())

    async def _take(self):
        dut, frame, stands = self.dut, bytearray(), None
        while True:
            await FallingEdge(dut.clk_i)
            dut.m_axis_tready_i.value = ready = int(random.random() >= self.busy)
            valid = int(dut.m_axis_tvalid_o.value)
            there = (int(dut.m_axis_tdata_o.value), int(dut.m_axis_tlast_o.value)) if valid else None
            assert stands in (None, there), "what stands on the stream stays until it is taken"
            stands = there if valid and not ready else None
            if valid and ready:
                frame.append(there[0])
                if there[1]:
                    self.sent.append(bytes(frame))
                    frame.clear()

    async def _give(self):
        dut = self.dut
        while True:
            await FallingEdge(dut.clk_i)
            while self.to_give:
                frame, cut = self.to_give[0]
                for at, byte in enumerate(frame):
                    while random.random() < self.busy:
                        dut.s_axis_tvalid_i.value = 0
                        await FallingEdge(dut.clk_i)
                    last = at == len(frame) - 1
                    dut.s_axis_tvalid_i.value, dut.s_axis_tdata_i.value = 1, byte
                    dut.s_axis_tlast_i.value = int(last)
                    dut.s_axis_tuser_i.value = int(cut) if last else random.getrandbits(1)
                    while True:
                        await RisingEdge(dut.clk_i)
                        taken = int(dut.s_axis_tready_o.value)
                        await FallingEdge(dut.clk_i)
                        if taken:
                            break
                self.to_give.pop(0)
                dut.s_axis_tvalid_i.value = 0

    async def _channel(self, channel, **payload):
        dut = self.dut
        await ClockCycles(dut.clk_i, random.choice((0, 0, 1, 3)), FallingEdge)
        for name, value in payload.items():
            getattr(dut, f"s_axil_{channel}{name}_i").value = value
        getattr(dut, f"s_axil_{channel}valid_i").value = 1
        while True:
            await RisingEdge(dut.clk_i)
            taken = int(getattr(dut, f"s_axil_{channel}ready_o").value)
            await FallingEdge(dut.clk_i)
            if taken:
                break
        getattr(dut, f"s_axil_{channel}valid_i").value = 0

    async def _answer(self, channel):
        dut = self.dut
        valid, ready = getattr(dut, f"s_axil_{channel}valid_o"), getattr(dut, f"s_axil_{channel}ready_i")
        while True:
            early = random.random() < 0.5
            ready.value = int(early)
            if not early and int(valid.value):
                ready.value = 1
            await RisingEdge(dut.clk_i)
            if int(valid.value) and int(ready.value):
                break
            await FallingEdge(dut.clk_i)
        found = int(dut.s_axil_rdata_o.value), int(getattr(dut, f"s_axil_{channel}resp_o").value)
        await FallingEdge(dut.clk_i)
        ready.value = 0
        return found

    async def write(self, address, value, response=0):
        request = [
            cocotb.start_soon(self._channel("aw", addr=address)),
            cocotb.start_soon(self._channel("w", data=value)),
        ]
        _, found = await with_timeout(self._answer("b"), 20, "us")
        for each in request:
            await each
        assert found == response, hex(address)

    async def read(self, address, response=0):
        request = cocotb.start_soon(self._channel("ar", addr=address))
        value, found = await with_timeout(self._answer("r"), 20, "us")
        await request
        assert found == response, hex(address)
        return value

    async def put(self, frame):
        """Words in any order, some of them first wrong."""
        order = list(enumerate(words(frame)))
        random.shuffle(order)
        for place, word in order:
            if random.random() < 0.1:
                await self.write(SEND_DATA + 4 * place, random.getrandbits(32))
            await self.write(SEND_DATA + 4 * place, word)

    async def commit(self, length, times=1):
        due = ordinal(await self.read(SEND))
        for _ in range(times):
            await self.write(SEND_COMMIT, due << 16 | length)

    async def send(self, frame):
        """Waits for room, as a program does."""
        for _ in range(10_000):
            if await self.read(SEND) & 0x1FFF >= len(frame):
                break
        else:
            raise AssertionError("there is never room")
        await self.put(frame)
        await self.commit(len(frame), random.choice((1, 1, 2)))

    async def receive(self, patience=2_000):
        """The oldest frame; none: nothing comes."""
        for _ in range(patience):
            state = await self.read(RECEIVE)
            if length := state & 0x1FFF:
                break
        else:
            return None
        places = list(range(-(-length // 4)))
        random.shuffle(places)
        found = {place: await self.read(RECEIVE_DATA + 4 * place) for place in places}
        for _ in range(random.choice((1, 1, 2))):
            await self.write(RECEIVE_RELEASE, ordinal(state))
        return b"".join(found[place].to_bytes(4, "little") for place in sorted(found))[:length]

    async def wait_for(self, count):
        for _ in range(50_000):
            if len(self.sent) >= count:
                return
            await RisingEdge(self.dut.clk_i)
        raise AssertionError(f"{len(self.sent)} frames of {count}")


def some_frame(most=90):
    return random.randbytes(random.choice((1, 2, 3, 4, 5, 16, random.randrange(1, most))))


@cocotb.test()
async def to_the_switch(dut):
    """Each frame once and whole, however slow the switch is and however often words and commits come."""
    bench = Bench(dut)
    await bench.start()
    assert await bench.read(ID) == int.from_bytes(b"PENM", "big")
    frames = []
    for _ in range(60):
        bench.busy = random.choice((0, 0.5, 0.9, 0.99))
        frames.append(some_frame())
        await bench.send(frames[-1])
    bench.busy = 0
    await bench.wait_for(len(frames))
    assert bench.sent == frames
    assert await bench.read(SEND_REFUSED) == 0
    assert await bench.read(SEND) & 0x1FFF == bench.bytes


@cocotb.test()
async def the_longest_frames(dut):
    """A frame as long as the memory goes and comes."""
    bench = Bench(dut)
    await bench.start()
    for length in (2016, bench.bytes - 1, bench.bytes):
        frame = random.randbytes(length)
        await bench.send(frame)
        await bench.wait_for(1)
        assert bench.sent.pop() == frame
        bench.to_give.append((frame, 0))
        assert await bench.receive() == frame


@cocotb.test()
async def what_has_no_room_is_refused(dut):
    """It is counted, and what waits stays as it is."""
    bench = Bench(dut)
    await bench.start()
    bench.busy = 1  # nothing leaves
    waiting = [random.randbytes(bench.bytes // 4 - 8) for _ in range(4)]
    for frame in waiting:
        await bench.send(frame)
    room = await bench.read(SEND) & 0x1FFF
    assert room == bench.bytes - 4 * len(waiting[0])
    await bench.commit(0)
    await bench.put(random.randbytes(room))
    await bench.commit(room + 1)
    assert await bench.read(SEND_REFUSED) == 2
    await bench.put(random.randbytes(room + 1))  # its last word has no room, but would have before the commit
    bench.busy = 0
    await bench.wait_for(len(waiting))
    await bench.commit(room + 1)
    assert await bench.read(SEND_REFUSED) == 3
    await bench.send(b"good")
    await bench.wait_for(len(waiting) + 1)
    assert bench.sent == [*waiting, b"good"]
    assert await bench.read(SEND_REFUSED) == 3


@cocotb.test()
async def many_short_ones_wait(dut):
    """As many as there is a place for; then there is no room for a further one until one has left."""
    bench = Bench(dut)
    await bench.start()
    bench.busy = 1
    frames = [random.randbytes(1) for _ in range(FRAMES + 1)]  # one of them stands on the stream
    for frame in frames:
        await bench.send(frame)
    assert await bench.read(SEND) & 0x1FFF == 0
    await bench.commit(1)
    assert await bench.read(SEND_REFUSED) == 1
    bench.busy = 0
    await bench.wait_for(len(frames))
    assert bench.sent == frames


@cocotb.test()
async def from_the_switch(dut):
    """Each frame once and whole, in order; those that were cut are counted, and nothing else is seen of them."""
    bench = Bench(dut)
    await bench.start()
    bench.busy = 0.2
    given = [(some_frame(), random.random() < 0.25) for _ in range(60)]
    bench.to_give.extend(given)
    for frame in (frame for frame, cut in given if not cut):
        assert await bench.receive() == frame
    for _ in range(200):
        await bench.read(RECEIVE)
        if not bench.to_give:
            break
    assert await bench.receive(patience=3) is None
    assert await bench.read(RECEIVE_CUT) == sum(cut for _, cut in given)


@cocotb.test()
async def a_slow_reader_loses_nothing(dut):
    """While the memory is full the switch waits, also within a frame; the oldest frame stays as it is meanwhile."""
    bench = Bench(dut)
    await bench.start()
    for length in (bench.bytes // 4 + 1, 1):  # memory, and places for frames
        frames = [random.randbytes(length) for _ in range(FRAMES + 8)]
        bench.to_give.extend((frame, 0) for frame in frames)
        await ClockCycles(dut.clk_i, 2 * bench.bytes)
        assert int(dut.s_axis_tready_o.value) == 0
        for frame in frames:
            assert await bench.receive() == frame
        assert not bench.to_give


@cocotb.test()
async def both_ways_at_once(dut):
    """Neither way minds the other. What is no register, or cannot be written, is refused or has no effect."""
    bench = Bench(dut)
    await bench.start()
    bench.busy = 0.3
    for _ in range(20):
        there, back = some_frame(), some_frame()
        bench.to_give.append((back, 0))
        await bench.send(there)
        assert await bench.receive() == back
        await bench.wait_for(1)
        assert bench.sent.pop() == there
        await bench.read(random.choice((0x08, 0x2C, 0x0FFC, 0x3000)), response=2)
        await bench.write(RECEIVE_DATA, random.getrandbits(32))
        assert await bench.read(SEND_DATA + 4 * random.randrange(1024)) == 0


@pytest.mark.parametrize("size", [2048, 4096])
def test_pen_host_mailbox(size):
    run_module("pen_host_mailbox", __name__, {"BYTES": size})
