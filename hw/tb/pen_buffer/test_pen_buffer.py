# SPDX-License-Identifier: Apache-2.0
"""Admission, references and reclaim together: every decision against a model, every cell back in the end."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from runner import run_module
from structs import pack, unpack

NONE, FCS, STORE_FULL, QUEUE_FULL, CLASS_FULL, MAX_SDU = 0, 5, 12, 13, 14, 16
QUEUE, RECEPTION, SHARED = 0, 1, 2


class Model:
    """The accounts, and when a frame is decided: one after the other, every other cycle, after all earlier releases."""

    def __init__(self, ports, config):
        self.ports, self.config = ports, config
        self.queue = {(e, k): 0 for e in range(ports) for k in range(8)}
        self.guaranteed = dict(self.queue)
        self.classes = [0] * 8
        self.reception = [0] * ports
        self.shared = 0
        self.max_sdu = dict.fromkeys(self.queue, 2047)
        self.window_ns = dict.fromkeys(self.queue, 16383)
        self.events = []  # (cycle, 0, copy released) or (cycle, 1, frame to be decided)
        self.begin = -2  # of the last decision

    def classified(self, cycle, frame):
        """Returns the cycle of the outcome."""
        self.begin = max(cycle + 1, self.begin + 2)
        self.events.append((self.begin, 1, frame))
        return self.begin + 5

    def released(self, cycle, copy):
        self.events.append((cycle + 1, 0, copy))

    def outcome(self, frame):
        """Pools and refusals of a frame, which is the oldest not yet decided."""
        self.events.sort(key=lambda event: event[:2])
        while self.events:
            _, decide, what = self.events.pop(0)
            if not decide:
                self.release(what)
                continue
            assert what is frame
            return ({}, {}) if frame["reason"] else self.admit(frame)
        raise AssertionError("no frame to decide")

    def admit(self, frame):
        """The copies queued with their pools, and the reasons of those refused."""
        c, k, p, config = frame["cells"], frame["class"], frame["port"], self.config
        wanted = [e for e in range(self.ports) if frame["destination"] >> e & 1]
        length = frame["length"]
        refused = {
            e: MAX_SDU
            for e in wanted
            if length > self.max_sdu[e, k]
            or (config["gate_enable"] >> e & 1 and 8 * (length + 20) > self.window_ns[e, k] | 7)
        }
        refused |= {
            e: QUEUE_FULL for e in wanted if e not in refused and self.queue[e, k] + c > config["queue_limit_cells"][k]
        }
        copies = [e for e in wanted if e not in refused]
        pools = {e: QUEUE for e in copies if self.guaranteed[e, k] + c <= config["queue_guarantee_cells"]}
        rest = [e for e in copies if e not in pools]
        if self.classes[k] + c > config["class_limit_cells"][k]:
            refused |= dict.fromkeys(rest, CLASS_FULL)
        elif self.reception[p] + c <= config["reception_guarantee_cells"]:
            pools |= dict.fromkeys(rest, RECEPTION)
            self.reception[p] += len(rest) * c
        elif self.shared + c <= config["shared_limit_cells"]:
            pools |= dict.fromkeys(rest, SHARED)
            self.shared += len(rest) * c
        else:
            refused |= dict.fromkeys(rest, STORE_FULL)
        for e, pool in pools.items():
            self.queue[e, k] += c
            self.classes[k] += c
            if pool == QUEUE:
                self.guaranteed[e, k] += c
        return pools, refused

    def release(self, copy):
        c, k = copy["cells"], copy["class"]
        self.queue[copy["egress"], k] -= c
        self.classes[k] -= c
        if copy["pool"] == QUEUE:
            self.guaranteed[copy["egress"], k] -= c
        elif copy["pool"] == RECEPTION:
            self.reception[copy["port"]] -= c
        else:
            self.shared -= c


class Bench:
    def __init__(self, dut):
        self.dut = dut
        self.ports, self.cells = dut.PORTS.value.to_unsigned(), dut.CELLS.value.to_unsigned()
        self.turn, self.taken, self.writes, self.content = 0, [], [], {}
        self.reads = [None, None]

    async def start(self, config):
        dut = self.dut
        for name in (
            "store_write_i",
            "store_read_i",
            "classified_i",
            "release_i",
            "release_turn_i",
            "turn_i",
            "alloc_take_i",
            "init_busy_i",
            "init_index_i",
            "max_sdu_write_i",
        ):
            getattr(dut, name).value = 0
        dut.largest_window_ns_i.value = (1 << 14 * 8 * self.ports) - 1
        dut.config_i.value = pack("buffer_config", **config)
        dut.rst_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
        for _ in range(3):
            await RisingEdge(dut.clk_i)
        dut.rst_i.value = 0
        dut.init_busy_i.value = 1
        for i in range(300):
            dut.init_index_i.value = i
            await RisingEdge(dut.clk_i)
        dut.init_busy_i.value = 0
        for _ in range(3):
            await RisingEdge(dut.clk_i)

    async def cycle(self, classified=0, release=0, want_cell=False, read=None):
        """One cycle; takes a cell if there is one and it is wanted. Returns enqueue and verdict of this cycle."""
        dut = self.dut
        dut.turn_i.value = dut.release_turn_i.value = self.turn
        dut.classified_i.value = classified
        dut.release_i.value = release
        write = self.writes.pop(0) if self.writes else None
        dut.store_write_i.value = pack("store_write", **write) if write else 0
        dut.store_read_i.value = pack("store_read", valid=1, cell_index=read[0], word=read[1]) if read else 0
        self.reads.append((read, self.turn, self.content.get(read)) if read else None)
        dut.alloc_take_i.value = 0
        await FallingEdge(dut.clk_i)
        if want_cell and int(dut.alloc_valid_o.value):
            cell = int(dut.alloc_cell_o.value)
            assert cell not in self.taken, f"cell {cell} given twice"
            self.taken.append(cell)
            dut.alloc_take_i.value = 1
        verdict = unpack("verdict", int(dut.verdict_o.value))
        enqueue = unpack("enqueue", int(dut.enqueue_o.value))
        answered = self.reads.pop(0)
        data = unpack("store_data", int(dut.store_data_o.value))
        assert data["valid"] == (answered is not None)
        if answered:
            (cell, word), port, (content, next_cell) = answered
            assert data["port"] == port and data["data"] == content
            assert word != 0 or next_cell is None or data["next_cell"] == next_cell
        if write:
            key = (write["cell_index"], write["word"])
            self.content[key] = (write["data"], None)
            if write["link_valid"]:
                first = (write["link_from"], 0)
                self.content[first] = (self.content[first][0], write["link_to"])
        self.turn = (self.turn + 1) % self.ports
        await RisingEdge(dut.clk_i)
        return enqueue, verdict

    async def chain(self, count):
        """Cells for a frame, linked in the store; a word in each."""
        cells = []
        while len(cells) < count:
            before = len(self.taken)
            await self.cycle(want_cell=True)
            cells += self.taken[before:]
        for i, cell in enumerate(cells):
            self.writes.append(
                {
                    "valid": 1,
                    "cell_index": cell,
                    "word": 0,
                    "data": random.getrandbits(64),
                    "link_valid": int(i > 0),
                    "link_from": cells[i - 1] if i else 0,
                    "link_to": cell,
                }
            )
        while self.writes:
            await self.cycle()
        return cells

    async def limit(self, model):
        """Other longest frames: of some queues as set, of some by their gates."""
        dut = self.dut
        for (e, k), limit in model.max_sdu.items():
            if random.random() < 0.1:
                limit = model.max_sdu[e, k] = random.choice([2047, random.randrange(64, 2000)])
            dut.max_sdu_write_port_i.value, dut.max_sdu_write_class_i.value = e, k
            dut.max_sdu_write_bytes_i.value, dut.max_sdu_write_i.value = limit, 1
            await self.cycle()
            dut.max_sdu_write_i.value = 0
            if random.random() < 0.1:
                model.window_ns[e, k] = random.choice([16383, random.randrange(16000), random.randrange(800)])
        dut.largest_window_ns_i.value = sum(ns << 14 * (8 * e + k) for (e, k), ns in model.window_ns.items())

    async def all_cells_return(self, kept=()):
        for _ in range(6 * self.cells):
            await self.cycle()
            if int(self.dut.idle_o.value):
                break
        assert int(self.dut.idle_o.value)
        self.taken = list(kept)
        for _ in range(self.cells + 10):
            await self.cycle(want_cell=True)
        assert sorted(self.taken) == list(range(self.cells)), "cells lost"


def config_of(bench, tight):
    n = bench.ports
    if not tight:
        return {
            "gate_enable": random.getrandbits(8),
            "queue_limit_cells": [1023] * 8,
            "class_limit_cells": [4095] * 8,
            "queue_guarantee_cells": 4,
            "reception_guarantee_cells": 16,
            "shared_limit_cells": 4095 - n,
        }
    return {
        "gate_enable": random.getrandbits(8) | random.getrandbits(8),
        "queue_limit_cells": [random.randrange(8, 40) for _ in range(8)],
        "class_limit_cells": [random.randrange(20, 80) for _ in range(8)],
        "queue_guarantee_cells": random.randrange(0, 10),
        "reception_guarantee_cells": random.randrange(0, 20),
        "shared_limit_cells": random.randrange(20, 60),
    }


async def rounds(dut, tight, count):
    """Bursts of one frame per port in consecutive cycles, releases of copies in their egress port's turn."""
    bench = Bench(dut)
    config = config_of(bench, tight)
    await bench.start(config)
    model = Model(bench.ports, config)
    queued, expected, outcomes, clock = [], {}, set(), 0
    classes = random.sample(range(8), 2) if tight else range(8)

    async def step(classified=None, release_rate=0.0):
        """A cycle; what comes out is what the model says for it."""
        nonlocal clock
        copy = None
        mine = [c for c in queued if c["egress"] == bench.turn]
        if mine and random.random() < release_rate:
            copy = random.choice(mine)
            queued.remove(copy)
        read = None
        if random.random() < 0.7:
            known = [k for k in bench.content if k[1] == 0]
            read = random.choice(known) if known else None
            if read and read[0] not in {c for q in queued for c in q["chain"]}:
                read = None
        enqueue, verdict = await bench.cycle(
            pack("classified", **classified) if classified else 0,
            pack(
                "release",
                valid=1,
                pool=copy["pool"],
                traffic_class=copy["class"],
                port=copy["port"],
                frame=copy["chain"][0],
                length=copy["length"],
            )
            if copy
            else 0,
            read=read,
        )
        if copy:
            model.released(clock, copy)
        frame = expected.pop(clock, None)
        clock += 1
        if frame is None:
            assert not verdict["valid"] and not enqueue["destination"]
            return
        pools, refused = want = model.outcome(frame)
        assert verdict["valid"] and verdict["reason"] == frame["reason"] and verdict["port"] == frame["port"]
        assert {e for e in range(8) if enqueue["destination"] >> e & 1} == set(pools), (want, enqueue)
        assert verdict["destination"] == enqueue["destination"]
        assert {e: verdict["refused_reason"][e] for e in range(8) if verdict["refused"] >> e & 1} == refused
        for e, pool in pools.items():
            assert enqueue["pool"][e] == pool, (want, enqueue)
            assert enqueue["slot"][e] == enqueue["length"]  # no tag comes or goes
            queued.append(frame | {"egress": e, "pool": pool})
        if pools:
            assert enqueue["frame"] == frame["chain"][0] and enqueue["length"] == frame["length"]
            assert enqueue["visible"] == frame["visible"] and enqueue["traffic_class"] == frame["class"]
        outcomes.update(refused.values(), pools.values())

    for _ in range(count):
        used = sum(len(q["chain"]) for q in {q["chain"][0]: q for q in queued}.values())
        frames = []
        rate = random.choice([0.0, 0.1, 0.5])
        for p in range(bench.ports):
            cells = random.choice([1, 1, 2, random.randrange(1, 17)])
            if random.random() < 0.8 and used + cells + 40 < bench.cells:
                used += cells
                chain = await bench.chain(cells)
                bad = random.random() < 0.15
                frames.append(
                    {
                        "port": p,
                        "class": random.choice(classes),
                        "cells": cells,
                        "chain": chain,
                        "length": random.randrange(max(64, 128 * cells - 127), min(2000, 128 * cells) + 1),
                        "destination": random.getrandbits(bench.ports) & ~(1 << p),
                        "visible": random.getrandbits(28),
                        "reason": FCS if bad else NONE,
                    }
                )
                # chain() ran cycles of its own: nothing came out of them
        if tight and random.random() < 0.3:
            await bench.limit(model)
        while bench.turn:
            await step(release_rate=rate)
        for _ in range(random.choice([0, bench.ports])):
            await step()
        # The ports in one turn, or some in this and some in the next.
        split = random.choice([0, 0, random.getrandbits(bench.ports)])
        for turns in range(2):
            for p in range(bench.ports):
                frame = next((f for f in frames if f["port"] == p and split >> p & 1 == turns), None)
                if frame is None:
                    await step(release_rate=rate)
                    continue
                # The outcome is asked of the model when it is due, as releases may still come before the decision.
                expected[model.classified(clock, frame)] = frame
                await step(
                    {
                        "valid": 1,
                        "reason": frame["reason"],
                        "has_cells": 1,
                        "port": p,
                        "destination": frame["destination"],
                        "traffic_class": frame["class"],
                        "frame": frame["chain"][0],
                        "length": frame["length"],
                        "visible": frame["visible"],
                    },
                    release_rate=rate,
                )
                # Cells of a frame that is not queued come back on their own.
        while expected:
            await step(release_rate=rate)
        for frame in frames:
            if not any(q["chain"] is frame["chain"] for q in queued):
                bench.taken = [c for c in bench.taken if c not in frame["chain"]]
        for _ in range(random.choice([0, 10, 60])):
            before = list(queued)
            await step(release_rate=0.6)
            for copy in before:
                if not any(q["chain"] is copy["chain"] for q in queued):
                    bench.taken = [c for c in bench.taken if c not in copy["chain"]]
        bench.taken = [c for q in queued for c in q["chain"]]
    while queued:
        await step(release_rate=1.0)
    for _, _, copy in model.events:
        model.release(copy)
    assert not any(model.queue.values()) and not any(model.reception) and not model.shared
    await bench.all_cells_return()
    return outcomes


