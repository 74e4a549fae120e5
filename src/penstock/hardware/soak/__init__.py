# SPDX-License-Identifier: Apache-2.0
"""Random frames through the whole switch, held against a plain scoreboard.

The scoreboard knows nothing of the hardware: it says for each frame where a VLAN bridge has to send it, and then
checks that every copy came out there once, whole and in order, or was refused for a reason that was reported.
"""

from penstock.hardware.soak.run import soak

__all__ = ["soak"]
