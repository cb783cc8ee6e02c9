"""Tables that become right again whatever they hold: Shen 5.4, edge by edge."""
