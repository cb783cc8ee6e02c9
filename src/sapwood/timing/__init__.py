"""What is known about time without synchronized clocks: bounds of delays, and ages."""
