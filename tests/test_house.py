"""The repository keeps its own rules (`tests/house.py` says which)."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests import house
from tests.house import LAB, PACKAGE, ROOMS, ROOT, Rule, Source

RULES: Final[tuple[Rule, ...]] = (
    house.imports_from_above,
    house.keeps_the_pipelines_order,
    house.imports_no_lab,
    house.is_pure,
    house.is_safe,
    house.fits_in_a_head,
    house.has_no_module_state,
    house.has_slots,
    house.has_docstring,
)

LAB_RULES: Final[tuple[Rule, ...]] = (
    house.is_safe,
    house.fits_in_a_head,
    house.has_no_module_state,
    house.has_slots,
    house.has_docstring,
)

FRONT_DOORS: Final = frozenset({"sapwood", "sapwood.__main__"})
"""Outside all rooms: they name what is inside."""

TEXTS: Final = (
    "*.md",
    "*.toml",
    "Makefile",
    ".ci/*",
    "docs/**/*.md",
    "scripts/*",
    "requirements/*",
)


class Facts(NamedTuple):
    """The facts of a module that the tests need; its tree is forgotten."""

    module: str
    folder: Path
    names: frozenset[str]
    has_behavior: bool
    #: the name of a rule -> what breaks it
    breaches: Mapping[str, Sequence[str]]


def facts(folder: Path, rules: Sequence[Rule]) -> Iterator[Facts]:
    for source in house.sources(folder):
        breaches = {rule.__name__: list(rule(source)) for rule in rules}
        behaves = has_behavior(source)
        yield Facts(source.module, source.folder, house.names(source), behaves, breaches)


@cache
def package() -> tuple[Facts, ...]:
    return tuple(facts(PACKAGE, (*RULES, house.explains_bounds)))


@cache
def lab() -> tuple[Facts, ...]:
    return tuple(facts(LAB, LAB_RULES))


@pytest.mark.parametrize("rule", LAB_RULES, ids=lambda rule: rule.__name__)
def test_the_lab_keeps(rule: Rule) -> None:
    assert_none(breach for module in lab() for breach in module.breaches[rule.__name__])


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_package_keeps(rule: Rule) -> None:
    rooms = [module for module in package() if module.module not in FRONT_DOORS]
    assert_none(breach for module in rooms for breach in module.breaches[rule.__name__])


def test_the_tests_fit_in_a_head_too() -> None:
    suite = chain.from_iterable(house.sources(ROOT / name) for name in ("tests", "tests_lab"))
    assert_none(breach for source in suite for breach in house.fits_in_a_head(source))


def assert_none(breaches: Iterable[str]) -> None:
    """Fail with all breaches, one a line."""
    found = list(breaches)
    assert not found, "\n" + "\n".join(found)


PLANTED: Final = (
    (house.imports_from_above, "matching", "from sapwood.routing.router import Router"),
    (house.imports_from_above, "client", "def f():\n    import sapwood.broker.broker"),
    (house.imports_from_above, "attic", "x = 1"),
    (house.keeps_the_pipelines_order, "pipeline", "x = 1"),
    (house.keeps_the_pipelines_order, "pipeline.spark", "from sapwood.pipeline.tables import lake"),
    (house.keeps_the_pipelines_order, "pipeline.stream", "import sapwood.pipeline.report.job"),
    (house.keeps_the_pipelines_order, "pipeline.stream", "from sapwood.pipeline import match"),
    (house.imports_no_lab, "cli", "from sapwood_lab.workload import records"),
    (house.imports_no_lab, "cli", "MODULE = 'sapwood_lab.cli.bench'"),
    (house.is_pure, "routing", "import time"),
    (house.is_pure, "routing", "from os.path import exists"),
    (house.is_pure, "model", "from random import random"),
    (house.is_pure, "matching", "from importlib.metadata import entry_points"),
    (house.is_pure, "model", "def f():\n    open('x')"),
    (house.is_safe, "cli", "import pickle"),
    (house.is_safe, "cli", "eval('1')"),
    (house.is_safe, "matching", "load(path, allow_pickle=True)"),
    (house.fits_in_a_head, "model", "\n" * 601),
    (house.fits_in_a_head, "model", "def f():\n" + "    x = 1\n" * 70),
    (house.has_no_module_state, "model", "CACHE = {}"),
    (house.has_no_module_state, "model", "CACHE: Final[list[int]] = list()"),
    (house.has_no_module_state, "model", "CACHE = collections.defaultdict(int)"),
    (house.has_no_module_state, "model", "def f():\n    global x"),
    (house.has_slots, "model", "@dataclass\nclass A:\n    x: int"),
    (house.has_slots, "model", "@dataclasses.dataclass(frozen=True)\nclass A:\n    x: int"),
    (house.has_slots, "model", "@dataclass(slots=False)\nclass A:\n    x: int"),
    (house.has_docstring, "model", "x = 1"),
    (house.explains_bounds, "limits", "A: Final = 1\n'''Why.'''\nB: Final = 2"),
)


@pytest.mark.parametrize(("rule", "room", "text"), PLANTED)
def test_a_planted_breach_is_found(rule: Rule, room: str, text: str) -> None:
    assert len(list(rule(Source.of(f"sapwood.{room}.planted", text)))) == 1


HARMLESS: Final = (
    (house.imports_from_above, "routing", "from sapwood.matching.index import Index"),
    (house.keeps_the_pipelines_order, "pipeline.stream", "from sapwood.pipeline.spark import java"),
    (house.keeps_the_pipelines_order, "pipeline.tables", "import sapwood.pipeline.tables.lake"),
    (house.is_pure, "simulation", "from random import Random"),
    (house.is_pure, "server", "import asyncio"),
    (house.is_pure, "matching", "from pathlib import Path"),
    (house.is_pure, "matching", "from importlib import import_module"),
    (house.is_pure, "catalogue", "from importlib.metadata import entry_points"),
    (house.is_safe, "matching", "load(path, allow_pickle=False)"),
    (house.has_no_module_state, "model", "__all__ = ['a']\nA = MappingProxyType({})\nB = (1, 2)"),
    (house.has_no_module_state, "model", "def f():\n    local = []"),
    (house.has_slots, "model", "@dataclass(frozen=True, slots=True)\nclass A:\n    x: int"),
    (house.explains_bounds, "limits", "A: Final = 1\nB: Final = 2\n'''Why both.'''"),
)


@pytest.mark.parametrize(("rule", "room", "text"), HARMLESS)
def test_what_is_allowed_is_not_taken_for_a_breach(rule: Rule, room: str, text: str) -> None:
    assert list(rule(Source.of(f"sapwood.{room}.planted", text))) == []


def test_the_table_of_rooms_names_the_rooms_there_are() -> None:
    there = {path.stem for path in PACKAGE.iterdir() if not path.name.startswith(("_", "py."))}
    assert {room for floor in ROOMS for room in floor} == there


def test_the_order_of_the_pipelines_folders_names_the_folders_there_are() -> None:
    folders = {path.parent.name for path in PACKAGE.glob("pipeline/*/__init__.py")}
    assert set(house.PIPELINE) == folders


def test_every_bound_has_a_docstring() -> None:
    limits = [module for module in package() if module.module.startswith("sapwood.limits")]
    assert limits
    assert_none(breach for module in limits for breach in module.breaches["explains_bounds"])


def test_every_module_is_used_by_another() -> None:
    modules = {module.module: module.names for module in package()}
    scripts = map(house.names, house.sources(ROOT / "scripts"))
    assert_none(house.unreferenced(modules, [*(module.names for module in lab()), *scripts]))


def test_a_module_that_nobody_uses_is_found() -> None:
    used = Source.of("sapwood.a", "x = 1")
    user = Source.of("sapwood.b", "from sapwood.a import x")
    lazy = Source.of("sapwood.c", "TABLE = ('sapwood.b', 'sapwood.c')")
    modules = {source.module: house.names(source) for source in (used, user, lazy)}
    assert list(house.unreferenced(modules, [])) == ["sapwood.c"]
    script = Source.of("scripts.d", "import sapwood.c")
    assert list(house.unreferenced(modules, [house.names(script)])) == []


@pytest.mark.parametrize(("modules", "suite"), [(package, "tests"), (lab, "tests_lab")])
def test_every_folder_has_tests(modules: Callable[[], tuple[Facts, ...]], suite: str) -> None:
    folders = {module.folder for module in modules() if module.has_behavior}
    tested = {
        path.relative_to(ROOT / suite).parent / path.stem.removeprefix("test_")
        for path in (ROOT / suite).rglob("test_*.py")
    }
    # A folder has a folder of tests, or files of them beside its parent's.
    covered = {part for path in tested for part in (path, *path.parents)}
    assert_none(str(folder) for folder in sorted(folders) if folder not in covered)


def has_behavior(source: Source) -> bool:
    """True if any function of a module does something; values and protocols only are."""
    return any(
        not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Constant)
        for function in source.functions()
        for statement in function.body
    )


def test_no_stray_words() -> None:
    here = Path(__file__).parent
    files = {path for pattern in TEXTS for path in ROOT.glob(pattern) if path.is_file()}
    folders = (PACKAGE, LAB, here, ROOT / "tests_lab")
    files |= {path for folder in folders for path in folder.rglob("*.py")}
    files -= {here / "house.py", here / "test_house.py", ROOT / "requirements" / "lock.txt"}
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in files}
    names = sorted(texts)
    assert_none(word for name in names for word in house.stray_words(name, texts[name]))


@pytest.mark.parametrize("line", ["# TODO later", "the neighbours", "serialise it", "see pypi.org"])
def test_a_stray_word_is_found(line: str) -> None:
    assert len(list(house.stray_words("x", f"fine\n{line}\n"))) == 1


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from sapwood.cli.main import main\n"
        "main(['--help'], standalone_mode=False)\n"
        "sys.stderr.write(' '.join(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    loaded = set(done.stderr.split())
    assert "click" in loaded
    heavy = {"numpy", "numba", "pyspark", "rich", "msgspec", "asyncio", "sapwood.model.filter"}
    assert loaded & heavy == set()
