"""The file of a client's state: what a killed client has written is there again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.errors import EnvironmentMissingError, FileFormatError, InputError
from sapwood.session.client_state import Answered, Published
from sapwood.store.client_state import ClientStateFile
from tests.examples import examples


def opened(path: Path, name: str | None = None, **more: int) -> ClientStateFile:
    return ClientStateFile(path, name, new_name="fresh", session="s1", **more)


def publish(file: ClientStateFile, *publications: bytes) -> None:
    for publication in publications:
        file.state.window.add(publication)
        file.keep(Published(publication))


def test_a_new_file_takes_the_name_or_makes_one(tmp_path: Path) -> None:
    with opened(tmp_path / "a") as file:
        assert (file.state.name, file.state.session, file.state.runs) == ("fresh", "s1", 1)
    with opened(tmp_path / "b", "me") as file:
        assert file.state.name == "me"


def test_another_run_is_the_same_client(tmp_path: Path) -> None:
    path = tmp_path / "state"
    with opened(path, "me") as file:
        publish(file, b"one", b"two")
    with ClientStateFile(path, None, new_name="other", session="s2") as again:
        assert (again.state.name, again.state.session, again.state.runs) == ("me", "s1", 2)
        assert list(again.state.window.after(0)) == [(1, b"one"), (2, b"two")]


def test_the_file_of_another_client_is_refused(tmp_path: Path) -> None:
    opened(tmp_path / "state", "me").close()
    with pytest.raises(InputError, match="is the state of the client 'me', not of 'you'"):
        opened(tmp_path / "state", "you")


def test_two_clients_do_not_share_a_file(tmp_path: Path) -> None:
    with (
        opened(tmp_path / "state"),
        pytest.raises(EnvironmentMissingError, match="another client uses"),
    ):
        opened(tmp_path / "state")
    opened(tmp_path / "state").close()


def test_another_file_is_no_state(tmp_path: Path) -> None:
    (tmp_path / "state").write_bytes(b"[section]\nkey = 1\n")
    with pytest.raises(FileFormatError, match="is no state of a client"):
        opened(tmp_path / "state")


@settings(max_examples=examples(30))
@given(cut=st.integers(1, 60))
def test_a_write_that_was_broken_off_is_as_if_it_had_not_begun(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path = tmp_path_factory.mktemp("client") / "state"
    with opened(path) as file:
        publish(file, b"one")
        whole = path.stat().st_size
        publish(file, b"x" * 60)
    os.truncate(path, path.stat().st_size - cut)
    assert path.stat().st_size >= whole
    with opened(path) as again:
        assert list(again.state.window.after(0)) == [(1, b"one")]
        publish(again, b"two")
    with opened(path) as last:
        assert list(last.state.window.after(0)) == [(1, b"one"), (2, b"two")]


def test_damage_before_the_end_is_an_error_with_the_place(tmp_path: Path) -> None:
    path = tmp_path / "state"
    with opened(path) as file:
        publish(file, b"one", b"two")
    data = bytearray(path.read_bytes())
    data[20] ^= 1
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match="is damaged at byte 8"):
        opened(path)


def test_a_file_that_has_grown_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "state"
    with opened(path, bytes_max=2000) as file:
        for _ in range(200):
            publish(file, b"x" * 50)
            file.state.window.answered(file.state.window.last)
            file.keep(Answered(file.state.window.last))
        assert path.stat().st_size < 2000
    with opened(path) as again:
        assert (again.state.window.acknowledged, again.state.window.last) == (200, 200)


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentMissingError, match="cannot be written: No such file"):
        opened(tmp_path / "nowhere" / "state")
