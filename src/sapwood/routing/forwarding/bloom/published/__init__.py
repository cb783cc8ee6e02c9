"""The structures of XSiena chapter 5, faithful and measured, for comparison."""
