"""Durable state: the journal of the publications that a broker has accepted."""
