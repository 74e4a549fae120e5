# SPDX-License-Identifier: Apache-2.0
import random
from itertools import pairwise

import cocotb
from card import INDIRECT, MEMORY, NEXT, SIZE, WRITE, Queue, host_of, on_the_wire, until_quiet


@cocotb.test()
async def frames_of_all_queues_arrive_whole_and_in_order(dut):
    host = await host_of(dut)
    queues = [Queue(host, k, 0x10000 * (k + 1), first=random.choice((0, 65530))) for k in range(4)]
    for queue in queues:
        await queue.start()
    sent = {queue: [] for queue in queues}
    heads = {queue: [] for queue in queues}
    back = {queue: [] for queue in queues}
    for _ in range(60):
        queue = random.choice(queues)
        while not queue.room():
            await host.step(20)
            back[queue] += queue.given_back()
        size = random.choice((14, 59, 60, 61, random.randint(14, 200), random.randint(14, 1518)))
        frame = bytes([queue.virtqueue]) + random.randbytes(size - 1)
        heads[queue].append(queue.send(frame))
        sent[queue].append(on_the_wire(frame))
        await host.write("notify", queue.virtqueue)
        await host.step(random.choice((0, 0, 5, 300)))
    await until_quiet(host)
    for queue in queues:
        back[queue] += queue.given_back()
        assert back[queue] == heads[queue]
        arrived = [data for _, data in host.frames if data[0] == queue.virtqueue]
        assert arrived == sent[queue]
        assert host.interrupts >> queue.virtqueue & 1 or not sent[queue]
    assert len(host.frames) == 60


@cocotb.test()
async def frames_follow_each_other_without_a_gap_too_many(dut):
    host = await host_of(dut)
    host.slow = 0
    queues = [Queue(host, k, 0x10000 * (k + 1)) for k in range(2)]
    for queue in queues:
        await queue.start()
        for _ in range(4):
            queue.descriptor(queue.next, queue.buffers + 0x1000 * queue.next, 12 + 60)
            queue.offer(queue.next)
    for queue in queues:
        await host.write("notify", queue.virtqueue)
    await until_quiet(host)
    starts = [start for start, _ in host.frames]
    assert len(starts) == 8
    gaps = [b - a for a, b in pairwise(starts)]
    assert gaps[1:] == [64 + 20] * 6, gaps


@cocotb.test()
async def a_bad_descriptor_stops_its_queue_alone(dut):
    host = await host_of(dut)
    good = Queue(host, 1, 0x20000)
    await good.start()
    base = 0x10000
    outside = MEMORY + 0x1000

    def loop(queue):
        queue.descriptor(0, queue.buffers, 8, NEXT, 1)
        queue.descriptor(1, queue.buffers, 8, NEXT, 0)
        queue.offer(0)

    def single(*what):
        def make(queue):
            queue.descriptor(0, *what)
            queue.offer(0)

        return make

    def twice_64_kib(queue):
        queue.descriptor(0, base, 65536, NEXT, 1)
        queue.descriptor(1, base, 65536)
        queue.offer(0)

    def jump(queue):
        queue.put(queue.driver + 2, (queue.next + SIZE + 1) % 65536, 2)

    cases = [
        (2, jump),
        (3, lambda queue: queue.offer(SIZE)),
        (3, single(base, 20, NEXT, SIZE)),
        (4, loop),
        (5, single(base, 0)),
        (6, single(base, 65537)),
        (6, twice_64_kib),
        (7, single(base, 100, WRITE)),
        (7, single(base, 100, INDIRECT)),
        (8, single(outside, 100)),
        (8, single(MEMORY - 64, 100)),
        (8, single(1 << 60, 100)),
    ]
    for error, make in cases:
        bad = Queue(host, 0, base, first=random.randrange(65536))
        await bad.start()
        host.interrupts = 0
        make(bad)
        await host.write("notify", bad.virtqueue)
        frame = random.randbytes(random.randint(14, 300))
        good.send(frame)
        await host.write("notify", good.virtqueue)
        await until_quiet(host)
        await host.write("select", bad.virtqueue)
        state = await host.read("state")
        assert state >> 20 & 0xF == error, (error, hex(state))
        assert not state >> 16 & 1
        assert await host.read("errors") == 1 << bad.virtqueue
        assert host.interrupts >> bad.virtqueue & 1
        assert bad.given_back() == []
        assert host.frames.pop()[1] == on_the_wire(frame)
        assert not host.frames
        good.given_back()
    assert all(address < MEMORY for address, _ in host.touched)


@cocotb.test()
async def behind_a_frame_that_memory_refused_its_queue_does_nothing(dut):
    """Frames of it that are on their way are neither sent nor given back; those before it and of others are both."""
    host = await host_of(dut)
    host.slow = 40
    good = Queue(host, 1, 0x20000)
    await good.start()
    for _ in range(6):
        bad = Queue(host, 0, 0x10000, first=random.randrange(65536))
        await bad.start()
        before, others = ([random.randbytes(random.randint(14, 200)) for _ in range(n)] for n in (2, 3))
        heads = [bad.send(frame) for frame in before]
        place = 4 * (bad.next % 4)
        buffers = [(bad.buffers, 12 + 60), (MEMORY + 0x1000, 60), (bad.buffers, 60)]
        chain = random.choice((buffers[1:2], buffers[:2], buffers[1:], buffers))
        for number, buffer in enumerate(chain):
            is_last = number + 1 == len(chain)
            bad.descriptor(place + number, *buffer, *((0, 0) if is_last else (NEXT, place + number + 1)))
        bad.offer(place)
        bad.send(random.randbytes(60))
        given = [good.send(frame) for frame in others]
        for queue in (bad, good):
            await host.write("notify", queue.virtqueue)
        await until_quiet(host)
        assert bad.given_back() == heads
        assert good.given_back() == given
        await host.write("select", bad.virtqueue)
        assert await host.read("state") >> 20 & 0xF == 8
        assert sorted(frame for _, frame in host.frames) == sorted(map(on_the_wire, before + others))
        host.frames.clear()


