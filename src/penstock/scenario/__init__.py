# SPDX-License-Identifier: Apache-2.0
"""What a network is: the scenario's format, its checks, and the checked result."""

from penstock.scenario.load import NODES, load
from penstock.scenario.network import Network

__all__ = ["NODES", "Network", "load"]
