# SPDX-License-Identifier: Apache-2.0
"""Random frames through one port: what is stored in which cells, and what it says about each frame and when."""

import os
import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from ingress_model import PORT_CONFIG, RX_BEAT, STORE_WRITE, Frame, begun, join, pack, random_frame, unpack
from runner import run_module
from structs import STRUCTS

CELL = 128
ANSWER = 5  # cycles from a question about a stream to its answer
RECORD, LEARN, DESTINATION, SOURCE = 1, 2, 3, 4
WAY = (("stamped", 1), ("tag", 8), ("direct", 1), ("direct_ports", 8), ("direct_class", 3), ("from", 3))
REQUEST = (
    ("operation", 3), ("mac_reason", 3), ("store_full", 1), ("short_gap", 1), ("has_cells", 1), ("traffic_class", 3),
    ("frame", 12), ("words", 8), ("length", 11), ("age", 4), ("destination_address", 48), ("source_address", 48),
    ("vlan_id", 12), ("has_tag", 1), ("pcp_dei", 4), ("is_priority_tagged", 1),
    ("has_r_tag", 1), ("sequence_number", 16), *STRUCTS["correction"], ("ipv4", 1), ("has_ports", 1),
    ("ipv4_fields", 104), ("is_stream", 1), ("stream", 12), *WAY,
)  # fmt: skip
ADDRESSES = [0x0180C2000000, 0x01005E000001, *(random.getrandbits(40) << 1 for _ in range(3)), *range(6)]
FLOWS = [(random.getrandbits(32), random.getrandbits(32), protocol, random.getrandbits(16), random.getrandbits(16))
         for protocol in (1, 6, 6, 17, 17)]  # fmt: skip


