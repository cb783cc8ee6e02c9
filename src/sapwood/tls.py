"""TLS at either end of a connection: contexts of `ssl`, made from files.

Versions, ciphers and curves are what Python chooses (TLS 1.2 at least). Host names are checked by
whoever connects.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from sapwood.errors import InputError
from sapwood.session.settings import ConnectionSettings, TlsFiles
from sapwood.wire.address import TLS, Address, is_loopback

PLAIN: Final = frozenset(
    {"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "TLSV1_ALERT_PROTOCOL_VERSION"}
)
"""OpenSSL's names for an answer that is no TLS; the last is that of a broker."""

CERTIFICATE: Final = "certificate"
"""The name under which `get_extra_info` of a transport in memory has a `Certificate`."""

_DER: Final = 2
"""`_ssl.ENCODING_DER`."""

_PEM: Final = re.compile("-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)


def connecting(address: Address, settings: ConnectionSettings) -> ssl.SSLContext | None:
    """The context of the end that connects to an address; `None` where no TLS is spoken there.

    Raises `InputError` for a file that cannot be used, and where credentials would be read by
    whoever is on the way.
    """
    files = settings.tls
    if not address.is_tls:
        if settings.credentials is not None and not is_loopback(address.host):
            raise InputError(
                f"{address}: a password or token would travel to another machine unencrypted; put "
                "tls:// before the address"
            )
        return None
    context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH)
    if files.ca is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody else
        _trust(context, files.ca)
    _own(context, files)
    return context


@dataclass(frozen=True, slots=True)
class Certificate:
    """A peer's certificate that TLS has verified.

    `names` are the common name of its subject and its alternative names for hosts and addresses.
    `authority` is the SHA-256 of the certificate at the other end of its chain; `None` where a
    session was resumed, so that no chain was sent. `context` is what it was verified under.
    """

    names: frozenset[str]
    authority: bytes | None = None
    context: ssl.SSLContext | None = field(default=None, compare=False, repr=False)


class AcceptingContext(ssl.SSLContext):
    """The context of the end that accepts: a new connection is under the newest one within.

    A context of OpenSSL takes further authorities, and lets go of none; nor does it forget the
    sessions that can be resumed without a certificate. So the files are read into another one,
    whose sessions have other keys. A server keeps the context that it was begun with: this one.

    #: authorities are those that newest trusts, as in `Certificate`; without, it asks for nothing
    """

    def __init__(self, _: int, files: TlsFiles, *, must_be_signed: bool) -> None:
        super().__init__()
        self._must_be_signed = must_be_signed
        self.renew(files)

    def renew(self, files: TlsFiles) -> None:
        """Take the files as they are now. Raises `InputError`; then nothing has changed."""
        newest = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authorities: frozenset[bytes] | None = None
        if files.ca is not None:
            _trust(newest, files.ca)
            newest.verify_mode = ssl.CERT_REQUIRED if self._must_be_signed else ssl.CERT_OPTIONAL
            authorities = _authorities(newest, files.ca)
        _own(newest, files)
        self.newest, self.authorities = newest, authorities

    def trusts(self, certificate: Certificate) -> bool:
        """True if the authority of a certificate that was shown is trusted now."""
        if self.authorities is None or certificate.context is self.newest:
            return True
        return certificate.authority in self.authorities

    def wrap_bio(self, *given: Any, **named: Any) -> ssl.SSLObject:
        """The TLS of a connection that begins."""
        return self.newest.wrap_bio(*given, **named)


def accepting(files: TlsFiles, *, must_be_signed: bool) -> AcceptingContext | None:
    """The context of the end that accepts; `None` where it has no certificate.

    Where there is a `ca`, who connects is asked for a certificate that it has signed; one who has
    none goes on only if it need not (`must_be_signed`). Raises as `connecting`.
    """
    if files.cert is None:
        return None
    return AcceptingContext(ssl.PROTOCOL_TLS_SERVER, files, must_be_signed=must_be_signed)


