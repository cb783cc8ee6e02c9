"""The doorkeeper: admits peers, and ends connections of identities that were withdrawn.

The files behind it, of identities and of TLS, are read again when they change (checked every
`ACCESS_CHECK_S`), or at once (`reload`). A file that cannot be used changes nothing: it is logged,
and the former contents stay in force.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeAlias
from weakref import WeakKeyDictionary

from sapwood import tls
from sapwood.broker.access.authentication import Admitted, Authenticator
from sapwood.broker.access.identities import read_identities
from sapwood.broker.logs import Log
from sapwood.broker.tcp_connection import TcpConnection
from sapwood.errors import InputError
from sapwood.limits import ACCESS_CHECK_S, AUTHENTICATIONS_WAITING_MAX
from sapwood.matching.engine_names import Engines
from sapwood.session.admission import Refused
from sapwood.session.settings import TlsFiles
from sapwood.tls import Certificate
from sapwood.wire.greetings import Credentials, Hello, RefusalCode, Role
from sapwood.wire.messages import GoodbyeCode

_Seen: TypeAlias = tuple[tuple[str, int, int], ...]

_UNTRUSTED: Final = (
    "the authority that has signed the certificate is not trusted any more (--tls-ca)"
)

_BUSY: Final = Refused(
    RefusalCode.LATE, "too many clients show their passwords at once; connect again a little later"
)


class Doorkeeper:
    """Decides about greetings, by a file of identities if there is one, and keeps the files fresh.

    `ends` ends a connection with a reason, `context` is that of accepted connections, where they
    speak TLS. Raises `InputError` for a file that cannot be used.
    """

    def __init__(
        self,
        identities: Path | None,
        files: TlsFiles,
        ends: Callable[[TcpConnection, GoodbyeCode, str], None],
        log: Log,
        engines: Engines = Engines(),  # noqa: B008 - a value
    ) -> None:
        self._path = identities
        self._files = files
        self._ends = ends
        self._log = log
        read = None if identities is None else read_identities(identities)
        self._authenticator = None if read is None else Authenticator(read, engines)
        #: a peer without a certificate is admitted if another credential identifies it
        self.context = tls.accepting(files, must_be_signed=identities is None)
        #: decisions about greetings whose password was hashed; those of lost connections are
        #: dropped
        self._decided: WeakKeyDictionary[TcpConnection, Admitted | Refused] = WeakKeyDictionary()
        self._waiting = 0
        self._executor: ThreadPoolExecutor | None = None
        self._seen = self._look()
        self._checking: asyncio.Task[None] | None = None

    def begin(self, present: Callable[[], Iterable[TcpConnection]]) -> None:
        """Check the files, and the present connections, from time to time."""
        if self._path is not None or self.context is not None:
            self._checking = asyncio.create_task(self._check(present), name="doorkeeper")

    async def stop(self) -> None:
        """Stop checking, and admit no peer any more."""
        if self._checking is not None:
            self._checking.cancel()
            await asyncio.gather(self._checking, return_exceptions=True)
        if self._executor is not None:
            await asyncio.to_thread(self._executor.shutdown, cancel_futures=True)

    # Greetings ---------------------------------------------------------------------------------

    def parks(self, tcp: TcpConnection, hello: Hello, ready: Callable[[], None]) -> bool:
        """True if a greeting waits until a password is hashed; `ready` is called when it is."""
        authenticator = self._authenticator
        if authenticator is None or not authenticator.is_slow(hello):
            return False
        if self._waiting >= AUTHENTICATIONS_WAITING_MAX:
            self._decided[tcp] = _BUSY
            return False
        self._waiting += 1
        loop, thread = asyncio.get_running_loop(), self._thread()

        def decide() -> Admitted | Refused:
            if tcp.connection.ended:  # the peer has waited too long
                return _BUSY
            return authenticator.decide(hello, _names(tcp.certificate), time.time())

        def decided(work: asyncio.Future[Admitted | Refused]) -> None:
            self._waiting -= 1
            if not work.cancelled():
                if not tcp.connection.ended:
                    self._decided[tcp] = work.result()
                ready()

        loop.run_in_executor(thread, decide).add_done_callback(decided)
        return True

    def decide(self, tcp: TcpConnection, hello: Hello) -> Admitted | Refused | None:
        """The admitted peer, or a refusal; `None` where every peer is admitted."""
        authenticator = self._authenticator
        if not self._trusts(tcp.certificate):
            return Refused(RefusalCode.DENIED, _UNTRUSTED)
        if authenticator is None:
            return None
        decided = self._decided.pop(tcp, None)
        if decided is None:
            decided = authenticator.decide(hello, _names(tcp.certificate), time.time())
        if isinstance(decided, Admitted) and not authenticator.holds(decided, time.time()):
            return Refused(RefusalCode.DENIED, "the identity was withdrawn meanwhile")
        return decided

    async def why_unknown(
        self, credentials: Credentials | None, certificate: Certificate | None = None
    ) -> str | None:
        """The reason why a caller with these credentials is refused; `None` if it is admitted."""
        authenticator, names = self._authenticator, _names(certificate)
        if not self._trusts(certificate):
            return _UNTRUSTED
        if authenticator is None:
            return None
        hello = Hello(role=Role.CLIENT, name="http", session="http", credentials=credentials)
        if authenticator.is_slow(hello):
            if self._waiting >= AUTHENTICATIONS_WAITING_MAX:
                return _BUSY.reason
            self._waiting += 1
            try:
                decided = await asyncio.get_running_loop().run_in_executor(
                    self._thread(), authenticator.decide, hello, names, time.time()
                )
            finally:
                self._waiting -= 1
        else:
            decided = authenticator.decide(hello, names, time.time())
        if isinstance(decided, Refused):
            return decided.reason
        if decided.gate is not None and not decided.gate.grant.operates:
            return f"the identity {decided.principal.name} may not read the broker's state"
        return None

    def _thread(self) -> ThreadPoolExecutor:
        """The thread in which passwords are hashed, started when it is first needed."""
        if self._executor is None:
            self._executor = ThreadPoolExecutor(1, "passwords")
        return self._executor

    # Changes -----------------------------------------------------------------------------------

    def take(
        self, identities: Path | None, files: TlsFiles, present: Iterable[TcpConnection]
    ) -> None:
        """`reload`, from other files where they have other names.

        Files are neither added where there were none nor dropped where there were some: that is
        decided when a broker begins.
        """
        if self._path is not None and identities is not None:
            self._path = identities
        has_ca = self._files.ca is not None
        if self.context is not None and files.cert is not None and has_ca == (files.ca is not None):
            self._files = files
        self.reload(present)

    def reload(self, present: Iterable[TcpConnection]) -> None:
        """Read the files again; end the connections that are no longer admitted.

        An authority goes although the identities cannot be read, and conversely.
        """
        self._seen = self._look()
        is_read = True
        for read in (self._read_identities, self._read_certificates):
            try:
                read()
            except InputError as error:
                is_read = False
                self._log.error("access files not taken", reason=str(error))
        if is_read:
            self._log.info("access files read")
        self._review(present)

    def _read_identities(self) -> None:
        if self._path is not None and self._authenticator is not None:
            self._authenticator.take(read_identities(self._path))

    def _read_certificates(self) -> None:
        if self.context is not None:
            self.context.renew(self._files)

    async def _check(self, present: Callable[[], Iterable[TcpConnection]]) -> None:
        while True:
            await asyncio.sleep(ACCESS_CHECK_S)
            if self._look() != self._seen:
                self.reload(present())
            else:
                self._review(present())

    def _review(self, present: Iterable[TcpConnection]) -> None:
        """End the connections that would not be admitted as they were.

        Their identity was removed or changed, their token has expired, or the authority that has
        signed their certificate is not trusted any more.
        """
        authenticator, now = self._authenticator, time.time()
        for tcp in list(present):
            admitted = tcp.admitted
            if tcp.connection.ended:
                continue
            if not self._trusts(tcp.certificate):
                reason = _UNTRUSTED
            elif admitted is None or authenticator is None or authenticator.holds(admitted, now):
                continue
            else:
                reason = f"what the identity {admitted.principal.name} may do has changed"
            name = None if admitted is None else admitted.name
            self._log.info("admitted no longer", name=name, address=tcp.address, reason=reason)
            self._ends(tcp, GoodbyeCode.DENIED, reason)

    def _trusts(self, certificate: Certificate | None) -> bool:
        """True if the authority of a certificate is trusted now, or no certificate was shown."""
        context = self.context
        return certificate is None or context is None or context.trusts(certificate)

    def _look(self) -> _Seen:
        """The sizes and times of the files; a file that cannot be examined is left out."""
        found = []
        for path in (self._path, self._files.cert, self._files.key, self._files.ca):
            if path is not None:
                try:
                    state = Path(path).stat()
                except OSError:
                    continue
                found.append((str(path), state.st_mtime_ns, state.st_size))
        return tuple(found)


def _names(certificate: Certificate | None) -> frozenset[str]:
    return frozenset() if certificate is None else certificate.names
