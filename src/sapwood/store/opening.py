"""Opening a store: the check of its owner, and of the fit between log and state file.

The state file follows the log, so commits that it lacks are applied again. Where the log lacks
publications or commits that the state rests on, the state is invalid: routing begins afresh, as at
a new broker. Rows stay, whose owners compare them with the log.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from sapwood.errors import EnvironmentMissingError, FileFormatError, SapwoodError
from sapwood.limits.store import STORE_CHANGES_MAX
from sapwood.store.checkpoints import CheckpointParts, remove_others, whole_checkpoint
from sapwood.store.layout import Damage
from sapwood.store.log import DAMAGED, Log
from sapwood.store.segments import followed, read_commits
from sapwood.store.state import FILE, Change, StateFile


def open_state(folder: Path, log: Log) -> tuple[StateFile, list[str]]:
    """The state file of a folder, a new one in place of a damaged one; and the findings."""
    path = folder / FILE
    findings: list[str] = []
    try:
        state = StateFile(path)
    except FileFormatError as error:
        aside = _set_aside(path)
        findings.append(f"{error}; it is set aside as {aside.name}")
        state = StateFile(path)
    if state.meta("applied") is None and log.number == 1:  # older than state files
        state.forget(0, log.place)
    return state, findings


def told_name(folder: Path) -> str | None:
    """The name of the broker whose state a folder holds, if it is known."""
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        state = StateFile(path)
    except SapwoodError:
        return None  # opening the store will report the reason
    try:
        name = state.meta("broker")
        return str(name) if name is not None and state.meta("persists") else None
    finally:
        state.close()


def check_owner(
    folder: Path, state: StateFile, name: str, protocol: str, *, persists: bool
) -> None:
    """Check that the state belongs to this broker. Raises `EnvironmentMissingError`."""
    owner, routed = state.meta("broker"), state.meta("protocol")
    if owner is None or not (persists and state.meta("persists")):
        return
    if owner != name:
        raise EnvironmentMissingError(
            f"{folder} holds the state of broker {owner}, and this one is {name}; start it with "
            f"--name {owner}, or with another folder"
        )
    if routed != protocol:
        raise EnvironmentMissingError(
            f"{folder} holds the state of a broker that routes by {routed}, and this one routes by "
            f"{protocol}; start it with --protocol {routed}, or with another folder"
        )


def caught_up(log: Log, state: StateFile, *, persists: bool) -> list[str]:
    """Apply the commits of the log that the state file lacks; return the findings."""
    lost = ""
    if state.applied >= log.number:
        lost = f"commits {log.number} to {state.applied} are gone from the journal {log.folder}"
        log.skip_to(state.place, state.applied + 1)
    elif state.applied + 1 < log.number:
        lost = _apply(log, state)
    released = int(state.meta("released") or 0)
    if not lost and persists and max(log.whole_from, log.first) > released:
        lost = f"publications from place {released} on are not all in the journal {log.folder}"
    if lost:
        state.forget(log.number - 1, log.place)
        return [f"{lost}: routing begins afresh, and hears from its neighbors and clients again"]
    if persists and state.meta("persists") == 0:
        state.forget(log.number - 1, log.place)
    return []


def opened_checkpoint(
    folder: Path, log: Log, state: StateFile
) -> tuple[CheckpointParts | None, list[str]]:
    """The checkpoint that the state begins with, and findings about the others."""
    try:
        found, findings = whole_checkpoint(folder, state)
    except FileFormatError as error:
        state.forget(log.number - 1, log.place)
        begun = "routing begins afresh, and hears from its neighbors and clients again"
        found, findings = None, [f"{error}: {begun}"]
    remove_others(folder, state)
    return found, findings


def _apply(log: Log, state: StateFile) -> str:
    """Apply the commits of the log from the first missing one; return what is lost, in words."""
    changes: list[Change] = []
    expected, place = state.applied + 1, state.place
    for segment, following in followed(log.segments):
        if segment.has_lines or (following is not None and following.commit <= expected):
            continue
        for found in read_commits(segment):
            if isinstance(found, Damage) or found.number < expected:
                continue
            if found.number > expected:
                return f"commits {expected} to {found.number - 1} are gone from {segment.path}"
            changes.append(Change.of(found))
            expected, place = expected + 1, found.place + found.count
            if len(changes) == STORE_CHANGES_MAX:
                state.apply(changes, expected - 1, place)
                changes.clear()
    state.apply(changes, expected - 1, place)
    if expected != log.number:
        return f"commits {expected} to {log.number - 1} are gone from the journal {log.folder}"
    return ""


def _set_aside(path: Path) -> Path:
    """Rename a file of SQLite, with its companions."""
    number = 1
    while (aside := path.with_name(f"{path.name}.{DAMAGED}-{number}")).exists():
        number += 1
    for end in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            path.with_name(path.name + end).rename(aside.with_name(aside.name + end))
    return aside
