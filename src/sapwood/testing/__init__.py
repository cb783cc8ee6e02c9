"""What users of the library need in tests of their own: conformance checks, broker processes."""
