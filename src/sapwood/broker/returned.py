"""Clients that return to a restarted broker, and the entries that they do not request again.

The entries of a client stay in force through a restart of its broker, so that no publication is
missed before it returns. It may have withdrawn some of them meanwhile, or another run of its
program requests others. So it reports when it has requested all its entries, and the rest is
withdrawn.
"""

from __future__ import annotations

import asyncio

from sapwood.broker.durables import Shell
from sapwood.limits import SUBSCRIPTIONS_AT_ONCE_MAX
from sapwood.routing.inputs import ClientUnadvertise, ClientUnsubscribeMany, Input
from sapwood.routing.router import Router
from sapwood.session.client_session_at_broker import ClientSessionAtBroker, Restated


class Returned:
    """Withdraws entries that returned clients have not requested again, some at a time."""

    def __init__(self, router: Router, shell: Shell, loop: asyncio.AbstractEventLoop) -> None:
        self._router = router
        self._shell = shell
        self._loop = loop

    def let_go(self, client: ClientSessionAtBroker, restated: Restated) -> None:
        """Withdraw the entries that a client has not requested again."""
        had = self._router.ids_of(client.name)
        for id_ in had.advertisements:
            if id_ not in restated.advertisements:
                self._handle(client, ClientUnadvertise(client.name, id_))
        left = [id_ for id_ in had.subscriptions if id_ not in restated.subscriptions]
        self._withdraw(client, restated, left)

    def _withdraw(self, client: ClientSessionAtBroker, restated: Restated, left: list[str]) -> None:
        """Withdraw some subscriptions now, except those requested meanwhile, and more later."""
        if self._shell.connections.to_client(client.name) is not client:
            return
        some = [left.pop() for _ in range(min(len(left), SUBSCRIPTIONS_AT_ONCE_MAX))]
        unwanted = tuple(id_ for id_ in some if id_ not in restated.subscriptions)
        if unwanted:
            self._handle(client, ClientUnsubscribeMany(client.name, unwanted))
            self._shell.flush()
        if left:
            self._loop.call_soon(self._withdraw, client, restated, left)
        else:
            client.restated = None

    def _handle(self, client: ClientSessionAtBroker, request: Input) -> None:
        with client.unasked():
            self._shell.handle(request, self._loop.time())
