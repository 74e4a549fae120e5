# SPDX-License-Identifier: Apache-2.0
"""ATS: frames of a queue leave at its rate, those that would wait for too long are dropped and counted."""

import random

import cocotb
from card import RESIDENCE, Queue, host_of, on_the_wire, until_quiet

CYCLE_NS = 8
RATE, GROUP = 1, 2
OVERHEAD = 20
NOBODYS = 15


async def entry(host, table, index, whole):
    """Commits an entry of a table."""
    for word in range(4):
        await host.write("table_data", whole >> 32 * word & 0xFFFFFFFF, 4 * word)
    await host.write("table_index", index)
    await host.write("table_commit", table)


async def rate(host, queue, bps, burst):
    ns_per_byte = (8_000_000_000 << 24) // bps
    await entry(host, RATE, queue, -(-burst * ns_per_byte // 256) << 44 | ns_per_byte)


async def shaping(dut, shaped, queues=(0, 1)):
    """A host of which some queues have ATS, and these queues."""
    host = await host_of(dut)
    assert await host.read("schedulers") == dut.PAIRS.value.to_unsigned()
    await host.write("ats_queues", shaped)
    found = [Queue(host, k, 0x10000 * (k + 1)) for k in queues]
    for queue in found:
        await queue.start()
    return host, found


async def send(queue, number, size=1000):
    frame = bytes([queue.virtqueue, number]) + random.randbytes(size - 2)
    queue.send(frame)
    await queue.host.write("notify", queue.virtqueue)
    return on_the_wire(frame)


@cocotb.test()
async def frames_leave_at_the_rate_behind_a_burst(dut):
    """A burst of two frames goes at once, the others follow at 100 Mb/s to the cycle; another queue is not held."""
    host, [queue, other] = await shaping(dut, 0b01)
    length = 1004 + OVERHEAD
    await rate(host, 0, 100_000_000, 2 * length)
    await rate(host, 1, 10_000, 1)
    frames = [await send(queue, number) for number in range(4)]
    frames += [await send(other, number) for number in range(4)]
    await until_quiet(host)
    own = [first for first, data in host.frames if data in frames[:4]]
    assert [data for _, data in host.frames if data[0] == queue.virtqueue] == frames[:4]
    assert [data for _, data in host.frames if data[0] == other.virtqueue] == frames[4:]
    recovery = length * 80 // CYCLE_NS
    assert own[3] - own[2] == recovery
    # The third one's time is that of the first one's arrival and a recovery, and it leaves at it.
    assert own[2] - own[0] == recovery
    assert max(first for first, data in host.frames if data in frames[4:]) < own[2], "the other queue goes on"
    # More bytes count beside each frame.
    await host.write("ats_overhead", 120)
    queue.given_back()
    host.frames.clear()
    for number in range(4):
        await send(queue, number)
    await until_quiet(host, 100_000)
    own = [first for first, _ in host.frames]
    assert own[3] - own[2] == (1004 + 120) * 80 // CYCLE_NS


@cocotb.test()
async def what_would_wait_for_too_long_is_dropped_and_counted(dut):
    host, [queue, other] = await shaping(dut, 0b11)
    length = 1004 + OVERHEAD
    for k in range(2):
        await rate(host, k, 100_000_000, length)
    # Of the class of the first queue; the other one's stays. The index of neither is one of a class or a queue.
    await entry(host, GROUP, 0, 100_000)
    await entry(host, GROUP, 9, 0)
    await entry(host, RATE, dut.PAIRS.value.to_unsigned(), 0)
    for of in (queue, other):
        for number in range(4):
            await send(of, number)
            await host.step(200)
    await until_quiet(host, 100_000)
    kept = [data[1] for _, data in host.frames if data[0] == queue.virtqueue]
    assert kept == [0, 1], "the third would wait for 164 us"
    assert [data[1] for _, data in host.frames if data[0] == other.virtqueue] == [0, 1, 2, 3]
    assert [await host.count(RESIDENCE, k) for k in range(2)] == [2, 0]
    assert len(queue.given_back()) == 4, "the driver has them all back"
    # A new rate has a full bucket.
    host.frames.clear()
    await send(queue, 4)
    await host.step(1000)
    await rate(host, 0, 100_000_000, length)
    begin = host.cycle
    await send(queue, 5)
    await until_quiet(host)
    assert host.frames[-1][0] - begin < 2 * 1024 + 1000


@cocotb.test()
async def each_commit_is_answered(dut):
    """Also of a table that the card has not, and of those whose unit has to be found first."""
    host, _ = await shaping(dut, 0)
    for table in (0, RATE, GROUP, 3, 4, 5, 8, NOBODYS):
        await entry(host, table, 0, 0)


@cocotb.test()
async def launch_times_of_a_queue_with_ats_come_first(dut):
    """A frame with a launch time is not held; one of time zero is."""
    host, [queue, _] = await shaping(dut, 0b01)
    await rate(host, 0, 10_000_000, 1024)
    await host.write("launch_enable", 1)
    for number, launch_ns in enumerate((0, 0, 1)):
        queue.send(launch_ns.to_bytes(8, "little") + bytes([queue.virtqueue, number]) + random.randbytes(98))
        await host.write("notify", queue.virtqueue)
        await host.step(300)
    # Ten frames of 124 bytes are more than the burst.
    for number in range(3, 13):
        while not queue.room():
            queue.given_back()
            await host.step(50)
        queue.send(bytes(8) + bytes([queue.virtqueue, number]) + random.randbytes(98))
        await host.write("notify", queue.virtqueue)
    await until_quiet(host, 400_000)
    assert [data[1] for _, data in host.frames] == list(range(13))
    own = [first for first, _ in host.frames]
    assert own[12] - own[11] == 124 * 800 // CYCLE_NS
    queue.given_back()
    queue.send((1).to_bytes(8, "little") + bytes([queue.virtqueue, 13]) + random.randbytes(98))
    await host.write("notify", queue.virtqueue)
    await until_quiet(host)
    assert host.frames[-1][0] - own[12] < 124 * 800 // CYCLE_NS, "its time is its program's"
