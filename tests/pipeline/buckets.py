"""A store in memory: whole objects by their keys, as S3 has them, and requests that fail on demand.

What is written is there when the stream is closed, and not before; there are no folders but what
the keys say.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import pyarrow as pa
from pyarrow import fs as pa_fs

Hook: TypeAlias = Callable[[str], None]
"""Is told of a request, `move bucket/a`; what it raises is the answer."""


def nothing(request: str) -> None:
    """Let requests pass."""


@dataclass
class Bucket(pa_fs.FileSystemHandler):  # type: ignore[misc]
    """Objects by their paths; `before` and `after` are told of each request."""

    objects: dict[str, bytes] = field(default_factory=dict)
    before: Hook = nothing
    after: Hook = nothing

    def files(self) -> Any:
        return pa_fs.PyFileSystem(self)

    def names(self, folder: str) -> list[str]:
        """The keys below a folder, from there on."""
        start = f"{folder}/"
        return sorted(key.removeprefix(start) for key in self.objects if key.startswith(start))

    def get_type_name(self) -> str:
        return "bucket"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: list[str]) -> list[Any]:
        return [self._asked(f"info {path}", partial(self._info, path)) for path in paths]

    def get_file_info_selector(self, selector: Any) -> list[Any]:
        def found() -> list[Any]:
            return [self._info(f"{selector.base_dir}/{n}") for n in self.names(selector.base_dir)]

        assert selector.recursive
        assert selector.allow_not_found
        infos: list[Any] = self._asked(f"list {selector.base_dir}", found)
        return infos

    def create_dir(self, path: str, recursive: bool) -> None:
        self._asked(f"make {path}", lambda: None)

    def delete_dir(self, path: str) -> None:
        def delete() -> None:
            for name in self.names(path):
                del self.objects[f"{path}/{name}"]

        self._asked(f"remove {path}", delete)

    def delete_file(self, path: str) -> None:
        self._asked(f"delete {path}", lambda: self.objects.pop(self._key(path)))

    def move(self, src: str, dest: str) -> None:
        def move() -> None:
            self.objects[dest] = self.objects.pop(self._key(src))

        self._asked(f"move {dest}", move)

    def open_input_stream(self, path: str) -> Any:
        return self._asked(f"read {path}", lambda: pa.BufferReader(self.objects[self._key(path)]))

    def open_input_file(self, path: str) -> Any:
        return self.open_input_stream(path)

    def open_output_stream(self, path: str, metadata: Any) -> Any:
        return pa.PythonFile(_Put(self, path), mode="w")

    def delete_dir_contents(self, path: str, missing_dir_ok: bool) -> None:
        raise NotImplementedError

    def delete_root_dir_contents(self) -> None:
        raise NotImplementedError

    def copy_file(self, src: str, dest: str) -> None:
        raise NotImplementedError

    def open_append_stream(self, path: str, metadata: Any) -> Any:
        raise NotImplementedError

    def put(self, path: str, content: bytes) -> None:
        self._asked(f"put {path}", lambda: self.objects.__setitem__(path, content))

    def _asked(self, request: str, work: Callable[[], Any]) -> Any:
        self.before(request)
        answer = work()
        self.after(request)
        return answer

    def _key(self, path: str) -> str:
        if path not in self.objects:
            raise FileNotFoundError(2, "No such object", path)
        return path

    def _info(self, path: str) -> Any:
        if path in self.objects:
            return pa_fs.FileInfo(path, pa_fs.FileType.File, size=len(self.objects[path]))
        kind = pa_fs.FileType.Directory if self.names(path) else pa_fs.FileType.NotFound
        return pa_fs.FileInfo(path, kind)


class _Put(io.BytesIO):
    """A file that is put when it is closed."""

    def __init__(self, bucket: Bucket, path: str) -> None:
        super().__init__()
        self._bucket, self._path = bucket, path

    def close(self) -> None:
        if not self.closed:
            content = self.getvalue()
            super().close()
            self._bucket.put(self._path, content)
