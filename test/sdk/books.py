# SPDX-License-Identifier: MIT
"""Who asked the agent, and when: each way has a door of its own to an endpoint, and a program in front of `credfresh get`."""
import asyncio
import datetime
import re
import socket
import struct
import threading
import time

RESET = struct.pack("ii", 1, 0)  # a connection that is closed so is reset, as if the agent had done it
STEP_S = 25  # the agent's credentials are good for 30 s at least when it gives them out
ONCE_S = 0.5  # an SDK may ask for the same several times

EXPIRY = re.compile(rb'("(?:ext_)?expires_in" *: *"?)\d+|("expires_on" *: *"?)\d+|("Expiration" *: *")[^"]+')


class Claim:
    """What a way is told of the life of its credentials, to see how long before the end it asks again: at each ask a little more
    than the most that was ever left when it asked. So a claim is wrong for STEP_S at most, and ends up there by itself."""

    def __init__(self):
        self.left_s, self.until, self.given, self.settled = 0, None, 0, False

    def next(self, now):
        """The end that is claimed at an ask."""
        if self.until is None or now - self.given > ONCE_S:
            left = 0 if self.until is None else self.until - now
            self.settled = self.until is not None and left < self.left_s + 2
            self.left_s = max(self.left_s, left)
            self.until, self.given = now + self.left_s + STEP_S, now
        return self.until

    def rewrite(self, body, now):
        if not EXPIRY.search(body):
            return body
        until = self.next(now)
        date = datetime.datetime.fromtimestamp(int(until), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")

        def put(found):
            value = (round(until - now), int(until), date)[found.lastindex - 1]
            return found[found.lastindex] + str(value).encode()
        return EXPIRY.sub(put, body)


async def read_answer(source):
    """An answer of the agent as head and body; empty at its end."""
    try:
        head = await source.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as end:
        return end.partial, b""
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    return head, await source.readexactly(int(length[1])) if length else b""


class Books:
    def __init__(self, directory, agent_program):
        self.seen, self.open = {}, set()  # way: [time]; the connections
        self.claims, self.claiming = {}, False
        self.directory, self.agent_program = directory / "programs", agent_program
        self.directory.mkdir(parents=True, exist_ok=True)
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def door(self, way, port, claims=False):
        """A port that leads to the agent's; each request that passes is noted for WAY, and if CLAIMS, later ends are claimed."""
        async def enter(reader, writer):
            task = asyncio.current_task()
            self.open.add(task)  # the loop itself has no more than a weak reference
            await self.pass_on(way, port, reader, writer)
            self.open.discard(task)
        self.seen[way], self.claims[way] = [], Claim() if claims else None
        listener = socket.create_server(("127.0.0.1", 0))
        asyncio.run_coroutine_threadsafe(asyncio.start_server(enter, sock=listener), self.loop).result()
        return listener.getsockname()[1]

    async def pass_on(self, way, port, reader, writer):
        try:
            to_reader, to_writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            writer.close()
            return

        named = "{}:{}".format(*writer.get_extra_info("sockname")).encode()

        async def ask():
            head = b""
            while data := await reader.read(65536):  # requests to the endpoints have no body, so each ends with its head
                *heads, head = (head + data).split(b"\r\n\r\n")
                self.seen[way] += [time.time()] * len(heads)
                to_writer.write(data.replace(named, f"127.0.0.1:{port}".encode()))  # the agent wants to be asked for itself
                await to_writer.drain()

        async def answer():
            while any(parts := await read_answer(to_reader)):
                head, body = parts
                if self.claiming and self.claims[way]:
                    body = self.claims[way].rewrite(body, time.time())
                    head = re.sub(rb"(?i)(\r\ncontent-length: *)\d+", lambda found: found[1] + str(len(body)).encode(), head)
                writer.write(head + body)
                await writer.drain()

        async def follow(copy, sink):
            try:
                await copy
                sink.write_eof()
            except (OSError, asyncio.IncompleteReadError):
                sink.transport.abort()  # the other side would wait for what does not come

        await asyncio.gather(follow(ask(), to_writer), follow(answer(), writer))
        to_writer.close()
        writer.close()

    def left_s(self, way):
        """How long before the end of what it has WAY asks again; None if that was not seen."""
        claim = self.claims.get(way)
        return round(claim.left_s) if claim and claim.settled else None

    def program(self, way):
        """What WAY runs in place of the agent's program."""
        program = self.directory / way.replace(":", ".")
        program.write_text(f'#!/bin/sh\ndate +%s.%N >>{program}.runs\nexec {self.agent_program} "$@"\n')
        program.chmod(0o755)
        return program

    def asked(self, way):
        """The times when WAY asked; None if it has neither a door nor a program."""
        runs = self.directory / f"{way.replace(':', '.')}.runs"
        if runs.exists():
            return [float(line) for line in runs.read_text().splitlines()]
        return self.seen.get(way)
