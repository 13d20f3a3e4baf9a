"""What a visitor gets who may not enter, for Django and FastAPI."""

import logging
from urllib.parse import quote, urlsplit

from .settings import SHOP_URL

ANSWER_HEADERS = ("content-type", "retry-after", "www-authenticate", "x-anteroom-room", "x-anteroom-refusal")


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
