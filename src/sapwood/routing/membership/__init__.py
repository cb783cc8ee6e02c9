"""Who a router's neighbors are, and with which it routes for which source: one strategy each."""
