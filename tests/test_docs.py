"""Documentation that runs is run; commands and options that it names exist."""

from __future__ import annotations

import ast
import re
import shlex
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import click
import pytest

import sapwood
from sapwood import limits
from sapwood.cli.main import main
from sapwood.wire.greetings import VERSION

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    page.relative_to(ROOT).as_posix() for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"))
)
NEEDS_MORE = ("sapwood.pipeline", "spark.", "asyncio.run", "async with")
"""Examples that need a broker or a Spark session are only compiled here."""


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


PYTHON = [(page, i, code) for page in PAGES for i, code in enumerate(blocks(page, "python"))]
CONSOLE = [
    (page, line.removeprefix("$ "))
    for page in PAGES
    for block in blocks(page, "console")
    for line in block.replace("\\\n", " ").splitlines()
    if line.startswith("$ ")
]


@pytest.mark.parametrize(("page", "number", "code"), PYTHON)
def test_documented_python_runs(page: str, number: int, code: str) -> None:
    compiled = compile(code, f"{page}[{number}]", "exec")
    if not any(word in code for word in NEEDS_MORE):
        exec(compiled, {"__name__": "documentation"})


@pytest.mark.parametrize(("page", "number", "code"), PYTHON)
def test_documented_python_imports_what_it_names(page: str, number: int, code: str) -> None:
    """A module that another line happens to import would be missing for whoever copies one."""
    tree = ast.parse(code, f"{page}[{number}]")
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name = f"{node.value.id}.{node.attr}"
            if node.value.id == "sapwood" and name not in imported:
                assert node.attr in {*sapwood.__all__, "__version__"}, f"{page}: import {name}"


def test_documentation_has_examples() -> None:
    assert len(PYTHON) >= 3
    assert len(CONSOLE) >= 8


def sapwood_calls(line: str) -> list[list[str]]:
    words = shlex.split(line, comments=True)
    calls: list[list[str]] = []
    for word in words:
        if word == "|":
            continue
        if word in ("sapwood", ".venv/bin/sapwood"):
            calls.append([])
        elif calls:
            calls[-1].append(word)
    return calls


@pytest.mark.parametrize(("page", "line"), CONSOLE)
def test_documented_commands_exist_with_their_options(page: str, line: str) -> None:
    for words in sapwood_calls(line):
        command: click.Command = main
        context = click.Context(main)
        position = 0
        while isinstance(command, click.Group) and position < len(words):
            if words[position].startswith("-"):
                break
            found = command.get_command(context, words[position])
            assert found is not None, f"{page}: no command {words[position]!r}"
            command, position = found, position + 1
        known = {opt for p in command.get_params(context) for opt in (*p.opts, *p.secondary_opts)}
        for word in words[position:]:
            if word.startswith("--"):
                assert word.split("=")[0] in known, f"{page}: {line}: unknown {word}"


@pytest.mark.parametrize("target", ["demo", "test", "help", "bench"])
def test_documented_make_targets_exist(target: str) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def _bounds() -> set[str]:
    """The names of all limits."""
    themes = [import_module(f"sapwood.limits.{one.name}") for one in iter_modules(limits.__path__)]
    return {name for module in (limits, *themes) for name in vars(module) if name.isupper()}


@pytest.mark.parametrize("page", PAGES)
def test_documented_limits_and_links_exist(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    for name in re.findall(r"`(?:limits\.)?([A-Z]+(?:_[A-Z]+)*_MAX)`", text):
        assert name in _bounds(), f"{page} names the limit {name}"
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", text):
        if "://" in target or not (target or anchor):
            continue
        place = (ROOT / page).parent / target if target else ROOT / page
        assert place.exists(), f"{page} links to {target}"
        if anchor and place.suffix == ".md":
            assert anchor in _anchors(place), f"{page} links to {target}#{anchor}"


def _anchors(page: Path) -> set[str]:
    """The targets of links in a page: its headings, as pages of a forge spell them, and anchors."""
    text = page.read_text("utf-8")
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    anchors = set(re.findall(r'<a id="([^"]+)"', prose))
    for heading in re.findall(r"^#+ +(.+?) *$", prose, re.MULTILINE):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchors.add(re.sub(r"[^\w\- ]", "", words).replace(" ", "-"))
    return anchors


def test_the_documented_version_of_the_wire_is_the_one_that_is_spoken() -> None:
    text = (ROOT / "docs" / "network.md").read_text("utf-8")
    assert f"The version in the greeting is {VERSION}." in text


def test_files_that_contributors_are_sent_to_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    named = set(re.findall(r"`((?:[\w.]+/)+[\w.]+(?:\.py|\.md|/))`", text))
    assert len(named) > 60
    homes = (ROOT, ROOT / "src", ROOT / "src/sapwood", ROOT / "src/sapwood_lab")
    assert not [path for path in named if not any((home / path).exists() for home in homes)]
