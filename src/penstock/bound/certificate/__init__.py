# SPDX-License-Identifier: Apache-2.0
"""An independent checker of bounds: given the network and a wait for each queue, whether these waits are a bound.

The engine searches the least waits with integers that are rounded outward. Here nothing is searched and nothing
rounded: with the waits that are claimed, all that can come to a queue follows, and exact fractions tell whether a frame
could wait for longer than what is claimed of its queue. If no frame can, the claim is a bound, also where streams go in
circles: a first frame that broke it would have waited behind frames that kept it (FP-TFA).

What is claimed is `{"network": ..., "waits": [[port, class, ps], ...]}`, with the network as `describe` has it.
"""

from penstock.bound.certificate.checker import Refusal, refusals

__all__ = ["Refusal", "refusals"]
