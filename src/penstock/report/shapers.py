# SPDX-License-Identifier: Apache-2.0
"""Pictures of ports with gates or credit: what was open when, the frames in it, and credit over time.

What gates and credit do is asked of the engine's state machines; the frames are those of the trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import plotly.graph_objects as go  # type: ignore[import-untyped]
import polars as pl
from plotly.subplots import make_subplots  # type: ignore[import-untyped]

from penstock.gates import CreditOverTime, Occupation, cycle_start_ps, gate_states
from penstock.journeys import View
from penstock.scenario.network import WIRE_OVERHEAD_BYTES, Bridge, Network, Station, hardware_visible_ps

_AHEAD_BYTES = 8
_SELECTED_TO_SENT_PS = 96_000  # of the hardware; 64_000 of it are preamble and delimiter
_MOST_PORTS = 4
_CYCLES = 3
_MOST_FRAMES = 600
_CREDIT_PS = 2_000_000_000
_OPEN = "#DCE6EE"

Figure = tuple[str, str, go.Figure]


@dataclass(frozen=True)
class _Place:
    """An egress port of a bridge, or of a station, which has port 0."""

    node: Bridge | Station
    port: int
    rate_bps: int

    def byte_ps(self, count: int) -> int:
        return count * 8 * 10**12 // self.rate_bps

    @property
    def name(self) -> str:
        return self.node.name if isinstance(self.node, Station) else f"{self.node.name} port {self.port}"


def figures(network: Network, view: View, color: Mapping[str, str]) -> list[Figure]:
    """Of each port with gates that streams pass, and each bridge's with credit; of many ports the first."""
    places = [
        _Place(network.bridges[bridge], port, network.link_at[bridge, port].rate_bps)
        for bridge, port in network.streams_at
    ]
    talkers = [_Place(network.stations[name], 0, network.stations[name].link_rate_bps) for name in network.streams_from]
    gated = [place for place in (*talkers, *places) if place.port in place.node.gates]
    credited = [place for place in places if any(port == place.port for port, _ in place.node.credit)]
    found = []
    for place in gated[:_MOST_PORTS]:
        found += _gates(view, place, color)
    for place in credited[:_MOST_PORTS]:
        found += _credit(view, place, color)
    return found


def _frames(view: View, place: _Place) -> pl.DataFrame:
    """What left by the port, in order: when each frame had the wire, without its gap."""
    if isinstance(place.node, Station):
        rows = _talked(view, place.node)
    else:
        rows = view.hops.filter(
            (pl.col("node").cast(pl.String) == place.node.name)
            & (pl.col("port") == place.port)
            & pl.col("queued").is_not_null()
        ).with_columns(pl.col("stream").cast(pl.String))
    ahead, byte = place.byte_ps(_AHEAD_BYTES), 8 * 10**12
    length = (pl.col("bytes").cast(pl.Int64) + _AHEAD_BYTES) * byte // place.rate_bps
    return rows.with_columns((pl.col("sent") - ahead).alias("begin"), length.alias("length")).sort("begin")


def _talked(view: View, station: Station) -> pl.DataFrame:
    """The frames of a station's streams, with their classes there."""
    network = view.network
    classes = {stream.name: network.class_at_talker(stream) for stream in network.streams_from[station.name]}
    rows = view.journeys.unique("frame_id").with_columns(pl.col("stream").cast(pl.String))
    return rows.filter(pl.col("stream").is_in(list(classes))).with_columns(
        pl.col("talker_sent").alias("sent"),
        pl.col("stream").replace_strict(classes, default=0, return_dtype=pl.UInt8).alias("traffic_class"),
    )


def _gates(view: View, place: _Place, color: Mapping[str, str]) -> list[Figure]:
    gates = place.node.gates[place.port]
    frames = _frames(view, place).filter(pl.col("begin").is_not_null())
    if not frames.height:
        return []
    cycle_ps = gates.cycle_time_ns * 1000
    first = _int(frames["begin"][0])
    start = cycle_start_ps(place.node, place.port, first)
    stop = start + _CYCLES * cycle_ps
    frames = frames.filter(pl.col("begin") < stop).head(_MOST_FRAMES)
    if frames.height == _MOST_FRAMES:
        stop = min(stop, _int(frames["begin"][-1]))
    figure = go.Figure()
    _windows(figure, place, start, stop, None)
    _wire(figure, place, frames, color, None)
    figure.update_layout(barmode="overlay")
    _layout(figure)
    figure.update_xaxes(title="time / us", range=[start / 1e6, stop / 1e6])
    note = (
        f"Pale: the gate of the class is open. Coloured: frames on the wire, preamble included. A cycle takes "
        f"{gates.cycle_time_ns / 1000:g} us."
    )
    return [(f"Gates of {place.name}", note, figure)]


def _windows(figure: go.Figure, place: _Place, start: int, stop: int, row: int | None) -> None:
    at, lasts, classes = [], [], []
    for begin, end, states in gate_states(place.node, place.port, start, stop):
        for number in range(8):
            if states >> number & 1:
                at.append(begin / 1e6)
                lasts.append((end - begin) / 1e6)
                classes.append(_label(place, number))
    bars = go.Bar(
        x=lasts, base=at, y=classes, orientation="h", width=0.86, name="gate open",
        marker={"color": _OPEN, "line": {"width": 0}}, hovertemplate="open from %{base:.3f} us for %{x:.3f} us",
    )  # fmt: skip
    figure.add_trace(bars, **({} if row is None else {"row": row, "col": 1}))


