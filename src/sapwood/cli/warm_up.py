"""`sapwood warm-up`: kernels compiled ahead of time."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

import click

from sapwood.cli.output import ExitStatus, amount, json_option, print_json, say
from sapwood.errors import EnvironmentMissingError

if TYPE_CHECKING:
    from sapwood.matching.readiness import KernelSet

NAMES: Final = ("records", "documents", "covering", "frames", "pipeline")
"""The sets of kernels, in the order in which they are compiled."""

CACHE_VARIABLE: Final = "NUMBA_CACHE_DIR"


@dataclass(frozen=True, slots=True)
class Warmed:
    """A set of kernels that is in the cache now: how many, how many of them were not before."""

    name: str
    kernels: int
    compiled: int
    seconds: float
    folders: tuple[str, ...]

    def text(self) -> str:
        """The same for a person."""
        done = f"compiled in {self.seconds:.1f} s" if self.compiled else "in the cache already"
        return f"{self.name}: {amount(self.kernels, 'kernel')} {done}"


@click.command
@click.argument("names", nargs=-1, type=click.Choice(NAMES), metavar="[KERNELS]...")
@json_option
@click.pass_context
def command(ctx: click.Context, *, names: tuple[str, ...], as_json: bool) -> None:
    """Compile the kernels ahead of time, so that no command waits for them.

    KERNELS are records, documents (matching), covering, frames (brokers) and pipeline (Spark); all
    of them if none is named. They are kept in the folder that NUMBA_CACHE_DIR names, else beside
    the package, else in the user's cache folder, for this version of Python and this kind of
    processor: run it as the user, and with the environment, that brokers will have.
    """
    warmed: list[Warmed] = []
    for one in warm(kernel_sets(names or NAMES)):
        warmed.append(one)
        if not as_json:
            click.echo(one.text())
    if as_json:
        print_json([asdict(one) for one in warmed])
    else:
        folders = [folder for one in warmed for folder in one.folders]
        click.echo(f"kept in {os.path.commonpath(folders)}")
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
            case _:
                from sapwood.covering.batch.covers import PIPELINE

                yield PIPELINE


def warm(sets: Iterable[KernelSet]) -> Iterator[Warmed]:
    """Compile each set into the cache, unless it is there.

    Raises `EnvironmentMissingError` where there is no cache.
    """
    for kernels in sets:
        begun = time.monotonic()
        folders = _folders(kernels)
        if not kernels.is_cached():
            say(f"compiling the kernels for {kernels.name} ...")
        before = _compiled(kernels)
        kernels.load()
        compiled = _compiled(kernels) - before
        seconds = round(time.monotonic() - begun, 1)
        yield Warmed(kernels.name, len(kernels.entries), compiled, seconds, folders)


def _compiled(kernels: KernelSet) -> int:
    """How many kernels of a set were compiled, as they were not in the cache."""
    return sum(bool(kernel.stats.cache_misses) for kernel in kernels.kernels())


def _folders(kernels: KernelSet) -> tuple[str, ...]:
    """The folders of the cache for a set; raises `EnvironmentMissingError` where there is none."""
    found: list[str | None] = []
    for kernel in kernels.kernels():
        stats = getattr(kernel, "stats", None)
        if stats is None:
            raise EnvironmentMissingError(
                "numba compiles nothing in this environment; unset NUMBA_DISABLE_JIT"
            )
        found.append(stats.cache_path)
    given = os.environ.get(CACHE_VARIABLE)
    folders = {os.path.abspath(folder) for folder in found if folder is not None}
    if given and not all(_is_in(folder, given) for folder in folders or {"/"}):
        raise EnvironmentMissingError(
            f"{CACHE_VARIABLE}={given}: cannot be written; name a folder that this user may write"
        )
    if None in found:
        raise EnvironmentMissingError(
            "compiled kernels cannot be kept: neither the folder of the package nor the user's "
            f"cache folder can be written; set {CACHE_VARIABLE} to a folder that can"
        )
    return tuple(sorted(folders))


def _is_in(folder: str, above: str) -> bool:
    above = os.path.abspath(above)
    return os.path.commonpath((folder, above)) == above
