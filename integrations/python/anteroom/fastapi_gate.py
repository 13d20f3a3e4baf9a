"""The calls to Anteroom, and the gateway check as a middleware of FastAPI."""

import asyncio
import logging

import httpx
from fastapi import Request, Response

from . import refusals
from .settings import CLIENT, KEY, PUBLIC, SERVICE, TOKEN_HEADERS

client = httpx.AsyncClient(**CLIENT)


async def call(method, url, **options):
    """One call to Anteroom, and one retry after a 5xx or no answer."""
    for _ in range(2):
        try:
            async with asyncio.timeout(2):
                answer = await client.request(method, url, **options)
            if answer.status_code < 500:
                break
        except (httpx.HTTPError, TimeoutError) as error:
            logging.warning("no answer of Anteroom: %r", error)
            answer = httpx.Response(503, headers={"retry-after": "5"})
    return answer


def gate(open_paths):
    """Middleware: asks the gateway check. Only 200 passes; the handle of the place is then in request.state.place."""

    async def middleware(request: Request, call_next):
        if request.method not in ("GET", "HEAD") and not refusals.may_change(request.headers):
            return Response(status_code=403)
        if request.scope["path"] in open_paths:  # not request.url: old versions build it with an unchecked Host header
            return await call_next(request)
        headers = [(name, value) for name, value in request.headers.raw if name.decode() in TOKEN_HEADERS]
        answer = await call("GET", f"{PUBLIC}/authorize", headers=headers)
        if answer.status_code == 200:
            request.state.place = answer.headers.get("x-anteroom-place")
            response = await call_next(request)
        else:
            query = request.scope["query_string"].decode()
            target = request.scope["raw_path"].decode() + (f"?{query}" if query else "")
            response = respond(*refusals.refusal(request.method, target, request.headers, answer))
        for line in answer.headers.get_list("set-cookie"):
            response.headers.append("set-cookie", line)
        response.headers["cache-control"] = "private, no-store"
        return response

    return middleware


def respond(status, headers, body):
    return Response(body, status, headers)


async def finish(place):
    """The visitor is done: its slot is free for the next one. If this fails, the session ends after session_ttl."""
    if place:
        answer = await call("DELETE", f"{SERVICE}/places/{place}", headers=KEY)
        if answer.status_code != 204:
            logging.warning("a place was not finished: %s %s", answer.status_code, answer.text)


async def join(visitor_id):
    """Joins for a user that you know: the same place on each device."""
    answer = await call("POST", f"{SERVICE}/tokens", headers=KEY, json={"visitor_id": visitor_id})
    return respond(*refusals.relay(answer))
