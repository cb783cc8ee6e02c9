"""The guided tour behind `sapwood demo`: real flights through an overlay and through Spark."""