def _wire(figure: go.Figure, place: _Place, frames: pl.DataFrame, color: Mapping[str, str], row: int | None) -> None:
    for name in frames["stream"].unique(maintain_order=True):
        own = frames.filter(pl.col("stream") == name)
        bars = go.Bar(
            x=(own["length"] / 1e6).to_numpy(),
            base=(own["begin"] / 1e6).to_numpy(),
            y=[_label(place, int(number)) for number in own["traffic_class"]],
            orientation="h",
            width=0.5,
            name=name,
            marker={"color": color.get(name, "#6B6B6B"), "line": {"width": 0}},
            customdata=own["bytes"].to_numpy(),
            hovertemplate="%{base:.3f} us, %{customdata} B",
        )
        figure.add_trace(bars, **({} if row is None else {"row": row, "col": 1}))
    used = {int(number) for number in frames["traffic_class"]}
    shown = sorted(used | ({*range(8)} if place.port in place.node.gates else set()))
    labels = [_label(place, number) for number in shown]
    order = {"categoryorder": "array", "categoryarray": labels, "type": "category", "dtick": 1}
    figure.update_yaxes(**order, **({} if row is None else {"row": row, "col": 1}))


def _label(place: _Place, number: int) -> str:
    name = place.node.class_names.get(number)
    return f"{number}" if name is None else f"{name} {number}"


def _credit(view: View, place: _Place, color: Mapping[str, str]) -> list[Figure]:
    frames = _frames(view, place)
    classes = sorted((k for port, k in place.node.credit if port == place.port), reverse=True)
    shaped = frames.filter(pl.col("traffic_class").is_in(classes))
    if not shaped.height:
        return []
    first = _int(shaped["arrived"].min())
    stop = min(first + _CREDIT_PS, _int(shaped.select(pl.max_horizontal("arrived", "sent").max()).item()))
    if stop <= first:
        return []
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.58, 0.42], vertical_spacing=0.06)
    said = []
    for number in classes:
        own = shaped.filter(pl.col("traffic_class") == number)
        if not own.height:
            continue
        assert isinstance(place.node, Bridge)
        over_time = CreditOverTime(place.node, place.port, number, place.rate_bps)
        points = over_time.points(list(_occupations(place, own)), first, stop)
        figure.add_trace(
            go.Scatter(
                x=[at / 1e6 for at, _ in points],
                y=[bits for _, bits in points],
                mode="lines",
                name=f"credit of {_label(place, number)}",
                line={"color": color.get(str(own["stream"][0]), "#6B6B6B"), "width": 1.6},
                hovertemplate="%{x:.3f} us: %{y:.1f} bits",
            ),
            row=1, col=1,
        )  # fmt: skip
        low, high = min(bits for _, bits in points), max(bits for _, bits in points)
        said.append(f"{place.node.class_name(number)} from {low:,.0f} to {high:,.0f} bits")
    if place.port in place.node.gates:
        _windows(figure, place, first, stop, 2)
    part = frames.filter(pl.col("begin").is_between(first, stop)).head(4 * _MOST_FRAMES)
    _wire(figure, place, part, color, 2)
    figure.update_layout(barmode="overlay")
    _layout(figure, 560 if place.port in place.node.gates else 460)
    figure.update_yaxes(title="credit / bits", row=1, col=1)
    figure.update_xaxes(range=[first / 1e6, stop / 1e6])
    figure.update_xaxes(title="time / us", row=2, col=1)
    note = f"A class may send while its credit is not below zero. In this time {'; '.join(said)}."
    return [(f"Credit at {place.name}", note, figure)]


def _occupations(place: _Place, frames: pl.DataFrame) -> Iterator[Occupation]:
    """From when each frame could have been selected, when it was, and until when it had the wire."""
    bridge = place.node
    assert isinstance(bridge, Bridge)
    visible = hardware_visible_ps(bridge.ports) if bridge.hardware_timing else bridge.processing_delay_ps
    ahead = _SELECTED_TO_SENT_PS if bridge.hardware_timing else place.byte_ps(_AHEAD_BYTES)
    spent = WIRE_OVERHEAD_BYTES if bridge.count_gap else _AHEAD_BYTES
    for arrived, sent, dropped, size in frames.select("arrived", "sent", "dropped", "bytes").iter_rows():
        ready = arrived + visible
        if sent is not None:
            selected = sent - ahead
            yield Occupation(min(ready, selected), selected, selected + place.byte_ps(size + spent))
        elif dropped is not None:
            yield Occupation(ready, dropped, dropped)
        else:
            yield Occupation(ready, None, None)


def occupations_at(
    network: Network, trace: pl.DataFrame, bridge: str, port: int, traffic_class: int
) -> list[Occupation]:
    """Of a class at a port, from the trace of a run."""
    place = _Place(network.bridges[bridge], port, network.link_at[bridge, port].rate_bps)
    frames = _frames(View(network, trace), place)
    return list(_occupations(place, frames.filter(pl.col("traffic_class") == traffic_class)))


def _layout(figure: go.Figure, height: int = 340) -> None:
    ticks = {"gridcolor": "#E6EAEE", "zeroline": False, "linecolor": "#9AA5B1", "ticks": "outside"}
    figure.update_layout(
        template="plotly_white",
        height=height,
        margin={"l": 90, "r": 20, "t": 30, "b": 50},
        legend={"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"},
        font={"family": "system-ui, DejaVu Sans, sans-serif", "size": 13, "color": "#1C2733"},
        hovermode="closest",
        showlegend=True,
    )
    figure.update_xaxes(**ticks)
    figure.update_yaxes(**ticks)


def _int(value: object) -> int:
    return int(value)  # type: ignore[call-overload, no-any-return]
