# SPDX-License-Identifier: Apache-2.0
"""What the pages say can be followed: links lead somewhere, commands and options exist, snippets are well-formed."""

from __future__ import annotations

import ast
import re
import shlex
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest
import typer
from markdown_it import MarkdownIt
from markdown_it.token import Token
from typer.core import TyperGroup
from typer.testing import CliRunner

from penstock import _engine
from penstock.cli import app
from penstock.hardware.cli import app as hardware
from penstock.hardware.registers import registers
from penstock.scenario import load

pytestmark = pytest.mark.long(150)

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "engine" / "README.md"])
HOUSE = ("docs", "engine", "hw", "notebooks", "requirements", "scenarios", "src", "tests")
LANGUAGES = {"c", "rust", "sh", "console", "toml", "python", "text", "json"}
# What a page writes for "any".
PLACEHOLDER = re.compile(r".*[{}*<>…].*|.*\.\.\..*|.*(?<![a-z])[A-Z]{2}[A-Z_]*\b.*")
# typer keeps its click to itself; what all its complaints about a call are is a base of those that it shows.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]


@cache
def tokens(page: Path) -> Sequence[Token]:
    return MarkdownIt("commonmark").enable("table").parse(page.read_text())


def _inline(page: Path, kind: str) -> Iterator[Token]:
    for token in tokens(page):
        yield from (child for child in token.children or () if child.type == kind)


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives a page's headings."""
    seen: Counter[str] = Counter()
    found = set()
    for heading, inline in zip(tokens(page), tokens(page)[1:], strict=False):
        if heading.type != "heading_open":
            continue
        text = "".join(child.content for child in inline.children or () if child.type in ("text", "code_inline"))
        slug = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return found | set(re.findall(r'<a id="([^"]+)"', page.read_text()))


def blocks(page: Path, *languages: str) -> list[str]:
    return [token.content for token in tokens(page) if token.type == "fence" and token.info in languages]


def commands(page: Path) -> Iterator[str]:
    """Each call of `./penstock` that a page writes, in blocks and in its text."""
    for block in (token.content for token in tokens(page) if token.type in ("fence", "code_block")):
        for line in block.replace("\\\n", " ").splitlines():
            if found := re.match(r"\s*(?:\$ |[A-Z_]+=\S+ )*(\./penstock(?: .*)?)$", line):
                yield found[1]
    yield from (code.content for code in _inline(page, "code_inline") if re.match(r"\./penstock\b", code.content))


def words(command: str) -> list[str]:
    """The arguments of a call, without the marks of a synopsis, what follows two spaces, and what a shell takes."""
    command = re.split(r"\s{2,}|\s[#|>]", command.removeprefix("./penstock").strip())[0]
    return shlex.split(re.sub(r"[\[\]]|(?<= )\|(?= )|\.\.\.(?= |$)", "", command))


def checked(arguments: list[str]) -> None:
    """Raises a UsageError where a command or an option is not there."""
    command = typer.main.get_command(app)
    if arguments[:1] == ["hw"]:  # which the program adds when it is asked for
        command, arguments = typer.main.get_command(hardware), arguments[1:]
    context = typer.Context(command, info_name="./penstock")
    while isinstance(command, TyperGroup):
        _, arguments, _ = command.make_parser(context).parse_args(args=arguments)
        if not arguments or PLACEHOLDER.match(arguments[0]):
            return
        _, found, arguments = command.resolve_command(context, arguments)
        assert found is not None
        command, context = found, typer.Context(found, info_name=found.name, parent=context)
    command.make_parser(context).parse_args(args=arguments)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
