# SPDX-License-Identifier: Apache-2.0
"""Streams that answer others."""

from __future__ import annotations

from penstock.scenario import model
from penstock.scenario.draft import Draft
from penstock.scenario.positions import KeyPath
from penstock.scenario.report import AlreadyToldError


def check_response(draft: Draft, path: KeyPath, stream: model.Stream) -> None:
    """Whether the talker hears the stream that it answers, which does not wait for the answer itself."""
    asked, where = stream.source.response_to, (*path, "source", "response_to")
    if asked is None:
        return
    streams = draft.scenario.streams
    if asked not in streams:
        if draft.is_broken("streams", asked):
            raise AlreadyToldError
        draft.report.unknown(where, "stream", asked, streams)
    if stream.talker not in streams[asked].to:
        what = f'"{stream.talker}" does not hear "{asked}"'
        draft.report.refuse(where, what, f'"{stream.talker}" in streams.{asked}.to')
    passed = {path[1]}
    following: str | None = asked
    while following is not None:
        if following in passed:
            draft.report.refuse(where, f'"{following}" waits for its own answer', "a stream that begins by itself")
        passed.add(following)
        following = streams[following].source.response_to if following in streams else None
