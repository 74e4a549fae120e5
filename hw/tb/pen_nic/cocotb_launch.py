# SPDX-License-Identifier: Apache-2.0
"""Launch times: frames leave at them, whatever the order in which they come, and what is late is counted."""

import random

import cocotb
from card import BEYOND, DROPPED, LATE, Queue, host_of, on_the_wire, until_quiet

CYCLE_NS = 8
PTP_SET, PTP_STEP = 1, 2


async def command(host, number, seconds, ns):
    """A command of the PTP clock."""
    for offset, value in ((0, ns), (4, seconds & 0xFFFFFFFF), (8, seconds >> 32 & 0xFFFF)):
        await host.write("table_data", value, offset)
    await host.write("ptp", number)


async def launching(dut, queues=(0,)):
    """A host whose queues have launch times, and these queues."""
    host = await host_of(dut)
    await host.write("launch_enable", sum(1 << k for k in queues))
    found = [Queue(host, k, 0x10000 * (k + 1)) for k in queues]
    for queue in found:
        await queue.start()
    return host, found


async def send(queue, launch_ns, frame):
    queue.send(launch_ns.to_bytes(8, "little") + frame)
    await queue.host.write("notify", queue.virtqueue)


def frame_of(queue, number, size=100):
    return bytes([queue.virtqueue, number]) + random.randbytes(size - 2)


async def shows_at(host, queue):
    """The cycle in which the clock shows zero, by the stamp of a message."""
    sync = random.randbytes(12) + b"\x88\xf7\x00\x02" + random.randbytes(50)
    await send(queue, 0, sync)
    await until_quiet(host)
    queue.given_back()
    first, data = host.frames.pop()
    assert data == on_the_wire(sync), "a launch time of zero is none"
    await host.write("stamp_take", 8)
    assert await host.read("stamp_tag") >> 31
    return first - await host.read("stamp_ns") // CYCLE_NS


async def now_ns(host, zero):
    return (host.cycle - zero) * CYCLE_NS


@cocotb.test()
async def a_message_is_stamped_with_its_launch_time(dut):
    host, [queue] = await launching(dut)
    for launch_ns in (20_000, 40_007, 60_001):
        sync = random.randbytes(12) + b"\x88\xf7\x00\x02" + random.randbytes(50)
        await send(queue, launch_ns, sync)
        await until_quiet(host)
        queue.given_back()
        assert [data for _, data in host.frames] == [on_the_wire(sync)]
        host.frames.clear()
        await host.write("stamp_take", 8)
        assert await host.read("stamp_tag") >> 31
        assert launch_ns <= await host.read("stamp_ns") < launch_ns + CYCLE_NS
    assert await host.count(LATE) == 0


