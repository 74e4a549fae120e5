# SPDX-License-Identifier: Apache-2.0
"""What a scenario may ask for at most.

Hardware, a trace and its tables hold times below 2^63 ps (106 days), and so does all that 64 bit count. A run of models
that needs more is counted with 128 bit: see `years.py`. PTP clocks and the times of gates go to 2^63 ns.
"""

from __future__ import annotations

from typing import Annotated

from penstock.scenario.units import DRIFT, FREQUENCY, LENGTH, RATE, TIME, Quantity

_MS, _S = 10**9, 10**12

LONGEST_PS = 100 * 86_400 * _S  # 100 days: of what is counted with 64 bit
YEARS_PS = 100 * 365 * 86_400 * _S
LINE_RATE_BPS = 10**9  # what the hardware's GMII ports run at
FASTEST_BPS = 10**11
HARDWARE_PORTS, HARDWARE_STREAMS = 8, 256
HARDWARE_CELLS, CELL_BYTES = 1024, 128  # of the store for frames
# Of a gate control list; entries as the hardware is built, and at most.
GATE_ENTRIES, MOST_GATE_ENTRIES = 128, 1024
SHORTEST_INTERVAL_NS, LONGEST_INTERVAL_NS = 64, 2**32 - 1  # the shortest of hardware and of Linux
# What PTP clocks show when a run begins, so that those that are behind show no negative time.
START_TIME_NS = 2 * 10**12
MOST_PACKETS = 1_000_000  # of a group of pictures
_KERNEL_NS = 2**31 - 1  # struct tc_etf_qopt has an s32, and taprio's txtime-delay is kept below it too

# Times: of a run of real hosts; of any run or a period; since its begin; of waiting; what a frame may take; of a
# host's software.
DURATION = Quantity(TIME, 1, LONGEST_PS)
Duration = Annotated[int, Quantity(TIME, 1, YEARS_PS)]
Start = Annotated[int, Quantity(TIME, 0, YEARS_PS)]
Wait = Annotated[int, Quantity(TIME, 0, LONGEST_PS)]
Deadline = Annotated[int, DURATION]
SoftwareTime = Annotated[int, Quantity(TIME, 0, 1000 * _S)]
DISPLACEMENT = Quantity(TIME, -1000 * _S, 1000 * _S)
Displacement = Annotated[int, DISPLACEMENT]
PacketTime = Annotated[int, Quantity(TIME, 1, 1000 * _S)]
# Of cables and of bridges.
Delay = Annotated[int, Quantity(TIME, 0, _MS)]
StatedDelay = Annotated[int, Quantity(TIME, 0, _MS, "ns")]
LONGEST_RESIDENCE_NS = 10**9  # of ATS, and what it is where nothing is said
Residence = Annotated[int, Quantity(TIME, 1000, _S, "ns")]
# Of network cards.
MemoryLatency = Annotated[int, Quantity(TIME, 0, 10**6)]
# Of gates.
BaseTime = Annotated[int, Quantity(TIME, 0, YEARS_PS, "ns")]
Interval = Annotated[int, Quantity(TIME, 0, LONGEST_INTERVAL_NS * 1000, "ns")]
CycleTime = Annotated[int, Quantity(TIME, 1000, LONGEST_INTERVAL_NS * 1000, "ns")]
Extension = Annotated[int, Quantity(TIME, 0, LONGEST_INTERVAL_NS * 1000, "ns")]
# Of clocks.
ClockOffset = Annotated[int, Quantity(TIME, -1000 * _S, 1000 * _S)]
ClockDrift = Annotated[int, Quantity(DRIFT, -1_000_000, 1_000_000)]
SyncErrorTime = Annotated[int, Quantity(TIME, 0, _MS, "ns")]
# Of qdiscs.
EtfDelta = Annotated[int, Quantity(TIME, 1000, _KERNEL_NS * 1000, "ns")]
TxtimeDelay = Annotated[int, Quantity(TIME, 0, _KERNEL_NS * 1000, "ns")]

LinkRate = Annotated[int, Quantity(RATE, 10**7, FASTEST_BPS)]
TRAFFIC_RATE = Quantity(RATE, 10**3, FASTEST_BPS)
TrafficRate = Annotated[int, TRAFFIC_RATE]
SendSlope = Annotated[int, Quantity(RATE, -FASTEST_BPS, 0)]
AtsRate = Annotated[int, Quantity(RATE, 10**4, FASTEST_BPS)]  # the slowest that the hardware's schedulers can hold

FrameBytes = Annotated[int, Quantity(LENGTH, 64, 2000)]
HeaderBytes = Annotated[int, Quantity(LENGTH, 16, 2000)]  # addresses and a tag
ServiceDataUnit = Annotated[int, Quantity(LENGTH, 46, 1982)]  # of frames of 64 B to 2000 B
Overhead = Annotated[int, Quantity(LENGTH, -63, 255)]  # a byte is left of the shortest frame
StoreBytes = Annotated[int, Quantity(LENGTH, 15_360, 10**9)]  # of two ports at least: see store.py
QueueBytes = Annotated[int, Quantity(LENGTH, 64, 10**9)]
Burst = Annotated[int, Quantity(LENGTH, 1, 10**9)]
PictureBytes = Annotated[int, Quantity(LENGTH, 1, 10**9)]
PacketBytes = Annotated[int, Quantity(LENGTH, 1, 2000)]

SampleRate = Annotated[int, Quantity(FREQUENCY, 10**3, 10**10)]
PictureRate = Annotated[int, Quantity(FREQUENCY, 1, 10**7)]
