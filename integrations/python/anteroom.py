"""What the Django and the FastAPI sample share: settings, refusals, signatures.

Copy this file into your service: docs/how-to/integrate/python-django.md explains it.
"""

import base64
import hashlib
import hmac
import logging
import os
import time
from http.cookiejar import CookieJar, DefaultCookiePolicy
from urllib.parse import quote, urlsplit

QUEUE = os.environ.get("QUEUE", "concert")
PUBLIC = os.environ.get("ANTEROOM_PUBLIC", "http://127.0.0.1:8080") + f"/v1/queues/{QUEUE}"
SERVICE = os.environ.get("ANTEROOM_SERVICE", "http://127.0.0.1:8081") + f"/v1/queues/{QUEUE}"
# As visitors type it. Its origin is in return_to_origins.
SHOP_URL = os.environ.get("SHOP_URL", "http://127.0.0.1:3000")
KEY = {"authorization": f"Bearer {os.environ['ANTEROOM_KEY']}"}
IDENTITY_SECRET = os.environ["ANTEROOM_IDENTITY_SECRET"].encode()
WEBHOOK_SECRET = os.environ["ANTEROOM_WEBHOOK_SECRET"].encode()

TOKEN_HEADERS = ("cookie", "x-anteroom-token", "authorization")
ANSWER_HEADERS = ("content-type", "retry-after", "www-authenticate", "x-anteroom-room", "x-anteroom-refusal")
# For the HTTP client: a time-out of 2 s, and a cookie jar that stores nothing. With the usual jar the client sends the
# cookie of one visitor with the check of the next.
CLIENT = {"timeout": 2, "cookies": CookieJar(DefaultCookiePolicy(allowed_domains=[]))}


def refusal(method: str, path: str, headers, answer) -> tuple[int, dict, bytes | str]:
    """Status, headers and body for a visitor, unless the gateway check returned 200."""
    if answer.status_code not in (401, 403):
        logging.warning("the gateway check failed: %s %s", answer.status_code, answer.text)
        return 503, {"retry-after": "5"}, "The waiting room is not available. Please try again."
    room = answer.headers.get("x-anteroom-room")
    mode = headers.get("sec-fetch-mode")
    is_page = mode == "navigate" if mode else "text/html" in headers.get("accept", "")
    if not (room and is_page):  # a script gets Anteroom's own answer
        return relay(answer)
    is_read = method in ("GET", "HEAD")
    address = f"{room}?return_to={quote(SHOP_URL + (path if is_read else '/'), safe='')}"
    if is_read:
        return 302, {"location": address}, ""
    text = f'<p>Nothing was changed. <a href="{address}">Go to the waiting room</a></p>'
    return answer.status_code, {"content-type": "text/html"}, text


def relay(answer) -> tuple[int, dict, bytes | str]:
    """Anteroom's own answer."""
    headers = {name: answer.headers[name] for name in ANSWER_HEADERS if answer.headers.get(name)}
    return answer.status_code, headers, answer.content


def may_change(headers) -> bool:
    """A page of another origin can send your visitors' cookies. It must change nothing (CSRF)."""
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site:
        return site in ("same-origin", "none")
    shop = urlsplit(SHOP_URL)
    return not origin or origin == f"{shop.scheme}://{shop.netloc}"


def assertion(visitor_id: str) -> str:
    """A signed identity: the user's browser joins with it on the public port."""
    expiry = int(time.time()) + 150
    message = f"anteroom assertion\n{QUEUE}\n{visitor_id}\n{expiry}".encode()
    mac = hmac.new(IDENTITY_SECRET, message, hashlib.sha256).digest()
    return f"ara1.{base64url(visitor_id.encode())}.{expiry}.{base64url(mac)}"


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def is_from_anteroom(signature: str, body: bytes) -> bool:
    """Whether a webhook's raw body was signed by Anteroom, within the last 5 minutes."""
    parts = [part.partition("=") for part in signature.split(",")]
    sent_at = next((value for name, _, value in parts if name == "t"), "")
    if not (sent_at.isascii() and sent_at.isdigit()) or abs(time.time() - int(sent_at)) > 300:
        return False
    expected = hmac.new(WEBHOOK_SECRET, sent_at.encode() + b"." + body, hashlib.sha256).hexdigest().encode()
    return any(hmac.compare_digest(value.encode(), expected) for name, _, value in parts if name == "v1")
