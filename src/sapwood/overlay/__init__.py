"""Who is whose neighbor: topologies and the ways through them."""
