# SPDX-License-Identifier: Apache-2.0
"""What all tests share."""

import sys
from pathlib import Path

# The stand-in for the engine is a module of the tests.
sys.path.insert(0, str(Path(__file__).parent))
