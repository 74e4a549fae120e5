# SPDX-License-Identifier: Apache-2.0
"""The compiled engine. engine/README.md describes the JSON that `run` takes and what it gives."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, TypedDict, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Buffer

__version__: str

KINDS: tuple[str, ...]
EVENTS: tuple[str, ...]
REASONS: tuple[str, ...]
HARDWARE_REASONS: tuple[str, ...]
FLAG_DAMAGED: int
FLAG_EDITED: int
FLAG_TX_ER: int
FLAG_SHORT_GAP: int
FLAG_PREAMBLE: int
FLAG_STREAM: int
FLAG_SHAPED: int

class EngineError(Exception): ...
class InputError(EngineError): ...
class HardwareError(EngineError): ...
class ConservationError(EngineError): ...

class Events(TypedDict):
    kind: NDArray[np.uint8]
    cycle: NDArray[np.uint64]
    frame: NDArray[np.uint64]
    port: NDArray[np.uint8]
    length: NDArray[np.uint32]
    reason: NDArray[np.uint8]
    traffic_class: NDArray[np.uint8]
    visible: NDArray[np.uint64]
    destination: NDArray[np.uint8]
    refused: NDArray[np.uint8]
    refused_reasons: NDArray[np.uint64]
    stream: NDArray[np.uint16]
    flags: NDArray[np.uint8]
    fcs: NDArray[np.uint32]

class Capture(TypedDict):
    start_ps: int
    in_order: bool
    time_ps: NDArray[np.uint64]
    original_bytes: NDArray[np.uint32]
    frames: list[bytes]

class Switch:
    def __init__(self, library_path: str | PathLike[str]) -> None: ...
    @staticmethod
    def model(
        ports: int = 4,
        config_json: str = "{}",
        *,
        streams: int = 256,
        cells: int = 1024,
        fdb_sets: int = 512,
        host: bool = False,
    ) -> Switch: ...
    @property
    def ports(self) -> int: ...
    @property
    def cycle(self) -> int: ...
    @property
    def cycles_simulated(self) -> int: ...
    @property
    def cycles_jumped(self) -> int: ...
    @property
    def inside(self) -> int: ...
    @property
    def waiting(self) -> int: ...
    @property
    def idle(self) -> bool: ...
    def link(self, port: int, *, up: bool = True, rate_ppb: int | None = 0) -> None: ...
    def judged(self) -> dict[str, int]: ...
    def write(self, address: int, value: int) -> None: ...
    def read(self, address: int) -> int: ...
    def push(
        self,
        port: int,
        start_cycle: int,
        frame: bytes,
        *,
        preamble: int = 7,
        delimiter: bool = True,
        gap: int = 12,
        rx_er_at: int | None = None,
        host: bytes | None = None,
    ) -> int: ...
    def push_many(
        self,
        ports: NDArray[np.uint8],
        start_cycles: NDArray[np.uint64],
        offsets: NDArray[np.uint64],
        data: NDArray[np.uint8] | bytes,
        *,
        preambles: NDArray[np.uint8] | None = None,
        delimiters: NDArray[np.uint8] | None = None,
        gaps: NDArray[np.uint32] | None = None,
        rx_er_at: NDArray[np.int32] | None = None,
    ) -> int: ...
    def run(self, until_cycle: int) -> None: ...
    def events(self) -> Events: ...

class Ats:
    def __init__(self, ports: int = 4, streams: int = 256) -> None: ...
    def set_rate(self, stream: int, ns_per_byte: int, empty_to_full: int) -> None: ...
    def set_group(self, port: int, traffic_class: int, max_residence_ns: int) -> None: ...
    def frame(self, port: int, traffic_class: int, stream: int, arrival_ns: int, wire_bytes: int) -> int | None: ...

def ats_rate(rate_bps: int, burst_bytes: int) -> tuple[int, int]: ...
def ats_visible_cycle(eligibility: int, processing_delay_max_ns: int = 0) -> int: ...
def read_capture(path: str | PathLike[str]) -> Capture: ...
def write_pcapng(
    path: str | PathLike[str], interface: str, application: str, frames: Sequence[tuple[int, bytes, int]]
) -> None: ...

class TraceFile:
    def __init__(
        self,
        path: str | PathLike[str],
        streams: Sequence[str],
        nodes: Sequence[str],
        events: Sequence[str],
        reasons: Sequence[str],
        metadata: Sequence[tuple[str, str]],
    ) -> None: ...
    def __call__(self, chunk: Mapping[str, object]) -> None: ...
    def tell(self, key: str, value: str) -> None: ...
    def close(self) -> int: ...

class Distribution(TypedDict):
    """Times in ps. Without values all is None but `count`; `percentile_error` is relative, 0 for exact."""

    count: int
    min: int | None
    max: int | None
    mean: float | None
    p50: float | None
    p99: float | None
    percentile_error: float

class Conformance(TypedDict):
    """What a scheduler of the stream's own would have held back."""

    frames: int
    late_frames: int
    worst_ps: int
    first_late: int | None

