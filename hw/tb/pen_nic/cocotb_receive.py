# SPDX-License-Identifier: Apache-2.0
import random
import zlib
from itertools import pairwise

import cocotb
from card import (
    BAD,
    FILTERED,
    MEMORY,
    NEXT,
    NO_BUFFER,
    RECEIVED,
    RECEIVED_OCTETS,
    WRITE,
    Queue,
    ReceiveQueue,
    host_of,
    on_the_wire,
    until_quiet,
)
from gmii import FCS, NONE, random_carrier, receive, with_fcs

HASHED, BY_PCP = 0b10, 0b01


def udp(payload=b"", tag=None, port=None):
    """A UDP packet in a frame without FCS, and its key."""
    source, destination = random.randbytes(4), random.randbytes(4)
    ports = random.randbytes(2) + (port or random.randrange(65536)).to_bytes(2, "big")
    head = bytes([0x45]) + random.randbytes(1) + (28 + len(payload)).to_bytes(2, "big") + bytes(5) + b"\x11" + bytes(2)
    packet = head + source + destination + ports + (8 + len(payload)).to_bytes(2, "big") + bytes(2) + payload
    vlan = b"" if tag is None else b"\x81\x00" + tag.to_bytes(2, "big")
    return random.randbytes(12) + vlan + b"\x08\x00" + packet, source + destination + b"\x11" + ports


def queue_of(key, running):
    return running[(zlib.crc32(key) >> 24) * len(running) >> 8]


async def receivers(host, pairs=range(4), first=0):
    queues = {k: ReceiveQueue(host, k, 0x40000 + 0x18000 * k, first) for k in pairs}
    for queue in queues.values():
        await queue.start()
    return queues


@cocotb.test()
async def received_frames_arrive_whole_and_in_order(dut):
    """Of any size, into chains of any shape, in queues by their hash; bad ones do not come."""
    host = await host_of(dut)
    queues = await receivers(host, first=random.choice((0, 65530)))
    wanted = {k: [] for k in queues}
    arrived = {k: [] for k in queues}
    bad = [0] * 7
    for _ in range(40):
        for queue in queues.values():
            while queue.provide(*(random.choice((1, 13, 300, 1000, 1600)) for _ in range(3)), 700):
                pass
        if random.random() < 0.3:
            samples = random_carrier(1522, gaps=(12, 30))
            (seen,) = receive(samples, 1522)
            host.incoming.extend(samples)
            bad[seen.reason] += 1
            if seen.reason == NONE:
                wanted[0].append(seen.data[:-4])  # not IPv4, but for one in 65536
        else:
            frame, key = udp(random.randbytes(random.choice((18, 19, random.randrange(400), 1472))))
            frame = on_the_wire(frame)
            host.arrive(frame)
            wanted[queue_of(key, range(4))].append(frame[:-4])
        await host.step(len(host.incoming) + random.choice((0, 200)))
        for k, queue in queues.items():
            arrived[k] += queue.frames()
    await until_quiet(host)
    for k, queue in queues.items():
        arrived[k] += queue.frames()
        assert arrived[k] == wanted[k], k
        assert await host.count(RECEIVED, k) == len(wanted[k])
        assert await host.count(RECEIVED_OCTETS, k) == sum(map(len, wanted[k]))
        assert host.interrupts >> queue.virtqueue & 1 or not wanted[k]
    assert [await host.count(BAD, reason) for reason in range(1, 7)] == bad[1:]


@cocotb.test()
async def a_frame_that_finds_no_room_takes_none(dut):
    host = await host_of(dut)
    queues = await receivers(host, (0, 2), first=65535)
    queue = queues[0]
    queue.reused = True
    long, short = on_the_wire(random.randbytes(12) + bytes(2) + random.randbytes(1400)), on_the_wire(bytes(60))
    for length in (300, 400, 200):
        queue.provide(length)
    for frame in (long, short, long, short, short, short):
        host.arrive(frame)
    await until_quiet(host)
    assert queue.frames() == [short[:-4]] * 3
    assert await host.count(NO_BUFFER) == 3
    assert await host.read("errors") == 0
    for _ in range(5):
        queue.provide(random.randint(12, 300), random.randint(1, 300))
    queue.provide(2000)
    host.arrive(long)
    await until_quiet(host)
    assert queue.frames() == [long[:-4]]


