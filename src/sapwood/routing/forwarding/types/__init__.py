"""A table of subscriptions for each DTD that is advertised (XNet, 4.2.6)."""
