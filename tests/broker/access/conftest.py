"""Whatever a test starts must be gone when it ends; one authority signs for all tests."""

from __future__ import annotations

from pathlib import Path

import pytest
import trustme

from sapwood.session.settings import TlsFiles
from tests.broker.conftest import nothing_is_left

__all__ = ("nothing_is_left",)


class Authority:
    """A certificate authority, and files of what it has signed."""

    def __init__(self, folder: Path) -> None:
        self._ca = trustme.CA()
        self._folder = folder
        self.ca = str(folder / "ca.pem")
        self._ca.cert_pem.write_to_path(self.ca)

    def files(self, *names: str, common_name: str | None = None) -> TlsFiles:
        """A certificate about names (hosts, addresses), its key, and the authority."""
        signed = self._ca.issue_cert(*names, common_name=common_name)
        cert, key = (self._folder / f"{names[0]}.{kind}" for kind in ("pem", "key"))
        cert.write_bytes(b"".join(blob.bytes() for blob in signed.cert_chain_pems))
        signed.private_key_pem.write_to_path(str(key))
        return TlsFiles(self.ca, str(cert), str(key))


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))
