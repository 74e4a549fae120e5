# SPDX-License-Identifier: Apache-2.0
"""The whole ingress: random frames on all ports against a plain model, to the clock cycle."""

import random
from collections import deque

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from ingress_model import (
    CLASSIFIED,
    CONFIG,
    LABEL_WRITE,
    PORT_CONFIG,
    REASONS,
    RX_BEAT,
    STORE_WRITE,
    TABLE_FDB,
    TABLE_GROUP,
    TABLE_NUMBERING,
    TABLE_STREAM_KEY,
    TABLE_STREAM_RATE,
    TABLE_VLAN,
    TABLE_WRITE,
    Ats,
    Fdb,
    FdbEntry,
    begun,
    fdb_set,
    join,
    pack,
    random_frame,
    stream_key,
    stream_slots,
    unpack,
)
from runner import run_module
from structs import unpack as struct_of
from tags import INSERT, KEEP, R_INSERT, R_KEEP, R_REMOVE, REMOVE, REWRITE

from penstock._engine import ats_rate

ALL = (1 << 104) - 1
RX_LATENCY_NS = 48
CLASSIFY_CYCLES = 12  # from the port's turn
LEARN_CYCLES = 5  # from a learning's turn to the first turn that sees it


class Bench:
    def __init__(self, dut):
        self.dut = dut
        self.rng = random.Random(random.getrandbits(32))
        self.ports = dut.PORTS.value.to_unsigned()
        self.streams = dut.STREAMS.value.to_unsigned()
        self.sets = dut.FDB_SETS.value.to_unsigned()
        self.visible_cycles = 2 * self.ports + 19
        self.cycle = 0
        # Close to the wrap of the 28-bit cycle counter, so that the test runs across it.
        self.time_offset_ns = (1 << 31) - 8 * self.rng.randrange(4096, 30_000)
        self.fifos = [deque() for _ in range(self.ports)]
        self.expected = deque()  # (cycle of classified_o, check)
        self.free = deque()
        self.memory, self.chain = {}, {}
        self.in_use = set()
        self.records, self.verdicts = [], []
        self.tables = deque()
        self.staged = (None, None)  # what was first in the two cycles before; it is valid if it was so in both
        self.fdb = Fdb(self.sets)
        self.vlans, self.untagged, self.translations = {1: 0xFF}, {1: 0xFF}, {}
        self.labels = {}  # by first cell
        self.delimiters = {}  # cycle: ports
        self.stream_of = {}
        self.numbers = {}  # stream: that its next frame gets; others are not numbered
        self.learnt = []  # (cycle from which it counts, set, way, entry)
        self.operations = []  # (turn, kind, port, frame, cycle of the last byte)
        self.starving = False

    @property
    def now(self):
        return self.cycle * 8 + self.time_offset_ns

    async def start(self, cells=512, **config):
        rng, dut = self.rng, self.dut
        self.config = {
            "port_enable": (1 << self.ports) - 1, "max_frame_bytes": 1522,
            "port_vlan_id": [rng.choice((1, 2, 5)) for _ in range(self.ports)],
            "class_of_pcp": [1, 0, 6, 7, 2, 3, 4, 5], "class_of_untagged": 5, "ats_classes": 0xC1,
            "pcp_of_untagged": rng.randrange(8), "vlan_tagging": rng.getrandbits(self.ports),
            "vlan_translation": rng.getrandbits(self.ports), "r_tag_removal": rng.getrandbits(self.ports),
            "ptp_correction": rng.getrandbits(self.ports),
            "ats_overhead_bytes": 20,
            "processing_delay_max_ns": rng.choice((0, 150, 333, 20_000)), "learning_enable": 1,
            "aging_period_ms": 100_000, "aging_period_is_new": 1, "reserved_to_host": 0,
            "identify_enable": 7, "identify_ipv4_mask": ALL,
        }  # fmt: skip
        self.config.update(config)
        self.drive_config()
        self.ats = Ats(
            RX_LATENCY_NS + 8 * self.visible_cycles,
            self.config["ats_overhead_bytes"],
            self.config["processing_delay_max_ns"],
        )
        dut.rst_i.value = dut.awake_i.value = 1
        dut.init_busy_i.value = 1
        for name in (
            "init_index_i",
            "turn_i",
            "has_turn_i",
            "time_ns_i",
            "table_i",
            "delimiter_i",
            "beat_i",
            "beat_valid_i",
            "way_i",
            "alloc_valid_i",
            "alloc_cell_i",
        ):
            getattr(dut, name).value = 0
        cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
        for _ in range(3):
            await RisingEdge(dut.clk_i)
        dut.rst_i.value = dut.awake_i.value = 0
        for index in range(4096):
            if index == 1:
                self.config["aging_period_is_new"] = 0
                self.drive_config()
            dut.init_index_i.value = index
            # Whatever comes now is thrown away, the end of the last of these frames too.
            dut.beat_valid_i.value = (1 << self.ports) - 1
            dut.beat_i.value = join([pack(RX_BEAT, last=int(index % 100 == 50))] * self.ports, 13)
            await RisingEdge(dut.clk_i)
        dut.init_busy_i.value = 0
        for port in range(self.ports):
            self.fifos[port].extend([(i, pack(RX_BEAT, last=int(i == 30)), None) for i in range(31)])
        self.free.extend(rng.sample(range(1, 4096), cells))

    def drive_config(self):
        """Gives each unit what it keeps of the settings."""
        config = self.config
        ports = [
            pack(
                PORT_CONFIG,
                port_enable=config["port_enable"] >> port & 1,
                max_frame_bytes=config["max_frame_bytes"],
                port_vlan_id=config["port_vlan_id"][port],
                class_of_pcp=join(config["class_of_pcp"], 3),
                class_of_untagged=config["class_of_untagged"],
                pcp_of_untagged=config["pcp_of_untagged"],
                learning_enable=config["learning_enable"],
                identify_enable=config["identify_enable"],
            )
            for port in range(self.ports)
        ]
        self.dut.port_config_i.value = join(ports, sum(width for _, width in PORT_CONFIG))
        shared = {name: config[name] for name, _ in CONFIG if name != "identify_ipv4"}
        self.dut.config_i.value = pack(CONFIG, identify_ipv4=config["identify_enable"] & 1, **shared)

    def send(self, port, start, frame):
        """Bytes of a frame arrive one a cycle from `start` on."""
        frame.arrival = max(start, self.cycle + 1)
        self.delimiters[frame.arrival] = self.delimiters.get(frame.arrival, 0) | 1 << port
        for i, byte in enumerate(frame.data):
            last = i == len(frame.data) - 1
            beat = pack(
                RX_BEAT, last=int(last), short_gap=frame.short_gap * last, reason=frame.reason * last, data=byte
            )
            self.fifos[port].append((start + i, beat, frame if last else None))
        return start + len(frame.data)

    def write_table(self, which, index, data):
        self.tables.append({"which": which, "index": index, "data": data})

    async def step(self):
        dut = self.dut
        await RisingEdge(dut.clk_i)
        self.cycle += 1
        turn = self.cycle % self.ports
        valid, beats = 0, []
        for port, fifo in enumerate(self.fifos):
            there = bool(fifo) and fifo[0][0] <= self.cycle
            valid |= there << port
            beats.append(fifo[0][1] if there else 0)
        dut.turn_i.value, dut.has_turn_i.value = turn, 1 << turn
        dut.time_ns_i.value = self.now
        dut.delimiter_i.value = self.delimiters.pop(self.cycle, 0)
        dut.beat_valid_i.value = valid
        dut.beat_i.value = join(beats, 13)
        dut.alloc_valid_i.value = int(bool(self.free))
        dut.alloc_cell_i.value = self.free[0] if self.free else 0
        entry = self.tables[0] if self.tables else None
        table_valid = entry is not None and all(staged is entry for staged in self.staged)
        dut.table_i.value = pack(TABLE_WRITE, valid=int(table_valid), **entry) if entry else 0
        self.staged = (self.staged[1], entry)
        await FallingEdge(dut.clk_i)
        ready = int(dut.beat_ready_o.value) & valid
        for port in range(self.ports):
            if ready >> port & 1:
                _, _, frame = self.fifos[port].popleft()
                if frame:
                    self.record(port, frame)
                assert len(self.fifos[port]) == 0 or self.cycle - self.fifos[port][0][0] < 24, "bytes wait too long"
        if table_valid and dut.table_ready_o.value == 1:
            self.tables.popleft()
        if dut.alloc_take_o.value == 1:
            self.in_use.add(self.free.popleft())
        write = unpack(STORE_WRITE, int(dut.store_write_o.value))
        if write["valid"]:
            assert write["cell_index"] in self.in_use
            self.memory[write["cell_index"], write["word"]] = write["data"]
            if write["link_valid"]:
                self.chain[write["link_from"]] = write["link_to"]
        label = unpack(LABEL_WRITE, int(dut.label_o.value))
        if label["valid"]:
            self.labels[label["frame"]] = label["value"]
        self.model()
        self.check(int(dut.classified_o.value))

    async def run(self, cycles):
        for _ in range(cycles):
            await self.step()

    # ---- The model
    def record(self, port, frame):
        turn = self.cycle + 1 + (port - self.cycle - 1) % self.ports
        self.operations.append((turn, "record", port, frame, self.cycle))
        self.operations.append((turn + self.ports, "learn", port, frame, self.cycle))

    def model(self):
        for operation in [o for o in self.operations if o[0] == self.cycle]:
            self.operations.remove(operation)
            _, kind, port, frame, taken = operation
            for write in [w for w in self.learnt if w[0] <= self.cycle]:
                self.learnt.remove(write)
                self.fdb.write(*write[1:])
            pcp, vlan = frame.tag if frame.tag else (None, 0)
            vlan = vlan or self.config["port_vlan_id"][port]
            members = self.vlans.get(vlan, 0)
            enabled = self.config["port_enable"] >> port & 1
            if kind == "learn":
                if not frame.reason and enabled and not frame.source >> 40 & 1 and members >> port & 1 and vlan != 4095:
                    write = self.fdb.plan_learn(frame.source, vlan, port)
                    if write:
                        self.learnt.append((self.cycle + LEARN_CYCLES, *write))
                continue
            want = {"valid": 1, "port": port, "short_gap": frame.short_gap}
            want |= {"destination": 0, "is_stream": 0, "shaped": 0}
            want["reason"] = frame.reason
            want["length"] = len(frame.data)
            want["visible"] = (taken + self.visible_cycles + self.time_offset_ns // 8) % (1 << 28)
            if not frame.reason:
                want["traffic_class"] = (
                    self.config["class_of_untagged"] if pcp is None else self.config["class_of_pcp"][pcp]
                )
                ports = self.fdb.lookup(frame.destination, vlan)
                destination = (0xFF if ports is None else ports) & members & self.config["port_enable"] & ~(1 << port)
                stream = self.stream(port, frame, vlan)
                if stream is not None:
                    want.update(is_stream=1, stream=stream)
                if not enabled:
                    want["reason"] = REASONS["port_disabled"]
                elif frame.destination >> 4 == 0x0180C200000:
                    want["reason"] = REASONS["reserved_address"]
                elif vlan == 4095 or not members >> port & 1:
                    want["reason"] = REASONS["vlan"]
                elif not destination:
                    want["reason"] = REASONS["no_destination"]
                else:
                    want["destination"] = destination
                    number = None
                    if stream in self.numbers and frame.sequence_number is None:
                        number = self.numbers[stream]
                        self.numbers[stream] = (number + 1) % 0x10000
                    want["edit"] = self.edits(frame, vlan, number)
                    want["label"] = self.label(frame, vlan, number)
                    want["correction"] = None
                    if frame.correction is not None and self.config["ptp_correction"] >> port & 1:
                        arrival = frame.arrival + self.time_offset_ns // 8
                        want["correction"] = begun(frame.correction, arrival % (1 << 30))
                    if stream is not None and self.config["ats_classes"] >> want["traffic_class"] & 1:
                        want["shaped"] = 1
                        if not self.starving:
                            arrival = taken * 8 + self.time_offset_ns - RX_LATENCY_NS
                            visible = self.ats.frame(stream, (port, want["traffic_class"]), len(frame.data), arrival)
                            if visible is None:
                                want.update(reason=REASONS["residence"], destination=0)
                                del want["visible"]
                            else:
                                want["visible"] = visible % (1 << 28)
            self.expected.append((self.cycle + CLASSIFY_CYCLES, want, frame))

    def edits(self, frame, vlan, number):
        """What each port does with its tags, all in one; above, what with its R-TAG."""
        edits = []
        for port in range(self.ports):
            if self.config["r_tag_removal"] >> port & 1:
                r_tag = (R_KEEP if frame.sequence_number is None else R_REMOVE) << 2
            else:
                r_tag = (R_KEEP if number is None else R_INSERT) << 2
            if not self.config["vlan_tagging"] >> port & 1:
                edits.append(r_tag | KEEP)
            elif self.untagged.get(vlan, 0) >> port & 1:
                edits.append(r_tag | (KEEP if frame.tag is None else REMOVE))
            else:
                edits.append(r_tag | (INSERT if frame.tag is None else REWRITE))
        return join(edits, 4)

    def label(self, frame, vlan, number):
        pcp_dei = self.config["pcp_of_untagged"] << 1 if frame.tag is None else frame.data[14] >> 4
        is_priority_tagged = frame.tag is not None and frame.tag[1] == 0
        translation = self.translations.get(vlan, 0)
        egress_pcp = translation >> 12 & 7 if translation >> 15 else pcp_dei >> 1
        tag = is_priority_tagged << 16 | pcp_dei << 12 | vlan
        tag = tag << 15 | egress_pcp << 12 | (translation & 0xFFF or vlan)
        number = frame.sequence_number if number is None else number
        # Without an R-TAG the number may be any.
        above = self.config["vlan_translation"] << 1 | (frame.tag is not None)
        return above, number, tag

    def stream(self, port, frame, vlan):
        keys = [(1, vlan << 48 | frame.destination), (2, vlan << 48 | frame.source)]
        if frame.ipv4 is not None:
            keys.insert(0, (0, frame.ipv4 & self.config["identify_ipv4_mask"]))
        for identify, fields in keys:
            if self.config["identify_enable"] >> identify & 1:
                stream = self.stream_of.get(stream_key(identify, port, fields))
                if stream is not None:
                    return stream
        return None

    def check(self, classified):
        due = bool(self.expected) and self.expected[0][0] == self.cycle
        assert due == bool(classified), f"cycle {self.cycle}: expected {self.expected and self.expected[0][:2]}"
        if not due:
            return
        got = unpack(CLASSIFIED, classified)
        _, want, frame = self.expected.popleft()
        starved = self.starving and got["reason"] == REASONS["store_full"]
        if starved:
            assert not frame.reason and got["length"] <= len(frame.data)
        else:
            if self.starving:
                want.pop("visible", None)
                if frame.reason:
                    want.pop("length")
            if "label" in want:
                label, (above, number, tag) = self.labels[got["frame"]], want.pop("label")
                assert (label >> 48 & 0x1FF, label & 0xFFFFFFFF) == (above, tag)
                correction = want.pop("correction")
                found = struct_of("correction", label >> 57 & 0xFFFFFFFF)
                assert found["is_due"] == (correction is not None)
                assert correction is None or found == correction
                assert number is None or label >> 32 & 0xFFFF == number
            wrong = {name: (got[name], value) for name, value in want.items() if got[name] != value}
            assert not wrong, f"(got, expected): {wrong}\n{got}\n{frame}"
        self.verdicts.append((got, frame))
        cells = []
        if got["has_cells"]:
            cells = [got["frame"]]
            for _ in range(-(-got["length"] // 128) - 1):
                cells.append(self.chain[cells[-1]])
            assert len(set(cells)) == len(cells) and all(cell in self.in_use for cell in cells)
        if not frame.reason and not starved:
            assert got["has_cells"]
            stored = b"".join(
                self.memory[cells[i // 16], i % 16].to_bytes(8, "little") for i in range(-(-len(frame.data) // 8))
            )
            assert stored[: len(frame.data)] == frame.data
        for cell in cells:  # free again
            self.in_use.remove(cell)
            self.free.append(cell)

    def drained(self):
        return not (self.operations or self.expected or any(self.fifos) or self.tables)

    async def finish(self):
        for _ in range(200_000):
            if self.drained():
                break
            await self.step()
        assert self.drained()
        await self.run(4 * self.ports + 10)
        assert self.dut.idle_o.value == 1
        # Each port keeps one spare cell, and may keep that of a frame in error.
        assert len(self.in_use) <= 2 * self.ports


def traffic(bench, count, destinations, sources, vlans, flows, errors=0.15, sizes=None):
    rng = bench.rng
    for port in range(bench.ports):
        start = bench.cycle + 40 + rng.randrange(50)
        for _ in range(count):
            frame = random_frame(rng, destinations, sources, vlans, flows, sizes)
            gap = rng.choice((20, 20, 20, 21, 25, 60, 200))
            if rng.random() < errors:
                frame.reason = rng.randrange(1, 7)
                frame.short_gap = rng.randrange(2)
                frame.data = frame.data[: rng.choice((1, 2, 7, 8, 9, 60, 127, 128, 129, 1000))]
            start = bench.send(port, start, frame) + gap


STATIONS = [0x020000000001 + i * 0x010101 for i in range(12)]
GROUPS = [0xFFFFFFFFFFFF, 0x01005E000001, 0x0180C2000000, 0x0180C200000F, 0x0180C2000010]
VLANS = [0, 1, 2, 5, 100, 4095]
FLOWS = [(0x0A000001 + i, 0x0A000101 + i, (6, 17, 17, 1)[i % 4], 1000 + i, 5000 + i) for i in range(6)]


def configure(bench):
    rng = bench.rng
    for vlan in (1, 2, 5, 4095):
        bench.vlans[vlan], bench.untagged[vlan] = rng.getrandbits(8) | rng.getrandbits(8), rng.getrandbits(8)
        bench.translations[vlan] = rng.choice((0, rng.getrandbits(16)))
        bench.write_table(
            TABLE_VLAN, vlan, bench.translations[vlan] << 16 | bench.untagged[vlan] << 8 | bench.vlans[vlan]
        )
    for address in (0x01005E000001, STATIONS[0]):
        entry = FdbEntry(address, 2, rng.getrandbits(8), static=True)
        index = fdb_set(address, 2, bench.sets)
        way = 0 if bench.fdb.ways[index][0] is None else 1
        bench.fdb.write(index, way, entry)
        bench.write_table(TABLE_FDB, way << 15 | index, entry.pack())
    slots = set()
    for stream in range(bench.streams):
        port, identify = rng.randrange(bench.ports), rng.randrange(3)
        if identify == 0:
            source, destination, protocol, from_port, to_port = rng.choice(FLOWS)
            if protocol == 1 or rng.random() < 0.3:
                from_port = to_port = 0  # later fragments, other protocols
            fields = source << 72 | destination << 40 | protocol << 32 | from_port << 16 | to_port
            fields &= bench.config["identify_ipv4_mask"]
        else:
            fields = rng.choice(VLANS[1:4]) << 48 | rng.choice(STATIONS + GROUPS[:2] if identify == 1 else STATIONS)
        key = stream_key(identify, port, fields)
        for table, slot in enumerate(stream_slots(key, bench.streams)):
            if key not in bench.stream_of and (table, slot) not in slots:
                slots.add((table, slot))
                bench.stream_of[key] = stream
                bench.write_table(TABLE_STREAM_KEY, table << 15 | slot, 1 << 121 | stream << 109 | key)
        rate = ats_rate(rng.choice((1_000_000, 30_000_000, 500_000_000)), rng.choice((2000, 6000)))
        bench.ats.commit(stream, rate)
        bench.write_table(TABLE_STREAM_RATE, stream, rate[1] << 44 | rate[0])
        if rng.random() < 0.5:
            bench.numbers[stream] = 0
        bench.write_table(TABLE_NUMBERING, stream, int(stream in bench.numbers))
    for port in range(bench.ports):
        for traffic_class in (0, 6, 7):
            residence = rng.choice((5_000, 100_000, 1_000_000))
            bench.ats.residence(port, traffic_class, residence)
            bench.write_table(TABLE_GROUP, port << 3 | traffic_class, residence)


@cocotb.test()
async def random_frames(dut):
    bench = Bench(dut)
    await bench.start(identify_ipv4_mask=bench.rng.choice((ALL, ALL ^ 0xFFFF, ALL ^ (0xFF << 72))))
    configure(bench)
    while bench.tables:
        await bench.step()
    await bench.run(100)
    traffic(bench, 60, STATIONS + GROUPS, [*STATIONS, 3298534883329], VLANS, FLOWS)
    await bench.finish()
    seen = {got["reason"] for got, _ in bench.verdicts}
    bench.dut._log.info(
        "frames %d, reasons %s, streams %d, shaped %d",
        len(bench.verdicts),
        sorted(seen),
        sum(got["is_stream"] for got, _ in bench.verdicts),
        sum(got["shaped"] for got, _ in bench.verdicts),
    )


@cocotb.test()
async def short_frames_on_all_ports_at_once(dut):
    """Line rate, all ports in step: the pipeline takes a frame in each of consecutive cycles."""
    bench = Bench(dut)
    await bench.start()
    configure(bench)
    while bench.tables:
        await bench.step()
    await bench.run(100)
    start = bench.cycle + 5
    for _ in range(40):
        for port in range(bench.ports):
            frame = random_frame(bench.rng, STATIONS, STATIONS, [0, 1, 2, 5], FLOWS, [64])
            bench.send(port, start, frame)
        start += 84
    await bench.finish()


@cocotb.test()
async def store_runs_full(dut):
    """Frames that find no cell are dropped whole, and no cell is lost over it."""
    bench = Bench(dut)
    await bench.start(cells=10)
    bench.starving = True
    total = len(bench.free)
    traffic(bench, 25, STATIONS, STATIONS, [0], FLOWS, sizes=[64, 200, 1522])
    await bench.finish()
    assert any(got["reason"] == REASONS["store_full"] for got, _ in bench.verdicts)
    assert len(bench.free) + len(bench.in_use) == total


@cocotb.test()
async def disabled_port_and_no_learning(dut):
    bench = Bench(dut)
    await bench.start(port_enable=(1 << bench.ports) - 2, identify_enable=0)
    traffic(bench, 20, STATIONS, STATIONS, [0, 1], FLOWS)
    await bench.finish()
    assert any(got["reason"] == REASONS["port_disabled"] for got, _ in bench.verdicts)


@pytest.mark.parametrize("ports", [2, pytest.param(4, marks=pytest.mark.slow), 8])
def test_pen_ingress(ports):
    run_module("pen_ingress", __name__, {"PORTS": ports, "STREAMS": 32, "FDB_SETS": 8})
