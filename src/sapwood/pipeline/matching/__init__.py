"""The job `match`: publications and subscriptions to deliveries."""
