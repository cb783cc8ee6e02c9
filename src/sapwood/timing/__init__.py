"""Time without synchronized clocks: bounds of delays, and ages."""
