"""A FastAPI shop behind Anteroom: uvicorn fastapi_shop:app --port 3000. The tests in integrations/checks run it."""

import json
from typing import Annotated

from fastapi import Depends, FastAPI, Header, HTTPException, Request, Response
from fastapi.responses import HTMLResponse

from anteroom import fastapi_gate, signatures

app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
# All paths need a place, but what a user needs to get one, and the webhook.
app.middleware("http")(fastapi_gate.gate({"/identity", "/join", "/webhook"}))


def login(x_demo_user: Annotated[str | None, Header()] = None) -> str:
    if not x_demo_user:  # your login
        raise HTTPException(401)
    return x_demo_user


User = Annotated[str, Depends(login)]


@app.get("/identity")
async def identity(user: User, response: Response):
    response.headers["cache-control"] = "no-store"
    return {"assertion": signatures.assertion(user)}


@app.post("/join")
async def join(user: User):
    response = await fastapi_gate.join(user)
    response.headers["cache-control"] = "no-store"
    return response


handed_out = set()  # your database: store the key in the transaction that hands out the item


@app.post("/webhook")
async def webhook(request: Request, x_anteroom_signature: Annotated[str, Header()] = ""):
    body = await request.body()
    if not signatures.is_from_anteroom(x_anteroom_signature, body):
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
    await fastapi_gate.finish(request.state.place)  # after your own work is committed
    return Response("Your order is complete.")
