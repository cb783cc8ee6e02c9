"""`python -m sapwood` is the command `sapwood`."""

from sapwood.cli.main import main

if __name__ == "__main__":
    main(prog_name="sapwood")
