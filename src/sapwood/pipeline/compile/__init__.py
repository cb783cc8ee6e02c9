"""The job `compile`: a subscription set of any size to the set that brokers load."""