@cocotb.test()
async def a_bad_receive_chain_stops_its_queue_alone(dut):
    host = await host_of(dut)
    queues = await receivers(host, (1,))
    good = queues[1]
    await host.write("steering", BY_PCP)
    base, outside = 0x20000, MEMORY + 0x1000
    frame = on_the_wire(random.randbytes(12) + b"\x81\x00\x00\x01" + random.randbytes(300))
    other = on_the_wire(random.randbytes(12) + b"\x81\x00\x20\x01" + random.randbytes(100))

    def chain(*buffers):
        def make(queue):
            for number, (address, length, flags) in enumerate(buffers):
                queue.descriptor(number, address, length, flags, number + 1)
            queue.offer(0)

        return make

    more = WRITE | NEXT
    cases = [
        (7, chain((base + 0x1000, 2000, 0))),
        (5, chain((base + 0x1000, 0, WRITE))),
        (8, chain((outside, 2000, WRITE))),
        (8, chain((outside, 100, WRITE))),  # and the frame needs more chains than there are
        (8, chain((base + 0x1000, 100, more), (outside, 2000, WRITE))),
        (8, chain((MEMORY - 64, 100, more), (base + 0x1000, 2000, WRITE))),
        (9, chain((base + 0x1000, 4, more), (base + 0x1010, 7, WRITE))),
    ]
    for error, make in cases:
        bad = ReceiveQueue(host, 0, base, first=random.randrange(65536))
        await bad.start()
        make(bad)
        good.provide(1000)
        host.interrupts = 0
        host.arrive(frame)
        host.arrive(other)
        await until_quiet(host)
        assert good.frames() == [other[:-4]], error
        await host.write("select", bad.virtqueue)
        state = await host.read("state")
        assert state >> 20 & 0xF == error, (error, hex(state))
        assert await host.read("errors") == 1 << bad.virtqueue
        assert host.interrupts >> bad.virtqueue & 1
        assert bad.get(bad.device + 2, 2) == bad.seen, "nothing of it is given back"
    assert all(address < MEMORY for address, _ in host.touched)
    # What is for a queue that stands still goes to the first that runs.
    good.provide(1000)
    host.arrive(frame)
    await until_quiet(host)
    assert good.frames() == [frame[:-4]]


@cocotb.test()
async def a_queue_that_has_failed_gets_no_frame_that_waited(dut):
    host = await host_of(dut)
    host.slow = 200
    queue = (await receivers(host, (0,)))[0]
    queue.descriptor(0, queue.buffers, 4, WRITE)
    queue.offer(0)
    for number in range(1, 4):
        queue.descriptor(number, queue.buffers + 0x800 * number, 0x800, WRITE)
        queue.offer(number)
    for _ in range(3):
        host.arrive(on_the_wire(bytes(60)))
    await until_quiet(host)
    assert await host.read("errors") == 1 << queue.virtqueue
    assert queue.get(queue.device + 2, 2) == 0, "nothing is given back"


