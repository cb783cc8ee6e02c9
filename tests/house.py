"""The repository's rules, each a function from source text to the places that break it.

`tests/test_house.py` applies them to the whole repository, and plants a breach of each to see that
it is found.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

ROOT: Final = Path(__file__).resolve().parent.parent
PACKAGE: Final = ROOT / "src" / "sapwood"
LAB: Final = ROOT / "src" / "sapwood_lab"
"""The lab may import all of the package; nothing in the package imports it."""

ROOMS: Final = (
    ("errors",),
    ("limits",),
    ("cache_folder",),
    ("catalogue",),
    ("timing",),
    ("charts",),
    ("xml",),
    ("model",),
    ("language",),
    ("matching",),
    ("sketches",),
    ("covering",),
    ("similarity",),
    ("overlay",),
    ("routing",),
    ("simulation",),
    ("wire",),
    ("session",),
    ("files",),
    ("store",),
    ("deadline_timer", "local_clock", "tls"),
    ("asking",),
    ("broker", "client"),
    ("kafka",),
    ("pipeline",),
    ("testing",),
    ("cli",),
)
"""The house from top to bottom: a room imports only from itself and from rooms above it. Rooms on
one floor do not know each other."""

PIPELINE: Final = (
    "spark",
    "journals",
    "tables",
    "results",
    "ingest",
    "matching",
    "similarity",
    "compile",
    "stream",
    "report",
    "synopsis",
)
"""The folders of the pipeline, from its floor up: a folder imports only from itself and from those
before it."""

PIPELINE_FILES: Final = ("", "job")
"""Modules beside the folders: the public names (`__init__`) and the program for spark-submit."""

PURE_ROOMS: Final = frozenset(room for floor in ROOMS[: ROOMS.index(("files",))] for room in floor)
"""Rooms whose results depend on their arguments alone: no clock, no entropy, no file, no socket."""

IMPURE_MODULES: Final = frozenset(
    {
        *("asyncio", "concurrent", "fcntl", "glob", "importlib.metadata", "io", "multiprocessing"),
        *("os", "pathlib"),
        *("random", "secrets", "selectors", "shutil", "signal", "socket", "ssl", "subprocess"),
        *("sys", "tempfile", "threading", "time", "uuid"),
    }
)
PURE_NAMES: Final = frozenset({"random.Random"})
"""The names of impure modules that a pure room may use: a generator that was seeded outside."""

EXCEPTIONS: Final = (
    # Which entries other distributions contribute: asked for late, once, and in one order.
    ("sapwood.catalogue", frozenset({"importlib.metadata.entry_points"})),
    # An index saves and loads itself: engines take the folder, `storage` touches the files.
    ("sapwood.matching", frozenset({"pathlib.Path"})),
    ("sapwood.matching.storage", frozenset({"os.PathLike", "pathlib.Path", "shutil"})),
    # Any number of threads may match at once, and one of them folds the tail.
    ("sapwood.matching.auto", frozenset({"threading.Lock"})),
    ("sapwood.matching.columnar.merge_tree", frozenset({"threading.Lock"})),
    ("sapwood.matching.ordering", frozenset({"threading.Lock"})),
    ("sapwood.matching.index", frozenset({"concurrent.futures.ThreadPoolExecutor"})),
    ("sapwood.matching.sizes", frozenset({"sys.getsizeof"})),
    ("sapwood.matching.automaton.engine", frozenset({"threading.Lock"})),
    # Compiled code is kept in files, and made by one process at a time: no result depends on it.
    ("sapwood.matching.compiling", frozenset({"pathlib.Path", "sys"})),
    ("sapwood.matching.compiling.libraries", frozenset({"threading.RLock", "time"})),
    ("sapwood.matching.compiling.places", frozenset({"fcntl", "os", "tempfile"})),
    ("sapwood.cache_folder", frozenset({"os", "pathlib.Path", "sys"})),
    ("sapwood.matching.published.xtrie.engine", frozenset({"threading.Lock"})),
    # Brokers of one process that read the same routing tree do so together.
    ("sapwood.routing.forwarding.prefix.reading", frozenset({"threading.Lock"})),
)
"""Module (and all below it), what it may import all the same. With the reason."""

UNSAFE_MODULES: Final = frozenset({"cloudpickle", "dill", "marshal", "pickle", "shelve"})
IMPURE_CALLS: Final = frozenset({"open", "print", "input"})
UNSAFE_CALLS: Final = frozenset({"eval", "exec"})

MODULE_LINES_MAX: Final = 600
FUNCTION_LINES_MAX: Final = 70

_MUTABLE: Final = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
_MUTABLE_CALLS: Final = frozenset(
    {"list", "dict", "set", "bytearray", "defaultdict", "deque", "Counter", "OrderedDict"}
)

_STRAY: Final = re.compile(
    r"\b(?:TODO|FIXME|XXX|HACK)\b"
    r"|\b(?:neighbour|behaviour|colour|favour|honour|serialis|normalis|initialis|optimis|canonicalis"
    r"|synchronis|organis|recognis|minimis|maximis|summaris|centre|cancelled by|licence)\w*"
    r"|\b(?:pypi\.org|pythonhosted\.org)\b"
    r"|\b(?:LLM|GPT|Claude|Copilot)\b"
)


Node = TypeVar("Node", bound=ast.AST)


@dataclass(frozen=True, slots=True)
class Source:
    """One Python file: its name in dotted form, its text, its syntax tree, all nodes by their kind.

    A rule looks at a few kinds of nodes, which are a tenth of all.
    """

    module: str
    text: str
    tree: ast.Module
    kinds: Mapping[type, Sequence[Any]]
    is_package: bool = False

    @classmethod
    def of(cls, module: str, text: str, *, is_package: bool = False) -> Source:
        """Parse a text as the module of that name."""
        tree = ast.parse(text)
        return cls(module, text, tree, by_kind(tree), is_package)

    def nodes(self, kind: type[Node]) -> Sequence[Node]:
        """The nodes of a kind."""
        return self.kinds.get(kind, ())

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        """All functions, wherever they stand."""
        yield from self.nodes(ast.FunctionDef)
        yield from self.nodes(ast.AsyncFunctionDef)

    @property
    def room(self) -> str:
        """The room of a module of the package; `""` for the package's own front door."""
        parts = self.module.split(".")
        return parts[1] if len(parts) > 1 else ""

    @property
    def folder(self) -> Path:
        """The folder that the module's file lies in, below that of the package."""
        parts = self.module.split(".")[1:]
        return Path(*(parts if self.is_package else parts[:-1]))


