"""The command `sapwood`: one thin module a command."""
