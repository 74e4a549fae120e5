# SPDX-License-Identifier: Apache-2.0
"""The card's registers against their description: the bench is the chain with its units, and the virtqueues."""

import random

import cocotb
import pytest
import runner  # finds the generator
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from generate import CARD, compile_registers
from systemrdl.node import RegNode

OKAY, SLVERR = 0, 2
NONE, STAGE, WRITE, READ, ANSWER = range(5)
NODES = 7
NOTIFY, INTERRUPTS, ERRORS, SELECT, DESCRIPTORS, SIZE, INDEX, COMMAND, STATE = (
    0x030, 0x034, 0x038, 0x040, 0x044, 0x05C, 0x060, 0x064, 0x068,
)  # fmt: skip
TABLE_COMMIT, GATE_COMMIT, CREDIT_ERRORS = 0x214, 0x418, 0x448
STAGED = {*range(0x200, 0x214, 4), *range(0x400, 0x418, 4)}
LIVE = {0x018, 0x020, 0x024, INTERRUPTS, ERRORS, STATE, CREDIT_ERRORS}


def described():
    """Of each register its written bits and its value after reset; and of each block its first and last address."""
    kept, after_reset, blocks = {}, {}, []
    for node in compile_registers(CARD).children(unroll=True):
        if not isinstance(node, RegNode):
            blocks.append(range(node.absolute_address, node.absolute_address + node.total_size, 4))
            continue
        fields = [] if node.external else list(node.fields())
        kept[node.absolute_address] = sum(
            (1 << field.width) - 1 << field.low for field in fields if field.is_sw_writable
        )
        after_reset[node.absolute_address] = sum((field.get_property("reset") or 0) << field.low for field in fields)
    return kept, after_reset, blocks


KEPT, AFTER_RESET, BLOCKS = described()


def of_block(address):
    return any(address in block for block in BLOCKS)


class Bench:
    def __init__(self, dut):
        self.dut = dut
        self.cycle = 0
        self.chain = [(NONE, 0, 0)] * NODES  # words on their way
        self.words = []  # all that came
        self.answers = {}  # what units say, by address
        self.errors, self.running, self.interrupt = [0] * 32, 0, 0
        self.notified, self.commands = 0, []
        self.command_ready = 0
        self.taken, self.stopped_at = False, []

    async def step(self):
        """One cycle: words come back from the chain, a question or a commit with an answer."""
        dut = self.dut
        self.cycle += 1
        dut.time_ns_i.value = self.time()
        kind, address, data = self.chain.pop()
        if kind == READ or (kind == WRITE and (of_block(address) or address in (TABLE_COMMIT, GATE_COMMIT))):
            kind, data = ANSWER, self.answers.setdefault(address, random.getrandbits(32))
        dut.chain_i.value = kind << 48 | address << 32 | data
        dut.error_i.value = sum(error << 4 * v for v, error in enumerate(self.errors))
        dut.running_i.value = self.running
        dut.interrupt_i.value, self.interrupt = self.interrupt, 0
        dut.command_ready_i.value = ready = int(random.random() < self.command_ready)
        dut.next_available_i.value = next_available = random.getrandbits(16)
        if self.taken:  # in the cycle before
            self.stopped_at.append(next_available)
        self.taken = ready and (dut.start_o.value == 1 or dut.stop_o.value == 1)
        await FallingEdge(dut.clk_i)
        word = int(dut.chain_o.value)
        self.chain.insert(0, (word >> 48, word >> 32 & 0xFFFF, word & 0xFFFFFFFF))
        if self.chain[0][0] != NONE:
            self.words.append(self.chain[0])

    def time(self):
        return (0x12345678 << 32) - 12_000 + 8 * self.cycle  # the low half wraps while the test runs

    async def reset(self):
        dut = self.dut
        for name in ("awvalid", "wvalid", "arvalid", "awprot", "arprot", "awaddr", "araddr", "wdata", "wstrb"):
            getattr(dut, f"s_axil_{name}_i").value = 0
        dut.s_axil_bready_i.value = dut.s_axil_rready_i.value = 1
        dut.init_busy_i.value = 0
        dut.rst_i.value = 1
        self.chain = [(NONE, 0, 0)] * NODES
        for _ in range(4):
            await self.step()
        dut.rst_i.value = 0

    async def write(self, address, value, response=OKAY):
        dut = self.dut
        dut.s_axil_awaddr_i.value, dut.s_axil_wdata_i.value = address, value
        dut.s_axil_wstrb_i.value = random.getrandbits(4)
        dut.s_axil_awvalid_i.value = dut.s_axil_wvalid_i.value = 1
        taken = False
        while dut.s_axil_bvalid_o.value == 0:
            await Timer(1, "ns")
            if not taken and dut.s_axil_awready_o.value == 1:
                taken, start = True, self.cycle
            await self.step()
            self.watch()
            if taken:
                dut.s_axil_awvalid_i.value = dut.s_axil_wvalid_i.value = 0
        assert int(dut.s_axil_bresp_o.value) == response, hex(address)
        took = self.cycle - start
        await self.step()
        return took

    async def read(self, address, response=OKAY):
        dut = self.dut
        dut.s_axil_araddr_i.value, dut.s_axil_arvalid_i.value = address, 1
        taken = False
        while dut.s_axil_rvalid_o.value == 0:
            await Timer(1, "ns")
            if not taken and dut.s_axil_arready_o.value == 1:
                taken, self.asked = True, self.cycle
            await self.step()
            if taken:
                dut.s_axil_arvalid_i.value = 0
        assert int(dut.s_axil_rresp_o.value) == response, hex(address)
        value = int(dut.s_axil_rdata_o.value)
        self.took = self.cycle - self.asked
        await self.step()
        return value

    def watch(self):
        """What the virtqueues are told."""
        dut = self.dut
        self.notified |= int(dut.notify_o.value)
        if dut.start_o.value == 1 or dut.stop_o.value == 1:
            self.commands.append((int(dut.start_o.value), int(dut.queue_o.value)))


