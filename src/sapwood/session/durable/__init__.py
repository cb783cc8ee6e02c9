"""Durable subscriptions: mailboxes, who takes from them, and what of it survives a crash.

Sans-IO like the rest of the room: places of the journal, requests and two times come in; rows to be
kept and what is to be handed out go out. `now` is the time of timers, `time` that of ages
(`clock.SteadyClock`).
"""
