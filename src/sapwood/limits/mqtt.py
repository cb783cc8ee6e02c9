"""Bounds of the MQTT listener."""

from __future__ import annotations

from typing import Final

MQTT_CONNECTIONS_MAX: Final = 1024
"""Connections of MQTT clients at a time; can be set. Each is also one of `CONNECTIONS_MAX`."""

MQTT_CONNECT_BYTES_MAX: Final = 262_144
"""Bytes of the first packet of a connection, CONNECT, whose sender is not known yet. A will has 64
KiB at most by the standard, texts beside it as much each."""

MQTT_RECEIVE_MAX: Final = 256
"""Publications of QoS 1 that one client may have sent without an answer; the client gets this
number (Receive Maximum). Precedent: Mosquitto 20, EMQX 32, HiveMQ 10; publications wait for the
disk here."""

MQTT_USER_PROPERTIES_MAX: Final = 256
"""User properties of one packet. They become attributes, and records rarely have a hundred."""

MQTT_FILTERS_MAX: Final = 256
"""Topic filters of one SUBSCRIBE or UNSUBSCRIBE, each of which is a subscription that a router
learns of; more go in further packets. Precedent: AWS IoT Core takes 8."""

MQTT_LEVELS_MAX: Final = 128
"""Levels of a topic filter. Precedent: AWS IoT Core 8, HiveMQ 256."""

MQTT_UNREAD_S: Final = 60.0
"""Seconds for which a client may read nothing of the bytes sent, after which it is disconnected."""

MQTT_UNANSWERED_MAX: Final = 1024
"""Topic filters of one client that are neither in force nor refused yet; with more it is
disconnected. Clients that reconnect request all of theirs at once."""