class Bench:
    def __init__(self, dut):
        self.dut, self.port, self.ports = dut, int(os.environ["TURN"]), int(os.environ["TURNS"])
        self.rng = random.Random(random.getrandbits(32))
        self.cycle = 0
        self.free = random.sample(range(4096), 600)
        self.held = []  # cells taken and not yet given away with a frame
        self.memory, self.chain = {}, {}
        self.answers = {}  # cycle: stream
        self.asked, self.stream = [], None  # of this frame
        self.learn = None  # the record whose learning is due in the next turn
        self.record = None
        self.starved_at, self.records = 0, 0  # the last turn in which no cell was offered

    async def start(self, enable=True, learning=True, identify=3):
        dut = self.dut
        self.enable, self.learning, self.identify = enable, learning, identify
        self.vlan, self.classes, self.untagged = random.randrange(1, 4095), random.sample(range(8), 8), 5
        self.pcp_of_untagged = random.randrange(8)
        self.way = self.wire
        dut.config_i.value = pack(
            PORT_CONFIG, port_enable=int(enable), learning_enable=int(learning), port_vlan_id=self.vlan,
            class_of_pcp=join(self.classes, 3), class_of_untagged=self.untagged, identify_enable=identify << 1,
            max_frame_bytes=1522, pcp_of_untagged=self.pcp_of_untagged)  # fmt: skip
        dut.arrival_i.value = 0
        for name in ("turn_i", "beat_i", "beat_valid_i", "alloc_valid_i", "alloc_cell_i", "found_i", "found_stream_i"):
            getattr(dut, name).value = 0
        dut.rst_i.value = dut.init_busy_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
        for _ in range(3):
            await RisingEdge(dut.clk_i)
        dut.rst_i.value = 0
        # While the tables are cleared everything is thrown away, a frame that has begun then to its end.
        for i in range(130):
            dut.init_busy_i.value = int(i < 100)
            taken = await self.step(pack(RX_BEAT, last=int(i in (40, 129)), data=i))
            assert taken
        assert not self.memory

    @property
    def wire(self):
        """Of a frame that came from one."""
        return {"direct": 0, "direct_ports": 0, "direct_class": 0, "from": self.port}

    async def step(self, beat=None, alloc=True):
        """One cycle, with a byte offered or none; says whether it was taken."""
        dut, turn = self.dut, self.cycle % self.ports == self.port
        alloc = alloc and bool(self.free)
        answer = self.answers.pop(self.cycle, None)
        dut.turn_i.value = int(turn)
        dut.beat_valid_i.value = int(beat is not None)
        dut.beat_i.value = random.getrandbits(13) if beat is None else beat
        dut.way_i.value = random.getrandbits(24) if beat is None else pack(WAY, **self.way)
        dut.alloc_valid_i.value = int(alloc)
        dut.alloc_cell_i.value = self.free[0] if alloc else random.randrange(4096)
        dut.found_i.value = int(answer is not None)
        dut.found_stream_i.value = random.getrandbits(12) if answer is None else answer
        await FallingEdge(dut.clk_i)
        if int(dut.alloc_take_o.value):
            assert turn
            assert alloc
            self.held.append(self.free.pop(0))
        write, request = unpack(STORE_WRITE, int(dut.write_o.value)), unpack(REQUEST, int(dut.request_o.value))
        if not turn:
            assert not write["valid"] and not write["link_valid"], "in another port's turn"
            assert not request["operation"], "in another port's turn"
        if write["valid"]:
            assert write["cell_index"] in self.held, "a cell that is not the port's"
            self.memory[write["cell_index"], write["word"]] = write["data"].to_bytes(8, "little")
            if write["link_valid"]:
                self.chain[write["link_from"]] = write["link_to"]
        if turn:
            self.ask(request)
        taken = beat is not None and int(dut.beat_ready_o.value) == 1
        if turn and not alloc:
            self.starved_at = self.cycle
        self.cycle += 1
        await RisingEdge(dut.clk_i)
        return taken

    def ask(self, request):
        """What the port asks in its turn."""
        operation = request["operation"]
        if self.learn is not None:  # this is the turn after a record
            wanted, self.learn = self.learn, None
            assert operation == (LEARN if wanted else 0), (operation, wanted)
            if wanted:
                for name in ("source_address", "vlan_id"):
                    assert request[name] == self.record[name]
            return
        assert operation != LEARN
        if operation in (DESTINATION, SOURCE):
            self.asked.append((operation, request))
            if self.rng.random() < 0.4:
                self.answers[self.cycle + ANSWER] = stream = self.rng.getrandbits(12)
                if self.stream is None:
                    self.stream = stream
        elif operation == RECORD:
            assert self.record is None, "a second record"
            self.record = request | {"cycle": self.cycle}
            self.learn = self.enable and self.learning and not request["mac_reason"]
            self.learn = bool(self.learn and not request["source_address"] >> 40 & 1 and not self.way["direct"])

    async def send(self, frame, idle=0.0, alloc=lambda: True):
        """A frame goes in; its record and what was stored are checked."""
        self.asked, self.stream, self.record = [], None, None
        self.arrival = random.getrandbits(30)
        self.dut.arrival_i.value = self.arrival
        begin, waited = self.cycle, 0
        for i, byte in enumerate(frame.data):
            last = i == len(frame.data) - 1
            short_gap, reason = random.getrandbits(1), random.randrange(8)  # mean something at the end only
            if last:
                short_gap, reason = frame.short_gap, frame.reason
            beat = pack(RX_BEAT, last=int(last), data=byte, short_gap=short_gap, reason=reason)
            while random.random() < idle:
                await self.step(alloc=alloc())
            while not await self.step(beat, alloc()):
                waited += 1
                assert waited <= 8 + 2 * self.ports, "bytes wait too long"
        taken, learn = self.cycle - 1, None
        for _ in range(2 * self.ports + 1):  # nothing is taken until both have gone out
            learn = self.learn
            assert self.record is not None or self.cycle <= taken + self.ports + 1
            assert not await self.step(pack(RX_BEAT, data=random.getrandbits(8)), alloc())
            if learn is not None and self.learn is None:
                break
        assert self.record is not None
        assert self.learn is None
        self.records += 1
        self.check(frame, begin, taken)

    def check(self, frame, begin, taken):
        record, length = self.record, len(frame.data)
        assert record["mac_reason"] == frame.reason
        assert record["short_gap"] == frame.short_gap
        assert {name: record[name] for name in self.way} == self.way
        assert record["age"] == record["cycle"] - taken
        full = record["store_full"]
        # The cell of the first word must be at hand from the turn before the frame on.
        assert not full or self.starved_at >= begin - self.ports, "a cell was there"
        stored = length
        if full:  # as much as there was room for
            stored = 8 * record["words"]
            assert stored < length
            assert stored % CELL == 0
        assert record["length"] == length
        bad = bool(frame.reason or full)
        assert record["has_cells"] == int(stored > 0 and (not bad or stored > CELL))
        if record["has_cells"]:
            cells = [record["frame"]]
            while len(cells) * CELL < stored:
                cells.append(self.chain[cells[-1]])
            assert len(set(cells)) == len(cells)
            words = [self.memory[cell, word] for cell in cells for word in range(16)
                     if (cell, word) in self.memory]  # fmt: skip
            assert b"".join(words)[:stored] == frame.data[:stored]
            self.held = [cell for cell in self.held if cell not in cells]
        self.memory.clear()
        self.chain.clear()
        assert len(self.held) <= 2, "one cell at hand and one left over at most"
        if frame.destination is None:  # cut off
            return
        tag_class = self.untagged if frame.tag is None else self.classes[frame.tag[0]]
        vlan = (frame.tag[1] if frame.tag else 0) or self.vlan
        assert record["traffic_class"] == tag_class
        assert record["vlan_id"] == vlan
        pcp_dei = self.pcp_of_untagged << 1 if frame.tag is None else frame.data[14] >> 4
        assert (record["has_tag"], record["pcp_dei"]) == (int(frame.tag is not None), pcp_dei)
        assert record["has_r_tag"] == int(frame.sequence_number is not None)
        assert not record["has_r_tag"] or record["sequence_number"] == frame.sequence_number
        assert record["is_due"] == int(frame.correction is not None)
        if frame.correction is not None:
            correction = begun(frame.correction, self.arrival)
            assert {name: record[name] for name in correction} == correction
        assert record["is_priority_tagged"] == int(frame.tag is not None and frame.tag[1] == 0)
        assert (record["destination_address"], record["source_address"]) == (frame.destination, frame.source)
        assert record["ipv4"] == int(frame.ipv4 is not None)
        fields = record["ipv4_fields"] if record["has_ports"] else record["ipv4_fields"] >> 32 << 32
        assert frame.ipv4 is None or fields == frame.ipv4
        assert [op for op, _ in self.asked] == [op for op in (DESTINATION, SOURCE) if self.identify >> op - 3 & 1]
        for _, request in self.asked:
            for name in ("destination_address", "source_address", "vlan_id"):
                assert request[name] == record[name]
        assert record["is_stream"] == int(self.stream is not None)
        assert self.stream is None or record["stream"] == self.stream

    def frame(self, sizes=None):
        frame = random_frame(self.rng, ADDRESSES, ADDRESSES, (0, 1, 5, 4095, self.vlan), FLOWS, sizes)
        frame.short_gap = random.getrandbits(1)
        if random.random() < 0.2:
            frame.reason = random.randrange(1, 7)
        if random.random() < 0.1:  # the end of the frame was lost
            frame = Frame(frame.data[: random.randrange(1, 64)], None, None, None, None, random.randrange(1, 7))
        return frame

    async def rest(self):
        """What is not on the way anywhere is idle."""
        for _ in range(2 * self.ports + 2):
            await self.step()
        assert self.dut.idle_o.value == 1
        await self.step(alloc=False)


