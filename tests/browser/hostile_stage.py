"""python -m tests.browser.hostile_stage OWNER: the page, and an API whose every text is hostile.

Files and headers are those of the real door; what it answers is made up, for no cluster would
admit it. It prints where it is, and ends when the process OWNER does.
"""

import asyncio
import json
import os
import sys
from typing import Any, Final

from aiohttp import web

from rescheduler.serve.dashboard.contract import ENDPOINTS, EVENT_STREAM, PREFIX
from rescheduler.serve.dashboard.page_files import PageFiles
from rescheduler.serve.dashboard.replies import HEADERS
from tests.browser.hostile_documents import Hostile, check

_STREAMED: Final = ("hello", "overview", "migrations", "plans", "plan", "history")


class Server:
    def __init__(self) -> None:
        self._answers = Hostile().answers()
        check(self._answers)
        self._files = PageFiles()

    def app(self) -> web.Application:
        app = web.Application()
        for each in ENDPOINTS:
            answer = self._stream if each.name == "events" else self._answer(each.name)
            app.router.add_route(each.method, PREFIX + each.path, answer)
        app.router.add_get("/{path:.*}", self._file)
        return app

    def _answer(self, name: str) -> Any:  # noqa: ANN401 - aiohttp's own
        async def answer(_: web.Request) -> web.Response:
            return web.json_response(self._answers[name], headers=HEADERS)

        return answer

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        """Every kind of event once, and then nothing more."""
        response = web.StreamResponse(headers={**HEADERS, "Content-Type": EVENT_STREAM})
        await response.prepare(request)
        for name, data in Hostile().events(_STREAMED).items():
            await response.write(f"event: {name}\ndata: {json.dumps(data)}\n\n".encode())
        await asyncio.Event().wait()
        return response

    async def _file(self, request: web.Request) -> web.Response:
        found = self._files.find(request.path)
        if found is None:
            raise web.HTTPNotFound
        return web.Response(
            body=found.body, headers={**HEADERS, "Content-Type": found.content_type}
        )


async def serve(owner: int) -> None:
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(os.pidfd_open(owner), ended.set)
    runner = web.AppRunner(Server().app())
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    _, port = runner.addresses[0][:2]
    sys.stdout.write(json.dumps({"url": f"http://localhost:{port}/"}) + "\n")
    sys.stdout.flush()
    await ended.wait()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
