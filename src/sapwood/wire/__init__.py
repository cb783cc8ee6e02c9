"""Frames and messages: the bytes of a connection, as pure functions.

::

   frame    4 bytes big-endian length, then as many bytes of MessagePack
   greeting the first frame either way: magic, version, kind, then the sender
   message  every later frame: one tagged array of the direction's union

Nothing here opens a socket or knows the time.
"""
