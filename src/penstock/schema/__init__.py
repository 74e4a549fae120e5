# SPDX-License-Identifier: Apache-2.0
"""The JSON schema of a scenario, by which editors complete and check `scenario.toml`."""
