"""Subscriptions from router to router on ways that routing on a circle takes."""
