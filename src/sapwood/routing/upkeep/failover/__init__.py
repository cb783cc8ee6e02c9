"""Failover: a router whose way to the others is gone for long attaches to a backup."""