@cocotb.test()
async def frames(dut):
    """Every kind of frame, at full rate and with pauses."""
    bench = Bench(dut)
    await bench.start()
    for _ in range(60):
        await bench.send(bench.frame(), idle=random.choice((0, 0, 0.1, 0.6)))
        for _ in range(random.choice((0, 12, 30))):
            await bench.step()
    await bench.rest()


@cocotb.test()
async def frames_of_the_host(dut):
    """What the host says goes with its frame: the VLAN is that of the port it names, and nothing direct is learnt."""
    bench = Bench(dut)
    await bench.start()
    for _ in range(40):
        bench.way = {name: random.getrandbits(bits) for name, bits in WAY}
        await bench.send(bench.frame((64, 65, 100)), idle=random.choice((0, 0.3)))


@cocotb.test()
async def cells_run_out(dut):
    """Without a cell the rest of a frame is lost and said to be; a cell that is at hand is used later."""
    bench = Bench(dut)
    await bench.start()
    full = 0
    for _ in range(60):
        left = random.choice((0, 0, 1, 2, 5, 100))
        at_start = len(bench.free)
        # A little before each frame: cells for some of it.
        await bench.send(
            bench.frame((64, 128, 129, 200, 300, 700)),
            random.choice((0, 0.3)),
            lambda left=left, at_start=at_start: at_start - len(bench.free) < left,
        )
        full += bench.record["store_full"]
    assert 5 < full < 50
    await bench.rest()


@cocotb.test()
@cocotb.parametrize((("enable", "learning", "identify"), [(False, True, 0), (True, False, 1), (True, True, 2)]))
async def settings(dut, enable, learning, identify):
    """Nothing is learnt by a port that is off or may not learn; only what is enabled is looked for."""
    bench = Bench(dut)
    await bench.start(enable, learning, identify)
    for _ in range(12):
        await bench.send(bench.frame((64, 65, 100)))
    await bench.rest()


@pytest.mark.parametrize(("ports", "port"), [(2, 1), (4, 0), (8, 6)])
def test_pen_ingress_port(ports, port):
    run_module("pen_ingress_port", __name__, env={"TURNS": str(ports), "TURN": str(port)})
