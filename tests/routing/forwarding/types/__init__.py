"""Tables for each DTD that is advertised."""
