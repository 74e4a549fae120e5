# SPDX-License-Identifier: Apache-2.0
"""`python -m penstock`."""

from penstock.cli import main

main()
