"""Another configuration for a running broker: changeable options change, others are reported.

On SIGHUP the file is read again, under the same command line and environment. A file that cannot be
used, or that contradicts the fixed options, changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sapwood.broker.broker import Broker
from sapwood.broker.configuration.options import OPTIONS, Changes
from sapwood.broker.configuration.sources import Configuration
from sapwood.broker.descriptors import with_descriptors
from sapwood.broker.logs import Level, Log
from sapwood.broker.settings import BrokerSettings
from sapwood.errors import ConfigurationError, InputError
from sapwood.routing.upkeep.failover.choice import is_planned

_GUARDS: Final = frozenset({"identities", "tls_ca", "tls_cert", "tls_key"})
"""Options that can name another file while a broker runs, and cannot come or go."""


class Reloading:
    """The configuration of one broker, and its effect on the broker when it is read again.

    `read` reads it, `make` makes settings of it; both raise `InputError`. `level` is that of `log`.
    """

    def __init__(
        self,
        told: Configuration,
        read: Callable[[], Configuration],
        make: Callable[[Configuration], BrokerSettings],
        level: Level,
        log: Log,
    ) -> None:
        #: the configuration that the broker runs with
        self.told = told
        self._read = read
        self._make = make
        self._level = level
        self._log = log

    def reload(self, broker: Broker) -> None:
        """Read the configuration again, and change the options that can change."""
        try:
            read = self._read()
            changed = self.told.differences(read)
            taken = [name for name in changed if not self._is_fixed(name, read, broker)]
            told = self.told.taking(read, taken)
            settings = self._make(told)
        except InputError as error:
            said = error.problems if isinstance(error, ConfigurationError) else (str(error),)
            for problem in said:
                self._log.error("configuration not taken", reason=problem)
            broker.reload()
            return
        for name in changed:
            runs, asked = self.told[name], read[name]
            if name in taken:
                self._log.info("option changed", option=name, before=runs, value=asked)
            else:
                self._log.warning("option needs a restart", option=name, value=runs, asked=asked)
        self.told = told
        self._level.set(told["log_level"])
        broker.take(with_descriptors(settings, self._log))

    def _is_fixed(self, name: str, read: Configuration, broker: Broker) -> bool:
        """True if an option keeps its value until the broker is restarted."""
        if OPTIONS[name].changes is Changes.RESTART:
            return True
        if name in _GUARDS:
            return self.told[name] is None or read[name] is None
        return name == "peer" and is_planned(broker.router.protocol)