async def bench_of(dut):
    bench = Bench(dut)
    dut.clk_i.value = 0
    cocotb.start_soon(Clock(dut.clk_i, 8, "ns").start(start_high=False))
    await bench.reset()
    await bench.read(0)  # waits until all settings have gone out
    return bench


def after_reset(dut):
    given = {0x008: "PORTS", 0x014: "PORT", 0x00C: "PAIRS", 0x010: "SLOTS"}
    values = AFTER_RESET | {address: int(getattr(dut, name).value) for address, name in given.items()}
    values[0x01C] = int(dut.PAIRS.value) if dut.ATS.value else 0
    return values


@cocotb.test()
async def each_register_keeps_its_bits_and_reset_sets_them_anew(dut):
    bench = await bench_of(dut)
    for _ in range(2):
        expected = {address: value for address, value in after_reset(dut).items() if address not in LIVE}
        for address in random.sample(list(expected), len(expected)):
            assert await bench.read(address) == expected[address], hex(address)
        for address in random.sample([each for each in expected if each != COMMAND], len(expected) - 1) * 2:
            value = random.getrandbits(32)
            await bench.write(address, value)
            expected[address] = value & KEPT[address] or expected[address] & ~KEPT[address]
            other = random.choice(list(expected))
            assert await bench.read(address) == expected[address], hex(address)
            assert await bench.read(other) == expected[other], (hex(address), hex(other))
        for address in expected:
            assert await bench.read(address) == expected[address], hex(address)
        await bench.reset()


@cocotb.test()
async def what_is_no_register_is_answered_with_an_error(dut):
    bench = await bench_of(dut)
    places = [address for address in range(0, 0x3000, 4) if address not in KEPT and not of_block(address)]
    for address in [*random.sample(places, 150), 0x028, 0x08C + 4, 0x68C, 0x698, 0x594, 0x1400, 0xFFFC]:
        words = len(bench.words)
        assert await bench.read(address, SLVERR) == 0
        await bench.write(address, random.getrandbits(32), SLVERR)
        assert len(bench.words) == words, hex(address)
        assert bench.notified == 0
    for address, value in after_reset(dut).items():
        if address not in LIVE:
            assert await bench.read(address) == value


