"""The commands below `sapwood pipeline`, one file a command."""
