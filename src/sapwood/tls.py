"""TLS at either end of a connection: contexts of `ssl`, made from files.

Versions, ciphers and curves are what Python chooses (TLS 1.2 at least). Host names are checked by
whoever connects.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from typing import Any, Final

from sapwood.errors import InputError
from sapwood.session.settings import ConnectionSettings, TlsFiles
from sapwood.wire.address import TLS, Address, is_loopback

PLAIN: Final = frozenset(
    {"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "TLSV1_ALERT_PROTOCOL_VERSION"}
)
"""How OpenSSL calls what somebody answers who does not speak TLS; the last is a broker's answer."""


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


def accepting(files: TlsFiles, *, must_be_signed: bool) -> ssl.SSLContext | None:
    """The context of the end that accepts; `None` where it has no certificate.

    Where there is a `ca`, who connects is asked for a certificate that it has signed; one who has
    none goes on only if it need not (`must_be_signed`). Raises as `connecting`.
    """
    if files.cert is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if files.ca is not None:
        _trust(context, files.ca)
        context.verify_mode = ssl.CERT_REQUIRED if must_be_signed else ssl.CERT_OPTIONAL
    _own(context, files)
    return context


def renew(context: ssl.SSLContext, files: TlsFiles) -> None:
    """Let a context take the files as they are now, for the connections to come.

    Authorities that are no longer in `ca` stay trusted as long as the context lives. Raises
    `InputError` as above; then the context is what it was, at least where its own certificate is
    what cannot be used.
    """
    _own(context, files)
    if files.ca is not None:
        _trust(context, files.ca)


def hint(address: Address) -> str:
    """What may be wrong where somebody hangs up who was not spoken to by TLS; or nothing."""
    return "" if address.is_tls else f"; if the broker speaks TLS, it is at {TLS}{address}"


def certified_names(certificate: dict[str, Any] | None) -> frozenset[str]:
    """The names that a verified certificate (`SSLSocket.getpeercert`) is about.

    These are the common name of its subject and its alternative names for hosts and addresses.
    """
    return frozenset(_names(certificate or {}))


def reason(address: Address, error: ssl.SSLError) -> str:
    """Why TLS with an address came to nothing, and what to do."""
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
