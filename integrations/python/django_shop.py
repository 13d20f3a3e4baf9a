"""A Django shop behind Anteroom: python django_shop.py runserver 3000. The tests in integrations/checks run it."""

import json
import os
import sys
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management import execute_from_command_line
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse, JsonResponse
from django.urls import path
from django.views.decorators.http import require_POST

from anteroom import django_gate, signatures
from anteroom.settings import SHOP_URL

settings.configure(
    SECRET_KEY=os.environ.get("DJANGO_SECRET_KEY") or os.urandom(32).hex(),
    ALLOWED_HOSTS=[urlsplit(SHOP_URL).hostname, "127.0.0.1"],
    ROOT_URLCONF=__name__,
    MIDDLEWARE=["anteroom.django_gate.gate"],
    # What a user needs to get a place, and the webhook.
    ANTEROOM_OPEN_PATHS={"/identity", "/join", "/webhook"},
)


def login(view):
    def checked(request):
        request.user_id = request.headers.get("x-demo-user")  # your login
        return view(request) if request.user_id else HttpResponse(status=401)

    return checked


@login
def identity(request):
    return JsonResponse({"assertion": signatures.assertion(request.user_id)}, headers={"Cache-Control": "no-store"})


@require_POST
@login
def join(request):
    response = django_gate.join(request.user_id)
    response["Cache-Control"] = "no-store"
    return response


handed_out = set()  # your database: store the key in the transaction that hands out the item


@require_POST
def webhook(request):
    if not signatures.is_from_anteroom(request.headers.get("x-anteroom-signature", ""), request.body):
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
    django_gate.finish(request.place)  # after your own work is committed
    return HttpResponse("Your order is complete.")


urlpatterns = [path(view.__name__, view) for view in (seats, order, webhook)]
urlpatterns += [path("identity", identity), path("join", join)]
application = get_wsgi_application()

if __name__ == "__main__":
    execute_from_command_line(sys.argv)
