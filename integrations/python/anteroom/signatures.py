"""Signed identities, and the signatures of webhooks."""

import base64
import hashlib
import hmac
import os
import time

from .settings import QUEUE

IDENTITY_SECRET = os.environ["ANTEROOM_IDENTITY_SECRET"].encode()
WEBHOOK_SECRET = os.environ["ANTEROOM_WEBHOOK_SECRET"].encode()


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