def by_kind(tree: ast.Module) -> dict[type, list[ast.AST]]:
    """All nodes of a tree, in half the time of `ast.walk`: most have nothing below them."""
    kinds: dict[type, list[ast.AST]] = {}
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        kinds.setdefault(type(node), []).append(node)
        if isinstance(node, ast.Name | ast.Constant):
            continue
        for field in node._fields:
            below = getattr(node, field, None)
            if isinstance(below, list):
                waiting += (one for one in below if isinstance(one, ast.AST))
            elif isinstance(below, ast.AST):
                waiting.append(below)
    return kinds


Rule = Callable[[Source], Iterator[str]]


def sources(folder: Path) -> Iterator[Source]:
    """All Python files under a folder.

    To be looked at one by one, and forgotten: to keep the trees of all takes a gigabyte, and every
    look for garbage goes through them.
    """
    for path in sorted(folder.rglob("*.py")):
        name, text = module_name(path, folder), path.read_text(encoding="utf-8")
        yield Source.of(name, text, is_package=path.stem == "__init__")


def module_name(path: Path, folder: Path) -> str:
    """The dotted name of the module in the file `path`; `folder` is its package."""
    parts = path.relative_to(folder.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(source: Source) -> Iterator[tuple[int, str]]:
    """The line and the full name of everything imported, wherever the statement stands."""
    for plain in source.nodes(ast.Import):
        yield from ((plain.lineno, alias.name) for alias in plain.names)
    for node in source.nodes(ast.ImportFrom):
        yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def imports_from_above(source: Source) -> Iterator[str]:
    """A room imports only from itself and from rooms above it."""
    floors = {room: floor for floor, rooms in enumerate(ROOMS) for room in rooms}
    own = floors.get(source.room)
    if own is None:
        yield f"{source.module}: no room of the house"
        return
    for line, name in imports(source):
        room = name.split(".")[1] if name.startswith("sapwood.") else ""
        if room in floors and room != source.room and floors[room] >= own:
            yield f"{source.module}:{line}: imports {name}, which is not above it"


def keeps_the_pipelines_order(source: Source) -> Iterator[str]:
    """A module of the pipeline is in a folder, which imports only from itself and those before it.

    What is beside the folders (`PIPELINE_FILES`) may import all of them, and they nothing of it.
    """
    if source.room != "pipeline":
        return
    folder = _pipeline_part(source.module)
    if folder not in PIPELINE:
        if folder not in PIPELINE_FILES:
            yield f"{source.module}: is in no folder of the pipeline"
        return
    below = PIPELINE[: PIPELINE.index(folder) + 1]
    for line, name in imports(source):
        if name.startswith("sapwood.pipeline") and _pipeline_part(name) not in below:
            yield f"{source.module}:{line}: imports {name}, which does not come before {folder}"


def _pipeline_part(name: str) -> str:
    """The part of a dotted name that is a folder or a file of the pipeline; `""` for itself."""
    return (*name.split("."), "", "")[2]


def imports_no_lab(source: Source) -> Iterator[str]:
    """The product knows nothing of the lab, not even by name."""
    for line, name in imports(source):
        if name.startswith("sapwood_lab"):
            yield f"{source.module}:{line}: imports {name}"
    for node in source.nodes(ast.Constant):
        if str(node.value).startswith("sapwood_lab"):
            yield f"{source.module}:{node.lineno}: names {node.value!r}"


def is_pure(source: Source) -> Iterator[str]:
    """A pure room imports no clock, entropy, socket or file, and calls none."""
    if source.room not in PURE_ROOMS:
        return
    allowed = PURE_NAMES.union(
        *(names for module, names in EXCEPTIONS if f"{source.module}.".startswith(f"{module}."))
    )
    for line, name in imports(source):
        if _is_impure(name) and name not in allowed:
            yield f"{source.module}:{line}: imports {name}"
    for line, call in _calls(source):
        if call in IMPURE_CALLS:
            yield f"{source.module}:{line}: calls {call}"


def _is_impure(name: str) -> bool:
    return any(f"{name}.".startswith(f"{module}.") for module in IMPURE_MODULES)


def is_safe(source: Source) -> Iterator[str]:
    """Nothing reads or writes pickles, or runs text as code."""
    for line, name in imports(source):
        if name.split(".")[0] in UNSAFE_MODULES:
            yield f"{source.module}:{line}: imports {name}"
    for line, call in _calls(source):
        if call in UNSAFE_CALLS:
            yield f"{source.module}:{line}: calls {call}"
    for node in source.nodes(ast.keyword):
        if node.arg == "allow_pickle":
            allowed = not (isinstance(node.value, ast.Constant) and node.value.value is False)
            if allowed:
                yield f"{source.module}:{node.value.lineno}: allows pickle"


def fits_in_a_head(source: Source) -> Iterator[str]:
    """Modules and functions have a length that one can keep in mind."""
    length = source.text.count("\n")
    if length > MODULE_LINES_MAX:
        yield f"{source.module}: {length} lines"
    for node in source.functions():
        assert node.end_lineno is not None
        length = node.end_lineno - node.lineno + 1
        if length > FUNCTION_LINES_MAX:
            yield f"{source.module}:{node.lineno}: {node.name} has {length} lines"


def has_no_module_state(source: Source) -> Iterator[str]:
    """A module's values never change: no list, dictionary or set, no `global`."""
    for node in source.tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [target.id for target in targets if isinstance(target, ast.Name)]
            if names != ["__all__"] and node.value is not None and _is_mutable(node.value):
                yield f"{source.module}:{node.lineno}: {', '.join(names)} can change"
    for child in source.nodes(ast.Global):
        yield f"{source.module}:{child.lineno}: global {', '.join(child.names)}"


def has_slots(source: Source) -> Iterator[str]:
    """Every dataclass has slots."""
    for node in source.nodes(ast.ClassDef):
        for decorator in node.decorator_list:
            call = decorator.func if isinstance(decorator, ast.Call) else decorator
            if _name(call) == "dataclass" and not _has_true(decorator, "slots"):
                yield f"{source.module}:{node.lineno}: {node.name} has no slots"


def has_docstring(source: Source) -> Iterator[str]:
    """Every module says what it is."""
    if not ast.get_docstring(source.tree):
        yield f"{source.module}: no docstring"


def explains_bounds(source: Source) -> Iterator[str]:
    """Every bound, or group of bounds, is followed by its docstring (for `sapwood.limits`)."""
    waiting: list[str] = []
    for node in source.tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            waiting.append(node.target.id)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            waiting = []
    yield from (f"{source.module}: {name} has no docstring" for name in waiting)


def stray_words(name: str, text: str) -> Iterator[str]:
    """Notes to oneself, British spellings, and words that do not belong in the project."""
    for number, line in enumerate(text.splitlines(), start=1):
        found = _STRAY.search(line)
        if found:
            yield f"{name}:{number}: {found.group()}"


def names(source: Source) -> frozenset[str]:
    """All that a module imports, and all texts in it, as modules that are loaded late are named."""
    constants = (node.value for node in source.nodes(ast.Constant))
    texts = {value for value in constants if isinstance(value, str)}
    found = texts | {name for _, name in imports(source)}
    return frozenset(found | {name.rpartition(".")[0] for name in found})


def unreferenced(
    modules: Mapping[str, frozenset[str]], scripts: Iterable[frozenset[str]]
) -> Iterator[str]:
    """Modules that nobody else names; `modules` have the names in each, `scripts` in others."""
    used = set().union(*scripts)
    for module, named in modules.items():
        used |= named - {module}
    packages = {module.rpartition(".")[0] for module in modules}
    # The plain twin of a compiled kernel is there for the tests to compare the two.
    twins = {module for module in modules if module.endswith(".kernels.plain")}
    # The JSON form of scenarios is a public format: who drives other routers with it reads it.
    public = {"sapwood.__main__", "sapwood.simulation.scenario_document"}
    yield from sorted(modules.keys() - used - packages - twins - public)


def _calls(source: Source) -> Iterator[tuple[int, str]]:
    """The line and the name of every call of a plain name."""
    for node in source.nodes(ast.Call):
        if isinstance(node.func, ast.Name):
            yield node.lineno, node.func.id


def _is_mutable(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return _name(value.func) in _MUTABLE_CALLS
    return isinstance(value, _MUTABLE)


def _name(node: ast.expr) -> str:
    """The last part of a dotted name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _has_true(decorator: ast.expr, keyword: str) -> bool:
    """True if a decorator is called with this keyword as `True`."""
    return isinstance(decorator, ast.Call) and any(
        given.arg == keyword and isinstance(given.value, ast.Constant) and given.value.value is True
        for given in decorator.keywords
    )
