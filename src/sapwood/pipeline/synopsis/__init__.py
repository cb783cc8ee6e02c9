"""The job `synopsis`: publications to a summary of their documents."""
