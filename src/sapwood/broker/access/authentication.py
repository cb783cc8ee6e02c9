"""Authentication: the identity that a greeting comes from, by its credentials."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from math import inf
from typing import Final, TypeAlias

from sapwood.broker.access.identities import Identities, Principal, token_digest
from sapwood.broker.access.passwords import Passwords
from sapwood.broker.access.tokens import LEEWAY_S, Issuer, claimed, looks_signed
from sapwood.limits import USAGES_MAX
from sapwood.matching.engine_names import Engines
from sapwood.session.admission import Refused
from sapwood.session.grants import SEPARATOR, Gate, Grant
from sapwood.session.quotas import Quota, Usage
from sapwood.wire.greetings import Credentials, Hello, RefusalCode, Role

DECOY: Final = (
    "$argon2id$v=19$m=65536,t=3,p=4$c2Fwd29vZC1kZWNveS0xMg$"
    "0r9tYyRkz2m3nQdWn5fW0e1m9x8c7b6a5Z4Y3X2W1V0"
)
"""Compared where there is no such user, so that a refusal takes as long as for a known one."""

_Shown: TypeAlias = tuple[Principal, Issuer | None, float]
"""The identity, the issuer that vouches for it, if any, and the end of its validity."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """A peer that was admitted: its identity, its name, and the end of its validity.

    The `gate` has a client's grant, where that is limited, and `usage` its use, where that is
    bounded. With an `issuer`, all of it holds until `until`, in seconds since 1970; else as long as
    the identity does not change.
    """

    principal: Principal
    name: str
    issuer: Issuer | None = None
    until: float = inf
    gate: Gate | None = None
    usage: Usage | None = None


class Authenticator:
    """Decides which identity a greeting comes from."""

    def __init__(self, identities: Identities, engines: Engines = Engines()) -> None:  # noqa: B008
        self.identities = identities
        self._passwords = Passwords()
        self._engines = engines
        self._gates: dict[Grant, Gate] = {}
        #: by identity, also of those that have left: their use continues to count
        self._usages: dict[str, Usage] = {}

    def take(self, identities: Identities) -> None:
        """Use other identities from here on."""
        self.identities = identities
        self._gates = {}
        for name, usage in list(self._usages.items()):
            usage.quota = identities.quota_of(name) or Quota()

    def is_slow(self, hello: Hello) -> bool:
        """True if `decide` would hash a password, which belongs beside the event loop."""
        shown = hello.credentials
        if shown is None or not shown.user:
            return False
        principal = self.identities.by_name.get(shown.user)
        hashed = DECOY if principal is None else principal.password or DECOY
        return not self._passwords.is_known(hashed, shown.secret)

    def decide(self, hello: Hello, certified: Set[str], now: float) -> Admitted | Refused:
        """The admitted peer, or a refusal.

        `certified` are the names in the certificate that TLS has verified, `now` is in seconds
        since 1970. A refusal does not reveal which of the two, name or secret, was wrong.
        """
        found = self._shown(hello.credentials, certified, now)
        if isinstance(found, str):
            return Refused(RefusalCode.DENIED, found)
        principal, issuer, until = found
        if principal.role is not hello.role:
            reason = (
                f"{principal.name} is a {principal.role.value} among the identities of this "
                f"broker, and may not connect as a {hello.role.value}"
            )
            return Refused(RefusalCode.DENIED, reason)
        if hello.role is Role.BROKER and hello.name != principal.name:
            reason = (
                f"the identity {principal.name} belongs to the broker of that name, and this one "
                f"is {hello.name}: start it with --name {principal.name}"
            )
            return Refused(RefusalCode.DENIED, reason)
        gate = self._gate(principal.name) if hello.role is Role.CLIENT else None
        usage = self._usage(principal.name) if hello.role is Role.CLIENT else None
        return Admitted(principal, _own_name(principal, hello), issuer, until, gate, usage)

    def _gate(self, name: str) -> Gate | None:
        """The gate of an identity; those of one grant share it."""
        grant = self.identities.grant_of(name)
        if grant is None:
            return None
        gate = self._gates.get(grant)
        if gate is None:
            gate = self._gates[grant] = Gate(grant, self._engines)
        return gate

    def _usage(self, name: str) -> Usage | None:
        """The use of an identity, where that is bounded; all of its sessions share it."""
        quota = self.identities.quota_of(name)
        if quota is None:
            return None
        if name not in self._usages and len(self._usages) >= USAGES_MAX:
            absent = [one for one, usage in list(self._usages.items()) if not usage.accounts]
            for one in absent[: max(1, len(absent) // 2)]:
                self._usages.pop(one, None)
        return self._usages.setdefault(name, Usage(quota))

    def holds(self, admitted: Admitted, now: float) -> bool:
        """True if an admitted identity still exists, unchanged, with the same grant."""
        known, issuer = self.identities, admitted.issuer
        if admitted.principal.role is Role.CLIENT:
            granted = None if admitted.gate is None else admitted.gate.grant
            if known.grant_of(admitted.principal.name) != granted:
                return False
            if admitted.usage is None and known.quota_of(admitted.principal.name) is not None:
                return False  # nothing was counted
        if issuer is not None:
            is_named = admitted.principal.name in known.by_name
            is_known = known.issuers.get(issuer.name) == issuer and not is_named
            return is_known and now <= admitted.until + LEEWAY_S
        return known.by_name.get(admitted.principal.name) == admitted.principal

    def _shown(self, shown: Credentials | None, certified: Set[str], now: float) -> _Shown | str:
        """The identity shown; or the reason why it is not known."""
        known = self.identities
        if shown is None:
            for name in sorted(certified):
                if (principal := known.by_certificate.get(name)) is not None:
                    return principal, None, inf
            what = "certificate" if certified else "user, token or certificate"
            return f"this broker does not know the {what} that was shown"
        if shown.user:
            return self._by_password(shown)
        if (principal := known.by_token.get(token_digest(shown.secret))) is not None:
            return principal, None, inf
        if not known.issuers or not looks_signed(shown.secret):
            return "this broker does not know the token that was shown"
        claim = claimed(shown.secret, known.issuers, now)
        if isinstance(claim, str):
            return claim
        if SEPARATOR in claim.subject or not claim.subject or claim.subject in known.by_name:
            return "the token is about somebody that no issuer may speak for"
        return Principal(claim.subject, Role.CLIENT), known.issuers[claim.issuer], claim.until

    def _by_password(self, shown: Credentials) -> _Shown | str:
        principal = self.identities.by_name.get(shown.user)
        hashed = None if principal is None else principal.password
        is_right = self._passwords.is_right(hashed or DECOY, shown.secret)
        if principal is None or hashed is None or not is_right:
            return "the user or the password is wrong"
        return principal, None, inf


def _own_name(principal: Principal, hello: Hello) -> str:
    """The name of a client at this broker, which no other identity can take.

    Client `desk` of the identity `ann` is `ann/desk`; `ann` and `ann/desk` stay what they are.
    """
    name, own = hello.name, principal.name
    if hello.role is Role.BROKER or name == own or name.startswith(own + SEPARATOR):
        return name
    return f"{own}{SEPARATOR}{name}"
