# SPDX-License-Identifier: Apache-2.0
import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp
from runner import run_module
from structs import unpack, width

from penstock.hardware.registers import registers

pytestmark = pytest.mark.long(100)

TABLES = (0, 1, 2, 3, 4, 6, 7, 8)
MAX_SDU, GATE_ENTRY, CREDIT = 8, 6, 7
IDENTIFY_MASK = 5
TIME = (0x12345678 << 32) - 400  # the low half wraps while the test runs


class Signals(dict):
    """What the AXI4-Lite model drives, found by the names of the ports of the module."""

    def __init__(self, dut):
        outputs = ("awready", "wready", "bresp", "bvalid", "arready", "rdata", "rresp", "rvalid")
        inputs = (
            "awaddr",
            "awprot",
            "awvalid",
            "wdata",
            "wstrb",
            "wvalid",
            "bready",
            "araddr",
            "arprot",
            "arvalid",
            "rready",
        )
        super().__init__({name: getattr(dut, f"s_axil_{name}_o") for name in outputs})
        self.update({name: getattr(dut, f"s_axil_{name}_i") for name in inputs})


def per_port(dut, struct, signal):
    word, size = signal.value.to_unsigned(), width(struct)
    return [unpack(struct, word >> size * p & (1 << size) - 1) for p in range(dut.PORTS.value.to_unsigned())]


def settings(dut):
    """What all units keep, by name; what several keep is the same in each."""
    found = unpack("ingress_config", dut.ingress_config_o.value.to_unsigned())
    identify_ipv4 = found.pop("identify_ipv4")
    found |= unpack("buffer_config", dut.buffer_config_o.value.to_unsigned())
    ways_in = per_port(dut, "ingress_port_config", dut.ingress_port_config_o)
    ways_out = per_port(dut, "egress_port_config", dut.egress_port_config_o)
    assert found["port_enable"] == sum(unit.pop("port_enable") << p for p, unit in enumerate(ways_in))
    assert found["gate_enable"] == sum(unit.pop("gate_enable") << p for p, unit in enumerate(ways_out))
    assert found["gate_enable"] == dut.gate_enable_o.value.to_unsigned()
    for name in ("port_vlan_id", "gate_states", "round_robin"):
        units = ways_in if name == "port_vlan_id" else ways_out
        found[name] = [unit.pop(name) for unit in units]
    for unit in ways_in + ways_out:
        for name, value in unit.items():
            assert found.setdefault(name, value) == value, name
    assert found["identify_enable"] & 1 == identify_ipv4
    assert dut.receive_reset_o.value == dut.send_reset_o.value
    return found


