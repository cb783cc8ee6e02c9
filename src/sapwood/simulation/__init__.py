"""A whole overlay in virtual time: the real routers, a network with faults, and an oracle."""
