# SPDX-License-Identifier: Apache-2.0
"""Pages: one HTML file each that needs no network, from a template and pictures.

The library that draws and the pictures lie in the page compressed, and the browser unpacks them: the library alone is
4.8 MB as it is, 2 MB so.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
import plotly.io  # type: ignore[import-untyped]
from markupsafe import Markup
from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

from penstock.command.tables import NOTHING
from penstock.scenario.units import show_rate
from penstock.table import us
from penstock.version import __version__
from penstock.words import lasting

MOST_BYTES = 5_000_000  # of a page


@dataclass(frozen=True)
class Picture:
    """A picture with what is said above it."""

    title: str
    note: str
    figure: Any  # of plotly

    @property
    def id(self) -> str:
        """Its name in the page."""
        return identifier(self.title)


def identifier(title: str) -> str:
    """A section's name in the page's address."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "section"


def render(
    template: str, pictures: Iterable[tuple[str, Any]], parcels: Mapping[str, str] | None = None, **values: Any
) -> str:
    """A whole page.

    `pictures` are drawn into the elements so named; `parcels` are packed texts that the page's scripts unpack by name.
    """
    drawn = [f'"{name}":{plotly.io.to_json(figure, validate=False)}' for name, figure in pictures]
    carried = {"plotly": _plotly(), "pictures": pack("{" + ",".join(drawn) + "}")} if drawn or parcels else {}
    return _environment().get_template(template).render(parcels={**carried, **(parcels or {})}, **values)


def card(title: str, text: str, ok: bool | None) -> dict[str, str]:
    """A requirement in few words; `ok` is None where nothing is required."""
    kind, mark = {True: ("good", "✓"), False: ("bad", "✗"), None: ("open", NOTHING)}[ok]
    return {"title": title, "text": text, "kind": kind, "mark": mark}


def pack(text: str) -> str:
    """Compressed, as characters that are safe anywhere in a page."""
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def unpack(page: str, name: str) -> str:
    """What a page carries under a name."""
    found = re.search(rf'<script type="text/plain" id="{re.escape(name)}">([^<]*)</script>', page)
    if found is None:
        raise KeyError(name)
    return zlib.decompress(base64.b64decode(found[1])).decode()


@cache
def _plotly() -> str:
    return pack(get_plotlyjs())


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("penstock.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates = files("penstock.report") / "templates"

    def asset(name: str) -> Markup:
        return Markup((templates / name).read_text(encoding="utf-8"))

    environment.filters |= {
        "us": us,
        "lasting": lasting,
        "count": lambda number: NOTHING if number is None else f"{number:,}",
        "rate": lambda bps: NOTHING if bps is None else show_rate(bps),
    }
    environment.globals |= {"asset": asset, "version": __version__, "identifier": identifier}
    return environment
