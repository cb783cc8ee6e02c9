"""Experiments as Spark jobs: one configuration a task, and what is done is not done again.

An experiment is a function that executors can import, named `module:function`. It takes one
configuration (a mapping of names to plain values) and returns its figures: the same, or several of
them where a configuration has several rows. Neither functions nor objects travel, only this name
and JSON.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from sapwood.errors import InputError, InvalidValueError
from sapwood_lab.sweep.origin import code_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

Figures: TypeAlias = Mapping[str, Any]
Experiment: TypeAlias = Callable[[Figures], Figures | Sequence[Figures]]

CONFIGURATIONS: Final = "run STRING, configuration STRING"
RUNS: Final = (
    "run STRING, experiment STRING, configuration STRING, figures STRING, error STRING, code STRING"
)
"""The results of configurations: figures, or the error that the experiment ended with (JSON), and
by which code (`origin.py`)."""


def experiment_named(name: str) -> Experiment:
    """The function that `module:function` names.

    Raises `InputError` for a name of another form, or of nothing that can be called.
    """
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        raise InputError(f"an experiment is named module:function, not {name!r}")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"the experiment {name!r} cannot be imported: {error}; its module must be installed "
            "where the executors run"
        ) from None
    if not callable(found):
        raise InputError(f"{name!r} is no function")
    experiment: Experiment = found
    return experiment


def run_id(experiment: str, configuration: Figures, code: str) -> str:
    """The id of a run: equal for equal experiments and configurations, by the same code."""
    import msgspec

    told = msgspec.json.encode([experiment, dict(configuration), code], order="deterministic")
    return hashlib.blake2b(told, digest_size=16).hexdigest()


def configurations_table(
    spark: SparkSession, experiment: str, configurations: Iterable[Figures]
) -> DataFrame:
    """The configurations as a table (`CONFIGURATIONS`), each once."""
    import msgspec

    texts, code = dict[str, str](), code_of(experiment)
    for configuration in configurations:
        if not isinstance(configuration, Mapping):
            raise InputError(f"a configuration is an object of named values, not {configuration!r}")
        text = msgspec.json.encode(dict(configuration), order="deterministic").decode()
        texts[run_id(experiment, configuration, code)] = text
    return spark.createDataFrame(list(texts.items()), CONFIGURATIONS)


def runs(configurations: DataFrame, experiment: str, *, tasks: int) -> DataFrame:
    """Run the configurations (`CONFIGURATIONS`), each in a task of its own: `RUNS`.

    An experiment that raises gives a row with the error, and the others go on.
    """
    # Rows of one partition are dealt out in turn; a hash would give one task two, another none.
    each = configurations.coalesce(1).repartition(tasks)
    return each.mapInArrow(RunExperiments(experiment, code_of(experiment)), RUNS)


@dataclass(frozen=True, slots=True)
class RunExperiments:
    """The function for `mapInArrow`: `CONFIGURATIONS` in, `RUNS` out, a row as soon as it is."""

    experiment: str
    code: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run all configurations of one task."""
        import pyarrow as pa

        experiment = experiment_named(self.experiment)
        names = [column.split()[0] for column in RUNS.split(", ")]
        for batch in batches:
            for run, text in zip(*(c.to_pylist() for c in batch.columns), strict=True):
                figures, error = outcome(experiment, text)
                row = (run, self.experiment, text, figures, error, self.code)
                columns = [pa.array([value], pa.string()) for value in row]
                yield pa.RecordBatch.from_arrays(columns, names=names)


def outcome(experiment: Experiment, configuration: str) -> tuple[str | None, str | None]:
    """The figures of one run as JSON, or else the error that it ended with."""
    import msgspec

    try:
        figures = experiment(msgspec.json.decode(configuration))
        found = dict(figures) if isinstance(figures, Mapping) else [dict(row) for row in figures]
        return msgspec.json.encode(found, order="deterministic").decode(), None
    except Exception as error:  # noqa: BLE001 - any failure is a result of the sweep
        return None, f"{type(error).__name__}: {error}"


def figures_rows(figures: str) -> list[Figures]:
    """The rows that the figures of one run (JSON) make up: one, or as many as there are."""
    import msgspec

    decoded = msgspec.json.decode(figures)
    return decoded if isinstance(decoded, list) else [decoded]


def result_rows(found: Sequence[tuple[str, str]]) -> tuple[str, list[tuple[Any, ...]]]:
    """A table of what configurations (JSON) and their figures (JSON) hold: DDL and rows.

    One column a name, sorted, those of configurations first. A column is BOOLEAN, BIGINT or DOUBLE
    where all its values are, and STRING otherwise: texts as they are, anything else as JSON. Raises
    `InvalidValueError` for a name that is both in a configuration and among its figures.
    """
    import msgspec

    decoded = [
        (msgspec.json.decode(configuration), row)
        for configuration, figures in found
        for row in figures_rows(figures)
    ]
    given = sorted({name for configuration, _ in decoded for name in configuration})
    told = sorted({name for _, figures in decoded for name in figures})
    both = set(given) & set(told)
    if both:
        name = min(both)
        raise InvalidValueError(name, "stands in configurations and in figures; rename one of them")
    values = [{**configuration, **figures} for configuration, figures in decoded]
    names = [*given, *told]
    types = {name: _type_of([row[name] for row in values if name in row]) for name in names}
    ddl = ", ".join(f"`{name.replace('`', '``')}` {types[name]}" for name in names)
    return ddl, [tuple(_fitted(types[n], row.get(n)) for n in names) for row in values]


def _type_of(values: Sequence[Any]) -> str:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return "BOOLEAN"
    if kinds == {int} and all(-(1 << 63) <= value < 1 << 63 for value in values if value):
        return "BIGINT"
    return "DOUBLE" if kinds and kinds <= {int, float} else "STRING"


def _fitted(kind: str, value: Any) -> Any:
    import msgspec

    if value is None or kind in ("BOOLEAN", "BIGINT"):
        return value
    if kind == "DOUBLE":
        return float(value)
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
