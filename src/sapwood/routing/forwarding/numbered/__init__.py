"""Publications by a match at every hop, each with its number."""
