"""The interface of confluent-kafka for the bridge, imported late, and its errors in our words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Protocol

from sapwood.errors import ConnectionLostError, EnvironmentMissingError, InputError

WAIT_S: Final = 0.2
"""Seconds for which one call waits for records."""

_OURS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "enable.auto.commit": "offsets are committed when the broker has accepted the publications",
        "enable.idempotence": "what is sent again after an error must not be there twice",
        "acks": "a delivery is acknowledged when all replicas have it",
        "group.id": "it is --group",
        "bootstrap.servers": "it is --kafka",
    }
)
"""Properties of librdkafka that the bridge sets itself, with the reason."""


class Consumer(Protocol):
    """The methods of a consumer that the bridge calls."""

    def subscribe(
        self, topics: list[str], *, on_assign: Callable[..., None], on_revoke: Callable[..., None]
    ) -> None:
        """Read topics; the functions are called while records are waited for."""
        ...

    def consume(self, num_messages: int, timeout: float) -> list[Any]:
        """Records, and errors in their places, within `timeout` seconds."""
        ...

    def commit(self, *, offsets: list[Any], asynchronous: bool) -> Any:
        """Commit offsets: the records before them are done."""
        ...

    def close(self) -> None:
        """Leave the group."""
        ...


class Producer(Protocol):
    """The methods of a producer that the bridge calls."""

    def produce(self, topic: str, value: bytes, key: bytes | None, **more: Any) -> None:
        """Queue a record to be written. Raises `BufferError` where too many wait."""
        ...

    def poll(self, timeout: float) -> int:
        """Call the functions for records that were written."""
        ...

    def flush(self, timeout: float) -> int:
        """Wait for at most `timeout` seconds; return the number of records not written yet."""
        ...


def consumer(servers: str, group: str, properties: Mapping[str, str]) -> Consumer:
    """A consumer of a group. Raises `EnvironmentMissingError` and `InputError`."""
    own = {
        "group.id": group,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
        "enable.partition.eof": True,
    }
    made: Consumer = _made(lambda library: library.Consumer, servers, own, properties)
    return made


def producer(servers: str, properties: Mapping[str, str]) -> Producer:
    """A producer that repeats nothing. Raises `EnvironmentMissingError` and `InputError`."""
    own = {"enable.idempotence": True, "acks": "all", "linger.ms": 5}
    made: Producer = _made(lambda library: library.Producer, servers, own, properties)
    return made


def partition(topic: str, number: int, offset: int) -> Any:
    """A place in a topic, as the library represents it."""
    return _library().TopicPartition(topic, number, offset)


def is_end(error: Any) -> bool:
    """True if an error is only the end of a partition."""
    return bool(error.code() == _library().KafkaError._PARTITION_EOF)


def lost(error: Any) -> ConnectionLostError:
    """An error of the library, in readable form."""
    return ConnectionLostError(f"Kafka: {error.str() if hasattr(error, 'str') else error}")


def read_properties(given: Sequence[str]) -> dict[str, str]:
    """Properties of librdkafka, as `name=value`. Raises `InputError`."""
    found: dict[str, str] = {}
    for one in given:
        name, sign, value = one.partition("=")
        if not sign or not name or name in found:
            raise InputError(f"{one!r}: a property is name=value, each name once")
        if name in _OURS:
            raise InputError(f"the property {name} is the bridge's own: {_OURS[name]}")
        found[name] = value
    return found


def _made(
    kind: Callable[[Any], Any], servers: str, own: Mapping[str, Any], given: Mapping[str, str]
) -> Any:
    library = _library()
    try:
        return kind(library)({"bootstrap.servers": servers, **own, **given})
    except (library.KafkaException, ValueError, TypeError) as error:
        about = error.args[0] if error.args else error
        text = about.str() if hasattr(about, "str") else str(about)
        raise InputError(f"Kafka's library takes no such properties: {text}") from None


def _library() -> Any:
    try:
        import confluent_kafka
    except ImportError:
        raise EnvironmentMissingError(
            "a bridge to Kafka needs confluent-kafka: pip install 'sapwood[kafka]'"
        ) from None
    return confluent_kafka
