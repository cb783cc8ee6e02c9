"""State machines of connections and sessions, without sockets, clocks or randomness.

Bytes and the time come in as arguments; messages, router inputs and bytes to send come out. The
server and the client are shells around these machines.
"""
