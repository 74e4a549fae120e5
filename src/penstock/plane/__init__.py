# SPDX-License-Identifier: Apache-2.0
"""The data plane on real packets. `penstock-plane` moves frames; this starts it, asks it and shows it."""
