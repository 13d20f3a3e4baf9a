"""The calls to Anteroom, and the gateway check as a middleware of Django."""

import logging

import httpx
from django.conf import settings
from django.http import HttpResponse

from . import refusals
from .settings import CLIENT, KEY, PUBLIC, SERVICE, TOKEN_HEADERS

client = httpx.Client(**CLIENT)


def call(method, url, **options):
    """One call to Anteroom, and one retry after a 5xx or no answer."""
    for _ in range(2):
        try:
            answer = client.request(method, url, **options)
            if answer.status_code < 500:
                break
        except httpx.HTTPError as error:
            logging.warning("no answer of Anteroom: %r", error)
            answer = httpx.Response(503, headers={"retry-after": "5"})
    return answer


def gate(get_response):
    """Middleware: asks the gateway check. Only 200 passes; the handle of the place is then in request.place."""

    def middleware(request):
        if request.method not in ("GET", "HEAD") and not refusals.may_change(request.headers):
            return HttpResponse(status=403)
        if request.path_info in settings.ANTEROOM_OPEN_PATHS:
            return get_response(request)
        sent = (name for name in TOKEN_HEADERS if name in request.headers)
        headers = {name: request.headers[name].encode("latin-1") for name in sent}
        answer = call("GET", f"{PUBLIC}/authorize", headers=headers)
        if answer.status_code == 200:
            request.place = answer.headers.get("x-anteroom-place")
            response = get_response(request)
        else:
            response = respond(*refusals.refusal(request.method, request.get_full_path(), request.headers, answer))
        for line in answer.headers.get_list("set-cookie"):
            response.cookies.load(line)
        response["Cache-Control"] = "private, no-store"
        return response

    return middleware


def respond(status, headers, body):
    return HttpResponse(body, status=status, headers=headers)


def finish(place):
    """The visitor is done: its slot is free for the next one. If this fails, the session ends after session_ttl."""
    if place:
        answer = call("DELETE", f"{SERVICE}/places/{place}", headers=KEY)
        if answer.status_code != 204:
            logging.warning("a place was not finished: %s %s", answer.status_code, answer.text)


def join(visitor_id):
    """Joins for a user that you know: the same place on each device."""
    answer = call("POST", f"{SERVICE}/tokens", headers=KEY, json={"visitor_id": visitor_id})
    return respond(*refusals.relay(answer))