@cocotb.test()
async def settings_go_on_the_chain(dut):
    """After reset each one once, with what it is after reset; then each one that is written, to units and from them."""
    bench = await bench_of(dut)
    sent = {address: (kind, data) for kind, address, data in bench.words}
    assert len(sent) == len(bench.words), "one twice"
    settings = [*range(0x400, 0x418, 4), *range(0x420, 0x448, 4), *range(0x460, 0x480, 4)]
    for address in settings:
        assert sent[address] == (STAGE if address in STAGED else WRITE, AFTER_RESET[address])
    for address, (kind, data) in sent.items():
        assert kind == (STAGE if address in STAGED else WRITE)
        assert data == AFTER_RESET.get(address, 0), hex(address)
        assert address not in (TABLE_COMMIT, GATE_COMMIT), "nothing is committed"
        assert not of_block(address), "no unit is told"
    blocks = [random.choice(block) for block in BLOCKS for _ in range(4)]
    commits = [TABLE_COMMIT, GATE_COMMIT]
    for address in [*settings, *blocks, *commits] * 2:
        value = random.getrandbits(32)
        bench.words = []
        took = await bench.write(address, value)
        assert bench.words == [(STAGE if address in STAGED else WRITE, address, value)]
        assert took == (3 if address in STAGED else 3 + NODES), hex(address)
    for address in (*blocks, CREDIT_ERRORS):
        bench.words = []
        value = bench.answers[address] = random.getrandbits(32)
        assert await bench.read(address) == value
        assert [word[:2] for word in bench.words] == [(READ, address)]
        assert bench.took == 5 + NODES
    bench.words = []
    for address in (0x000, 0x104, 0x400, TABLE_COMMIT, GATE_COMMIT, NOTIFY, COMMAND, ERRORS, STATE):
        await bench.read(address)
        assert bench.took == 4
    assert bench.words == []


@cocotb.test()
async def the_time_is_whole(dut):
    """Reading its low half latches its high half, which nothing else does."""
    bench = await bench_of(dut)
    seen = set()
    while bench.cycle < 3_000:
        low = await bench.read(0x020)
        now = bench.time() - 8 * (bench.cycle - bench.asked)
        high = 0
        for _ in range(3):
            await bench.write(random.choice((0x020, 0x024, 0x040, 0x104)), random.getrandbits(32))
            await bench.read(random.choice((0x000, 0x024, 0x040)))
            high = await bench.read(0x024)
        assert 0 < (high << 32 | low) - now <= 24
        seen.add(high)
    assert len(seen) == 2


@cocotb.test()
async def virtqueues_are_told_and_asked(dut):
    bench = await bench_of(dut)
    pairs = int(dut.PAIRS.value)
    mask = 0
    for _ in range(60):
        for v in range(2 * pairs):
            bench.errors[v] = random.choice((0, 0, random.randrange(10)))
        bench.running = random.getrandbits(2 * pairs)
        bench.interrupt = random.getrandbits(2 * pairs) & random.getrandbits(2 * pairs)
        mask |= bench.interrupt
        await bench.step()
        assert await bench.read(INTERRUPTS) == mask
        clear = random.getrandbits(32)
        bench.notified = 0
        await bench.write(INTERRUPTS, clear)
        mask &= ~clear
        assert bench.notified == 0
        assert await bench.read(ERRORS) == sum(1 << v for v in range(32) if bench.errors[v])
        queue = random.randrange(2 * pairs)
        await bench.write(SELECT, queue | random.getrandbits(27) << 5)
        assert await bench.read(SELECT) == queue
        state = await bench.read(STATE)
        assert state >> 16 == bench.errors[queue] << 4 | bench.running >> queue & 1
        virtqueue = random.randrange(2 * pairs)
        bench.notified = 0
        await bench.write(NOTIFY, virtqueue | random.getrandbits(27) << 5)
        assert bench.notified == 1 << virtqueue
        # A command is held until the queue has taken it; a start then rings the queue's bell.
        bench.command_ready, bench.notified, bench.commands = random.choice((0.1, 1)), 0, []
        bench.stopped_at = []
        start = random.getrandbits(1)
        words = len(bench.words)
        await bench.write(COMMAND, start)
        assert set(bench.commands) == {(start, queue)}
        assert bench.notified == start << queue
        assert len(bench.words) == words
        bench.command_ready = 0
        assert await bench.read(STATE) & 0xFFFF == bench.stopped_at.pop()
        assert bench.stopped_at == []