class TestPage:
    def test_links_lead_somewhere(self, page: Path) -> None:
        hrefs = [str(link.attrs["href"]) for link in _inline(page, "link_open")]
        hrefs += [str(image.attrs["src"]) for image in _inline(page, "image")]
        for href in hrefs:
            if re.match(r"https?:", href):
                continue
            path, _, anchor = href.partition("#")
            target = (page.parent / path).resolve() if path else page
            assert target.exists(), href
            assert target.is_relative_to(ROOT), href
            if anchor:
                assert anchor in anchors(target), f"{href}; there are {', '.join(sorted(anchors(target)))}"

    def test_commands_and_options_exist(self, page: Path) -> None:
        for command in commands(page):
            try:
                checked(words(command))
            except UsageError as error:
                pytest.fail(f"{command}: {error}")

    def test_what_is_named_of_the_house_is_there(self, page: Path) -> None:
        named = [word for command in commands(page) for word in words(command)]
        named += [code.content for code in _inline(page, "code_inline") if " " not in code.content]
        for name in named:
            path = name.split("::")[0].rstrip("/")
            if path.split("/")[0] in HOUSE and "/" in path and not PLACEHOLDER.match(path):
                assert (ROOT / path).exists(), name

    def test_snippets_are_well_formed(self, page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        assert {token.info for token in tokens(page) if token.type == "fence"} <= LANGUAGES
        for snippet in blocks(page, "toml"):
            said = tomllib.loads(snippet)
            if {"name", "duration", "streams"} <= said.keys():
                monkeypatch.chdir(ROOT)
                load(said)
        for snippet in blocks(page, "python"):
            ast.parse(snippet)


@pytest.mark.parametrize("name", ["clock", "faults", "gates", "host-port", "own-nodes", "python"])
def test_python_of_a_page_runs_and_prints_what_it_says(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    fences = [token for token in tokens(ROOT / "docs" / f"{name}.md") if token.type == "fence"]
    names: dict[str, object] = {}
    ran = 0
    for code, after in zip(fences, [*fences[1:], None], strict=True):
        if code.info != "python":
            continue
        exec(compile(code.content, f"{name}.md:{(code.map or [0])[0]}", "exec"), names)
        printed = capsys.readouterr().out
        assert printed == (after.content if printed and after and after.info == "text" else "")
        ran += 1
    assert ran


@pytest.mark.parametrize(("page", "kind"), [("linux", "linux show"), ("check", "check")])
def test_a_page_prints_what_its_commands_do(page: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text = "".join(blocks(ROOT / "docs" / f"{page}.md", "console"))
    calls = re.findall(rf"^\$ (\./penstock {kind} .*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE)
    assert calls
    for command, printed in calls:
        said = CliRunner().invoke(app, words(command)).output
        assert [line for line in _bare(printed) if line not in _bare(said)] == []


def test_the_scenario_of_the_page_gives_its_table(tmp_path: Path) -> None:
    page = ROOT / "docs" / "scenario.md"
    scenario, shown = tmp_path / "first.toml", next(text for text in blocks(page, "text") if "conserved" in text)
    scenario.write_text(next(text for text in blocks(page, "toml") if "duration" in text))
    done = CliRunner().invoke(app, ["run", str(scenario), "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert [line for line in _bare(shown) if line not in _bare(done.stdout)] == []


def _bare(text: str) -> list[list[str]]:
    """The words of each line, without what a table draws around them."""
    return [re.sub(r"[\u2500-\u257f]", " ", line).split() for line in text.splitlines()]


def test_the_architecture_names_all_modules_and_no_other() -> None:
    table = (ROOT / "docs" / "architecture.md").read_text().split("## Modules")[1].split("## Rules")[0]
    package = ROOT / "src" / "penstock"
    named = set()
    for row in re.findall(r"^\| (`.*?) \| .*$", table, re.MULTILINE):
        room = ""
        for name in re.findall(r"`([^`]+)`", row):
            room = name.rpartition("/")[0] or room
            named.add(name if "/" in name or not room else f"{room}/{name}")
    there = {path.name for path in package.glob("*.py")} | {f"scenario/{p.name}" for p in package.glob("scenario/*.py")}
    there |= {f"{path.parent.name}/" for path in package.glob("*/__init__.py")}
    assert named == {name for name in there if not name.endswith("__init__.py")} - {"scenario/"}


def test_the_page_of_commands_has_all_of_them() -> None:
    page = ROOT / "docs" / "commands.md"
    named = {command.split()[1] for command in commands(page) if len(command.split()) == 2}
    assert named - {"--install-completion"} == {"hw", *typer.main.get_command(app).commands}  # type: ignore[attr-defined]


def test_the_page_of_commands_has_all_variables() -> None:
    sources = [*(ROOT / "src").rglob("*.py"), ROOT / "penstock"]
    used = {name for file in sources for name in re.findall(r"(?<![_\w])PENSTOCK_[A-Z_]+", file.read_text())}
    page = (ROOT / "docs" / "commands.md").read_text() + (ROOT / "CONTRIBUTING.md").read_text()
    assert used <= set(re.findall(r"PENSTOCK_[A-Z_]+", page))


def test_the_first_commands_of_readme_are_those_of_the_program() -> None:
    shown = re.findall(r"^  penstock (\w+) ", CliRunner().invoke(app, []).output, re.MULTILINE)
    written = [words(command)[0] for command in commands(ROOT / "README.md")][: len(shown)]
    assert written == shown == ["run", "check", "bound"]


def test_the_glossary_has_each_drop_reason_with_its_counter() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", (ROOT / "docs" / "glossary.md").read_text(), re.MULTILINE)
    assert [name for name, _ in rows] == list(_engine.REASONS[1:])
    counters = {name.removeprefix("counters.port[0].") for name in registers() if name.startswith("counters.port[0].")}
    for number, (_, text) in enumerate(rows, start=1):
        named = set(re.findall(r"`([a-z_]+(?:\[\d+\])?)`", text.rsplit("|", 1)[1]))
        assert named <= counters
        assert not number < 15 or f"dropped[{number}]" in named


@pytest.mark.parametrize(
    "arguments", ["rum scenarios/hello", "run --node model", "hw tests", "bench engine --update", "lab --one guest"]
)
def test_what_is_not_there_is_found(arguments: str) -> None:
    with pytest.raises(UsageError):
        checked(words(arguments))
