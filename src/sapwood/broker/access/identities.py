"""The file of identities: the peers that may connect, their roles, and their credentials.

A TOML file, as in this example with every kind of entry::

    [[identity]]                        # a person or program with a password
    name = "ann"
    password = "$argon2id$v=19$m=65536,t=3,p=4$..."     # sapwood identity password

    [[identity]]                        # a program with a token
    name = "feed"
    token = "sha256:9f86d081..."        # sapwood identity token

    [[identity]]                        # a broker of the overlay, known by its certificate
    name = "north"                      # which is the broker's own name, --name
    role = "broker"
    certificates = ["north.example.org"]

    [[issuer]]                          # who signs tokens for clients (JWT, Ed25519)
    name = "https://login.example.org"  # what such a token says in `iss`
    key = "login.pem"                   # its public key, beside this file
    audience = "sapwood"                # what it says in `aud`

    [[grant]]                           # what some of them may do; without any, all may everything
    to = ["ann", "desk-*"]              # identities; * is any text
    subscribe = "region = 'eu'"
    subscribe_xpath = ["//order"]
    publish = "region = 'eu' and desk = 'ann'"
    durable = ["ann-*"]                 # names of durable subscriptions
    operate = false                     # may read state, journal, filters of others

    [[quota]]                           # how much of the broker some of them may use
    to = ["desk-*"]
    subscriptions = 1000                # in force at a time
    conjunctions = 5000                 # of these, in all
    publications_per_s = 200
    bytes_per_s = 1_000_000             # of publications
    cost = 20_000                       # ns that its filters add to each publication
    durables = 20                       # that it has made
    durable_bytes = 100_000_000         # that their mailboxes may hold in all

The file has no secret that would admit a peer: passwords and tokens are hashed.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from msgspec import Struct

from sapwood.broker.access.tokens import Issuer, read_key
from sapwood.errors import InputError
from sapwood.files.bounded_toml import read_bounded_toml
from sapwood.language import parse_filter
from sapwood.language.xpath import parse_xpath
from sapwood.limits import IDENTITIES_BYTES_MAX
from sapwood.model.filter import NOTHING
from sapwood.session.grants import SEPARATOR, Grant
from sapwood.session.quotas import Quota
from sapwood.wire.greetings import Role
from sapwood.wire.names import check_name

_SHA256: Final = "sha256:"
_ARGON2: Final = "$argon2id$"


class _Entry(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    role: Role = Role.CLIENT
    password: str | None = None
    token: str | None = None
    certificates: tuple[str, ...] = ()


class _IssuerEntry(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    key: str
    audience: str


class _GrantEntry(Struct, frozen=True, forbid_unknown_fields=True):
    to: tuple[str, ...]
    subscribe: str | None = None
    subscribe_xpath: tuple[str, ...] = ()
    publish: str | None = None
    publish_xpath: tuple[str, ...] = ()
    durable: tuple[str, ...] = ()
    operate: bool = False


class _QuotaEntry(Struct, frozen=True, forbid_unknown_fields=True):
    to: tuple[str, ...]
    subscriptions: int | None = None
    conjunctions: int | None = None
    publications_per_s: float | None = None
    bytes_per_s: float | None = None
    cost: float | None = None
    durables: int | None = None
    durable_bytes: int | None = None


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    identity: tuple[_Entry, ...] = ()
    issuer: tuple[_IssuerEntry, ...] = ()
    grant: tuple[_GrantEntry, ...] = ()
    quota: tuple[_QuotaEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class Principal:
    """An identity that may connect: a name, and whether it is a broker of the overlay or a client.

    It is recognized by a password (its Argon2 hash is here), a token (its digest), or certificates.
    """

    name: str
    role: Role
    password: str | None = None
    token: bytes | None = None
    certificates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Identities:
    """All identities that may connect, by their credentials.

    Digests are those of SHA-256. Two sets of identities are equal iff their contents are.
    """

    by_name: dict[str, Principal] = field(default_factory=dict)
    by_token: dict[bytes, Principal] = field(default_factory=dict)
    by_certificate: dict[str, Principal] = field(default_factory=dict)
    issuers: dict[str, Issuer] = field(default_factory=dict)
    grants: tuple[tuple[tuple[str, ...], Grant], ...] = ()
    quotas: tuple[tuple[tuple[str, ...], Quota], ...] = ()

    def grant_of(self, name: str) -> Grant | None:
        """The grant of an identity; `None` for no limit, where the file has no grants."""
        if not self.grants:
            return None
        found = Grant()
        for to, grant in self.grants:
            if any(fnmatchcase(name, one) for one in to):
                found |= grant
        return found

    def quota_of(self, name: str) -> Quota | None:
        """The quota of an identity; `None` where it has none.

        For each number the first entry counts that names the identity and has the number.
        """
        found: Quota | None = None
        for to, quota in self.quotas:
            if any(fnmatchcase(name, one) for one in to):
                found = quota if found is None else found.before(quota)
        return found


def token_digest(token: str) -> bytes:
    """The stored digest of a token: it is random and long, so one pass of a fast hash hides it."""
    return hashlib.sha256(token.encode()).digest()


def read_identities(path: Path) -> Identities:
    """The identities in a file. Raises `InputError` that names the entry and the remedy."""
    file = read_bounded_toml(path, _File, IDENTITIES_BYTES_MAX, "identities")
    found = Identities(
        grants=tuple(_granted(path, *one) for one in enumerate(file.grant, 1)),
        quotas=tuple(_quota(path, *one) for one in enumerate(file.quota, 1)),
    )
    for number, entry in enumerate(file.identity, 1):
        where = f"{path}: identity {number} ({entry.name!r})"
        try:
            _take(found, entry)
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
    for one in file.issuer:
        if one.name in found.issuers:
            raise InputError(f"{path}: issuer {one.name!r} is there twice")
        key = read_key(path.parent / one.key)
        found.issuers[one.name] = Issuer(one.name, key, one.audience)
    if not found.by_name and not found.issuers:
        raise InputError(f"{path}: names nobody, so nobody could connect; add an [[identity]]")
    return found


def _take(found: Identities, entry: _Entry) -> None:
    name = check_name("identity", entry.name)
    if SEPARATOR in name:
        raise InputError(f"{SEPARATOR!r} stands between an identity and its clients' names")
    if name in found.by_name:
        raise InputError("the name is there twice")
    if entry.password is None and entry.token is None and not entry.certificates:
        raise InputError("nothing shows who it is: add a password, a token or certificates")
    if entry.password is not None and not entry.password.startswith(_ARGON2):
        raise InputError("the password is no Argon2 hash; make one with: sapwood identity password")
    digest = None if entry.token is None else _digest(entry.token)
    principal = Principal(name, entry.role, entry.password, digest, entry.certificates)
    found.by_name[name] = principal
    if digest is not None:
        if digest in found.by_token:
            raise InputError(f"{found.by_token[digest].name!r} has the same token")
        found.by_token[digest] = principal
    for certificate in entry.certificates:
        if certificate in found.by_certificate:
            other = found.by_certificate[certificate].name
            raise InputError(f"{other!r} is known by certificate {certificate!r} already")
        found.by_certificate[certificate] = principal


def _granted(path: Path, number: int, entry: _GrantEntry) -> tuple[tuple[str, ...], Grant]:
    try:
        if not entry.to:
            raise InputError("to: nobody is named; * is everybody")
        return entry.to, Grant(
            NOTHING if entry.subscribe is None else parse_filter(entry.subscribe),
            tuple(map(parse_xpath, entry.subscribe_xpath)),
            NOTHING if entry.publish is None else parse_filter(entry.publish),
            tuple(map(parse_xpath, entry.publish_xpath)),
            entry.durable,
            entry.operate,
        )
    except InputError as error:
        raise InputError(f"{path}: grant {number} (to {', '.join(entry.to)}): {error}") from error


def _quota(path: Path, number: int, entry: _QuotaEntry) -> tuple[tuple[str, ...], Quota]:
    try:
        if not entry.to:
            raise InputError("to: nobody is named; * is everybody")
        said = {name: getattr(entry, name) for name in entry.__struct_fields__ if name != "to"}
        quota = Quota(**said)
        if not quota.said():
            *names, last = said
            raise InputError(f"nothing is bounded: say {', '.join(names)} or {last}")
    except InputError as error:
        raise InputError(f"{path}: quota {number} (to {', '.join(entry.to)}): {error}") from error
    return entry.to, quota


def _digest(text: str) -> bytes:
    try:
        digest = bytes.fromhex(text.removeprefix(_SHA256))
    except ValueError:
        digest = b""
    if not text.startswith(_SHA256) or len(digest) != hashlib.sha256().digest_size:
        raise InputError(
            f"the token is not {_SHA256} and 64 hexadecimal digits; make one with: sapwood "
            "identity token"
        )
    return digest
