"""A Django shop behind Anteroom: python django_shop.py runserver 3000. The tests in integrations/checks run it."""

import json
import logging
import os
import sys
from urllib.parse import urlsplit

import httpx
from django.conf import settings
from django.core.management import execute_from_command_line
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse, JsonResponse
from django.urls import path
from django.views.decorators.http import require_POST

import anteroom

settings.configure(
    SECRET_KEY=os.environ.get("DJANGO_SECRET_KEY") or os.urandom(32).hex(),
    ALLOWED_HOSTS=[urlsplit(anteroom.SHOP_URL).hostname, "127.0.0.1"],
    ROOT_URLCONF=__name__,
    MIDDLEWARE=[f"{__name__}.gate"],
)
OPEN_PATHS = {"/identity", "/join", "/webhook"}  # what a user needs to get a place, and the webhook
client = httpx.Client(**anteroom.CLIENT)


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
        if request.method not in ("GET", "HEAD") and not anteroom.may_change(request.headers):
            return HttpResponse(status=403)
        if request.path_info in OPEN_PATHS:
            return get_response(request)
        sent = (name for name in anteroom.TOKEN_HEADERS if name in request.headers)
        headers = {name: request.headers[name].encode("latin-1") for name in sent}
        answer = call("GET", f"{anteroom.PUBLIC}/authorize", headers=headers)
        if answer.status_code == 200:
            request.place = answer.headers.get("x-anteroom-place")
            response = get_response(request)
        else:
            response = respond(*anteroom.refusal(request.method, request.get_full_path(), request.headers, answer))
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
        answer = call("DELETE", f"{anteroom.SERVICE}/places/{place}", headers=anteroom.KEY)
        if answer.status_code != 204:
            logging.warning("a place was not finished: %s %s", answer.status_code, answer.text)


def login(view):
    def checked(request):
        request.user_id = request.headers.get("x-demo-user")  # your login
        return view(request) if request.user_id else HttpResponse(status=401)

    return checked


@login
def identity(request):
    return JsonResponse({"assertion": anteroom.assertion(request.user_id)}, headers={"Cache-Control": "no-store"})


@require_POST
@login
def join(request):
    """Joins for a user that you know: the same place on each device."""
    user = {"visitor_id": request.user_id}
    response = respond(*anteroom.relay(call("POST", f"{anteroom.SERVICE}/tokens", headers=anteroom.KEY, json=user)))
    response["Cache-Control"] = "no-store"
    return response


handed_out = set()  # your database: store the key in the transaction that hands out the item


@require_POST
def webhook(request):
    if not anteroom.is_from_anteroom(request.headers.get("x-anteroom-signature", ""), request.body):
        return HttpResponse(status=401)
    key = json.loads(request.body)["idempotency_key"]
    if key in handed_out:
        return HttpResponse(status=409)
    handed_out.add(key)
    return HttpResponse(status=201)


def seats(request):
    return HttpResponse('<h1>Seats</h1><form method="post" action="/order"><button>Order</button></form>')


@require_POST
def order(request):
    finish(request.place)  # after your own work is committed
    return HttpResponse("Your order is complete.")


urlpatterns = [path(view.__name__, view) for view in (seats, order, webhook)]
urlpatterns += [path("identity", identity), path("join", join)]
application = get_wsgi_application()

if __name__ == "__main__":
    execute_from_command_line(sys.argv)
