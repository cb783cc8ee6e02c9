"""Tables that jobs read and write: schemas, attributes, lines, lakes, results put in place."""
