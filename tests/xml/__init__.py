# noqa: A005 - tests of the room of that name
