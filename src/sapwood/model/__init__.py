"""Values and their algebra: publications, filters, subscriptions. No sets of them."""
