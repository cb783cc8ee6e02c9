"""A folder in the form of the YFilter benchmark and NITF, with a few lines of its own."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

NITF = b"""<!ELEMENT nitf (head?, body)> <!ELEMENT head EMPTY> <!ELEMENT body (p|body)*>
<!ELEMENT p (#PCDATA)> <!ATTLIST p lang CDATA #IMPLIED> <!ATTLIST body id CDATA #REQUIRED>"""


def write_benchmark(folder: Path) -> Path:
    """Two documents and three paths, one of which comes twice in the second file."""
    for name, lines in (
        ("queries-153928-d.txt.gz", "/a/b\n\n//c\n/a/*\n"),
        ("queries-500000.txt.gz", "/a/b\n//c\n/a/b\n"),
    ):
        with gzip.open(folder / name, "wt", encoding="ascii") as file:
            file.write(lines)
    (folder / "nitf-2-5.dtd").write_bytes(NITF)
    documents = {"d/2.xml": b"<a><c>7</c></a>", "d/1.xml": b"<a x='5'><b/></a>", "d/read.me": b""}
    with tarfile.open(folder / "nitf-500-documents.tar.gz", "w:gz") as archive:
        for name, data in documents.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return folder
