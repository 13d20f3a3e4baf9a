"""A FastAPI shop behind Anteroom: uvicorn fastapi_shop:app --port 3000. The tests in integrations/checks run it."""

import asyncio
import json
import logging
from typing import Annotated

import httpx
from fastapi import Depends, FastAPI, Header, HTTPException, Request, Response
from fastapi.responses import HTMLResponse

import anteroom

OPEN_PATHS = {"/identity", "/join", "/webhook"}  # what a user needs to get a place, and the webhook
app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
client = httpx.AsyncClient(**anteroom.CLIENT)


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


@app.middleware("http")
async def gate(request: Request, call_next):
    """Asks the gateway check. Only 200 passes; the handle of the place is then in request.state.place."""
    if request.method not in ("GET", "HEAD") and not anteroom.may_change(request.headers):
        return Response(status_code=403)
    if request.scope["path"] in OPEN_PATHS:  # not request.url: old versions build it with an unchecked Host header
        return await call_next(request)
    headers = [(name, value) for name, value in request.headers.raw if name.decode() in anteroom.TOKEN_HEADERS]
    answer = await call("GET", f"{anteroom.PUBLIC}/authorize", headers=headers)
    if answer.status_code == 200:
        request.state.place = answer.headers.get("x-anteroom-place")
        response = await call_next(request)
    else:
        query = request.scope["query_string"].decode()
        target = request.scope["raw_path"].decode() + (f"?{query}" if query else "")
        response = respond(*anteroom.refusal(request.method, target, request.headers, answer))
    for line in answer.headers.get_list("set-cookie"):
        response.headers.append("set-cookie", line)
    response.headers["cache-control"] = "private, no-store"
    return response


def respond(status, headers, body):
    return Response(body, status, headers)


async def finish(place):
    """The visitor is done: its slot is free for the next one. If this fails, the session ends after session_ttl."""
    if place:
        answer = await call("DELETE", f"{anteroom.SERVICE}/places/{place}", headers=anteroom.KEY)
        if answer.status_code != 204:
            logging.warning("a place was not finished: %s %s", answer.status_code, answer.text)


def login(x_demo_user: Annotated[str | None, Header()] = None) -> str:
    if not x_demo_user:  # your login
        raise HTTPException(401)
    return x_demo_user


User = Annotated[str, Depends(login)]


@app.get("/identity")
async def identity(user: User, response: Response):
    response.headers["cache-control"] = "no-store"
    return {"assertion": anteroom.assertion(user)}


@app.post("/join")
async def join(user: User):
    """Joins for a user that you know: the same place on each device."""
    answer = await call("POST", f"{anteroom.SERVICE}/tokens", headers=anteroom.KEY, json={"visitor_id": user})
    response = respond(*anteroom.relay(answer))
    response.headers["cache-control"] = "no-store"
    return response


handed_out = set()  # your database: store the key in the transaction that hands out the item


@app.post("/webhook")
async def webhook(request: Request, x_anteroom_signature: Annotated[str, Header()] = ""):
    body = await request.body()
    if not anteroom.is_from_anteroom(x_anteroom_signature, body):
        return Response(status_code=401)
    key = json.loads(body)["idempotency_key"]
    if key in handed_out:
        return Response(status_code=409)
    handed_out.add(key)
    return Response(status_code=201)


@app.get("/seats", response_class=HTMLResponse)
async def seats():
    return '<h1>Seats</h1><form method="post" action="/order"><button>Order</button></form>'


@app.post("/order")
async def order(request: Request):
    await finish(request.state.place)  # after your own work is committed
    return Response("Your order is complete.")
