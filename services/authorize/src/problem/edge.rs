//! What the edge refuses, before or whatever a subsystem has to say: the request itself, its body,
//! its key.

use super::code::codes;

codes! {
    /// What any call may answer, whatever it is.
    ANY by Service;
    /// A parameter, a header or the path is malformed, or a header has 2 different values.
    BAD_REQUEST = BAD_REQUEST, "bad_request", "The request is malformed",
        No, "Correct what `detail` names.";
    /// Anteroom failed. The log has a line with the request id.
    INTERNAL = INTERNAL_SERVER_ERROR, "internal", "Internal error",
        Later, "Retry with the same id. If it continues, report the log line with this request id.";
    /// The limit on connections, requests or waiting Redis calls is reached. Nothing was changed.
    OVERLOADED = SERVICE_UNAVAILABLE, "overloaded", "Too many requests at the moment",
        Later, "Retry after `Retry-After`. Operators: start more replicas of admission.";
    /// The request took longer than `request_timeout`. The call can have had its effect.
    REQUEST_TIMEOUT = GATEWAY_TIMEOUT, "request_timeout", "The request took too long",
        SameId, "Retry with the same token, key or id.";
}

codes! {
    /// What the router refuses, and calls that name something which may not be there.
    ADDRESS by Service;
    /// The path, or what it names, does not exist.
    NOT_FOUND = NOT_FOUND, "not_found", "There is nothing at this address",
        No, "Compare the path with the API document at `/openapi.json`. Check that no handle or \
            id in the path is empty.";
    /// The path exists, but not with this method.
    METHOD_NOT_ALLOWED = METHOD_NOT_ALLOWED, "method_not_allowed", "The method is not allowed here",
        No, "Use a method of the header `Allow`.";
}

codes! {
    /// What a call that takes a JSON body may answer.
    BODY by Service;
    /// The body is not the JSON that the call takes. `detail` names the field.
    INVALID_BODY = BAD_REQUEST, "invalid_body", "The body is not what this call takes",
        No, "Correct the field that `detail` names.";
    /// The body did not arrive in time.
    BODY_TIMEOUT = REQUEST_TIMEOUT, "body_timeout", "The body did not arrive in time",
        Later, "Send the body directly after the headers.";
    /// The body is longer than 16 KiB.
    BODY_TOO_LARGE = PAYLOAD_TOO_LARGE, "body_too_large", "The body is too large",
        No, "Send a shorter body.";
    /// The request does not declare its body as JSON.
    UNSUPPORTED_MEDIA_TYPE = UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type",
        "The body must be application/json",
        No, "Send the header `Content-Type: application/json`.";
}

codes! {
    /// What the values in a body may meet.
    VALUE by Service;
    /// A field of the body has a value that its rule forbids. `detail` names both.
    INVALID_VALUE = UNPROCESSABLE_ENTITY, "invalid_value", "A value is not allowed",
        No, "Correct the value that `detail` names.";
}

codes! {
    /// What any call with an id may answer.
    REPEATED by Rule;
    /// An earlier call with the same `id` or `operation_id` had another payload.
    OPERATION_MISMATCH = CONFLICT, "operation_mismatch", "The id was used for another call",
        No, "Use a new id for a new operation, or send the first payload.";
}

codes! {
    /// What any call of the service port may answer: it knows its callers.
    CALLER by Service;
    /// The service port needs an API key, and the request has none. The cookie of the console
    /// counts only for requests of its own page.
    KEY_MISSING = UNAUTHORIZED, "key_missing", "No API key was sent",
        No, "Send `Authorization: Bearer ark1.…`. Make a key with `anteroom-admission new-key`.";
    /// The API key is not one of the configured keys. In the console: the session has ended.
    KEY_INVALID = UNAUTHORIZED, "key_invalid", "The API key is not valid",
        No, "Check that `[keys.NAME]` has the digest of this key, and that the key is complete. In the \
            console, sign in again.";
    /// The role or the scopes of the API key do not cover this call.
    KEY_FORBIDDEN = FORBIDDEN, "key_forbidden", "The API key does not allow this call",
        No, "Use a key whose scopes name this queue, limit, target, event or pool. Calls under \
            `/v1/admin` need the role `operator`, or `viewer` to read. A viewer changes nothing.";
    /// A request came through a proxy to a service port without configured keys.
    FORWARDED_REFUSED = FORBIDDEN, "forwarded_refused",
        "Forwarded requests are refused on this port",
        No, "Configure API keys, or call the port directly on loopback.";
    /// A page of another site sent a changing call of a browser. On a service port without
    /// configured keys: a page other than the console sent the call.
    ORIGIN_REFUSED = FORBIDDEN, "origin_refused",
        "The request came from an origin that is not allowed",
        No, "Check that `public_url` of the queue is the address in the browser. If the call comes \
            from another origin of yours, add that to `admission.allowed_origins`. A client that is not a browser sends the token in \
            `x-anteroom-token`.";
}
