"""Strategies that are there to show that the router's seams carry; no protocol of the product."""