class Bench:
    """The module with its surroundings: time, counters, and tables that take an entry after a while."""

    def __init__(self, dut):
        self.dut = dut
        self.tables = []  # (which, index, data) in the order in which they were taken
        self.table_pause = 0.5
        self.status_writes = []
        self.aging_periods = []  # those that were told as new
        self.clock_writes = []  # (address, data, what was staged) of writes to the PTP clock

    async def start(self):
        dut = self.dut
        dut.rst_i.value = 1
        cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
        dut.time_ns_i.value = TIME
        dut.init_busy_i.value = 0
        dut.ingress_table_ready_i.value = dut.entry_ready_i.value = dut.credit_ready_i.value = 0
        dut.counter_ack_i.value = dut.counter_data_i.value = 0
        dut.clock_ack_i.value = dut.clock_data_i.value = 0
        dut.status_ack_i.value = dut.status_data_i.value = dut.gate_ready_i.value = 0
        dut.credit_errors_i.value, dut.credit_error_i.value = 0xBEEF, 4
        self.axi = AxiLiteMaster(AxiLiteBus.from_prefix(Prefixed(dut), "s_axil"), dut.clk_i, dut.rst_i)
        for _ in range(4):
            await FallingEdge(dut.clk_i)
        dut.rst_i.value = 0
        for _ in range(5):
            await FallingEdge(dut.clk_i)
        for work in (
            self.time(),
            self.take_tables(),
            self.answer_clock(),
            self.answer_counters(),
            self.answer_status(),
            self.hear_of_aging(),
        ):
            cocotb.start_soon(work)
        self.axi.write_if.aw_channel.set_pause_generator(pauses())
        self.axi.write_if.w_channel.set_pause_generator(pauses())
        self.axi.write_if.b_channel.set_pause_generator(pauses())
        self.axi.read_if.ar_channel.set_pause_generator(pauses())
        self.axi.read_if.r_channel.set_pause_generator(pauses())

    async def time(self):
        now = TIME
        while True:
            await FallingEdge(self.dut.clk_i)
            now += 8
            self.dut.time_ns_i.value = now

    async def hear_of_aging(self):
        while True:
            await FallingEdge(self.dut.clk_i)
            config = unpack("ingress_config", self.dut.ingress_config_o.value.to_unsigned())
            if config["aging_period_is_new"]:
                self.aging_periods.append(config["aging_period_ms"])

    async def take_tables(self):
        """Takes what is valid when ready; of three tables and their units."""
        dut, held = self.dut, {}
        while True:
            await FallingEdge(dut.clk_i)
            ready = random.random() > self.table_pause
            for signal in (dut.ingress_table_ready_i, dut.entry_ready_i, dut.credit_ready_i):
                signal.value = int(ready)
            valid = 0
            for unit in (dut.ingress_table_o, dut.buffer_table_o, dut.shaper_table_o):
                word = unit.value.to_unsigned()
                if not word >> 148:
                    assert unit not in held, "an entry left before it was taken"
                    continue
                valid += 1
                entry = word >> 144 & 15, word >> 128 & 0xFFFF, word & (1 << 128) - 1
                assert held.get(unit, entry) == entry, "an entry changed while it waited"
                assert dut.init_busy_i.value == 0
                held[unit] = entry
                if ready or unit is dut.buffer_table_o:
                    self.tables.append(entry)
                    del held[unit]
            assert valid < 2

    async def answer_clock(self):
        dut = self.dut
        while True:
            await FallingEdge(dut.clk_i)
            dut.clock_ack_i.value = 0
            if dut.clock_request_o.value == 1:
                write = int(dut.clock_write_o.value)
                request = [dut.clock_addr_o.value, dut.clock_data_o.value]
                request.append(dut.clock_staged_o.value)
                for _ in range(random.randrange(1, 50)):
                    await FallingEdge(dut.clk_i)
                    assert dut.clock_request_o.value == 0
                    held = [dut.clock_addr_o.value, dut.clock_data_o.value]
                    held.append(dut.clock_staged_o.value)
                    assert held == request
                addr, data, staged = (value.to_unsigned() for value in request)
                if write:
                    self.clock_writes.append((0x300 + 4 * addr, data, staged))
                dut.clock_ack_i.value = 1
                dut.clock_data_i.value = addr * 0x01030507 & 0xFFFFFFFF

    async def answer_counters(self):
        while True:
            await FallingEdge(self.dut.clk_i)
            self.dut.counter_ack_i.value = 0
            if self.dut.counter_request_o.value == 1:
                addr = self.dut.counter_addr_o.value.to_unsigned()
                for _ in range(random.randrange(1, 20)):
                    await FallingEdge(self.dut.clk_i)
                    assert self.dut.counter_addr_o.value.to_unsigned() == addr
                self.dut.counter_ack_i.value = 1
                self.dut.counter_data_i.value = addr * 0x01010101 & 0xFFFFFFFF

    async def answer_status(self):
        while True:
            await FallingEdge(self.dut.clk_i)
            self.dut.status_ack_i.value = 0
            if self.dut.status_request_o.value == 1:
                addr = self.dut.status_addr_o.value.to_unsigned()
                if self.dut.status_write_o.value == 1:
                    self.status_writes.append(0x2000 + 4 * addr)
                for _ in range(random.randrange(1, 20)):
                    await FallingEdge(self.dut.clk_i)
                    assert self.dut.status_addr_o.value.to_unsigned() == addr
                self.dut.status_ack_i.value = 1
                self.dut.status_data_i.value = addr * 0x01010103 & 0xFFFFFFFF

    async def read(self, addr):
        answer = await self.axi.read(addr, 4)
        assert answer.resp == AxiResp.OKAY
        return int.from_bytes(answer.data, "little")

    async def write(self, addr, value):
        answer = await self.axi.write(addr, value.to_bytes(4, "little"))
        assert answer.resp == AxiResp.OKAY

    async def commit(self, which, index, data):
        for word in range(4):
            await self.write(0x200 + 4 * word, data >> 32 * word & 0xFFFFFFFF)
        await self.write(0x210, index)
        await self.write(0x214, which)


