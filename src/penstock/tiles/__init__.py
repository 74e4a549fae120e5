# SPDX-License-Identifier: Apache-2.0
"""Networks of tiles: tori and meshes of nodes that route by dimension, and around one link that is dead."""
