# SPDX-License-Identifier: Apache-2.0
"""The board from wire to wire: oscillator, button, two link partners behind PHYs, and a host on the serial line."""

import random
import zlib

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer, with_timeout
from cocotbext.eth import GmiiFrame, GmiiSink, GmiiSource

BIT_NS = 8 * 8
PHY_RESET_NS = 200 * 8
WIRES, HOST_PORT = 2, 2
PORTS = WIRES + 1
ID, PORT_COUNT, STATUS, PORT_ENABLE = 0x0000, 0x0008, 0x0018, 0x0100
RESERVED_TO_HOST, QUEUE_GUARANTEE = 0x012C, 0x01C0
MAILBOX = 0x8000
MAILBOX_ID, SEND, SEND_COMMIT, RECEIVE, RECEIVE_RELEASE = (MAILBOX + offset for offset in (0, 0x10, 0x14, 0x20, 0x24))
SEND_DATA, RECEIVE_DATA = MAILBOX + 0x1000, MAILBOX + 0x2000
LLDP = bytes.fromhex("0180c200000e")
HEADER_BYTES = 16
DIRECT, STAMPED, STAMP = 1, 2, 1
UNTAGGED_CLASS = 5


def station(port):
    return bytes([0x02, 0, 0, 0, 0, port])


def frame(source, destination, payload):
    return (destination + station(source) + b"\x88\xb5" + payload).ljust(60, b"\0")


def crc8(data):
    """CRC-8 by long division: polynomial x^8 + x^2 + x + 1."""
    value = int.from_bytes(data, "big") << 8
    while value.bit_length() > 8:
        value ^= 0x107 << value.bit_length() - 9
    return value


def received(port):
    """The counter of accepted frames without a tag."""
    return 0x1000 + 0x100 * port + 0x40 + 4 * UNTAGGED_CLASS