class Prefixed:
    """Gives the ports the names that the AXI4-Lite model looks for."""

    def __init__(self, dut):
        self._name = dut._name
        self._log = dut._log
        for name, signal in Signals(dut).items():
            setattr(self, f"s_axil_{name}", signal)


def pauses():
    while True:
        yield random.random() < 0.4


@cocotb.test()
async def identifies_itself(dut):
    bench = Bench(dut)
    await bench.start()
    assert await bench.read(0x000) == 0x50454E53
    assert await bench.read(0x004) >> 16 == 1
    parameters = {0x008: "PORTS", 0x00C: "STREAMS", 0x010: "CELLS", 0x014: "FDB_SETS", 0x01C: "HOST"}
    for addr, parameter in parameters.items():
        assert await bench.read(addr) == getattr(dut, parameter).value.to_unsigned()
    for addr in (0x028, 0x218, 0x1800, 0xFFFC):
        assert (await bench.axi.read(addr, 4)).resp == AxiResp.SLVERR
        assert (await bench.axi.write(addr, bytes(4))).resp == AxiResp.SLVERR


@cocotb.test()
async def settings_after_reset(dut):
    bench = Bench(dut)
    await bench.start()
    await bench.read(0x000)  # waits until all settings have gone out
    ports, cells = dut.PORTS.value.to_unsigned(), dut.CELLS.value.to_unsigned()
    found = settings(dut)
    assert found["port_enable"] == (1 << ports) - 1
    assert found["max_frame_bytes"] == 1522
    assert found["port_vlan_id"] == [1] * ports
    assert found["gate_states"] == [0xFF] * ports
    assert found["round_robin"] == [0] * ports
    assert found["class_of_pcp"] == [1, 0, 6, 7, 2, 3, 4, 5]
    assert found["class_of_untagged"] == 5
    assert found["pcp_of_untagged"] == found["vlan_tagging"] == found["vlan_translation"] == 0
    assert found["r_tag_removal"] == found["ptp_correction"] == 0
    assert found["ats_classes"] == 0xC0
    assert found["ats_overhead_bytes"] == 20
    assert found["processing_delay_max_ns"] == dut.PROCESSING_DELAY_MAX_NS.value.to_unsigned()
    assert found["aging_period_ms"] == 100_000
    assert found["learning_enable"] == 1
    assert found["identify_enable"] == 0
    assert found["identify_ipv4_mask"] == (1 << 104) - 1
    assert found["queue_limit_cells"] == [256] * 8
    assert found["class_limit_cells"] == [640] * 8
    per_port = 8 * found["queue_guarantee_cells"] + found["reception_guarantee_cells"] + 36
    assert ports * per_port + found["shared_limit_cells"] == cells
    assert found["shared_limit_cells"] >= cells // 4
    if ports == 4:
        assert found["queue_guarantee_cells"] == 12


@cocotb.test()
async def reset_sets_all_anew(dut):
    """What is read back is that of the RDL again, and what only acts reads as zero."""
    bench = Bench(dut)
    await bench.start()
    names = [name for name, field in registers().items() if field.address < 0x1000]
    kept = [name for name in names if any("w" in field.access for field in registers()[name].fields.values())]
    kept = [name for name in kept if not name.startswith("ptp.")]
    first = {name: await bench.read(registers().address(name)) for name in kept}
    sized = ("processing_delay_max", "queue_guarantee", "reception_guarantee", "shared_limit")
    for name, value in first.items():
        if name not in sized:
            assert value == registers()[name].pack(), name
    for name in kept:
        if name not in ("table_commit", "gate_commit"):
            await bench.write(registers().address(name), random.getrandbits(32))
    assert {name: await bench.read(registers().address(name)) for name in kept} != first
    assert await bench.read(0x214) == await bench.read(0x418) == 0
    dut.rst_i.value = 1
    for _ in range(4):
        await FallingEdge(dut.clk_i)
    dut.rst_i.value = 0
    for _ in range(5):
        await FallingEdge(dut.clk_i)
    assert {name: await bench.read(registers().address(name)) for name in kept} == first
    await bench.read(0x000)
    assert settings(dut)["port_enable"] == (1 << dut.PORTS.value.to_unsigned()) - 1


