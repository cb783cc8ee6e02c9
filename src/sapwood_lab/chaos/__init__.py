"""Campaigns against real brokers: killed, stopped, cut off, and every delivery judged."""
