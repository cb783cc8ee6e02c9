"""The broker: a router with sockets and a clock around it, and no decisions of its own."""