@cocotb.test()
async def every_setting_reaches_the_switch(dut):
    """Random values in random order; each register changes its own setting and no other."""
    bench = Bench(dut)
    await bench.start()
    ports = dut.PORTS.value.to_unsigned()
    places = {
        0x100: ("port_enable", None, (1 << ports) - 1),
        0x10C: ("class_of_untagged", None, 7),
        0x12C: ("reserved_to_host", None, 0xFFFF),
        0x160: ("vlan_tagging", None, (1 << ports) - 1),
        0x168: ("vlan_translation", None, (1 << ports) - 1),
        0x16C: ("r_tag_removal", None, (1 << ports) - 1),
        0x170: ("ptp_correction", None, (1 << ports) - 1),
        0x164: ("pcp_of_untagged", None, 7),
        0x110: ("ats_classes", None, 255),
        0x114: ("ats_overhead_bytes", None, 255),
        0x118: ("processing_delay_max_ns", None, 2**32 - 1),
        0x11C: ("learning_enable", None, 1),
        0x120: ("aging_period_ms", None, 2**32 - 1),
        0x124: ("identify_enable", None, 7),
        0x1C0: ("queue_guarantee_cells", None, 4095),
        0x1C4: ("reception_guarantee_cells", None, 4095),
        0x1C8: ("shared_limit_cells", None, 4095),
        0x440: ("gate_enable", None, (1 << dut.PORTS.value.to_unsigned()) - 1),
        0x444: ("cbs_count_gap", None, 1),
        **{0x140 + 4 * p: ("port_vlan_id", p, 4095) for p in range(ports)},
        **{0x420 + 4 * p: ("gate_states", p, 255) for p in range(ports)},
        **{0x460 + 4 * p: ("round_robin", p, 255) for p in range(ports)},
        **{0x180 + 4 * k: ("queue_limit_cells", k, 4095) for k in range(8)},
        **{0x1A0 + 4 * k: ("class_limit_cells", k, 4095) for k in range(8)},
    }
    await bench.read(0x000)
    expected = settings(dut)
    del expected["aging_period_is_new"]
    aging_periods = [expected["aging_period_ms"]]  # that of reset is written, too
    for addr in random.sample(list(places), len(places)) * 2:
        name, place, mask = places[addr]
        value = random.getrandbits(32)
        await bench.write(addr, value)
        if place is None:
            if name == "aging_period_ms" and value != expected[name]:
                aging_periods.append(value)
            expected[name] = value & mask
        else:
            expected[name][place] = value & mask
        found = settings(dut)
        del found["aging_period_is_new"]
        assert found == expected, hex(addr)
        masks = "port_enable", "gate_enable", "vlan_tagging", "vlan_translation", "r_tag_removal", "ptp_correction"
        if name not in masks:
            assert await bench.read(addr) == value & mask
    assert bench.aging_periods == aging_periods
    assert dut.send_reset_o.value == 0
    for _ in range(10):
        value = random.getrandbits(32)
        await bench.write(0x128, value)
        assert dut.send_reset_o.value == value & (1 << ports) - 1
        assert await bench.read(0x128) == value & 0xFF
    assert settings(dut) == expected | {"aging_period_is_new": 0}
    classes = [random.randrange(8) for _ in range(8)]
    await bench.write(0x108, sum(k << 4 * pcp for pcp, k in enumerate(classes)))
    assert settings(dut)["class_of_pcp"] == classes
    for given, used in ((64, 64), (2000, 2000), (2001, 2000), (2047, 2000)):
        await bench.write(0x104, given)
        assert settings(dut)["max_frame_bytes"] == used


