# SPDX-License-Identifier: Apache-2.0
"""Draws a scenario from a seed: a configuration, the frames, and what is changed while they are on their way.

Each scenario is of its own kind: what is likely within one (sizes, gaps, damage, one hot output, full queues) is drawn
first, so that rare things come together often enough to be met.
"""

from penstock.hardware.differential.draw.changes import CHANGES
from penstock.hardware.differential.draw.drawing import WITH_HOST
from penstock.hardware.differential.draw.shaping import SHAPING
from penstock.hardware.differential.draw.whole import draw

__all__ = ["CHANGES", "SHAPING", "WITH_HOST", "draw"]
