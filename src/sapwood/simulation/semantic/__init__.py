"""Semantic overlays under publications and churn: their simulation, and its verdict.

They have no routers and no homes: each subscription is a peer, and joins by itself.
"""