class BoundNetwork:
    def __init__(self, network: str) -> None: ...
    @staticmethod
    def told(text: str) -> BoundNetwork: ...
    def text(self) -> str: ...
    def analyse(self) -> BoundOutcome: ...

class BoundOutcome:
    def text(self) -> str: ...

def bounds(network: str) -> str: ...

@final
class TomlLines:
    def near(self, path: Sequence[str | int]) -> int | None: ...
    def __contains__(self, path: Sequence[str | int]) -> bool: ...

def parse_toml(text: str) -> tuple[dict[str, Any], TomlLines]: ...
def conformance(
    arrivals: Sequence[tuple[int, int]],
    rate_bps: int,
    burst_bytes: int,
    overhead_bytes: int,
    others: Sequence[tuple[int, int]] = ...,
) -> Conformance: ...

class StreamStatistics(TypedDict):
    frames: int
    copies: int
    delivered: int
    inside: int
    dropped: dict[str, int]
    latency_ps: Distribution
    interval_ps: Distribution
    talker_wait_ps: Distribution
    duplicated: int
    eliminated: int
    repeated: int
    first_delivered_ps: int | None
    last_delivered_ps: int | None
    delivered_wire_bytes: int
    conformance: Conformance | None

class Fates(TypedDict):
    created: int
    delivered: int
    dropped: dict[str, int]
    inside: int

class Simulation(TypedDict):
    frame_hops: int
    events: int
    cycles_simulated: int
    cycles_jumped: int
    end_ps: int

class Outcome(TypedDict):
    nodes: list[str]
    streams: list[str]
    events: list[str]
    reasons: list[str]
    conservation: dict[str, Fates]
    statistics: dict[str, StreamStatistics]
    simulation: Simulation
    interrupted: bool

class Column(Buffer):
    """Numbers of one kind in the byte order of the machine, without a copy; its length is that in bytes."""

    def __len__(self) -> int: ...

class Chunk(TypedDict):
    """Rows of a trace: how many, and each column."""

    rows: int
    frame_id: Column
    stream: Column
    node: Column
    port: Column
    event: Column
    time_ps: Column
    bytes: Column
    traffic_class: Column
    reason: Column

class Frame:
    """A frame at a node of one's own; its content is from destination address to the last one before the FCS."""

    @property
    def id(self) -> int: ...
    @property
    def stream(self) -> str: ...
    @property
    def first_ps(self) -> int: ...
    @property
    def content(self) -> bytes: ...
    def __bytes__(self) -> bytes: ...
    def __len__(self) -> int: ...
    def changed(self, content: bytes) -> Frame: ...

def run(
    network_json: str,
    sink: Callable[[Chunk], object] | None = None,
    progress: Callable[[float], bool | None] | None = None,
    nodes: Mapping[str, object] | None = None,
) -> Outcome: ...

class PtpClock:
    """Commands act in a cycle and give 0 or the error code; times are asked for from the last command on."""

    def __init__(self, cycle: int = 0, ns: int = 0) -> None: ...
    @property
    def increment(self) -> int: ...
    def set(self, cycle: int, s: int, ns: int) -> int: ...
    def step(self, cycle: int, s: int, ns: int) -> int: ...
    def slew(self, cycle: int, ns: int, rate: int) -> int: ...
    def set_increment(self, cycle: int, increment: int) -> int: ...
    def time(self, cycle: int) -> tuple[int, int, int]: ...
    def ns(self, cycle: int) -> int: ...
    def is_slewing(self, cycle: int) -> bool: ...
    def cycle_of_ns(self, ns: int) -> int: ...

class InBandOrigin:
    """In-band synchronization, the side whose clock is right; frames are without FCS, of neighbours."""

    def __init__(
        self,
        clock: PtpClock,
        cycle: int,
        source: bytes,
        *,
        interval_ns: int,
        probes: int,
        probes_after_set: int,
        checks: int,
    ) -> None: ...
    @property
    def phase(self) -> str: ...
    @property
    def is_over(self) -> bool: ...
    @property
    def lost(self) -> int: ...
    @property
    def drift(self) -> tuple[float, float] | None: ...
    @property
    def given(self) -> tuple[float, float] | None: ...
    @property
    def samples(self) -> list[tuple[str, int, float, float]]: ...
    def next(self, clock: PtpClock) -> int | None: ...
    def send(self, clock: PtpClock, cycle: int) -> bytes | None: ...
    def receive(self, frame: bytes, clock: PtpClock, cycle: int) -> None: ...

