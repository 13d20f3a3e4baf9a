//! What the edge refuses, before or whatever a subsystem has to say: the request itself, its body,
//! its key.

use super::code::codes;

codes! {
    /// What any call may answer, whatever it is.
    ANY by Service;
    /// The request is malformed outside its body: a parameter, a header, the path.
    BAD_REQUEST = BAD_REQUEST, "bad_request", "The request is malformed";
    /// A fault on our side.
    INTERNAL = INTERNAL_SERVER_ERROR, "internal", "Something went wrong on our side";
    /// Past a cap on connections, concurrency or calls in flight; nothing was done.
    OVERLOADED = SERVICE_UNAVAILABLE, "overloaded", "Too many requests at the moment";
    /// The request took longer than `request_timeout`.
    REQUEST_TIMEOUT = GATEWAY_TIMEOUT, "request_timeout", "The request took too long";
}

codes! {
    /// What the router refuses, and calls that name something which may not be there.
    ADDRESS by Service;
    /// No such resource.
    NOT_FOUND = NOT_FOUND, "not_found", "There is nothing at this address";
    /// The address is right, the method is not.
    METHOD_NOT_ALLOWED = METHOD_NOT_ALLOWED, "method_not_allowed", "The method is not allowed here";
}

codes! {
    /// What a call that takes a JSON body may answer.
    BODY by Service;
    /// The body is not the JSON that the call takes; the detail names the field.
    INVALID_BODY = BAD_REQUEST, "invalid_body", "The body is not what this call takes";
    /// The body did not arrive in time.
    BODY_TIMEOUT = REQUEST_TIMEOUT, "body_timeout", "The body did not arrive in time";
    /// The body is longer than 16 KiB.
    BODY_TOO_LARGE = PAYLOAD_TOO_LARGE, "body_too_large", "The body is too large";
    /// The body is not declared as JSON.
    UNSUPPORTED_MEDIA_TYPE = UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type",
        "The body must be application/json";
}

codes! {
    /// What the values in a body may meet.
    VALUE by Service;
    /// A field of the body holds a value that its rule forbids; the detail names both.
    INVALID_VALUE = UNPROCESSABLE_ENTITY, "invalid_value", "A value is not allowed";
}

codes! {
    /// What any call with an id may answer.
    REPEATED by Rule;
    /// An earlier call with the same id had another payload.
    OPERATION_MISMATCH = CONFLICT, "operation_mismatch", "The id was used for another call";
}

codes! {
    /// What any call of the service port may answer: it knows its callers.
    CALLER by Service;
    /// The service port needs a key and none came.
    KEY_MISSING = UNAUTHORIZED, "key_missing", "No key was sent";
    /// The key is not one of the configured ones.
    KEY_INVALID = UNAUTHORIZED, "key_invalid", "The key is not valid";
    /// The key's role or scopes do not cover this call.
    KEY_FORBIDDEN = FORBIDDEN, "key_forbidden", "The key does not allow this call";
    /// A request that came through a proxy reached the service port, which has no keys.
    FORWARDED_REFUSED = FORBIDDEN, "forwarded_refused",
        "Forwarded requests are refused on this port";
    /// A changing call authenticated by cookie, or any call while there are no keys, came from
    /// another site.
    ORIGIN_REFUSED = FORBIDDEN, "origin_refused",
        "The request came from an origin that is not allowed";
}