def hint(address: Address) -> str:
    """A hint at TLS, where a peer closes a connection that began without it; else empty."""
    return "" if address.is_tls else f"; if the broker speaks TLS, it is at {TLS}{address}"


def certificate_of(transport: asyncio.BaseTransport) -> Certificate | None:
    """The certificate that the other end of a transport has shown, if it has.

    A transport in memory says itself whose certificate it speaks for (`CERTIFICATE`).
    """
    given: Certificate | None = transport.get_extra_info(CERTIFICATE)
    if given is not None:
        return given
    told: dict[str, Any] | None = transport.get_extra_info("peercert")
    if not told:
        return None
    shown: ssl.SSLObject = transport.get_extra_info("ssl_object")
    return Certificate(frozenset(_names(told)), _authority(shown), shown.context)


def reason(address: Address, error: ssl.SSLError) -> str:
    """The reason why TLS with an address failed, and the remedy."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"{address}: its certificate is not trusted: {error.verify_message}; name the "
            "authority that signed it with --tls-ca (tls=TlsFiles(ca=...)), and the host as the "
            "certificate does"
        )
    if error.reason in PLAIN:
        return f"{address} does not speak TLS; leave tls:// out"
    return f"{address}: TLS failed: {error.reason or error}"


def _names(certificate: dict[str, Any]) -> Iterator[str]:
    for part in certificate.get("subject", ()):
        for key, value in part:
            if key == "commonName":
                yield value
    for kind, value in certificate.get("subjectAltName", ()):
        if kind in ("DNS", "IP Address", "URI"):
            yield value


def _authority(shown: Any) -> bytes | None:
    """The end of the chain by which a certificate was verified, of an `ssl.SSLObject`."""
    if hasattr(shown, "get_verified_chain"):  # Python 3.13
        chain: list[bytes] = shown.get_verified_chain()
    else:
        # It is there since 3.10, without a name that the documentation would have.
        chain = [one.public_bytes(_DER) for one in shown._sslobj.get_verified_chain() or ()]
    return hashlib.sha256(chain[-1]).digest() if chain else None


def _authorities(context: ssl.SSLContext, ca: str) -> frozenset[bytes]:
    """The certificates in a file that a context trusts, as `Certificate.authority` has them.

    OpenSSL lists authorities alone, and trusts any certificate in the file that is its own.
    """
    found = context.get_ca_certs(binary_form=True)
    try:
        texts = _PEM.findall(Path(ca).read_text(encoding="latin-1"))
        found += map(ssl.PEM_cert_to_DER_cert, texts)
    except (OSError, ValueError) as error:
        raise InputError(f"--tls-ca {ca}: not read: {_said(error)}") from error
    return frozenset(hashlib.sha256(one).digest() for one in found)


def _trust(context: ssl.SSLContext, ca: str) -> None:
    try:
        context.load_verify_locations(ca)
    except (OSError, ValueError) as error:
        what = "is no file of certificates (PEM)" if isinstance(error, ssl.SSLError) else "not read"
        raise InputError(f"--tls-ca {ca}: {what}: {_said(error)}") from error


def _own(context: ssl.SSLContext, files: TlsFiles) -> None:
    if files.cert is None or files.key is None:
        return
    try:
        # A key with a passphrase would ask for it at a terminal.
        context.load_cert_chain(files.cert, files.key, password=_no_passphrase)
    except (OSError, ValueError) as error:
        raise InputError(
            f"--tls-cert {files.cert} and --tls-key {files.key}: {_said(error)}"
        ) from error


def _no_passphrase() -> str:
    raise ValueError("the key has a passphrase; a broker takes one without, readable by it alone")


def _said(error: OSError | ValueError) -> str:
    if isinstance(error, ssl.SSLError):
        if error.reason == "KEY_VALUES_MISMATCH":
            return "the key is not the one of the certificate"
        return error.reason or "not what PEM files hold"
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error)