class InBandFollower:
    """The side whose clock is set right."""

    def __init__(self, source: bytes) -> None: ...
    @property
    def is_set(self) -> bool: ...
    @property
    def is_compensated(self) -> bool: ...
    def receive(self, frame: bytes, clock: PtpClock, received: int, answered: int) -> bytes | None: ...
    def trim(self, clock: PtpClock, cycle: int) -> None: ...

class GateList:
    """Entries are (operation, states, interval); as fitted to the cycle, (start, states, interval)."""

    def __init__(
        self,
        entries: Sequence[tuple[int, int, int]],
        cycle_time: int,
        *,
        base_time: int = 0,
        extension: int = 0,
        most_entries: int | None = None,
        least_interval: int | None = None,
    ) -> None: ...
    @property
    def entries(self) -> list[tuple[int, int, int]]: ...
    @property
    def cycle_time(self) -> int: ...
    @property
    def base_time(self) -> int: ...
    def initial_window(self, traffic_class: int) -> int | None: ...
    def largest_window(self, traffic_class: int) -> int | None: ...
    def open_time(self, traffic_class: int) -> int: ...
    def start_from(self, earliest: int) -> int: ...

def slots(slot_ns: Sequence[int], order: Sequence[int], cycle_ns: int, guard_ns: int) -> list[tuple[int, int]]: ...

class PortPicture:
    def __init__(self, port_json: str) -> None: ...
    def gate_states(self, start_ps: int, stop_ps: int) -> list[tuple[int, int, int]]: ...
    def cycle_start(self, at_ps: int) -> int: ...
    def credit(
        self, traffic_class: int, frames: list[tuple[int, int | None, int | None]], start_ps: int, stop_ps: int
    ) -> list[tuple[int, float]]: ...

class Gates:
    """Of one port, in gate time; what is asked about must not be before the last change."""

    def __init__(self, initial_states: int = 0xFF, enabled: bool = True) -> None: ...
    def set_enabled(self, enabled: bool) -> None: ...
    def set_initial_states(self, states: int) -> None: ...
    def propose(self, since: int, list: GateList, change_time: int) -> None: ...  # noqa: A002
    def withdraw(self, since: int) -> None: ...
    def stepped(self, last: int, earliest: int) -> tuple[GateList, int] | None: ...
    def states(self, now: int) -> int: ...
    def close(self, now: int, traffic_class: int) -> int | None: ...
    def fits(self, now: int, traffic_class: int, wire: int) -> bool: ...
    def fits_from(self, now: int, traffic_class: int, wire: int) -> int | None: ...
    def next_edge(self, now: int) -> int | None: ...
    def pending(self, now: int) -> int | None: ...
    def is_last_cycle(self, now: int) -> bool: ...
    def running(self, now: int) -> GateList | None: ...

class Credit:
    """Of one class, in units of 2^-24 bit and cycles."""

    def __init__(self, idle_slope: int, port_rate: int = 1 << 27, *, bounded: bool = True) -> None: ...
    def advance(self, ticks: int = 1, *, transmitting: bool, gate_open: bool, waiting: bool) -> int: ...
    @property
    def credit(self) -> int: ...
    @property
    def send_slope(self) -> int: ...
    @property
    def hi(self) -> int: ...
    @property
    def lo(self) -> int: ...
    @property
    def ticks_to_zero(self) -> int: ...
    def selected(self) -> None: ...
    def sent(self) -> None: ...
    def clear(self) -> None: ...

def idle_slope(bps: int) -> int: ...

class MessageError(Exception): ...

def set_schedule(
    interface: str, slot_ns: Sequence[int], order: Sequence[int], cycle_ns: int, guard_ns: int
) -> None: ...
def schedule_of(interface: str) -> tuple[list[int], list[int], int, int]: ...

class MessageNode:
    def __new__(
        cls,
        identity: int,
        tile: tuple[int, int],
        network: tuple[int, int],
        port: int,
        priority: int,
        timeout_s: float | None,
    ) -> MessageNode: ...
    def send(self, message: bytes, to: int) -> None: ...
    def receive(self, from_: int, /) -> bytes: ...
    def close(self) -> None: ...
