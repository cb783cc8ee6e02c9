"""Publications by delegation: each router looks after a range, and hands its parts on."""
