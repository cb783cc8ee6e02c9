"""`sapwood warm-up`: kernels compiled ahead of time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

import click

from sapwood.cli.output import (
    ExitStatus,
    json_option,
    print_json,
    say,
)
from sapwood.errors import EnvironmentMissingError
from sapwood.model.amounts import amount
from sapwood.pipeline.spark.arrow_rows import uncollected

if TYPE_CHECKING:
    from sapwood.matching.readiness import KernelSet

NAMES: Final = (
    "records",
    "documents",
    "covering",
    "frames",
    "pipeline",
    "sketches",
    "keys",
    "similarity",
    "boxes",
)
"""The sets of kernels, in the order in which they are compiled."""


@dataclass(frozen=True, slots=True)
class Warmed:
    """A set of kernels that is kept now.

    `functions` and `seconds`, of processor time, are what was compiled: 0 if it was kept before.
    """

    name: str
    kernels: int
    functions: int
    seconds: float
    file: str

    def text(self) -> str:
        """The same for a person."""
        done = "kept already"
        if self.functions:
            made = amount(self.functions, "function")
            done = f"{made} compiled in {self.seconds:.1f} s of processor time"
        return f"{self.name}: {amount(self.kernels, 'kernel')}, {done}, in {self.file}"


@click.command
@click.argument("names", nargs=-1, type=click.Choice(NAMES), metavar="[KERNELS]...")
@json_option
@click.pass_context
def command(ctx: click.Context, *, names: tuple[str, ...], as_json: bool) -> None:
    """Compile the kernels ahead of time, so that no command waits for them.

    KERNELS are records, documents (matching), covering, frames (brokers), pipeline (Spark),
    sketches (self-stabilization, Bloom forwarding), keys (lookup reuse), similarity (near XPaths)
    and boxes (the engines counting-compiled and kdtree-compiled); all of them if none is named.
    They are kept in the folder that SAPWOOD_CACHE_DIR names, else beside the package, else in the
    user's cache folder, for this version of Python and this kind of processor: run it as the user,
    and with the environment, that brokers will have.
    """
    warmed: list[Warmed] = []
    for one in warm(kernel_sets(names or NAMES)):
        warmed.append(one)
        if not as_json:
            click.echo(one.text())
    if as_json:
        print_json([asdict(one) for one in warmed])
    ctx.exit(ExitStatus.DONE)


def kernel_sets(names: Iterable[str]) -> Iterator[KernelSet]:
    """The sets of these names, each imported when its turn comes."""
    for name in names:
        match name:
            case "records":
                from sapwood.matching.readiness import RECORDS

                yield RECORDS
            case "documents":
                from sapwood.matching.readiness import DOCUMENTS

                yield DOCUMENTS
            case "covering":
                from sapwood.covering.columnar.index import COVERING

                yield COVERING
            case "frames":
                from sapwood.wire.runs import FRAMES

                yield FRAMES
            case "sketches":
                from sapwood.sketches.kernels.choice import SKETCHES

                yield SKETCHES
            case "keys":
                from sapwood.routing.forwarding.reuse.kernels.choice import KEYS

                yield KEYS
            case "similarity":
                from sapwood.similarity.kernels.choice import SIMILARITY

                yield SIMILARITY
            case "boxes":
                from sapwood.matching.published.boxes.kernels.choice import BOXES

                yield BOXES
            case _:
                from sapwood.covering.batch.covers import PIPELINE

                yield PIPELINE


def warm(sets: Iterable[KernelSet]) -> Iterator[Warmed]:
    """Compile each set and keep it, unless it is kept.

    Raises `EnvironmentMissingError` where it can be kept nowhere.
    """
    for kernels in sets:
        library = kernels.library()
        if library is None:
            raise EnvironmentMissingError(
                "numba compiles nothing in this environment; unset NUMBA_DISABLE_JIT"
            )
        if not library.is_kept():
            _demand_place()
            say(f"compiling the kernels for {kernels.name} ...")
        with uncollected():  # a tenth of the time
            library.load(tell=None)
        yield Warmed(
            kernels.name,
            len(library.entries),
            library.functions,
            round(library.seconds, 1),
            str(library.file),
        )


def _demand_place() -> None:
    """Raise `EnvironmentMissingError` unless compiled code can be kept somewhere."""
    from sapwood.matching.compiling.places import VARIABLES, given_place, places, writable_place

    if writable_place() is not None:
        return
    given = given_place()
    if given is not None:
        raise EnvironmentMissingError(
            f"{given[0]}={given[1]}: cannot be written; name a folder that this user may write"
        )
    tried = " nor ".join(str(place) for place in places())
    raise EnvironmentMissingError(
        f"compiled kernels cannot be kept: neither {tried} can be written; "
        f"set {VARIABLES[0]} to a folder that can"
    )
