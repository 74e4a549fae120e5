# SPDX-License-Identifier: Apache-2.0
"""The picture of a network of tiles: by which nodes frames went before, while and after something was dead.

A torus is drawn as a part of the plane that repeats: what leaves the picture at one side comes in at the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]
from plotly.subplots import make_subplots  # type: ignore[import-untyped]

from penstock.phases import moved, show_ns
from penstock.report.page import Picture
from penstock.report.style import Look, plain
from penstock.scenario.network import Network
from penstock.scenario.tilings import Tiling
from penstock.tiles.identity import Node
from penstock.words import count

_MOST_NODES = 12  # in a row or a column
_MOST_PANELS = 3
_MARGIN = 0.75  # what is seen of links that leave the picture, in distances of nodes
_APART = 0.13  # streams on a link
_BETWEEN_TILES = 0.3
_DEAD = "#B3261E"
_NOTE = (
    "Each dot is a node, each coloured line the way of a stream from the node of its talker on, each red cross a dead"
    " link. What leaves the picture at one side comes in at the other. Streams whose way changed, or that lost frames."
)

Point = tuple[float, float]
Segment = tuple[Point, Point]


def picture(network: Network, summary: Mapping[str, Any], looks: Mapping[str, Look]) -> list[Picture]:
    """Of the first topology of tiles, if it is not too large; empty if nothing was led around."""
    phases = list(summary.get("phases") or ())[:_MOST_PANELS]
    fitting = [(name, each) for name, each in network.tilings.items() if _fits(each)]
    if len(phases) < 2 or not fitting:
        return []
    name, tiling = fitting[0]
    titles = [_title(phase) for phase in phases]
    figure = make_subplots(rows=1, cols=len(phases), subplot_titles=titles, horizontal_spacing=0.02)
    plane = Plane(tiling)
    names = {f"{name}{number}": node for number, node in enumerate(tiling.routing.grid.nodes)}
    shown = [stream for stream in moved(phases) if stream in looks]
    for column, phase in enumerate(phases, 1):
        dead = _dead(network, phase, names)
        _draw(figure, column, plane.links(), "#C3CBD3", 3, "link")
        for number, stream in enumerate(shown):
            side = (number - (len(shown) - 1) / 2) * _APART / max(1, len(shown) / 3)
            ways = phase["streams"].get(stream, {"ways": []})["ways"]
            hops = [pair for way in ways for pair in _pairs(way["nodes"], names)]
            segments = [segment for a, b in dict.fromkeys(hops) for segment in plane.between(a, b, side)]
            _draw(figure, column, segments, looks[stream].color, 3, stream, dash=looks[stream].dash, legend=column == 1)
            _draw_ends(figure, column, plane, ways, names, looks[stream].color)
        _draw_nodes(figure, column, plane, tiling, {node for node in dead if isinstance(node, Node)})
        crosses = [plane.middle(*link) for link in dead if not isinstance(link, Node)]
        figure.add_trace(
            go.Scatter(
                x=[x for cross in crosses for x, _ in cross],
                y=[y for cross in crosses for _, y in cross],
                mode="markers",
                marker={"symbol": "x", "size": 13, "color": _DEAD},
                showlegend=False,
                hoverinfo="skip",
            ),
            row=1,
            col=column,
        )
    plain(figure, 450)
    figure.update_layout(legend={"y": -0.02, "yanchor": "top"})
    plane.frame(figure, len(phases))
    return [Picture("Ways around what was dead", _NOTE, figure)]


def _fits(tiling: Tiling) -> bool:
    grid = tiling.routing.grid
    return max(grid.rows, grid.columns) <= _MOST_NODES


def _title(phase: Mapping[str, Any]) -> str:
    dead = count(len(phase["dead"]), "fault") if phase["dead"] else "nothing dead"
    return f"{show_ns(phase['begin_ns'])} to {show_ns(phase['end_ns'])}: {dead}"


def _pairs(nodes: Sequence[str], names: Mapping[str, Node]) -> Iterator[tuple[Node, Node]]:
    for a, b in pairwise(nodes):
        if a in names and b in names:
            yield names[a], names[b]


def _dead(network: Network, phase: Mapping[str, Any], names: Mapping[str, Node]) -> list[Node | tuple[Node, Node]]:
    found: list[Node | tuple[Node, Node]] = []
    for fault in network.faults:
        if fault.is_outage and fault.name in phase["dead"]:
            ends = [fault.place] if isinstance(fault.place, str) else [end for end, _ in _ends(network, fault.place)]
            nodes = [names[end] for end in ends if end in names]
            if len(nodes) == len(ends):
                found.append(nodes[0] if len(nodes) == 1 else (nodes[0], nodes[1]))
    return found


def _ends(network: Network, link: int) -> tuple[tuple[str, int], tuple[str, int]]:
    return network.links[link].a, network.links[link].b


class Plane:
    """Where nodes are, and what of the links between them is seen."""

    def __init__(self, tiling: Tiling) -> None:
        self.grid = tiling.routing.grid
        rows, columns = self.grid.tile
        gap = _BETWEEN_TILES if rows > 1 else 0.0
        self.width = self.grid.columns + gap * self.grid.columns / columns
        self.height = self.grid.rows + gap * self.grid.rows / rows
        self._gap = gap

    def at(self, node: Node) -> Point:
        rows, columns = self.grid.tile
        return node.column + self._gap * (node.column // columns), -node.row - self._gap * (node.row // rows)

    def links(self) -> list[Segment]:
        return [segment for a, b in self.grid.links for segment in self.between(a[0], b[0], 0.0)]

    def middle(self, a: Node, b: Node) -> list[Point]:
        """Of what is seen of a link."""
        return [((x + u) / 2, (y + v) / 2) for (x, y), (u, v) in self.between(a, b, 0.0)]

    def between(self, a: Node, b: Node, side: float) -> list[Segment]:
        """The link of two nodes: as it is, or as what is seen of it at both sides of the picture."""
        (x, y), (u, v) = self.at(a), self.at(b)
        across = self._shift(u - x, self.width), self._shift(v - y, self.height)
        moved = u + across[0], v + across[1]
        length = max(((moved[0] - x) ** 2 + (moved[1] - y) ** 2) ** 0.5, 1e-9)
        side = side if a < b else -side  # where it is does not depend on the direction
        aside = side * (moved[1] - y) / length, -side * (moved[0] - x) / length
        first = self._clipped((x + aside[0], y + aside[1]), (moved[0] + aside[0], moved[1] + aside[1]))
        if across == (0.0, 0.0):
            return [first]
        back = (x - across[0] + aside[0], y - across[1] + aside[1])
        return [first, self._clipped((u + aside[0], v + aside[1]), back)]

    def _shift(self, distance: float, size: float) -> float:
        """A link goes the shorter way round, of a torus."""
        if not self.grid.wraps or abs(distance) <= size / 2:
            return 0.0
        return size if distance < 0 else -size

    def _clipped(self, begin: Point, end: Point) -> Segment:
        """The part of a line from a node on that is in the picture."""
        low, high = (-_MARGIN, -self.height + 1 - _MARGIN), (self.width - 1 + _MARGIN, _MARGIN)
        part = 1.0
        for axis in (0, 1):
            change = end[axis] - begin[axis]
            edge = high[axis] if change > 0 else low[axis]
            if change and (end[axis] - edge) * change > 0:
                part = min(part, (edge - begin[axis]) / change)
        return begin, (begin[0] + part * (end[0] - begin[0]), begin[1] + part * (end[1] - begin[1]))

    def frame(self, figure: go.Figure, panels: int) -> None:
        """Both axes alike, and nothing of them seen."""
        for column in range(1, panels + 1):
            seen = {"visible": False, "fixedrange": True}
            x_range = [-_MARGIN - 0.1, self.width - 1 + _MARGIN + 0.1]
            y_range = [-self.height + 1 - _MARGIN - 0.1, _MARGIN + 0.1]
            figure.update_xaxes(range=x_range, row=1, col=column, **seen)
            anchor = "x" if column == 1 else f"x{column}"
            figure.update_yaxes(range=y_range, scaleanchor=anchor, row=1, col=column, **seen)


def _draw(
    figure: go.Figure,
    column: int,
    segments: Sequence[Segment],
    color: str,
    width: int,
    name: str,
    *,
    dash: str = "solid",
    legend: bool = False,
) -> None:
    figure.add_trace(
        go.Scatter(
            x=[x for (a, _), (b, _) in segments for x in (a, b, None)],
            y=[y for (_, a), (_, b) in segments for y in (a, b, None)],
            mode="lines",
            name=name,
            meta={"stream": name} if name != "link" else None,
            line={"color": color, "width": width, "dash": dash},
            hoverinfo="skip",
            showlegend=legend,
        ),
        row=1,
        col=column,
    )


def _draw_ends(
    figure: go.Figure,
    column: int,
    plane: Plane,
    ways: Sequence[Mapping[str, Any]],
    names: Mapping[str, Node],
    color: str,
) -> None:
    """A ring around the first node of a way, and one around its last."""
    ends = {way["nodes"][place] for way in ways for place in (0, -1)}
    points = [plane.at(names[end]) for end in sorted(ends) if end in names]
    figure.add_trace(
        go.Scatter(
            x=[x for x, _ in points],
            y=[y for _, y in points],
            mode="markers",
            marker={"size": 30, "color": "rgba(0,0,0,0)", "line": {"color": color, "width": 3}},
            showlegend=False,
            hoverinfo="skip",
        ),
        row=1,
        col=column,
    )


def _draw_nodes(figure: go.Figure, column: int, plane: Plane, tiling: Tiling, dead: set[Node]) -> None:
    grid = tiling.routing.grid
    points = [plane.at(node) for node in grid.nodes]
    figure.add_trace(
        go.Scatter(
            x=[x for x, _ in points],
            y=[y for _, y in points],
            mode="markers+text",
            text=[str(number) for number in range(len(points))],
            textfont={"color": "#FFFFFF", "size": 11},
            hovertext=[f"node ⟨{grid.identity(node)}⟩" for node in grid.nodes],
            hovertemplate="%{hovertext}<extra></extra>",
            marker={"size": 21, "color": [_DEAD if node in dead else "#1C2733" for node in grid.nodes]},
            showlegend=False,
        ),
        row=1,
        col=column,
    )