@cocotb.test()
async def limits(dut):
    outcomes = set()
    for _ in range(3):
        outcomes |= await rounds(dut, True, 40)
    dut._log.info("outcomes seen: %s", sorted(outcomes))
    assert {SHARED, STORE_FULL, QUEUE_FULL, MAX_SDU} <= outcomes or dut.PORTS.value.to_unsigned() == 2


@cocotb.test()
async def multicast(dut):
    """All ports release the same frame in consecutive cycles: its cells come back once."""
    bench = Bench(dut)
    await bench.start(config_of(bench, False))
    for _ in range(20):
        bench.taken = []
        chain = await bench.chain(random.randrange(1, 17))
        while bench.turn:
            await bench.cycle()
        everyone = (1 << bench.ports) - 2
        await bench.cycle(
            pack(
                "classified",
                valid=1,
                port=0,
                destination=everyone,
                traffic_class=3,
                has_cells=1,
                frame=chain[0],
                length=min(2000, 128 * len(chain)),
            )
        )
        for _ in range(6):
            enqueue, _ = await bench.cycle()
        assert enqueue["destination"] == everyone
        for _ in range(3):
            await bench.cycle()
        assert not int(dut.idle_o.value)
        while bench.turn:
            await bench.cycle()
        for e in range(bench.ports):
            await bench.cycle(
                release=pack(
                    "release",
                    valid=1,
                    pool=enqueue["pool"][e],
                    traffic_class=3,
                    port=0,
                    frame=chain[0],
                    length=enqueue["length"],
                )
                if e
                else 0
            )
        for _ in range(3 * len(chain) + 8):
            await bench.cycle()
        assert int(dut.idle_o.value)
    await bench.all_cells_return()


@pytest.mark.parametrize("ports", [2, pytest.param(4, marks=pytest.mark.slow), 8])
def test_pen_buffer(ports):
    run_module("pen_buffer", __name__, {"PORTS": ports, "CELLS": 256})