@cocotb.test()
async def what_was_done_before_a_queue_fails_is_told(dut):
    """While the driver of another queue is being told, so that what is done has to wait."""
    host = await host_of(dut)
    host.slow, host.settling = 0, 400
    good = Queue(host, 1, 0x20000)
    await good.start()
    for _ in range(4):
        bad = Queue(host, 0, 0x10000, first=random.randrange(65536))
        await bad.start()
        given = [good.send(random.randbytes(64)) for _ in range(3)]
        heads = [bad.send(random.randbytes(64)) for _ in range(2)]
        bad.offer(SIZE)
        for queue in random.sample((good, bad), 2):
            await host.write("notify", queue.virtqueue)
        await until_quiet(host)
        assert bad.given_back() == heads
        assert good.given_back() == given
        assert await host.read("errors") == 1 << bad.virtqueue
        assert len(host.frames) == 5
        host.frames.clear()


@cocotb.test()
async def a_closed_gate_holds_its_queue_and_no_other(dut):
    host = await host_of(dut)
    queues = [Queue(host, k, 0x10000 * (k + 1)) for k in range(2)]
    await host.write("gate_enable", 1)
    await host.write("gate_states", 0b10)
    for queue in queues:
        await queue.start()
        queue.send(bytes([queue.virtqueue]) + random.randbytes(100))
        await host.write("notify", queue.virtqueue)
    await host.step(1000)
    assert [data[0] for _, data in host.frames] == [3]
    await host.write("gate_states", 0b01)
    await until_quiet(host)
    assert [data[0] for _, data in host.frames] == [3, 1]


@cocotb.test()
async def a_stopped_queue_goes_on_where_it_stood(dut):
    host = await host_of(dut)
    queue = Queue(host, 0, 0x10000)
    await queue.start()
    for _ in range(3):
        queue.send(random.randbytes(64))
    await host.write("notify", queue.virtqueue)
    await until_quiet(host)
    assert len(queue.given_back()) == 3
    await host.write("command", 0)
    queue.send(random.randbytes(64))
    await host.write("notify", queue.virtqueue)
    before = len(host.touched)
    await host.step(500)
    assert len(host.touched) == before
    assert await host.read("state") & 0x1FFFF == 3
    queue_index = queue.next
    await host.write("index", 3 | 3 << 16)
    await host.write("command", 1)
    await until_quiet(host)
    assert len(queue.given_back()) == 1 and queue.seen == queue_index
    assert len(host.frames) == 4


@cocotb.test()
async def slots_are_held_to_the_bit(dut):
    """Three queues that are always full: each frame lies in a slot of its queue, and slots begin to the cycle."""
    host = await host_of(dut)
    queues = [Queue(host, k, 0x10000 * (k + 1)) for k in range(3)]
    slots_us = (16, 14, 13)
    for k, micros in enumerate(slots_us):
        await host.write("slots_us", micros, 4 * k)
    for name, value in (("slot_cycle", 56_000), ("slot_count", 3), ("slot_order", 0x000102)):
        await host.write(name, value)
    await host.write("slot_commit", 0)
    assert await host.read("slot_error") == 0
    for queue in queues:
        await queue.start()
    end = host.cycle + 5 * 56_000 // 8
    while host.cycle < end:
        for queue in queues:
            queue.given_back()
            rings = queue.room()
            while queue.room():
                queue.send(bytes([queue.virtqueue]) + random.randbytes(random.randint(200, 700)))
            if rings:
                await host.write("notify", queue.virtqueue)
        await host.step(50)
    # From the first preamble byte to the last bit, in cycles; the list is in force after the first cycles.
    cycle = 56_000 // 8
    spans = [(start - 8, start + len(data), data[0] // 2) for start, data in host.frames if start > end - 3 * cycle]
    begins = {k: min(((first - spans[0][0]) % cycle for first, _, queue in spans if queue == k)) for k in range(3)}
    base = begins[2]
    assert [(begins[k] - base) % cycle for k in (2, 1, 0)] == [0, 13 * 125, 27 * 125]
    for first, last, queue in spans:
        at = (first - spans[0][0] - begins[queue]) % cycle
        assert at + last - first <= slots_us[queue] * 125, (queue, at, last - first)
    assert {queue for _, _, queue in spans} == {0, 1, 2}


@cocotb.test()
async def slots_that_cannot_be_change_nothing(dut):
    host = await host_of(dut)
    await host.write("slots_us", 100)
    await host.write("slot_cycle", 50_000)
    await host.write("slot_count", 1)
    await host.write("slot_commit", 0)
    assert await host.read("slot_error") == 6
    assert await host.read("slots_ns") == 100_000
    queue = Queue(host, 1, 0x10000)
    await queue.start()
    queue.send(random.randbytes(100))
    await host.write("notify", queue.virtqueue)
    await until_quiet(host)
    assert len(host.frames) == 1, "no gate acts"


@cocotb.test()
async def registers_of_a_port_that_is_not_there_are_an_error(dut):
    host = await host_of(dut)
    assert (await host.read("id", 0x8), await host.read("id", 0x14), host.response) == (1, 0, 0)
    for offset in (0x10000, 0x20000, 0x30000):
        await host.read("id", offset)
        assert host.response == 3
    assert await host.read("id") == 0x50454E4E
    assert host.response == 0
