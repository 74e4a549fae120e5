# SPDX-License-Identifier: Apache-2.0
"""What all commands share.

`ending` decides how a command ends, `console` says things to people, `answer` and `ci` to programs, `options` has the
options that several commands have. A command of a room, in the manner of `bench/cli.py`:

    def compare(left: Path, right: Path, as_json: JsonOption = False) -> None:
        found = ...                   # raises InputError (2), MachineError or OSError (3); none of them is caught here
        if as_json:
            answer(found.as_json())   # one JSON object, and nothing else on standard output
        else:
            found.show(output())      # a console of rich
        end(found.ok)                 # 0 or 1
"""
