"""The lab's connection to its hosts: tasks that are pinned to a host, calls, events, and losses."""

import asyncio
import threading
import time
from asyncio import FIRST_COMPLETED
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self
from uuid import uuid4

import dask.config
from distributed import Client

from steelyard.errors import InputError
from steelyard.fleet.connection import SILENCE_S, UP, Connection, Offset, offset_of
from steelyard.fleet.on_host import answer_the_lab
from steelyard.lab.engines.result import Json, LoadFailed, OnEvent
from steelyard.study.fleet import SCHEDULER_FILE

_CONNECT_S = 30.0
_BEAT_S = 2.0
# of silence; each host makes the lab itself slower to hear it
_ANSWER_S, _ANSWER_OF_HOST_S, _ANSWER_S_MAX = 5.0, 0.005, 12.0
_TICK_S = 0.25
# a beat, a command and a fetch at the same time; a connection beyond the limit closes another, and is slow
_CONNECTIONS_MIN, _CONNECTIONS_OF_HOST = 512, 3
# with each host, and with all of them
_EXCHANGES, _EXCHANGES_MIN, _EXCHANGES_OF_ALL = 40, 8, 4000
# a lost host ends its task: dask would else start it again on its successor
_CONFIG = {"distributed.scheduler.allowed-failures": 0, "distributed.comm.retry.count": 0}


