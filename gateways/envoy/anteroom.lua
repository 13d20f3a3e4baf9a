-- Removes what the service must not get from a client. It runs after the gateway check.

-- Some services take the host, the path or the method from these, and would serve a request that
-- Anteroom did not check. "proxy" is HTTP_PROXY for CGI (httpoxy).
local FOREIGN = {
    "^x%-original%-", "^x%-http%-", "^x%-host$", "^x%-rewrite%-url$", "^x%-envoy%-original%-path$",
    "^x%-method%-override$", "^x%-forwarded%-uri$", "^x%-forwarded%-method$",
    "^x%-forwarded%-host$", "^x%-forwarded%-path$", "^x%-forwarded%-prefix$",
    "^x%-forwarded%-server$", "^x%-forwarded%-port$", "^x%-real%-ip$", "^forwarded$", "^proxy$",
    -- For Anteroom only.
    "^x%-anteroom%-token$", "^x%-anteroom%-application$", "^x%-anteroom%-gate$",
}

local function is_foreign(name, value)
    -- Some services do not distinguish "-", "_" and "." in the name of a header.
    local plain = name:gsub("[^%w]", "-")
    for _, pattern in ipairs(FOREIGN) do
        if plain:find(pattern) then
            return true
        end
    end
    -- A visitor can pass without a name: then the check leaves these empty. It uses "-" only.
    return plain:find("^x%-anteroom%-") ~= nil and (value == "" or plain ~= name)
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

function envoy_on_request(handle)
    local headers = handle:headers()
    local gone, cookies = {}, {}
    for name, value in pairs(headers) do
        local is_token = name == "authorization" and value:lower():find("bearer[^!-~]+art1%.")
        if name == "cookie" then
            cookies[#cookies + 1] = other_cookies(value)
            gone[name] = true
        elseif is_token or is_foreign(name, value) then
            gone[name] = true
        end
    end
    for name in pairs(gone) do
        headers:remove(name)
    end
    -- A proxy behind this one would remove the headers that a client names here.
    if headers:get("upgrade") then
        headers:replace("connection", "upgrade")
    end
    for _, value in ipairs(cookies) do
        if value ~= "" then
            headers:add("cookie", value)
        end
    end
end
