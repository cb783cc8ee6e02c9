"""Places that pyarrow opens by a URI: buckets of S3 and GCS, HDFS, whatever `pyarrow.fs` knows.

::

    s3://key:secret@bucket/lake?endpoint_override=localhost:9000&scheme=http
    ── what executors get ─────────────────────────────────────────────────
         store  s3://...    the URI: each process opens it once, by itself
         path   bucket/lake the path of the folder in the file system that it opens

A URI may hold a secret, so messages have `shown` of it. Settings that it leaves out are found by
the libraries below pyarrow in the environment, of the executors on executors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote, urlsplit, urlunsplit

from sapwood.errors import FileFormatError

if TYPE_CHECKING:
    import pyarrow as pa

HERE: Final = ""
"""The store of plain paths: the disks of this machine."""

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_SAME: Final = MappingProxyType({"s3a": "s3", "s3n": "s3"})
"""The schemes for which Hadoop and pyarrow have different names."""

_URI_SAFE: Final = "/%:@=+,;~*!$&'()"

_NO_BUCKET: Final = re.compile(r"NO_SUCH_BUCKET|Bucket '[^']*' not found|NoSuchBucket")
_NO_SUCH_BUCKET: Final = "there is no such bucket; create it, or correct its name"
_REFUSED: Final = re.compile(
    r"ACCESS_DENIED|ACCESS_KEY|SIGNATURE|EXPIRED_TOKEN|INVALID_TOKEN|CREDENTIALS|credentials"
    r"|HTTP status 40[13]|PermissionDenied|Permission.denied"
)
_NO_TLS: Final = re.compile(r"SSL connect error|wrong version number")
_UNREACHABLE: Final = re.compile(r"NETWORK_CONNECTION|curlCode|REQUEST_TIMEOUT|UNAVAILABLE")
_REGION: Final = re.compile(r"When resolving region")

_DETAILS: Final = "; Details: "
"""The separator before curl's details in a message."""

_CREDENTIALS: Final = MappingProxyType(
    {
        "s3": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, for this process "
        "and for executors, or write them as s3://KEY:SECRET@bucket/...",
        "gs": "set GOOGLE_APPLICATION_CREDENTIALS for this process and for executors",
    }
)


class Place(NamedTuple):
    """A file or a folder: the URI of its store, `HERE` for this machine, and its path there."""

    store: str
    path: str


@dataclass(frozen=True, slots=True)
class Store:
    """A store, as its URI opens in this process: a file system, and the path in it."""

    uri: str
    files: pa.fs.FileSystem
    path: str

    @property
    def place(self) -> Place:
        """The place of the store, for other processes."""
        return Place(self.uri, self.path)


def is_remote(path: str) -> bool:
    """True if a path names a store by its scheme; `file:` and plain paths do not."""
    found = _SCHEME.match(path)
    return found is not None and found[1].lower() != "file"


def has_options(path: str) -> bool:
    """True if a URI has options for opening a store, which Spark does not understand."""
    if not is_remote(path):
        return False
    parts = urlsplit(path)
    return bool(parts.query) or "@" in parts.netloc


def shown(path: str) -> str:
    """A path as messages have it: without a secret, and without options."""
    if not is_remote(path):
        return path
    parts = urlsplit(path)
    # A container of Azure stands before the `@`, and is no secret; a password stands after a `:`.
    user, at, host = parts.netloc.rpartition("@")
    netloc = f"{user}@{host}" if at and ":" not in user and _is_azure(parts.scheme) else host
    return urlunsplit((parts.scheme, netloc, parts.path, "", ""))


def suffixed(path: str, suffix: str) -> str:
    """The path with a suffix at its last name, and with the same options."""
    if not is_remote(path):
        return path.rstrip("/") + suffix
    parts = urlsplit(path)
    return urlunsplit(parts._replace(path=parts.path.rstrip("/") + suffix))


def shown_file(place: Place) -> str:
    """The file at a place as messages and rows have it."""
    if place.store == HERE:
        return place.path
    parts = urlsplit(shown(place.store))
    host = f"{parts.netloc}" if place.path.startswith("/") else ""
    return f"{parts.scheme}://{host}{place.path}"


def opened(path: str) -> Store:
    """The store of a URI, with the path in it; a process opens each only once.

    Raises `FileFormatError` where pyarrow knows no such store, or cannot open it.
    """
    with store_faults(path):
        files, within = _opened(path)
    return Store(path, files, within)


def file_system(store: str) -> pa.fs.FileSystem | None:
    """The file system of a store; `None` for `HERE`, for which pyarrow needs none."""
    return None if store == HERE else opened(store).files


def nothing_at(store: Store) -> FileFormatError:
    """The error for a store in which there is nothing at the path."""
    import pyarrow.fs as pa_fs

    bucket, _, name = store.path.partition("/")
    if bucket and name:
        with store_faults(store.uri):
            (info,) = store.files.get_file_info([bucket])
            if info.type == pa_fs.FileType.NotFound:
                return FileFormatError(shown(store.uri), _NO_SUCH_BUCKET)
    return FileFormatError(shown(store.uri), "there is no such file or folder, or it is empty")


@contextmanager
def store_faults(path: str, said: str = "cannot be reached") -> Iterator[None]:
    """Raise errors of the store of a path as `FileFormatError`, with the remedy."""
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError:
        raise FileFormatError(shown(path), "there is no such file or folder") from None
    except (OSError, pa.ArrowException) as error:
        raise FileFormatError(shown(path), f"{said}: {reason_of(error, path)}") from None


def reason_of(error: Exception, path: str) -> str:
    """The reason why a store failed, and what helps, as far as that can be known."""
    text = str(error)
    strerror = getattr(error, "strerror", None)
    first = strerror or (text.splitlines()[0] if text else type(error).__name__)
    first = re.sub(r" \(Request ID: [^)]*\)", "", first)
    scheme = _scheme(path)
    if not scheme:
        return first
    if _NO_BUCKET.search(text):
        return _NO_SUCH_BUCKET
    if _NO_TLS.search(text):
        return (
            "it answers without TLS; add scheme=http to the options of the URI, or name an "
            "endpoint with http://"
        )
    if _UNREACHABLE.search(text):
        first = "the region of its bucket cannot be asked for" if _REGION.search(text) else first
        hint = (
            "; name the right one as AWS_ENDPOINT_URL, or as endpoint_override in the options of "
            "the URI"
            if scheme == "s3"
            else ""
        )
        return f"the endpoint does not answer ({first.rpartition(_DETAILS)[2]}){hint}"
    if _REFUSED.search(text):
        hint = _CREDENTIALS.get(scheme, "give this process and executors credentials")
        return f"it refuses these credentials, or there are none; {hint} ({first})"
    return first


@lru_cache(maxsize=32)
def _opened(path: str) -> tuple[pa.fs.FileSystem, str]:
    """The file system of a URI; depends on it and on the environment, which stays the same."""
    import pyarrow.fs as pa_fs

    parts = urlsplit(path)
    uri = parts._replace(scheme=_scheme(path), path=quote(parts.path, safe=_URI_SAFE), fragment="")
    files, within = pa_fs.FileSystem.from_uri(urlunsplit(uri))
    return files, within.rstrip("/") or within


def _scheme(path: str) -> str:
    scheme = urlsplit(path).scheme.lower()
    return _SAME.get(scheme, scheme)


def _is_azure(scheme: str) -> bool:
    return scheme in ("abfs", "abfss")
