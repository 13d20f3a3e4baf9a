-- Anteroom for HAProxy 2.6 or newer. HAProxy has no gateway check of its own, so this file asks
-- with HAProxy's HTTP client. It gives two actions, for the backends that lead to your service:
--
--   http-request lua.anteroom        a visitor needs a place in the queue of txn.anteroom_queue
--   http-request lua.anteroom_open   each visitor can pass
--
-- HAProxy goes on if a script fails. So both set txn.anteroom_passed when a visitor passes, and the
-- configuration refuses what comes without it.

-- The way to admission: a port of this HAProxy, so that connections are kept.
local address = os.getenv("ANTEROOM_CHECK")
local options = "?on_refusal=redirect"
-- CHANGE if you like: with this line, a visitor who opens a page joins with the check. If no
-- visitor waits, it passes at once, without the waiting page.
-- options = options .. "&join=1"

-- Headers that the service must not get from a client. Some services do not distinguish "-", "_"
-- and "." in their names. Only the check names a visitor. Some services take the host, the path or
-- the method from the others, and would serve a request that Anteroom did not check. "proxy" is
-- HTTP_PROXY for CGI (httpoxy).
local FOREIGN = {
    "^x%-anteroom%-", "^x%-original%-", "^x%-forwarded%-", "^x%-http%-", "^x%-host$",
    "^x%-rewrite%-url$", "^x%-envoy%-original%-path$", "^x%-method%-override$", "^x%-real%-ip$",
    "^forwarded$", "^proxy$",
}
-- The headers of a request that the check gets.
local FOR_CHECK = {
    "host", "cookie", "authorization", "x-anteroom-token", "accept", "user-agent", "origin",
    "purpose", "x-purpose", "x-moz", "sec-purpose", "sec-fetch-dest", "sec-fetch-mode",
    "sec-fetch-site", "access-control-request-method",
}
local NAMES = {
    "x-anteroom-visitor", "x-anteroom-visitor-kind", "x-anteroom-place", "x-anteroom-expires-in",
}

local function is_foreign(name)
    local plain = name:gsub("[^%w]", "-")
    for _, pattern in ipairs(FOREIGN) do
        if plain:find(pattern) then
            return true
        end
    end
    return false
end

-- A Cookie header without the cookies of Anteroom.
local function other_cookies(header)
    local kept = {}
    for cookie in header:gmatch("[^;]+") do
        local pair = cookie:gsub("^[^!-~]+", "")
        if not pair:gsub("^__%a+%-", ""):find("^anteroom_") then
            kept[#kept + 1] = pair
        end
    end
    return table.concat(kept, "; ")
end

-- The token of a visitor is for Anteroom only.
local function without_token(name, value)
    if name == "cookie" then
        return other_cookies(value)
    end
    return value:lower():find("bearer[^!-~]+art1%.") and "" or value
end

local function clean(txn)
    local http = txn.http
    local headers = http:req_get_headers()
    for name, values in pairs(headers) do
        if is_foreign(name) then
            http:req_del_header(name)
        elseif name == "connection" then
            -- A proxy behind this one would remove the headers that a client names here.
            http:req_del_header(name)
            if headers.upgrade then
                http:req_set_header(name, "upgrade")
            end
        elseif name == "cookie" or name == "authorization" then
            http:req_del_header(name)
            for i = 0, #values do
                local value = without_token(name, values[i])
                if value ~= "" then
                    http:req_add_header(name, value)
                end
            end
        end
    end
    http:req_set_header("x-forwarded-host", txn.sf:req_hdr("host"))
    http:req_set_header("x-forwarded-proto", txn.f:ssl_fc() == 1 and "https" or "http")
    http:req_set_header("x-forwarded-for", txn:get_var("txn.anteroom_address"))
    http:req_set_header("x-real-ip", txn:get_var("txn.anteroom_address"))
end

-- The gateway check.
local function ask(txn)
    local queue = txn:get_var("txn.anteroom_queue") or ""
    -- No queue is called "_", so that the check refuses.
    if not queue:find("^[a-z0-9-]+$") then
        queue = "_"
    end
    local given = txn.http:req_get_headers()
    local headers = {
        ["x-forwarded-method"] = { txn.f:method() },
        ["x-forwarded-uri"] = { txn:get_var("txn.anteroom_uri") },
        ["x-forwarded-for"] = { txn:get_var("txn.anteroom_address") },
    }
    for _, name in ipairs(FOR_CHECK) do
        if given[name] then
            headers[name] = {}
            for i = 0, #given[name] do
                headers[name][i + 1] = given[name][i]
            end
        end
    end
    local url = "http://" .. address .. "/v1/queues/" .. queue .. "/authorize" .. options
    -- Admission answers within its own budget for Redis (1 s). HAProxy asks up to four times.
    return core.httpclient():get({ url = url, headers = headers, timeout = 1500 })
end

-- Sends a refusal to the visitor, unchanged.
local function refuse(txn, answer)
    local reply = txn:reply({ status = answer.status, body = answer.body })
    for name, values in pairs(answer.headers) do
        local is_of_connection = name == "connection" or name == "transfer-encoding"
        if not is_of_connection and name ~= "content-length" then
            for i = 0, #values do
                reply:add_header(name, values[i])
            end
        end
    end
    txn:done(reply)
end

core.register_action("anteroom", { "http-req" }, function(txn)
    local answer = ask(txn)
    -- Only 200 passes, and only these refuse: after any other answer the variable is missing.
    if answer and answer.status == 200 then
        clean(txn)
        for _, name in ipairs(NAMES) do
            local values = answer.headers[name]
            if values and values[0] ~= "" then
                txn.http:req_set_header(name, values[0])
            end
        end
        local cookie = answer.headers["set-cookie"]
        if cookie then
            txn:set_var("txn.anteroom_cookie", cookie[0])
        end
        txn:set_var("txn.anteroom_passed", true)
    elseif answer and (answer.status == 302 or answer.status == 401 or answer.status == 403) then
        refuse(txn, answer)
    end
end)

core.register_action("anteroom_open", { "http-req" }, function(txn)
    clean(txn)
    txn:set_var("txn.anteroom_passed", true)
end)