@cocotb.test()
async def all_units_act_in_one_cycle(dut):
    """What several units keep changes in all of them together, a fixed number of cycles after the write came."""
    bench = Bench(dut)
    await bench.start()
    await bench.read(0x000)
    ports = dut.PORTS.value.to_unsigned()
    for addr in (0x100, 0x104, 0x124, 0x128, 0x440, 0x444):
        old = {0x100: 0xFF, 0x104: 1522}.get(addr, 0)
        units = [dut.ingress_port_config_o, dut.ingress_config_o, dut.buffer_config_o, dut.egress_port_config_o]
        before = [unit.value for unit in units]
        work = cocotb.start_soon(bench.write(addr, old ^ (1 << ports) - 1 if addr != 0x444 else 1))
        while not (dut.s_axil_awvalid_i.value == 1 and dut.s_axil_awready_o.value == 1):
            await FallingEdge(dut.clk_i)
        for _ in range(2 * ports + 6 + 3):
            await FallingEdge(dut.clk_i)
            assert [unit.value for unit in units] == before, hex(addr)
        await FallingEdge(dut.clk_i)
        settings(dut)
        changed = [unit.value != old for unit, old in zip(units, before, strict=True)]
        wanted = {
            0x100: [True, True, False, False],
            0x104: [True, False, False, False],
            0x124: [True, True, False, False],
            0x128: [False] * 4,
            0x440: [False, False, True, True],
            0x444: [False, False, False, True],
        }[addr]
        assert changed == wanted, hex(addr)
        await work


@cocotb.test()
async def table_entries_are_whole(dut):
    """Writes race ahead of the answers; still every entry leaves with its own data, once and in order."""
    bench = Bench(dut)
    await bench.start()
    expected = []
    pending = []
    for _ in range(60):
        which, index, data = random.choice(TABLES), random.getrandbits(16), random.getrandbits(128)
        bench.table_pause = random.choice((0, 0.5, 0.98))
        expected.append((which, index, data))
        for word in range(4):
            value = (data >> 32 * word & 0xFFFFFFFF).to_bytes(4, "little")
            pending.append(cocotb.start_soon(bench.axi.write(0x200 + 4 * word, value)))
        pending.append(cocotb.start_soon(bench.axi.write(0x210, index.to_bytes(4, "little"))))
        pending.append(cocotb.start_soon(bench.axi.write(0x214, which.to_bytes(4, "little"))))
        if random.random() < 0.5:
            await pending[-1]
            assert bench.tables == expected, "the write was answered before the entry was taken"
    for work in pending:
        await work
    assert bench.tables == expected
    await bench.commit(9, 0, 0)
    await bench.commit(15, 0, 0)
    assert bench.tables == expected


@cocotb.test()
async def writes_wait_for_the_end_of_initialization(dut):
    bench = Bench(dut)
    await bench.start()
    dut.init_busy_i.value = 1
    assert await bench.read(0x018) == 1
    before = settings(dut)
    early = cocotb.start_soon(bench.write(0x114, 77))
    work = cocotb.start_soon(bench.commit(2, 31, 500_000))
    for _ in range(200):
        await RisingEdge(dut.clk_i)
    assert not work.done() and not early.done()
    assert not bench.tables and settings(dut) == before
    dut.init_busy_i.value = 0
    await work
    assert bench.tables == [(2, 31, 500_000)]
    assert await bench.read(0x018) == 0


@cocotb.test()
async def identification_mask_changes_at_once(dut):
    bench = Bench(dut)
    await bench.start()
    seen = set()

    async def watch():
        while True:
            await FallingEdge(dut.clk_i)
            seen.add(settings(dut)["identify_ipv4_mask"])

    cocotb.start_soon(watch())
    mask = random.getrandbits(104)
    await bench.commit(IDENTIFY_MASK, 0, mask)
    assert seen == {(1 << 104) - 1, mask}
    assert not bench.tables
    words = [await bench.read(0x130 + 4 * word) for word in range(4)]
    assert sum(value << 32 * word for word, value in enumerate(words)) == mask


