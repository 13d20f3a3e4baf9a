"""Settings of the calls to Anteroom, for Django and FastAPI."""

import os
from http.cookiejar import CookieJar, DefaultCookiePolicy

QUEUE = os.environ.get("QUEUE", "concert")
PUBLIC = os.environ.get("ANTEROOM_PUBLIC", "http://127.0.0.1:8080") + f"/v1/queues/{QUEUE}"
SERVICE = os.environ.get("ANTEROOM_SERVICE", "http://127.0.0.1:8081") + f"/v1/queues/{QUEUE}"
# As visitors type it. Its origin is in return_to_origins.
SHOP_URL = os.environ.get("SHOP_URL", "http://127.0.0.1:3000")
KEY = {"authorization": f"Bearer {os.environ['ANTEROOM_KEY']}"}
TOKEN_HEADERS = ("cookie", "x-anteroom-token", "authorization")
# For the HTTP client: a time-out of 2 s, and a cookie jar that stores nothing. With the usual jar the client sends the
# cookie of one visitor with the check of the next.
CLIENT = {"timeout": 2, "cookies": CookieJar(DefaultCookiePolicy(allowed_domains=[]))}