class Board:
    def __init__(self, dut):
        self.dut = dut
        dut.button_n.value = 1
        dut.serial_in.value = 1
        cocotb.start_soon(Clock(dut.clk100, 10, unit="ns").start())
        self.sources, self.sinks = [], []
        for port in range(WIRES):
            pins = (dut.partner_rxd, dut.partner_rx_er, dut.partner_rx_dv, dut.partner_clk)
            self.sources.append(GmiiSource(*(pin[port] for pin in pins)))
            pins = (dut.partner_txd, dut.partner_tx_er, dut.partner_tx_en, dut.partner_tx_clk)
            self.sinks.append(GmiiSink(*(pin[port] for pin in pins)))

    async def start(self):
        """Presses the button, whatever state the board is in, and waits for the PHYs and the tables."""
        self.dut.button_n.value = 0
        await Timer(500, unit="ns")  # the PLL has locked
        self.dut.button_n.value = 1
        await self.ready()

    async def ready(self):
        """Waits until the PHYs are out of reset, and by way of the host until the tables are clear."""
        while int(self.dut.phy_rst_n.value) != 0b11:
            await Timer(100, unit="ns")
        for _ in range(20):
            if await self.read(STATUS) == 0:
                break
        else:
            raise AssertionError("the tables are never clear")
        for sink in self.sinks:
            sink.clear()

    async def exchange(self, body):
        """A request over the serial line; gives the answer's data."""
        reading = cocotb.start_soon(self.listen(6))
        for byte in body + bytes([crc8(body)]):
            for bit in (0, *(byte >> i & 1 for i in range(8)), 1):
                self.dut.serial_in.value = bit
                await Timer(BIT_NS, unit="ns")
        answer = await with_timeout(reading, 200, "us")
        assert crc8(answer[:-1]) == answer[-1] and answer[:1] == b"K", answer.hex()
        return int.from_bytes(answer[1:5], "little")

    async def listen(self, count):
        got = bytearray()
        for _ in range(count):
            await FallingEdge(self.dut.serial_out)
            await Timer(BIT_NS * 3 // 2, unit="ns")
            byte = 0
            for i in range(8):
                byte |= int(self.dut.serial_out.value) << i
                await Timer(BIT_NS, unit="ns")
            got.append(byte)
        return bytes(got)

    async def read(self, address):
        return await self.exchange(b"R" + address.to_bytes(2, "little"))

    async def write(self, address, value):
        await self.exchange(b"W" + address.to_bytes(2, "little") + value.to_bytes(4, "little"))

    async def send_by_host(self, whole):
        state = await self.read(SEND)
        assert state & 0x1FFF >= len(whole)
        for at in range(0, len(whole), 4):
            await self.write(SEND_DATA + at, int.from_bytes(whole[at : at + 4], "little"))
        await self.write(SEND_COMMIT, state & 0xFF0000 | len(whole))

    async def receive_by_host(self):
        for _ in range(20):
            state = await self.read(RECEIVE)
            if length := state & 0x1FFF:
                break
        else:
            raise AssertionError("nothing comes to the host")
        words = [await self.read(RECEIVE_DATA + at) for at in range(0, length, 4)]
        await self.write(RECEIVE_RELEASE, state >> 16)
        return b"".join(word.to_bytes(4, "little") for word in words)[:length]

    async def receive(self, port):
        return await with_timeout(self.sinks[port].recv(), 100, "us")


@cocotb.test()
async def carries_frames_between_its_ports(dut):
    """Both ways at once at line rate, clocks 100 ppm apart: each frame whole and in order, and the host counts it."""
    board = Board(dut)
    await board.start()
    assert await board.read(ID) == int.from_bytes(b"PENS", "big") and await board.read(PORT_COUNT) == PORTS

    sent = []
    for port in range(WIRES):
        sizes = [random.choice((46, 47, 60, 300)) for _ in range(12)] + [1500]
        sent.append([frame(port, station(1 - port), random.randbytes(size)) for size in sizes])
        for one in sent[port]:
            board.sources[port].send_nowait(GmiiFrame.from_payload(one))
    for port in range(WIRES):
        for number, expected in enumerate(sent[1 - port]):
            got = await board.receive(port)
            assert got.check_fcs() and got.get_payload() == expected, f"port {port}, frame {number}"
            assert got.error is None or not any(got.error)
    for port in range(WIRES):
        assert await board.read(received(port)) == len(sent[port])
    assert all(sink.empty() for sink in board.sinks)


@cocotb.test()
async def obeys_the_host(dut):
    """A port that the host has switched off takes nothing; switched on again it does. Errors of the PHY are seen."""
    board = Board(dut)
    await board.start()
    one = frame(0, b"\xff" * 6, b"one")
    signalled = GmiiFrame.from_payload(one)
    signalled.error = [0] * len(signalled.data)
    signalled.error[30] = 1
    await board.write(PORT_ENABLE, 0b10)
    assert await board.read(PORT_ENABLE) == 0b10
    await board.sources[0].send(GmiiFrame.from_payload(one))
    await Timer(5, unit="us")
    assert board.sinks[1].empty()
    await board.write(PORT_ENABLE, 0b11)
    await board.sources[0].send(signalled)
    other = frame(0, b"\xff" * 6, b"other")
    await board.sources[0].send(GmiiFrame.from_payload(other))
    got = await board.receive(1)
    assert got.check_fcs() and got.get_payload() == other
    await Timer(2, unit="us")
    assert board.sinks[1].empty()


@cocotb.test()
async def starts_again_by_its_button(dut):
    """The button resets the switch at once, and the PHYs for their time; afterwards it works as before."""
    board = Board(dut)
    await board.start()
    await board.write(PORT_ENABLE, 0)
    dut.button_n.value = 0
    await Timer(100, unit="ns")
    assert int(dut.phy_rst_n.value) == 0
    dut.button_n.value = 1
    await Timer(PHY_RESET_NS - 100, unit="ns")
    assert int(dut.phy_rst_n.value) == 0
    await Timer(200, unit="ns")
    assert int(dut.phy_rst_n.value) == 0b11
    await board.ready()
    assert await board.read(PORT_ENABLE) == 0xFF
    one = frame(1, b"\xff" * 6, b"again")
    await board.sources[1].send(GmiiFrame.from_payload(one))
    assert (await board.receive(0)).get_payload() == one


@cocotb.test()
async def carries_frames_of_the_host(dut):
    """By the serial line: a frame leaves by the wire that it names, and is stamped; one from the wire comes back."""
    board = Board(dut)
    await board.start()
    assert await board.read(MAILBOX_ID) == int.from_bytes(b"PENM", "big")
    assert await board.read(QUEUE_GUARANTEE) > 0, "the host port's queues have no room"
    await board.write(RESERVED_TO_HOST, 1 << LLDP[5])

    for port in range(WIRES):
        one, tag = frame(port, LLDP, random.randbytes(50)), random.randrange(256)
        header = bytes([DIRECT | STAMPED, 1 << port, 7, tag])
        await board.send_by_host(header + one + zlib.crc32(one).to_bytes(4, "little"))
        got = await board.receive(port)
        assert got.check_fcs() and got.get_payload() == one
        stamp = await board.receive_by_host()
        assert stamp[:4] == bytes([STAMP, port, 0, tag]) and len(stamp) == HEADER_BYTES

        back = frame(port, LLDP, random.randbytes(70))
        await board.sources[port].send(GmiiFrame.from_payload(back))
        came = await board.receive_by_host()
        assert came[:4] == bytes([0, port, UNTAGGED_CLASS, 0])
        assert came[HEADER_BYTES:] == back + zlib.crc32(back).to_bytes(4, "little")
        assert int.from_bytes(came[4:14], "little") > int.from_bytes(stamp[4:14], "little")
    assert all(sink.empty() for sink in board.sinks)