@cocotb.test()
async def settings_of_a_queue_are_judged(dut):
    bench = await bench_of(dut)
    assert dut.settings_good_o.value == 0
    low = (15, 1, 3)  # bits that have to be zero
    for _ in range(200):
        places = [random.getrandbits(48) & ~bits for bits in low]
        size_log2, index = random.randrange(1, 16), random.getrandbits(32)
        words = [word for place in places for word in (place & 0xFFFFFFFF, place >> 32)] + [1 << size_log2, index]
        good = random.random() < 0.4
        if not good:
            wrong = random.randrange(7)
            if wrong == 6:
                words[6] = random.choice((0, 1, 3, (1 << size_log2) + 1, 0xC000))
            elif wrong % 2:
                words[wrong] |= 1 << random.randrange(16, 32)
            else:
                words[wrong] |= 1 << random.randrange(low[wrong // 2].bit_length())
        for word in random.sample(range(8), 8):
            await bench.write(DESCRIPTORS + 4 * word, words[word])
        assert dut.settings_good_o.value == good, [hex(word) for word in words]
        if good:
            wanted = 0
            for value, bits in (*((place, 48) for place in places), (size_log2, 4), (index, 16), (index >> 16, 16)):
                wanted = wanted << bits | value & (1 << bits) - 1
            assert int(dut.settings_o.value) == wanted


@cocotb.test()
async def what_the_card_goes_by(dut):
    bench = await bench_of(dut)
    signals = {
        **{0x070 + 4 * w: (lambda w=w: int(dut.windows_o.value) >> 64 * w & 0xFFFFFFFF) for w in range(4)},
        **{0x080 + 4 * w: (lambda w=w: int(dut.windows_o.value) >> 64 * w + 32 & 0xFFFFFFFF) for w in range(4)},
        0x040: lambda: int(dut.queue_o.value),
        0x104: lambda: int(dut.max_frame_bytes_o.value),
        0x680: lambda: int(dut.launch_enable_o.value),
        0x684: lambda: int(dut.launch_drop_o.value),
        0x688: lambda: int(dut.launch_horizon_ns_o.value),
        0x690: lambda: int(dut.ats_enable_o.value),
        0x694: lambda: int(dut.ats_overhead_bytes_o.value),
    }
    expected = {address: AFTER_RESET[address] for address in signals}
    for _ in range(2):
        assert {address: signal() for address, signal in signals.items()} == expected
        for address in random.sample(list(signals), len(signals)) * 8:
            value = random.choice((random.getrandbits(32), random.randrange(200), 2000, 2001))
            await bench.write(address, value)
            value &= KEPT[address]
            assert await bench.read(address) == value
            expected[address] = min(max(value, 64), 2000) if address == 0x104 else value
            assert {at: signal() for at, signal in signals.items()} == expected, hex(address)
        await bench.reset()
        expected = {address: AFTER_RESET[address] for address in signals}


@cocotb.test()
async def writes_wait_while_tables_are_cleared(dut):
    bench = await bench_of(dut)
    dut.init_busy_i.value = 1
    assert await bench.read(0x018) == 1
    dut.s_axil_awaddr_i.value, dut.s_axil_wdata_i.value = 0x104, 100
    dut.s_axil_awvalid_i.value = dut.s_axil_wvalid_i.value = 1
    for _ in range(100):
        await bench.step()
        assert dut.s_axil_awready_o.value == 0
    dut.init_busy_i.value = 0
    await bench.write(0x104, 100)
    assert await bench.read(0x104) == 100
    assert await bench.read(0x018) == 0


@pytest.mark.parametrize("pairs", [1, 4, 16])
def test_pen_nic_registers(pairs: int) -> None:
    parameters = {"PAIRS": pairs, "PORTS": 3, "PORT": 2, "ATS": pairs % 2}
    runner.run_module("pen_nic_registers", __name__, parameters, extra_sources=runner.card_sources())