@cocotb.test()
async def behind_a_frame_that_memory_refused_its_queue_gets_nothing(dut):
    """While frames before it and behind it settle: those before it and of others are given."""
    host = await host_of(dut)
    good = (await receivers(host, (1,)))[1]
    await host.write("steering", BY_PCP)
    host.slow, host.settling = 0, 300
    for order in ((0, 0, 0, 1), (0, 0, 1, 0), (1, 0, 0, 0, 1), (0, 1, 0, 1, 0)):
        bad = ReceiveQueue(host, 0, 0x20000, first=random.randrange(65536))
        await bad.start()
        lost = await host.count(NO_BUFFER)
        addresses = (0x22000, MEMORY + 0x1000, 0x23000, 0x24000)
        for number, address in enumerate(addresses):
            bad.descriptor(number, address, 0x800, WRITE)
            bad.offer(number)
        bad.chains[0] = [(0, addresses[0], 0x800)]
        host.memory[addresses[0] : addresses[0] + 0x800] = b"\xaa" * 0x800
        frames = [random.randbytes(12) + bytes((0x81, 0, pcp << 5, 1)) + random.randbytes(44) for pcp in order]
        for frame in frames:
            good.provide(1000)
            host.arrive(on_the_wire(frame))
        await until_quiet(host)
        wanted = [[frame for frame, of in zip(frames, order, strict=True) if of == pcp] for pcp in (0, 1)]
        got = good.frames()  # and what comes for the other one when it stands still
        assert [frame for frame in got if frame in wanted[1]] == wanted[1]
        assert all(frame in wanted[1] + wanted[0][2:] for frame in got)
        assert bad.frames() == wanted[0][:1]
        await host.write("select", bad.virtqueue)
        assert await host.read("state") >> 20 & 0xF == 8
        assert await host.count(NO_BUFFER) - lost == len(wanted[0]) - 1 - (len(got) - len(wanted[1]))


@cocotb.test()
async def rules_filters_and_priorities_steer(dut):
    host = await host_of(dut)
    queues = await receivers(host)
    for queue in queues.values():
        for _ in range(20):
            queue.provide(1600)

    async def rule(index, *, fields=0, parts=0, ipv4=0, pair=0, drop=0, valid=1):
        value = fields | parts << 104 | ipv4 << 109 | pair << 110 | drop << 114 | valid << 115
        for word in range(4):
            await host.write("table_data", value >> 32 * word & 0xFFFFFFFF, 4 * word)
        await host.write("table_index", index)
        await host.write("table_commit", 9)

    async def where(frame):
        host.arrive(with_fcs(frame.ljust(60, b"\0")))
        await until_quiet(host)
        return [k for k, queue in queues.items() if queue.frames()]

    own, group = bytes.fromhex("025400000001"), bytes.fromhex("01005e000001")
    await host.write("address_low", int.from_bytes(own[2:], "big"))
    await host.write("address_high", int.from_bytes(own[:2], "big"))
    assert await host.read("queue_of_pcp") == 0x76543210
    packet, key = udp()
    assert await where(packet) == [queue_of(key, range(4))]
    await host.write("filter", 0)
    filtered = 0
    for destination, passes in ((own, 1), (group, 0), (b"\xff" * 6, 1), (own[:5] + b"\x02", 0)):
        assert await where(destination + bytes(8)) == [0] * passes, destination.hex()
        filtered += not passes
    await host.write("filter", 0b10)
    assert await where(group + bytes(8)) == [0]
    assert await where(own[:5] + b"\x02" + bytes(8)) == []
    assert await host.count(FILTERED) == filtered + 1
    await host.write("filter", 0b01)

    await host.write("steering", BY_PCP)
    for pcp in range(8):
        tagged, _ = udp(tag=pcp << 13 | 5)
        assert await where(tagged) == [pcp if pcp < 4 else 0]
    await host.write("queue_of_pcp", 0x3)
    tagged, key = udp(tag=7)
    assert await where(tagged) == [3]

    await host.write("steering", HASHED)
    await rule(5, fields=int.from_bytes(key, "big"), parts=0b11111, ipv4=1, pair=2)
    assert await where(tagged) == [2]
    changed = tagged[:30] + bytes([tagged[30] ^ 1]) + tagged[31:]
    assert await where(changed) == [queue_of(ipv4_key(changed), range(4))]
    await rule(3, fields=0x88F7 << 60, parts=0b100, pair=1)
    assert await where(random.randbytes(12) + b"\x88\xf7" + bytes(40)) == [1]
    await rule(2, fields=int.from_bytes(own, "big"), parts=0b001, drop=1)
    assert await where(own + random.randbytes(6) + b"\x88\xf7" + bytes(40)) == [], "the lowest rule counts"
    await rule(2, valid=0)
    assert await where(own + random.randbytes(6) + b"\x88\xf7" + bytes(40)) == [1]
    await rule(0, fields=7 << 48, parts=0b010, pair=3)
    assert await where(random.randbytes(12) + b"\x81\x00\x20\x07" + bytes(40)) == [3]


