"""Requests to brokers, blocking and without a session: for commands, and for a console."""
