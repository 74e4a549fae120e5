# SPDX-License-Identifier: Apache-2.0
"""Gates, credit and longest units: lists that replace each other, slopes, and a clock that is corrected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.hardware.configure import CLASSES, Table, Write, table_writes
from penstock.hardware.differential.draw.drawing import LIST_CYCLES, Drawing
from penstock.hardware.differential.scenario import START_CYCLE, Arrival, Change

CYCLE_NS = 8
ENTRIES = 128
SHORTEST_NS = 64
FULL_SLOPE = 1 << 27
ALL_OPEN = 0xFF
NO_LIMIT_BYTES = 2047
# From a commit to when its port knows of it, and from a step to when all ports know of their changes again.
BUSY_CYCLES = 8_300
TOLD_CYCLES = (65_536 - 2_047) // CYCLE_NS
AGAIN_CYCLES = 8 * 8_192 + 100
SHAPING = (
    "gate_list", "gate_enable", "gate_states", "credit", "count_gap", "round_robin", "max_sdu", "clock", "clock_step",
)  # fmt: skip
CLOCK_SET, CLOCK_STEP, CLOCK_SLEW, CLOCK_INCREMENT = range(1, 5)
SETTLE_CYCLES = 3_000


def draw_shaping(drawing: Drawing, arrivals: Sequence[Arrival]) -> Iterator[Change]:
    """What is set from the start on, what is changed later, and at the end all that holds frames back is taken away."""
    rng = drawing.rng
    if not arrivals or (drawing.gives_up is None and rng.random() < 0.4):
        return
    end = max(arrival.at for arrival in arrivals)
    changes: list[tuple[int, str, list[Write]]] = []
    ports = sorted(drawing.some(rng.choice((0.3, 0.7, 1.0))) or {rng.randrange(drawing.ports)})
    gated = rng.random() < 0.75
    credited = rng.random() < 0.6
    if drawing.gives_up is not None:
        changes += _giving_up(drawing, drawing.gives_up, end)
    elif gated:
        changes.append((0, "gate_enable", [_enable(drawing, _mask(ports))]))
        changes += [(0, "gate_states", _states(drawing, port)) for port in ports if rng.random() < 0.3]
        changes += _lists(drawing, ports, end)
        if rng.random() < 0.3:
            changes += _moments_without_gates(drawing, ports, arrivals)
        if rng.random() < 0.1:
            changes += _interrupted(drawing, ports)
    if credited:
        changes += _slopes(drawing, ports, end, gated=gated)
    if rng.random() < 0.4:
        changes += [(_when(drawing, end), "round_robin", _turns(drawing, ports)) for _ in range(rng.choice((1, 4, 20)))]
    if rng.random() < 0.3:
        changes += [(_when(drawing, end), "max_sdu", _max_sdu(drawing, ports)) for _ in range(rng.randint(1, 10))]
    if rng.random() < 0.5:
        changes += [(_when(drawing, end), "clock", _clock(drawing)) for _ in range(rng.randint(1, 6))]
    for at, kind, writes in changes:
        yield _change(drawing, at, kind, writes)
    # So that nothing waits for ever.
    at = end + SETTLE_CYCLES
    yield _change(drawing, at, "gate_enable", [_enable(drawing, 0)])
    slowed = {*(ports if credited else ()), *(() if drawing.gives_up is None else (drawing.gives_up,))}
    for port in sorted(slowed):
        for traffic_class in range(CLASSES):
            yield _change(drawing, at, "credit", _credit(drawing, port, traffic_class, 0, enable=False))


def _change(drawing: Drawing, at: int, kind: str, writes: Sequence[Write]) -> Change:
    return Change(at, kind, tuple((drawing.name_of[address], value) for address, value in writes))


def _mask(ports: Sequence[int]) -> int:
    return sum(1 << port for port in ports)


def _when(drawing: Drawing, end: int) -> int:
    return 0 if drawing.rng.random() < 0.3 else drawing.rng.randint(0, end)


def _moments_without_gates(
    drawing: Drawing, ports: Sequence[int], arrivals: Sequence[Arrival]
) -> Iterator[tuple[int, str, list[Write]]]:
    """A port queues what fits none of its windows while its gates are off, at any times."""
    rng = drawing.rng
    port = rng.choice(ports)
    for _ in range(rng.choice((10, 40, 100))):
        at = rng.choice(arrivals).at + rng.randint(0, 2_000)
        yield at, "gate_enable", [_enable(drawing, _mask([other for other in ports if other != port]))]
        yield at + drawing.log(20, 5_000), "gate_enable", [_enable(drawing, _mask(ports))]


def _giving_up(drawing: Drawing, port: int, end: int) -> Iterator[tuple[int, str, list[Write]]]:
    """While its gates are off, a port queues what fits no window, and gives it up thereafter.

    Meanwhile it sends what does fit. Most classes hardly have credit, so that their frames wait at all.
    """
    rng = drawing.rng
    open_ns, closed_ns = drawing.log(1_000, 6_000), drawing.log(SHORTEST_NS, 400)
    yield 0, "gate_list", _commit(drawing, port, [(0, ALL_OPEN, open_ns), (0, 0, closed_ns)], open_ns + closed_ns)
    for traffic_class in rng.sample(range(CLASSES), rng.randint(4, CLASSES)):
        yield 0, "credit", _credit(drawing, port, traffic_class, drawing.log(FULL_SLOPE // 256, FULL_SLOPE // 4))
    at = LIST_CYCLES
    while at < end:
        yield at, "gate_enable", [_enable(drawing, 1 << port)]
        at += drawing.log(500, 12_000)
        yield at, "gate_enable", [_enable(drawing, 0)]
        at += drawing.log(1_000, 8_000)


def _enable(drawing: Drawing, mask: int) -> Write:
    return drawing.registers.write("gate_enable", mask=mask)


def _states(drawing: Drawing, port: int) -> list[Write]:
    mask = drawing.rng.choice((0, ALL_OPEN, drawing.rng.randrange(256)))
    return [drawing.registers.write(f"admin_gate_states[{port}]", mask=mask)]


def _lists(drawing: Drawing, ports: Sequence[int], end: int) -> Iterator[tuple[int, str, list[Write]]]:
    """Lists of all ports, then others in their place; now and then gates are enabled or not for a while."""
    rng = drawing.rng
    at = 0
    gives_up = rng.random() < 0.4
    for port in ports:
        yield at, "gate_list", _gate_list(drawing, port, at, _holding(drawing) if gives_up else None)
    # How often the clock is stepped soon after: while a list is checked, is worked on, or has been told to its port.
    steps = rng.choice((0, 0.2, 0.8))
    yield from _steps_after(drawing, at, steps)
    at += (len(ports) + 1) * BUSY_CYCLES
    if rng.random() < 0.2:
        at += rng.randint(0, 30_000)
        yield at, "clock_step", _step(drawing)
        at += rng.choice((0, AGAIN_CYCLES + BUSY_CYCLES))
    count = rng.choice((4, 12, 30)) if gives_up else rng.choice((0, 1, 4, 12))
    for n in range(count):
        at += rng.choice((rng.randint(1, BUSY_CYCLES), BUSY_CYCLES + rng.randint(0, 3_000), drawing.log(100, 100_000)))
        if at > end:
            break
        if rng.random() < 0.1:
            yield at, "gate_enable", [_enable(drawing, _mask([port for port in ports if rng.random() < 0.6]))]
            at += rng.randint(1, 5_000)
            yield at, "gate_enable", [_enable(drawing, _mask(ports))]
        elif gives_up and rng.random() < 0.9:
            entries = _holding(drawing) if n % 2 else _narrow(drawing)
            yield at, "gate_list", _gate_list(drawing, ports[n // 2 % len(ports)], at, entries)
        else:
            yield at, "gate_list", _gate_list(drawing, rng.choice(ports), at)
        yield from _steps_after(drawing, at, steps)


def _interrupted(drawing: Drawing, ports: Sequence[int]) -> Iterator[tuple[int, str, list[Write]]]:
    """Commits of short lists and steps of the clock, which meet in any of their cycles."""
    rng = drawing.rng
    moments = (TOLD_CYCLES, BUSY_CYCLES, AGAIN_CYCLES)
    at = 0
    for _ in range(60):
        at += rng.choice((rng.randint(0, 140), rng.randint(0, 500), rng.choice(moments) + rng.randint(-140, 40)))
        kind = rng.random()
        if kind < 0.5:
            yield at, "clock_step", _step(drawing)
        elif kind < 0.55:
            yield at, "clock", _clock(drawing)
        elif kind < 0.65:
            yield at, "gate_list", _entry(drawing, 0, ALL_OPEN << 32 | drawing.log(SHORTEST_NS, 10_000))
        else:
            entries = [(0, rng.randrange(256), drawing.log(SHORTEST_NS, 10_000)) for _ in range(rng.randint(1, 3))]
            yield at, "gate_list", _gate_list(drawing, rng.choice(ports), at, entries)


def _steps_after(drawing: Drawing, at: int, probability: float) -> Iterator[tuple[int, str, list[Write]]]:
    """Steps of the clock after a change, now and then one soon after the other."""
    rng = drawing.rng
    while rng.random() < probability:
        at += rng.choice((0, drawing.log(1, 1_000), drawing.log(1, 30_000), drawing.log(1, AGAIN_CYCLES)))
        yield at, "clock_step", _step(drawing)
        probability *= 0.7


def _entries(drawing: Drawing) -> list[tuple[int, int, int]]:
    """(operation, states, nanoseconds) of a list; what is likely in one is drawn first."""
    rng = drawing.rng
    count = rng.choice((1, 2, 2, 3, 4, 8, rng.randint(1, 20), rng.randint(1, ENTRIES)))
    shortest, longest = rng.choice(((SHORTEST_NS, 200), (SHORTEST_NS, 20_000), (2_000, 30_000), (12_000, 200_000)))
    mostly_open = rng.random() < 0.5
    grid = rng.choice((1, 1, 8, 1_000))

    def states() -> int:
        closed = rng.randrange(256)
        return closed | rng.randrange(256) if mostly_open else closed & rng.choice((ALL_OPEN, rng.randrange(256)))

    def interval() -> int:
        return max(SHORTEST_NS, drawing.log(shortest, longest) // grid * grid)

    return [(0 if rng.random() < 0.8 else rng.randrange(3), states(), interval()) for _ in range(count)]


def _holding(drawing: Drawing) -> list[tuple[int, int, int]]:
    """A list that holds frames up, of any length, until a narrow one takes over: then the long ones are given up."""
    rng = drawing.rng
    closed = rng.choice((0, rng.randrange(256) & rng.randrange(256)))
    return [(0, closed, rng.randint(100_000, 400_000)), (0, ALL_OPEN, rng.randint(17_000, 20_000))]


def _narrow(drawing: Drawing) -> list[tuple[int, int, int]]:
    """Windows that short frames fit into, and long ones do not."""
    rng = drawing.rng
    states = rng.choice((ALL_OPEN, rng.randrange(256)))
    open_ns = drawing.log(700, 12_000)
    return [(0, states, open_ns), (0, rng.randrange(256) & ~states, drawing.log(SHORTEST_NS, open_ns))]


def _gate_list(drawing: Drawing, port: int, at: int, entries: list[tuple[int, int, int]] | None = None) -> list[Write]:
    rng = drawing.rng
    entries = entries or _entries(drawing)
    length = len(entries)
    total = sum(interval for _, _, interval in entries)
    cycle_ns = max(SHORTEST_NS, rng.choice((total, total, total, round(total * rng.uniform(0.3, 1.6)), total - 30)))
    now_ns = CYCLE_NS * (START_CYCLE + at)
    base_ns = max(0, rng.choice((0, rng.randint(0, now_ns), now_ns + drawing.log(50_000, 600_000))))
    extension_ns = rng.choice((0, 0, drawing.log(1, 100_000)))
    seconds, nanoseconds = divmod(base_ns, 10**9)
    if rng.random() < 0.06:  # refused: the running list stays
        fault = rng.randrange(6)
        number = rng.randrange(length)
        operation, states, interval = entries[number]
        if fault == 0:
            length = rng.choice((0, ENTRIES + 1))
        elif fault == 1:
            entries[number] = operation, states, rng.choice((0, SHORTEST_NS - 1))
        elif fault == 2:
            entries[number] = 3, states, interval
        elif fault == 3:
            cycle_ns = rng.choice((0, SHORTEST_NS - 1))
        elif fault == 4:
            nanoseconds = 10**9
        else:
            seconds = 1 << 40
    base = (seconds, nanoseconds)
    return _commit(drawing, port, entries, cycle_ns, length=length, base=base, extension_ns=extension_ns)


def _commit(
    drawing: Drawing,
    port: int,
    entries: Sequence[tuple[int, int, int]],
    cycle_ns: int,
    *,
    length: int | None = None,
    base: tuple[int, int] = (0, 0),
    extension_ns: int = 0,
) -> list[Write]:
    """Stages a list, of seconds and nanoseconds its base time, and commits it."""
    write = drawing.registers.write
    writes: list[Write] = []
    for index, (operation, states, interval) in enumerate(entries):
        writes += _entry(drawing, index, operation << 40 | states << 32 | interval)
    seconds, nanoseconds = base
    return [
        *writes,
        write("admin_base_time_seconds_low", value=seconds & 0xFFFF_FFFF),
        write("admin_base_time_seconds_high", value=seconds >> 32),
        write("admin_base_time_nanoseconds", ns=nanoseconds),
        write("admin_cycle_time", ns=cycle_ns),
        write("admin_cycle_time_extension", ns=extension_ns),
        write("admin_control_list_length", entries=len(entries) if length is None else length),
        write("gate_commit", port=port),
    ]


def _entry(drawing: Drawing, index: int, data: int) -> list[Write]:
    """The upper words are not looked at."""
    writes = table_writes(drawing.registers, Table.GATE_ENTRY, index, data)
    return [*writes[:2], *writes[4:]]


def _slopes(drawing: Drawing, ports: Sequence[int], end: int, *, gated: bool) -> Iterator[tuple[int, str, list[Write]]]:
    rng = drawing.rng
    share = rng.choice((0.2, 0.5, 1.0))
    few = rng.choice((FULL_SLOPE // 8, FULL_SLOPE // 2, FULL_SLOPE))
    yield 0, "count_gap", [drawing.registers.write("cbs_count_gap", enable=rng.randrange(2))]
    for port in ports:
        for traffic_class in range(CLASSES):
            if rng.random() < share:
                yield 0, "credit", _credit(drawing, port, traffic_class, drawing.log(few // 64, few))
    for _ in range(rng.choice((0, 2, 20))):
        port = rng.choice(ports) if rng.random() < 0.95 else rng.randrange(8)
        slope = rng.choice((drawing.log(1 << 18, FULL_SLOPE), FULL_SLOPE, FULL_SLOPE + 1, 0))
        writes = _credit(drawing, port, rng.randrange(CLASSES), slope, enable=rng.random() < 0.8)
        yield rng.randint(0, end), "credit", writes
        if rng.random() < 0.2:
            gap = drawing.registers.write("cbs_count_gap", enable=rng.randrange(2))
            yield rng.randint(0, end), "count_gap", [gap]


def _credit(drawing: Drawing, port: int, traffic_class: int, idle_slope: int, *, enable: bool = True) -> list[Write]:
    data = int(enable) << 96 | idle_slope
    return table_writes(drawing.registers, Table.CREDIT, port << 3 | traffic_class, data)


def _turns(drawing: Drawing, ports: Sequence[int]) -> list[Write]:
    mask = drawing.rng.choice((0, ALL_OPEN, drawing.rng.randrange(256)))
    return [drawing.registers.write(f"round_robin[{drawing.rng.choice(ports)}]", mask=mask)]


def _max_sdu(drawing: Drawing, ports: Sequence[int]) -> list[Write]:
    limit = drawing.rng.choice((NO_LIMIT_BYTES, drawing.log(64, 2_000), drawing.rng.randint(64, 1_600)))
    index = drawing.rng.choice(ports) << 3 | drawing.rng.randrange(CLASSES)
    return table_writes(drawing.registers, Table.MAX_SDU, index, limit)


def _clock(drawing: Drawing) -> list[Write]:
    """A rate or a slew: the gates follow. Both together stay within 7 to 9 ns a cycle."""
    rng = drawing.rng
    if rng.random() < 0.5:
        increment = (8 << 32) + rng.choice((1, -1)) * drawing.log(1, 1 << 31)
        return _command(drawing, CLOCK_INCREMENT, increment & 0xFFFF_FFFF, increment >> 32)
    amount = rng.choice((0, rng.choice((1, -1)) * drawing.log(1, 20_000)))
    return _command(drawing, CLOCK_SLEW, amount & 0xFFFF_FFFF, drawing.log(1, 1 << 31))


def _step(drawing: Drawing) -> list[Write]:
    """An offset, or another time, not far away."""
    amount = drawing.rng.choice((1, -1)) * drawing.log(1, 300_000)
    if drawing.rng.random() < 0.3:
        return _command(drawing, CLOCK_SET, 1_000_000 + amount, 0, 0)
    seconds, nanoseconds = divmod(amount, 10**9)
    return _command(drawing, CLOCK_STEP, nanoseconds, seconds & 0xFFFF_FFFF, seconds >> 32 & 0xFFFF)


def _command(drawing: Drawing, command: int, *words: int) -> list[Write]:
    write = drawing.registers.write
    staged = [write(f"table_data[{n}]", value=word) for n, word in enumerate(words)]
    return [*staged, write("ptp.command", command=command)]
