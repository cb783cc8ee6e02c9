"""How routers decide: a state machine without input and output of its own, and its strategies."""