@cocotb.test()
async def frames_leave_in_the_order_of_their_times(dut):
    """Four frames of each of four queues: the order of their coming counts for nothing, each leaves in its cycle."""
    host, queues = await launching(dut, range(4))
    zero = await shows_at(host, queues[0])
    for _ in range(3):
        begin = await now_ns(host, zero) + 60_000
        times = [begin + 2_000 * place + random.randrange(300) for place in range(16)]
        random.shuffle(times)
        wanted = []
        for number, launch_ns in enumerate(times):
            queue = queues[number % 4]
            frame = frame_of(queue, number)
            await send(queue, launch_ns, frame)
            wanted.append((zero - -launch_ns // CYCLE_NS, on_the_wire(frame)))
        assert host.cycle < zero + begin // CYCLE_NS, "all were to be there before the first one leaves"
        assert not host.frames
        await until_quiet(host)
        assert host.frames == sorted(wanted)
        host.frames.clear()
        for queue in queues:
            queue.given_back()
    for k in range(4):
        assert [await host.count(which, k) for which in (LATE, DROPPED, BEYOND)] == [0, 0, 0]


@cocotb.test()
async def of_equal_times_the_first_that_came_goes_first_and_others_are_late(dut):
    host, [queue] = await launching(dut)
    zero = await shows_at(host, queue)
    launch_ns = await now_ns(host, zero) + 20_000
    frames = [frame_of(queue, number) for number in range(4)]
    for frame in frames:
        await send(queue, launch_ns, frame)
    await until_quiet(host)
    slot = 104 + 20
    first = zero - -launch_ns // CYCLE_NS
    assert host.frames == [(first + k * slot, on_the_wire(frame)) for k, frame in enumerate(frames)]
    assert await host.count(LATE) == 3


@cocotb.test()
async def late_frames_are_counted_and_sent_or_dropped(dut):
    host, queues = await launching(dut, (0, 1))
    zero = await shows_at(host, queues[0])
    await host.write("launch_drop", 0b10)
    await host.write("launch_horizon", 1_000_000)
    for number, queue in enumerate(queues):
        await send(queue, await now_ns(host, zero) - 500, frame_of(queue, number))
        await until_quiet(host)
    assert [data[0] for _, data in host.frames] == [queues[0].virtqueue]
    host.frames.clear()
    # Too far ahead for either, past the wrap of all times too; a time of zero is never late.
    for launch_ns in (await now_ns(host, zero) + 1_030_000, (1 << 64) - 1, 1 << 63):
        for queue in queues:
            await send(queue, launch_ns, frame_of(queue, 2))
            await until_quiet(host)
            queue.given_back()
    assert not host.frames
    await send(queues[1], 0, frame_of(queues[1], 3))
    await until_quiet(host)
    assert [data[:2] for _, data in host.frames] == [bytes((queues[1].virtqueue, 3))]
    assert [await host.count(LATE, k) for k in range(2)] == [1, 0]
    assert [await host.count(DROPPED, k) for k in range(2)] == [0, 1]
    assert [await host.count(BEYOND, k) for k in range(2)] == [3, 3]


@cocotb.test()
async def what_is_held_follows_a_clock_that_steps(dut):
    host, [queue] = await launching(dut)
    zero = await shows_at(host, queue)
    begin = await now_ns(host, zero)
    frames = [frame_of(queue, number) for number in range(3)]
    for frame, ahead_ns in zip(frames, (40_000, 50_000, 30_000), strict=True):
        await send(queue, begin + ahead_ns, frame)
    await command(host, PTP_STEP, -1, 10**9 - 8_000)
    await host.step(40_000 // CYCLE_NS - host.cycle + zero + begin // CYCLE_NS)
    first = zero - -(begin + 30_000 + 8_000) // CYCLE_NS
    assert host.frames == [(first, on_the_wire(frames[2]))]
    assert await host.count(LATE) == 0
    await command(host, PTP_STEP, 1, 0)
    await until_quiet(host)
    assert [data for _, data in host.frames[1:]] == [on_the_wire(frames[k]) for k in (0, 1)]
    assert await host.count(LATE) == 2, "the clock went past them"


@cocotb.test()
async def a_queue_whose_launch_times_end_sends_what_it_has(dut):
    host, queues = await launching(dut, (0, 1))
    zero = await shows_at(host, queues[0])
    begin = await now_ns(host, zero)
    for number, ahead_ns in enumerate((3_000_000, 1_000_000, 2_000_000)):
        await send(queues[0], begin + ahead_ns, frame_of(queues[0], number))
    await send(queues[1], begin + 200_000, frame_of(queues[1], 9))
    await host.step(1000)
    await host.write("launch_enable", 0b10)
    await host.step(1000)
    assert [data[:2] for _, data in host.frames] == [bytes((queues[0].virtqueue, number)) for number in (1, 2, 0)]
    assert await host.count(LATE) == 0
    queues[0].send(frame_of(queues[0], 4))
    await host.write("notify", queues[0].virtqueue)
    await until_quiet(host)
    assert [data[:2] for _, data in host.frames[3:]] == [bytes((queues[k].virtqueue, n)) for k, n in ((0, 4), (1, 9))]
    assert host.frames[-1][0] == zero - -(begin + 200_000) // CYCLE_NS


@cocotb.test()
async def the_store_holds_a_documented_depth_and_the_ring_the_rest(dut):
    """Far times keep all slots of a queue; what comes behind waits in its ring, and other queues go on."""
    host, queues = await launching(dut, (0, 1))
    zero = await shows_at(host, queues[0])
    depth = dut.SLOTS.value.to_unsigned()
    begin = await now_ns(host, zero)
    queue = queues[0]
    for number in range(depth):
        await send(queue, begin + 100_000 + 10_000 * number, frame_of(queue, number))
        await host.step(300)
        queue.given_back()
    await send(queue, begin + 60_000, frame_of(queue, depth))
    await send(queues[1], begin + 70_000, frame_of(queues[1], 9))
    await until_quiet(host)
    order = [data[1] for _, data in host.frames]
    # The fifth one is taken when the first one has left, and is late then.
    assert order == [9, 0, depth, *range(1, depth)]
    assert await host.count(LATE) == 1
