"""Durable subscriptions: mailboxes, their consumers, and the rows that survive a crash.

Sans-IO like the rest of the room: places of the journal, requests and two times come in; rows to be
stored and publications to be delivered go out. `now` is the time of timers, `time` that of ages
(`clock.SteadyClock`).
"""
