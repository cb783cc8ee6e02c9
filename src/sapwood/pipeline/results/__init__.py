"""Results as files: the files of tasks, and how they take the place of an earlier result."""
