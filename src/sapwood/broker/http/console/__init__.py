"""The console: a page that shows a broker and its overlay, and the answers that it requests."""
