"""The kernels of lookup reuse: keys of subscriptions, found and written for a batch at once."""
