"""Frames and messages: what travels on a connection, as pure functions of bytes.

::

    frame    4 bytes big-endian length, then so many bytes of MessagePack
    greeting the first frame either way: magic, version, kind, then who speaks
    message  every later frame: one tagged array of the direction's union

Nothing here opens a socket or knows the time.
"""
