"""Holds dashboards to Grafana's schema, strictly: schema.py FILE…

grafana-foundation-sdk is what Grafana generates from the schema of its dashboards, panels and queries. What a
file says must have a place there, under this name and with a value of this type; unknown names, which Grafana
would drop without a word, are errors. Exits with 1 and a line for each.
"""

import enum
import json
import sys
import types
import typing

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.cog.runtime import panelcfg_config
from grafana_foundation_sdk.models.dashboard import Dashboard


def dropped(given, kept, at):
    """What the models did not take over from what is given; they may add defaults."""
    if isinstance(given, dict) and isinstance(kept, dict):
        for key, value in given.items():
            if value is None and key not in kept:
                continue
            if key not in kept:
                yield f"{at}.{key}: no such field"
            else:
                yield from dropped(value, kept[key], f"{at}.{key}")
    elif isinstance(given, list) and isinstance(kept, list) and len(given) == len(kept):
        for index, (one, other) in enumerate(zip(given, kept)):
            yield from dropped(one, other, f"{at}[{index}]")
    elif given != kept:
        yield f"{at}: {given!r} is read as {kept!r}"


def fits(value, hint):
    """Whether a value is of an annotated type."""
    if hint in (typing.Any, object) or isinstance(hint, (typing.TypeVar, typing.ForwardRef)):
        return True
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, part) for part in parts)
    if origin is typing.Literal:
        return value in parts
    if origin is list:
        return isinstance(value, list) and all(fits(one, parts[0]) for one in value)
    if origin is dict:
        return isinstance(value, dict) and all(fits(one, parts[1]) for one in value.values())
    if hint in (float, int):
        allowed = (int, float) if hint is float else int
        return isinstance(value, allowed) and not isinstance(value, bool)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return value in [one.value for one in hint] or value in list(hint)
    return isinstance(value, hint)


def of_another_type(model, at):
    """Fields of a model, and of those within it, whose value is not of the type that the schema gives."""
    if isinstance(model, dict):
        for key, value in model.items():
            yield from of_another_type(value, f"{at}.{key}")
    elif isinstance(model, list):
        for index, value in enumerate(model):
            yield from of_another_type(value, f"{at}[{index}]")
    elif hasattr(model, "to_json") and not isinstance(model, enum.Enum):
        for name, hint in typing.get_type_hints(type(model)).items():
            value = getattr(model, name, None)
            if not fits(value, hint):
                yield f"{at}.{name}: {value!r} is not {hint}"
            yield from of_another_type(value, f"{at}.{name}")


def errors(file):
    with open(file, encoding="utf-8") as text:
        given = json.load(text)
    model = Dashboard.from_json(given)
    kept = json.loads(json.dumps(model, cls=JSONEncoder))
    yield from dropped(given, kept, file)
    for panel in given["panels"]:
        if panel["type"] != "row" and panelcfg_config(panel["type"]) is None:
            yield f"{file}: {panel['title']}: no such type of panel: {panel['type']}"
    yield from of_another_type(model, file)


register_default_plugins()
found = [error for file in sys.argv[1:] for error in errors(file)]
print("\n".join(found))
sys.exit(1 if found else 0)