def ipv4_key(frame):
    """Of a packet behind a tag."""
    return frame[30:38] + frame[27:28] + frame[38:42]


@cocotb.test()
async def both_ways_at_line_rate(dut):
    """Shortest frames, back to back, with a memory that answers at once: none is lost, and none is late."""
    host = await host_of(dut)
    host.slow = 0
    queues = await receivers(host, (0, 1))
    sender = Queue(host, 2, 0x20000)
    await sender.start()
    for _ in range(4):
        sender.descriptor(sender.next, sender.buffers + 0x1000 * sender.next, 12 + 60)
        sender.offer(sender.next)
    frames = []
    for queue in queues.values():
        for _ in range(24):
            queue.provide(1600)
    for _ in range(24):
        frames.append(on_the_wire(udp()[0]))
        host.arrive(frames[-1])
    start = host.cycle
    await host.write("notify", sender.virtqueue)
    await until_quiet(host)
    assert host.cycle - start < 84 * 24 + 300
    assert len(host.frames) == 4
    got = [frame for queue in queues.values() for frame in queue.frames()]
    assert sorted(got) == sorted(frame[:-4] for frame in frames)
    assert await host.count(FCS) == 0


@cocotb.test()
async def received_messages_are_stamped_to_the_cycle(dut):
    """Messages of PTP, and no others: what lies between two stamps lies between their first bytes."""
    host = await host_of(dut)
    await receivers(host, (0,))
    starts = []
    for number in range(3):
        header = b"\x88\xf7\x00\x02" + random.randbytes(28) + number.to_bytes(2, "big")
        message = random.randbytes(12) + header + bytes(20)
        host.arrive(on_the_wire(udp()[0]))
        starts.append(host.cycle + len(host.incoming))
        host.arrive(on_the_wire(message))
        await host.step(len(host.incoming) + random.randrange(50, 90))
    stamps = []
    for number in range(3):
        await host.write("stamp_take", 0)
        tag = await host.read("stamp_tag")
        assert (tag >> 31, tag & 0xFFFF) == (1, number)
        stamps.append(await host.read("stamp_ns"))
    await host.write("stamp_take", 0)
    assert await host.read("stamp_tag") >> 31 == 0
    assert [b - a for a, b in pairwise(stamps)] == [8 * (b - a) for a, b in pairwise(starts)]


@cocotb.test()
async def all_received_frames_are_stamped_if_they_are_to(dut):
    """In their order, also those that the host has no room for."""
    host = await host_of(dut)
    await receivers(host, (0,))
    await host.write("stamp_all", 1)
    frames, starts = [], []
    for _ in range(6):
        frames.append(on_the_wire(udp()[0]))
        starts.append(host.cycle + len(host.incoming))
        host.arrive(frames[-1])
        await host.step(len(host.incoming) + random.randrange(50, 90))
    stamps = []
    for frame in frames:
        await host.write("stamp_take", 0)
        at = 48 if frame[12:14] == b"\x81\x00" else 44
        assert await host.read("stamp_tag") == 1 << 31 | 1 << 20 | int.from_bytes(frame[at : at + 2], "big")
        stamps.append(await host.read("stamp_ns"))
    await host.write("stamp_take", 0)
    assert await host.read("stamp_tag") >> 31 == 0
    assert [b - a for a, b in pairwise(stamps)] == [8 * (b - a) for a, b in pairwise(starts)]
