"""The guided tour behind `sapwood demo`: flights through an overlay, and matched a second way."""
