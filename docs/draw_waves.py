# SPDX-License-Identifier: Apache-2.0
"""Draws some signals of an FST file of `penstock run --wave` as SVG: `draw_waves.py FILE.fst FROM_NS TO_NS SIGNAL...`.

A signal is its path below TOP, as `gmii_rxd_i.gmii_rxd_i[1]`, or one bit of a vector, as `gmii_rx_dv_i:1`. A bit is
drawn as a line, a vector as its values. fst2vcd of GTKWave reads the file.
"""

from __future__ import annotations

import re
import subprocess
import sys

LEFT, WIDTH, ROW = 330, 1180, 34
GRID_PS = 200_000


def read(file: str) -> tuple[dict[str, str], str]:
    """The VCD identifier of each signal by its path, and the changes."""
    vcd = subprocess.run(["fst2vcd", file], capture_output=True, text=True, check=True).stdout
    head, _, changes = vcd.partition("$enddefinitions")
    scopes: list[str] = []
    identifiers: dict[str, str] = {}
    for kind, first, second in re.findall(r"\$(scope|upscope|var) (?:\w+ )?(?:\d+ )?(\S+)(?: (\S+))?", head):
        if kind == "scope":
            scopes.append(first)
        elif kind == "upscope":
            scopes.pop()
        else:
            identifiers.setdefault(".".join([*scopes[1:], second]), first)
    return identifiers, changes


def values(changes: str, identifier: str, bit: int | None) -> list[tuple[int, int]]:
    """The instants in ps at which a signal changes, and what it is from then on; unknown bits count as 0."""
    found: list[tuple[int, int]] = []
    now = 0
    for line in changes.splitlines():
        if line.startswith("#"):
            now = int(line[1:])
            continue
        match = re.fullmatch(r"(?:b([01xz]+) |([01xz]))(\S+)", line)
        if match is None or match[3] != identifier:
            continue
        value = int(re.sub("[xz]", "0", match[1] or match[2]), 2)
        value = value if bit is None else value >> bit & 1
        if not found or found[-1][1] != value:
            found.append((now, value))
    return found


def draw(file: str, from_ps: int, to_ps: int, signals: list[str]) -> str:
    """The picture."""
    identifiers, changes = read(file)

    def x(time_ps: int) -> float:
        return LEFT + (min(max(time_ps, from_ps), to_ps) - from_ps) * (WIDTH - LEFT - 10) / (to_ps - from_ps)

    bottom = len(signals) * ROW
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 40}" font-family="monospace"'
        ' font-size="13"><rect width="100%" height="100%" fill="#fff"/>'
    ]
    lines += (
        f'<path d="M{x(time):.1f} 0V{bottom + 8}" stroke="#ddd"/><text x="{x(time):.1f}" y="{bottom + 26}"'
        f' text-anchor="middle" fill="#555">{time / 1e6:.1f} us</text>'
        for time in range(-(-from_ps // GRID_PS) * GRID_PS, to_ps, GRID_PS)
    )
    for row, signal in enumerate(signals):
        path, _, bit = signal.partition(":")
        if path not in identifiers:
            near = [known for known in identifiers if path.rpartition(".")[2] in known]
            raise SystemExit(f"{file}: there is no signal {path}; allowed: {', '.join(near[:9]) or 'others'}")
        y = row * ROW + 8
        last = path.rpartition(".")[2]
        name = f"{path}[{bit}]" if bit else last if "[" in last else path.removeprefix("pen_switch.")
        lines.append(f'<text x="{LEFT - 10}" y="{y + 16}" text-anchor="end" fill="#222">{name}</text>')
        seen = values(changes, identifiers[path], int(bit) if bit else None)
        spans = [
            (x(start), x(end), value)
            for (start, value), (end, _) in zip(seen, [*seen[1:], (to_ps, 0)], strict=True)
            if end > from_ps and start < to_ps
        ]
        if all(value in (0, 1) for _, value in seen):
            steps = "L".join(f"{a:.1f} {y + (2 if value else 22)}H{z:.1f}" for a, z, value in spans)
            lines.append(f'<path d="M{steps}" fill="none" stroke="#1b7837" stroke-width="1.4"/>')
            continue
        for a, z, value in spans:
            lines.append(
                f'<path d="M{a:.1f} {y + 11}L{min(a + 2, z):.1f} {y}H{max(z - 2, a):.1f}L{z:.1f} {y + 11}'
                f'L{max(z - 2, a):.1f} {y + 22}H{min(a + 2, z):.1f}Z" fill="#eef5ff"'
                ' stroke="#2166ac" stroke-width=".7"/>'
            )
            if z - a > 22:
                lines.append(
                    f'<text x="{(a + z) / 2:.1f}" y="{y + 16}" text-anchor="middle" font-size="11">{value:02x}</text>'
                )
    return "\n".join([*lines, "</svg>", ""])


if __name__ == "__main__":
    file, from_ns, to_ns, *signals = sys.argv[1:]
    print(draw(file, int(from_ns) * 1000, int(to_ns) * 1000, signals), end="")
