# SPDX-License-Identifier: Apache-2.0
"""The picture of a network: its bridges, stations and links, and the ways of its streams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]
from numpy.typing import NDArray

from penstock.report.style import MOST_IN_LEGEND, Look
from penstock.scenario.network import Network
from penstock.scenario.units import show_rate

_MOST_STATIONS = 150  # above it only those of the streams shown
_MOST_BRIDGES = 800
_MOST_NAMES = 80
_ROUNDS = 60
_STATION_DISTANCE = 0.55  # of a link between bridges
_SIDE = 0.035  # between streams on a link
_MOST_WIDTH = 0.3  # of all of them
_MOST_AROUND = 24  # stations of a bridge that have room for their names
_MOST_PORTS = 150  # links whose ports are numbered
_PORT_AT = 0.2  # of the way along its link

Places = dict[str, NDArray[np.float64]]


def picture(network: Network, looks: Mapping[str, Look]) -> go.Figure | None:
    """None when the network is too large to be drawn."""
    if len(network.bridges) > _MOST_BRIDGES:
        return None
    stations = _stations(network, list(looks))
    place = _places(network, stations)
    few = len(place) <= _MOST_NAMES
    figure = go.Figure()
    _draw_links(figure, network, place)
    _draw_ways(figure, network, looks, place)
    for names, symbol, size, fill in (
        (list(network.bridges), "square", 20 if few else 9, "#1C2733"),
        (stations, "circle", 13 if few else 6, "#FFFFFF"),
    ):
        points = np.array([place[name] for name in names]).reshape(-1, 2)
        figure.add_trace(
            go.Scatter(
                x=points[:, 0],
                y=points[:, 1],
                mode="markers",
                text=names,
                marker={"symbol": symbol, "size": size, "color": fill, "line": {"color": "#1C2733", "width": 1.5}},
                hovertemplate="%{text}<extra></extra>",
                showlegend=False,
                cliponaxis=False,
            )
        )
    if few:
        # At once, as one by one takes time with the square of their number.
        figure.update_layout(annotations=[*_names(network, stations, place), *_ports(network, place)])
    return figure


def _names(network: Network, stations: Sequence[str], place: Places) -> Iterator[dict[str, Any]]:
    """Each where no link leaves its node, with a ground of its own."""
    around = Counter(network.stations[name].bridge for name in stations)
    ways: dict[str, list[float]] = {}
    for link in network.links:
        for node, other in ((link.a[0], link.b[0]), (link.b[0], link.a[0])):
            if node in place and other in place:
                ways.setdefault(node, []).append(float(np.arctan2(*(place[other] - place[node])[::-1])))
    for name in [*network.bridges, *stations]:
        if name in network.stations and around[network.stations[name].bridge] > _MOST_AROUND:
            continue
        (free,) = _free_angles(ways.get(name, []), 1)
        shift = (14 if name in network.stations else 20) * np.array([np.cos(free), np.sin(free)])
        side = "center" if abs(shift[0]) < 8 else "left" if shift[0] > 0 else "right"
        yield {
            "x": place[name][0],
            "y": place[name][1],
            "text": name,
            "showarrow": False,
            "xshift": shift[0],
            "yshift": shift[1],
            "xanchor": side,
            "yanchor": "middle" if side != "center" else "bottom" if shift[1] > 0 else "top",
            "font": {"size": 12},
            "bgcolor": "rgba(255,255,255,0.85)",
        }


def _ports(network: Network, place: Places) -> Iterator[dict[str, Any]]:
    """The number of each bridge's port at its end of the link."""
    if len(network.links) > _MOST_PORTS:
        return
    for link in network.links:
        for (node, port), (other, _) in ((link.a, link.b), (link.b, link.a)):
            if node in network.bridges and other in place:
                at = place[node] + _PORT_AT * (place[other] - place[node])
                yield {
                    "x": at[0],
                    "y": at[1],
                    "text": str(port),
                    "showarrow": False,
                    "bgcolor": "#FFFFFF",
                    "borderpad": 1,
                    "font": {"size": 10, "color": "#5B6875"},
                }


def _stations(network: Network, streams: Sequence[str]) -> list[str]:
    if len(network.stations) <= _MOST_STATIONS:
        return list(network.stations)
    shown = {n for name in streams for n in (network.streams[name].talker, *network.streams[name].listeners)}
    return [name for name in network.stations if name in shown]


def _places(network: Network, stations: Sequence[str]) -> Places:
    """Bridges so that distances are like the number of links between them, stations about their bridge."""
    names = list(network.bridges)
    index = {name: number for number, name in enumerate(names)}
    near: list[set[int]] = [set() for _ in names]
    for link in network.links:
        a, b = link.a[0], link.b[0]
        if a in index and b in index:
            near[index[a]].add(index[b])
            near[index[b]].add(index[a])
    points = _spread(_distances(near))
    # What is wider than high fits a page.
    if len(names) > 1:
        _, _, axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
        points = (points - points.mean(axis=0)) @ axes.T
    place = {name: points[number] for name, number in index.items()}
    about: dict[str, list[str]] = {}
    for name in stations:
        about.setdefault(network.stations[name].bridge, []).append(name)
    for bridge, around in about.items():
        number = index[bridge]
        taken = [float(np.arctan2(*(points[other] - points[number])[::-1])) for other in near[number]]
        for name, angle in zip(around, _free_angles(taken, len(around)), strict=True):
            place[name] = points[number] + _STATION_DISTANCE * np.array([np.cos(angle), np.sin(angle)])
    return place


