"""The sans-IO router: a state machine, and its strategies in four slots."""
