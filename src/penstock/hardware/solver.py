# SPDX-License-Identifier: Apache-2.0
"""Bitwuzla as the program that yosys-smtbmc drives: SMT-LIB comes in, answers go out, command by command.

Its Python package holds the library alone.
"""

import ctypes
import re
import sys

import bitwuzla

_NOT_PARENTHESES = re.compile(r'\|[^|]*\||"[^"]*"|;.*')


def main() -> None:
    """What the program does; any option but --help is that of the language, which is always the same."""
    if "--help" in sys.argv:
        print("--lang smt2")
        return
    options = bitwuzla.Options()
    options.set(bitwuzla.Option.PRODUCE_MODELS, True)
    parser = bitwuzla.Parser(bitwuzla.TermManager(), options)
    answers = ctypes.CDLL(None)  # the library writes past Python's own buffer
    text, depth = "", 0
    for line in sys.stdin:
        text += line
        bare = _NOT_PARENTHESES.sub("", line)
        depth += bare.count("(") - bare.count(")")
        if depth == 0:
            if text.strip() == "(exit)":
                return
            parser.parse(text, parse_only=False, parse_file=False)
            answers.fflush(None)
            text = ""
