"""A client's state in a file: records behind each other, each with its length and checksum.

::

    magic     8 bytes   b"SAPWOODC"
    record    length (4 bytes, big-endian), CRC-32 of what follows (4 bytes), MessagePack
    ...

Worked example: `Answered(7)` is the MessagePack `92 03 07` (an array of two, its tag and the
number), so its record is `00 00 00 03`, the checksum of those three bytes, and the three bytes.

A record is written in one call before its effect leaves the client, so a killed client has lost
none. The rest of an interrupted write at the end, after a loss of power, say, is cut off; damage
before the end is an error. The file is written anew with the records still needed when a run begins
and when it has grown. One process uses it at a time.
"""

from __future__ import annotations

import errno
import fcntl
import os
import zlib
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

import msgspec

from sapwood.errors import EnvironmentMissingError, FileFormatError, InputError, InvariantError
from sapwood.limits.durable import CLIENT_STATE_BYTES_MAX
from sapwood.session.client_state import Begun, ClientRecord, ClientState

_MAGIC: Final = b"SAPWOODC"
_HEAD_BYTES: Final = 8
_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final[msgspec.msgpack.Decoder[ClientRecord]] = msgspec.msgpack.Decoder(ClientRecord)


class ClientStateFile:
    """The state of one client in a file, which is made if it does not exist.

    `state` is the state that an earlier run has left, with this run's beginning. `name` is the
    client's, `None` for the one in the file, or `new_name` for a new one; `session` is that of a
    new file. Raises `InputError` where the file is another client's, `EnvironmentMissingError`
    where it is in use or cannot be written, `FileFormatError` where it is damaged.
    """

    def __init__(
        self,
        path: Path,
        name: str | None,
        *,
        new_name: str,
        session: str,
        bytes_max: int = CLIENT_STATE_BYTES_MAX,
    ) -> None:
        self.path = path
        self._bytes_max = bytes_max
        self.state = state = ClientState()
        try:
            self._lock = _locked(path)
            try:
                if path.exists():
                    _read(path, state)
                if name is not None and state.name and name != state.name:
                    raise InputError(
                        f"{path} is the state of the client {state.name!r}, not of {name!r}; give "
                        "each client a file of its own"
                    )
                state.carry_out(
                    Begun(state.name or name or new_name, state.session or session, state.runs)
                )
                self._file = self._anew()
            except BaseException:
                self._lock.close()
                raise
        except OSError as error:
            reason = f"the state file {path} cannot be written: {error.strerror}"
            raise EnvironmentMissingError(reason) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def keep(self, record: ClientRecord) -> None:
        """Write a record, which `state` has taken in; return when it survives this process.

        Raises `EnvironmentMissingError` where the disk refuses it: the file is without it then.
        """
        data = _framed(record)
        try:
            if self._file.write(data) != len(data):
                raise OSError(errno.ENOSPC, "the disk is full")
        except OSError as error:
            self._file.truncate(self._size)
            reason = f"the state file {self.path} cannot be written: {error.strerror}"
            raise EnvironmentMissingError(reason) from error
        self._size += len(data)
        if self._size >= self._bytes_max:
            self._file.close()
            self._file = self._anew()

    def close(self) -> None:
        """Close the file, so that another process can use it."""
        if not self._file.closed:
            self._file.close()
            self._lock.close()

    def _anew(self) -> IO[bytes]:
        """Write the file anew, and put it in the place of the old one."""
        beside = self.path.with_name(self.path.name + ".new")
        data = b"".join((_MAGIC, *map(_framed, self.state.records())))
        with beside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self.path)
        self._size = len(data)
        return self.path.open("ab", buffering=0)


def _framed(record: ClientRecord) -> bytes:
    body = _ENCODER.encode(record)
    return len(body).to_bytes(4, "big") + zlib.crc32(body).to_bytes(4, "big") + body


def _read(path: Path, state: ClientState) -> None:
    """Apply the records of a file, except a broken one at its end."""
    data = path.read_bytes()
    if not data:
        return
    if not data.startswith(_MAGIC):
        raise FileFormatError(str(path), "is no state of a client; name another file")
    at = len(_MAGIC)
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        end = at + _HEAD_BYTES + size
        body = data[at + _HEAD_BYTES : end]
        if end > len(data) or zlib.crc32(body) != int.from_bytes(data[at + 4 : at + 8], "big"):
            if end >= len(data):
                return  # its write was interrupted
            raise _damaged(path, at)
        try:
            state.carry_out(_DECODER.decode(body))
        except (msgspec.DecodeError, InvariantError) as error:
            raise _damaged(path, at) from error
        at = end


def _damaged(path: Path, at: int) -> FileFormatError:
    return FileFormatError(
        str(path),
        f"is damaged at byte {at}; begin with a new file, which may publish again what this one "
        "knew to be published",
    )


def _locked(path: Path) -> IO[bytes]:
    """The lock of a file, which lasts until it is closed or the process ends."""
    lock = path.with_name(path.name + ".lock").open("wb")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise EnvironmentMissingError(
            f"another client uses the state file {path}; give each a file of its own"
        ) from None
    return lock
