# SPDX-License-Identifier: Apache-2.0
"""The program `penstock`, and `python -m penstock`."""

import os
import signal
import sys


def main() -> None:
    """Runs the command line."""
    # While modules are loaded Ctrl-C has nothing to undo; the entry script holds it back until here.
    signal.signal(signal.SIGINT, lambda _number, _frame: os._exit(130))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    from penstock.cli import main as run

    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        run()
    except KeyboardInterrupt:  # between two commands of this function
        sys.exit(130)
    finally:
        signal.signal(signal.SIGINT, lambda _number, _frame: os._exit(130))


if __name__ == "__main__":
    main()
