"""Semantic overlays under publications and churn: what a simulation of them is, and its verdict.

They have no routers and no homes: each subscription is a peer, and joins by itself.
"""