def _distances(near: list[set[int]]) -> NDArray[np.float64]:
    """Links between each two bridges."""
    count = len(near)
    found = np.full((count, count), np.nan)
    for start in range(count):
        found[start, start] = 0
        edge, length = [start], 0
        while edge:
            length += 1
            reached = {other for one in edge for other in near[one] if np.isnan(found[start, other])}
            found[start, list(reached)] = length
            edge = list(reached)
    most = np.nanmax(found) if count else 0
    return np.where(np.isnan(found), most + 1, found)


def _spread(distance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points whose distances are as near as can be to those wanted: classical scaling, then majorized stress."""
    count = len(distance)
    if count == 1:
        return np.zeros((1, 2))
    centred = np.eye(count) - 1 / count
    values, vectors = np.linalg.eigh(-centred @ distance**2 @ centred / 2)
    points: NDArray[np.float64] = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 1e-9))
    if count == 2:
        return points
    # Away from a symmetry that majorization cannot leave.
    points = points + np.random.default_rng(1).normal(0, 0.02, points.shape)
    weight = np.where(distance > 0, 1 / np.maximum(distance, 1e-9) ** 2, 0)
    laplacian = np.diag(weight.sum(axis=1)) - weight
    inverse = np.linalg.pinv(laplacian)
    for _ in range(_ROUNDS):
        apart = np.linalg.norm(points[:, None] - points[None], axis=2)
        pull = -weight * distance / np.maximum(apart, 1e-9)
        np.fill_diagonal(pull, 0)
        np.fill_diagonal(pull, -pull.sum(axis=1))
        points = inverse @ pull @ points
    return points


def _free_angles(taken: list[float], count: int) -> list[float]:
    """Directions in the widest gaps between those taken."""
    if not taken:
        return [2 * np.pi * number / count for number in range(count)]
    gaps = sorted(np.mod(taken, 2 * np.pi).tolist())
    widths = np.diff([*gaps, gaps[0] + 2 * np.pi])
    share = np.zeros(len(gaps), dtype=int)
    for _ in range(count):
        share[int(np.argmax(widths / (share + 1)))] += 1
    return [
        start + width * (number + 1) / (parts + 1)
        for start, width, parts in zip(gaps, widths, share, strict=True)
        for number in range(parts)
    ]


def _draw_links(figure: go.Figure, network: Network, place: Places) -> None:
    by_rate: dict[int, tuple[list[Any], list[Any]]] = {}
    for link in network.links:
        a, b = link.a[0], link.b[0]
        if a in place and b in place:
            xs, ys = by_rate.setdefault(link.rate_bps, ([], []))
            xs += [place[a][0], place[b][0], None]
            ys += [place[a][1], place[b][1], None]
    for number, (rate, (xs, ys)) in enumerate(sorted(by_rate.items())):
        figure.add_trace(
            go.Scatter(
                x=xs,
                y=ys,
                mode="lines",
                name=f"link of {show_rate(rate)}",
                line={"color": "#C3CBD3", "width": 2 + 2 * number},
                hoverinfo="skip",
            )
        )


def _draw_ways(figure: go.Figure, network: Network, looks: Mapping[str, Look], place: Places) -> None:
    """A stream's links, each beside those of the other streams on it."""
    links = {name: _links_of(network, name) for name in looks}
    on: dict[str, list[str]] = {}
    for name, own in links.items():
        for link in own:
            on.setdefault(link, []).append(name)
    by_name = {link.name: link for link in network.links}
    for name, look in looks.items():
        xs: list[Any] = []
        ys: list[Any] = []
        for link in links[name]:
            ends = [node for node, _ in (by_name[link].a, by_name[link].b)]
            if not all(node in place for node in ends):
                continue
            first, last = (place[node] for node in ends)
            along = last - first
            normal = np.array([-along[1], along[0]]) / max(float(np.linalg.norm(along)), 1e-9)
            apart = min(_SIDE, _MOST_WIDTH / len(on[link]))
            side = (on[link].index(name) - (len(on[link]) - 1) / 2) * apart
            xs += [first[0] + side * normal[0], last[0] + side * normal[0], None]
            ys += [first[1] + side * normal[1], last[1] + side * normal[1], None]
        figure.add_trace(
            go.Scatter(
                x=xs,
                y=ys,
                mode="lines",
                name=name,
                meta={"stream": name},
                line={"color": look.color, "width": 2.5, "dash": look.dash},
                opacity=0.9,
                hoverinfo="name",
                showlegend=len(looks) <= MOST_IN_LEGEND,
            )
        )


def _links_of(network: Network, name: str) -> list[str]:
    """The links that a stream passes, its talker's first, each once."""
    stream = network.streams[name]
    ports = [(stream.talker, 0), *((hop.bridge, port) for hop in stream.tree for port in hop.egress)]
    return list(dict.fromkeys(network.link_at[port].name for port in ports))