@cocotb.test()
async def gate_lists_are_committed_whole(dut):
    """The settings stand beside a commit until it is taken, which answers the write."""
    bench = Bench(dut)
    await bench.start()
    values = {0x400: 32, 0x404: 16, 0x408: 30, 0x40C: 32, 0x410: 32, 0x414: 16}
    for _ in range(5):
        words = {addr: random.getrandbits(width) for addr, width in values.items()}
        for addr in random.sample(list(words), len(words)):
            await bench.write(addr, words[addr])
            assert await bench.read(addr) == words[addr]
        port, expected = random.randrange(8), 0
        for addr in (0x404, 0x400, 0x408, 0x40C, 0x410, 0x414):
            expected = expected << values[addr] | words[addr]
        work = cocotb.start_soon(bench.write(0x418, port))
        while not int(dut.gate_commit_o.value):
            await FallingEdge(dut.clk_i)
        for _ in range(random.randrange(30)):
            await FallingEdge(dut.clk_i)
            assert dut.gate_commit_o.value == 1 and not work.done()
            assert dut.gate_admin_o.value.to_unsigned() == expected << 3 | port
        dut.gate_ready_i.value = 1
        await FallingEdge(dut.clk_i)
        dut.gate_ready_i.value = 0
        assert dut.gate_commit_o.value == 0
        await work
    for port in range(8):
        await bench.write(0x420 + 4 * port, 0x5A)  # of ports that are not there, too
    assert await bench.read(0x448) == 4 << 16 | 0xBEEF


@cocotb.test()
async def status_is_asked_elsewhere(dut):
    bench = Bench(dut)
    await bench.start()
    for _ in range(40):
        addr = 0x2000 + 0x100 * random.randrange(8) + 4 * random.randrange(0x28)
        if random.random() < 0.7:
            assert await bench.read(addr) == (addr - 0x2000) // 4 * 0x01010103 & 0xFFFFFFFF
        else:
            before = len(bench.status_writes)
            answer = await bench.axi.write(addr, bytes(4))
            assert answer.resp == AxiResp.OKAY and bench.status_writes[before:] == [addr]


@cocotb.test()
async def time_is_read_as_one(dut):
    bench = Bench(dut)
    await bench.start()
    last = 0
    for _ in range(30):  # the low half wraps on the way
        low = await bench.read(0x020)
        now = low | await bench.read(0x024) << 32
        assert last < now <= dut.time_ns_i.value.to_unsigned() < now + 2000
        last = now
    assert last >> 32 == 0x12345678


@cocotb.test()
async def clock_is_asked_where_it_is(dut):
    """Reads and writes reach the PTP clock in order; what is staged for a command holds still until its answer."""
    bench = Bench(dut)
    await bench.start()
    expected, pending = [], []
    for _ in range(30):
        addr = random.randrange(0x300, 0x3A0, 4)
        if random.random() < 0.5:
            assert await bench.read(addr) == (addr - 0x300) // 4 * 0x01030507 & 0xFFFFFFFF
            continue
        data, staged = random.getrandbits(5), random.getrandbits(96)
        for word in range(3):
            value = (staged >> 32 * word & 0xFFFFFFFF).to_bytes(4, "little")
            pending.append(cocotb.start_soon(bench.axi.write(0x200 + 4 * word, value)))
        pending.append(cocotb.start_soon(bench.axi.write(addr, data.to_bytes(4, "little"))))
        expected.append((addr, data, staged & (1 << 80) - 1))
    for work in pending:
        await work
    assert bench.clock_writes == expected


@cocotb.test()
async def counters_are_read_where_they_are(dut):
    bench = Bench(dut)
    await bench.start()
    for _ in range(40):
        addr = random.randrange(0x1000, 0x1800, 4)
        assert await bench.read(addr) == (addr - 0x1000) // 4 * 0x01010101 & 0xFFFFFFFF
    await bench.write(0x1000, 5)  # answered, without effect


@pytest.mark.parametrize(("ports", "cells"), [(2, 1024), pytest.param(4, 1024, marks=pytest.mark.slow), (8, 2048)])
def test_pen_config(ports, cells):
    run_module("pen_config", __name__, {"PORTS": ports, "CELLS": cells})
