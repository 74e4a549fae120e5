# SPDX-License-Identifier: Apache-2.0
"""One scenario over several kinds of nodes, side by side: `penstock run --nodes model,rtl,linux,plane`."""