class Bus:
    """A connection to hosts of a fleet. Use as a context.

    hosts: their names, in the order of the fleet. lab: the id under which they know it. facts: of each, by
    name. failure: what has been lost since, '' while nothing is.
    """

    def __init__(self, connection: Connection, names: list[str]) -> None:
        """names: the hosts. Raises InputError when some are missing."""
        self.hosts = names
        self.lab = uuid4().hex
        self.failure = ""
        self._answer_s = min(_ANSWER_S_MAX, _ANSWER_S + _ANSWER_OF_HOST_S * len(names))
        self._over = threading.Event()
        with dask.config.set(_CONFIG):
            try:
                # dask's own types are not complete
                self._client: Any = Client(
                    connection.scheduler,
                    security=connection.security,
                    timeout=_CONNECT_S,
                    connection_limit=max(_CONNECTIONS_MIN, _CONNECTIONS_OF_HOST * len(names)),
                )
            except (OSError, TimeoutError) as error:
                cause = f"{connection.scheduler}: the scheduler does not answer: {error}"
                raise InputError(cause, UP) from None
        try:
            self._addresses = self._found()
            answers = self._client.run(answer_the_lab, workers=list(self._addresses.values()))
        except BaseException:
            self._client.close()
            raise
        self.facts: dict[str, Json] = {name: answers[address] for name, address in self._addresses.items()}
        self._thread = threading.Thread(target=self._beat, name="fleet", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._client.close()

    def submit(self, host: str, task: Callable[..., Any], *arguments: Any) -> Any:
        """Starts a task on this host and no other, once, whatever becomes of it; its future."""
        return self._client.submit(
            task,
            *arguments,
            key=f"{host}-{uuid4().hex}",
            workers=[self._addresses[host]],
            allow_other_workers=False,
            retries=0,
            pure=False,
        )

    def subscribe(self, channel: str, handler: OnEvent) -> None:
        """Calls the handler for each event of the channel, in a thread of the bus."""

        def with_time(event: tuple[float, Json]) -> None:
            handler(event[1])

        self._client.subscribe_topic(channel, with_time)

    def unsubscribe(self, channel: str) -> None:
        """Ends the calls."""
        self._client.unsubscribe_topic(channel)

    def call(self, operation: str, arguments: Mapping[str, Json], limit_s: float | None = None) -> Json:
        """Answers of hosts to a call, by host; arguments by host. Raises LoadFailed, which names a host.

        limit_s: of silence; default: 5 s, more for many hosts. Each answer of any host begins it anew.
        """
        return self._client.sync(self._answers, operation, arguments, limit_s or self._answer_s)

    def offsets(self) -> dict[str, Offset]:
        """The offset of each host's clock, by its name. Raises LoadFailed, which names a host."""

        async def all_of_them() -> dict[str, Offset]:
            # one host after another: answers that wait for one another have long round trips
            return {host: await self._offset(host) for host in self.hosts}

        return self._client.sync(all_of_them)

    async def _offset(self, host: str) -> Offset:
        exchanges: list[tuple[int, int, int]] = []
        exchanges_max = max(_EXCHANGES_MIN, min(_EXCHANGES, _EXCHANGES_OF_ALL // len(self.hosts)))
        async with self._client.rpc(self._addresses[host]) as remote:
            for _ in range(exchanges_max):
                sent = time.monotonic_ns()
                try:
                    read = await asyncio.wait_for(remote.steelyard_clock(), self._answer_s)
                except TimeoutError:
                    raise self._silent([host], self._answer_s) from None
                except OSError as error:
                    raise self.lost(host, str(error)) from None
                exchanges.append((sent, read, time.monotonic_ns()))
        return offset_of(exchanges)

    async def _answers(self, operation: str, arguments: Mapping[str, Json], limit_s: float) -> Json:
        calls = {
            asyncio.create_task(self._answer(host, operation, own)): host for host, own in arguments.items()
        }
        waiting, silent_s = set(calls), 0.0
        try:
            while waiting:
                # time is counted in ticks of this loop: while it is busy itself, no host is late
                done, waiting = await asyncio.wait(waiting, timeout=_TICK_S, return_when=FIRST_COMPLETED)
                silent_s = 0.0 if done else silent_s + _TICK_S
                if silent_s > limit_s:
                    raise self._silent([host for call, host in calls.items() if call in waiting], limit_s)
                for call in done:
                    if isinstance(error := call.exception(), OSError):
                        raise self.lost(calls[call], str(error))
            return {host: call.result() for call, host in calls.items()}
        finally:
            for call in waiting:
                call.cancel()

    async def _answer(self, host: str, operation: str, arguments: Json) -> Any:
        async with self._client.rpc(self._addresses[host]) as remote:
            return await getattr(remote, f"steelyard_{operation}")(**arguments)

    def _silent(self, hosts: Sequence[str], limit_s: float) -> LoadFailed:
        more = f"; nor from {len(hosts) - 1} others" if len(hosts) > 1 else ""
        return self.lost(hosts[0], f"no answer within {limit_s:g} s{more}")

    def check(self) -> None:
        """Raises LoadFailed, which names the host, when one is lost: none takes its place."""
        if self.failure:
            raise LoadFailed(self.failure)

    def lost(self, host: str, cause: str) -> LoadFailed:
        """What to raise when a host is lost: the first loss, which may have caused the others."""
        self.failure = self.failure or f"the host {host} of the fleet was lost: {cause}"
        return LoadFailed(self.failure)

    def _found(self) -> dict[str, str]:
        limit_s = time.monotonic() + _CONNECT_S
        while True:
            workers = self._client.scheduler_info(n_workers=-1)["workers"]
            found = {str(worker["name"]): address for address, worker in workers.items()}
            missing = [host for host in self.hosts if host not in found]
            if not missing:
                return {host: found[host] for host in self.hosts}
            if time.monotonic() > limit_s:
                raise InputError(
                    f"hosts of the fleet without a worker: {', '.join(missing)}",
                    "steelyard fleet up HOSTS.toml starts one per host; of your own:"
                    f" dask worker --scheduler-file {SCHEDULER_FILE} --name HOST --nthreads 1 --no-nanny",
                )
            time.sleep(0.2)

    def _beat(self) -> None:
        """Tells every host that the lab is there, until the end; notes the first that does not answer."""
        while not self._over.wait(_BEAT_S) and not self.failure:
            if self._client.status != "running":
                self.failure = self.failure or "the scheduler of the fleet was lost"
                return
            try:
                self.call("beat", {host: {"lab": self.lab} for host in self.hosts})
            except LoadFailed:
                return
            except Exception as error:
                # the client closes with its scheduler
                self.failure = self.failure or f"the scheduler of the fleet was lost: {error}"


# a host that answers must not miss the lab while that waits for another
assert _BEAT_S + _ANSWER_S_MAX < SILENCE_S
