"""What must survive: the journal of the publications that a broker has accepted."""
