"""The kernels of sketches."""
