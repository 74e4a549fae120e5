# SPDX-License-Identifier: Apache-2.0
"""The proven latency of a shaped stream, hop by hop and term by term.

The contention term of a hop is equation (1) of the ATS switch paper (equation (9) of Specht and Samii, 2016), which is
the per-hop form of IEEE 802.1Q-2022 Annex V:

    d_CO = (sum of b over F_H and F_S  -  l_min  +  l_LP) / (R  -  sum of r over F_H)

with all lengths counted on the wire and R the rate of the link by which the stream leaves. It holds for frames whose
source keeps to its rate and burst, at a port without gates whose higher and equal classes carry nothing without a
committed rate and burst; where that is not so there is no bound. Lower classes may be shaped by credit: at most one of
their frames is in the way.

The bound of a way is the sum over its bridges, since an ATS scheduler adds nothing to the longest delay of the queue
before it (Le Boudec, 2018): a frame that it holds back had been faster than the slowest of its group. Therefore l_min
is, but for the last bridge, that of all streams of the class at the port, and the streams of a scheduler group must
have shared a queue at the bridge before and be counted there no more leniently. What is not ideal is added:

- Arrivals and eligibility times are rounded up to the grid of the bridge's clock; rounding lets a burst grow by what
  comes in one step of the grid. The same holds where ProcessingDelayMax is below what an idle bridge takes.
- A clock that runs slower than the one before lets less pass than comes in. In a run of length T, eligibility times
  fall behind by at most T times the difference of the two drifts; the first bridge's clock is held against the
  network's time, by which sources are judged. All else lasts longer by the largest drift.
"""

from __future__ import annotations

from penstock.bound.sources import Conformance, applies, conformance
from penstock.bound.terms import Bound, Committed, Contention, HopBound, Term, WayBound
from penstock.bound.timing import PROCESSING_PS, processing_allowed_ps
from penstock.bound.way import bound, ways_of

__all__ = [
    "PROCESSING_PS",
    "Bound",
    "Committed",
    "Conformance",
    "Contention",
    "HopBound",
    "Term",
    "WayBound",
    "applies",
    "bound",
    "conformance",
    "processing_allowed_ps",
    "ways_of",
]
