"""Semantic overlays: peers that are neighbors because their interests are close (Chand, part II).

Every peer publishes, subscribes and forwards. Algorithm 21 routes: a peer sends a publication on
iff its own filter accepts it. What makes that good or bad is the choice of neighbors: `hierarchy/`
places peers by containment in a tree (no false negatives), `graph/` by similarity in a graph.

Nothing here knows a clock or draws by itself: randomness comes as an argument, and what takes
time is counted in messages.
"""
