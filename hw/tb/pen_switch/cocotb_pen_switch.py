# SPDX-License-Identifier: Apache-2.0
"""The whole switch between the Ethernet models of cocotbext-eth: an observer that shares no code with the engine."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge, with_timeout
from cocotb.utils import get_sim_time
from cocotbext.axi import AxiLiteBus, AxiLiteMaster
from cocotbext.eth import GmiiFrame, GmiiSink, GmiiSource

PORTS = 4
INIT_CYCLES = 4096 + 64


def station(port: int) -> bytes:
    """Address of the station at a port."""
    return bytes([0x02, 0, 0, 0, 0, port])


def frame(source: int, destination: bytes, payload: bytes, pcp: int | None = None) -> bytes:
    """A frame without FCS; tagged for VLAN 1 when a priority is given."""
    tag = b"" if pcp is None else bytes([0x81, 0x00, pcp << 5, 1])
    body = destination + station(source) + tag + b"\x88\xb5" + payload
    return body.ljust(60, b"\0")


class Bench:
    """Clocks, and an Ethernet source and sink per port."""

    def __init__(self, dut: cocotb.handle.SimHandleBase) -> None:
        self.dut = dut
        dut.rst.value = 1
        cocotb.start_soon(Clock(dut.clk, 8, unit="ns").start(start_high=False))
        self.sources = []
        self.sinks = []
        for port in range(PORTS):
            # Two link partners whose oscillators are off by 250 ppm, more than the 100 ppm that 802.3 allows.
            cocotb.start_soon(Clock(dut.gmii_rx_clk[port], (8000, 8002, 7998, 8000)[port], unit="ps").start())
            self.sources.append(
                GmiiSource(dut.gmii_rxd[port], dut.gmii_rx_er[port], dut.gmii_rx_dv[port], dut.gmii_rx_clk[port])
            )
            self.sinks.append(GmiiSink(dut.gmii_txd[port], dut.gmii_tx_er[port], dut.gmii_tx_en[port], dut.clk))
        for name in ("awvalid", "wvalid", "bready", "arvalid", "rready"):
            getattr(dut, f"s_axil_{name}").value = 0
        dut.capture.value = 0

    async def reset(self) -> None:
        """Reset, then wait until the tables hold their first values."""
        await ClockCycles(self.dut.clk, 16)
        self.dut.rst.value = 0
        for sink in self.sinks:
            sink.clear()  # of what the outputs said before the reset
        await ClockCycles(self.dut.clk, INIT_CYCLES)

    async def receive(self, port: int) -> GmiiFrame:
        """The next frame at a port; fails when none comes."""
        return await with_timeout(self.sinks[port].recv(), 100, "us")


@cocotb.test()
async def floods_learns_and_forwards(dut: cocotb.handle.SimHandleBase) -> None:
    """An unknown address is flooded; once it has spoken, its frames go to its port alone, byte for byte."""
    bench = Bench(dut)
    await bench.reset()

    unknown = frame(0, station(2), b"flooded")
    await bench.sources[0].send(GmiiFrame.from_payload(unknown))
    for port in (1, 2, 3):
        received = await bench.receive(port)
        assert received.check_fcs() and received.get_payload() == unknown, f"port {port}"

    await bench.sources[2].send(GmiiFrame.from_payload(frame(2, station(0), b"answer")))
    assert (await bench.receive(0)).check_fcs()

    for size in (46, 47, 100, 113, 500, 1500):
        known = frame(0, station(2), random.randbytes(size))
        await bench.sources[0].send(GmiiFrame.from_payload(known))
        received = await bench.receive(2)
        assert received.check_fcs() and received.get_payload() == known, f"payload of {size}"
        assert received.error is None or not any(received.error)
    assert all(bench.sinks[port].empty() for port in range(PORTS))


@cocotb.test()
async def carries_all_ports_at_once(dut: cocotb.handle.SimHandleBase) -> None:
    """Every port sends back to back to another; every frame comes out once, whole and in order."""
    bench = Bench(dut)
    await bench.reset()
    for port in range(PORTS):
        await bench.sources[port].send(GmiiFrame.from_payload(frame(port, b"\xff" * 6, b"here I am")))
    for port in range(PORTS):
        for _ in range(PORTS - 1):
            await bench.receive(port)

    sent: list[list[bytes]] = []
    for port in range(PORTS):
        frames = [
            frame(port, station((port + 1) % PORTS), random.randbytes(random.choice((42, 60, 110, 300))), pcp=port * 2)
            for _ in range(20)
        ]
        sent.append(frames)
        for one in frames:
            bench.sources[port].send_nowait(GmiiFrame.from_payload(one))
    for port in range(PORTS):
        for number, expected in enumerate(sent[(port - 1) % PORTS]):
            received = await bench.receive(port)
            assert received.check_fcs() and received.get_payload() == expected, f"port {port}, frame {number}"


@cocotb.test()
async def drops_what_is_damaged(dut: cocotb.handle.SimHandleBase) -> None:
    """A frame with a wrong FCS or an error inside is dropped whole, its neighbours pass."""
    bench = Bench(dut)
    await bench.reset()
    good = frame(0, b"\xff" * 6, bytes(range(100)))
    wrong_fcs = GmiiFrame.from_payload(good)
    wrong_fcs.data[-1] ^= 1
    signalled = GmiiFrame.from_payload(good)
    signalled.error = [0] * len(signalled.data)
    signalled.error[40] = 1
    runt = GmiiFrame.from_raw_payload(good[:40])
    for item in (
        GmiiFrame.from_payload(good),
        wrong_fcs,
        GmiiFrame.from_payload(good),
        signalled,
        runt,
        GmiiFrame.from_payload(good),
    ):
        await bench.sources[0].send(item)
    for _ in range(3):
        assert (await bench.receive(1)).get_payload() == good
    await ClockCycles(dut.clk, 1000)
    assert bench.sinks[1].empty()


@cocotb.test()
async def keeps_the_gap(dut: cocotb.handle.SimHandleBase) -> None:
    """Frames that wait for one output leave with a gap of exactly 12 byte times."""
    bench = Bench(dut)
    await bench.reset()
    for port in (0, 1, 2):
        for _ in range(5):
            bench.sources[port].send_nowait(GmiiFrame.from_payload(frame(port, b"\xff" * 6, random.randbytes(200))))
    gaps, quiet = [], None
    for _ in range(6000):
        await RisingEdge(dut.clk)
        if int(dut.gmii_tx_en[3].value):
            if quiet is not None and quiet > 0:
                gaps.append(quiet)
            quiet = 0
        elif quiet is not None:
            quiet += 1
    assert len(gaps) == 14
    assert gaps.count(12) >= 12 and min(gaps) == 12, gaps


async def first_bytes(
    clock: cocotb.handle.SimHandleBase,
    dv: cocotb.handle.SimHandleBase,
    data: cocotb.handle.SimHandleBase,
    times_ns: list[int],
) -> None:
    """When the byte behind each delimiter came to the pins."""
    inside, behind = False, False
    while True:
        await FallingEdge(clock)
        if behind:
            times_ns.append(round(get_sim_time("ns")) - 4)
        valid = int(dv.value) == 1
        behind = valid and not inside and int(data.value) == 0xD5
        inside = valid and (inside or behind)


@cocotb.test()
async def stamps_say_how_long_a_message_was_inside(dut: cocotb.handle.SimHandleBase) -> None:
    """The stamps of a Sync that is flooded differ by the time from wire to wire, or by less than a cycle more.

    What is no event message gets none.
    """
    bench = Bench(dut)
    await bench.reset()
    axi = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)

    async def read(address: int) -> int:
        return int.from_bytes((await axi.read(address, 4)).data, "little")

    async def write(address: int, value: int) -> None:
        await axi.write(address, value.to_bytes(4, "little"))

    async def take(source: int) -> tuple[int, int]:
        """Time in ns and tag of the oldest stamp of a source."""
        await write(0x388, source)
        tag = await read(0x38C)
        seconds = await read(0x398) | await read(0x39C) << 32
        assert await read(0x394) == 0
        return seconds * 10**9 + await read(0x390), tag

    # Just before the end of a second, which the message then crosses inside.
    for address, value in ((0x200, 10**9 - 600), (0x204, 0x23456789), (0x208, 0x1), (0x300, 1)):
        await write(address, value)
    assert await read(0x304) == 0
    came: list[int] = []
    left: list[list[int]] = [[] for _ in range(PORTS)]
    cocotb.start_soon(first_bytes(dut.gmii_rx_clk[0], dut.gmii_rx_dv[0], dut.gmii_rxd[0], came))
    for port in range(PORTS):
        cocotb.start_soon(first_bytes(dut.clk, dut.gmii_tx_en[port], dut.gmii_txd[port], left[port]))

    sync = bytes([0x10, 0x02]) + bytes(28) + b"\xbe\xef" + bytes(12)
    udp = random.randbytes(2) + (319).to_bytes(2, "big") + random.randbytes(4)
    ip = b"\x45\xc0" + bytes(4) + b"\x40\x00\x01\x11" + random.randbytes(10)
    to = bytes([0x01, 0x1B, 0x19, 0, 0, 0]) + station(0)
    bodies = (
        to + b"\x88\xf7" + sync,
        to + b"\x81\x00\x60\x01\x08\x00" + ip + udp + sync[:31] + b"\xf0" + sync[32:],
        to + b"\x88\xf7" + b"\x1b" + sync[1:],  # an Announce
    )
    for body in bodies:
        await bench.sources[0].send(GmiiFrame.from_payload(body.ljust(60, b"\0")))
        for port in (1, 2, 3):
            assert (await bench.receive(port)).check_fcs()
    await ClockCycles(dut.clk, 40)
    assert await read(0x380) == 0b1110 << 8 | 0b0001 and await read(0x384) == 0
    for number, sequence_id in enumerate((0xBEEF, 0xBEF0)):
        received_ns, tag = await take(0)
        assert tag == 1 << 31 | sequence_id
        for port in (1, 2, 3):
            sent_ns, tag = await take(8 + port)
            assert tag == 1 << 31 | sequence_id
            inside_ns = left[port][number] - came[number]
            assert inside_ns <= sent_ns - received_ns < inside_ns + 8, f"message {number} at port {port}"
            if number == 0:
                assert received_ns // 10**9 == 0x1_2345_6789 and sent_ns // 10**9 == 0x1_2345_678A
    assert await read(0x380) == 0
