"""The commands that the lab contributes to `sapwood`: `bench`, `experiment`, `pipeline sweep`."""
