// Package anteroom does for Traefik what its own middlewares cannot do. It never lets a visitor pass: forwardAuth does.
package anteroom

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"regexp"
	"strings"
)

// Config chooses what the middleware does.
type Config struct {
	// Clean is for routers to the service: it removes what the service must not get from a client.
	Clean bool `json:"clean,omitempty"`
	// Decide is for the router of the gateway check: each answer that is no decision becomes 503.
	Decide bool `json:"decide,omitempty"`
}

// CreateConfig returns the default: nothing is done.
func CreateConfig() *Config {
	return &Config{}
}

// New makes the middleware.
func New(_ context.Context, next http.Handler, config *Config, _ string) (http.Handler, error) {
	return http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		if config.Clean {
			clean(request.Header)
		}
		if config.Decide {
			answer = &decision{ResponseWriter: answer}
		}
		next.ServeHTTP(answer, request)
	}), nil
}

// Some services take the host, the path or the method from these, and would serve a request that Anteroom did not
// check. "Proxy" is HTTP_PROXY for CGI (httpoxy). The rest is for Anteroom only.
var foreign = regexp.MustCompile(`^(?:X-Original-.*|X-Http-.*|X-Host|X-Rewrite-Url|X-Envoy-Original-Path` +
	`|X-Method-Override|X-Forwarded-(?:Uri|Method|Path|Prefix)|Forwarded|Proxy` +
	`|X-Anteroom-(?:Token|Application|Gate|Room|Refusal))$`)

// The token of a visitor is for Anteroom only.
var (
	token  = regexp.MustCompile(`(?i)bearer[^!-~]+art1\.`)
	cookie = regexp.MustCompile(`^[^!-~]*(?:__[A-Za-z]+-)?anteroom_`)
)

func clean(headers http.Header) {
	for name, values := range headers {
		// A visitor can pass without a name: then the check leaves these empty.
		blank := strings.HasPrefix(name, "X-Anteroom-") && strings.Join(values, "") == ""
		if blank || foreign.MatchString(name) {
			headers.Del(name)
		}
	}
	replaceEach(headers, "Authorization", func(value string) string {
		if token.MatchString(value) {
			return ""
		}
		return value
	})
	replaceEach(headers, "Cookie", otherCookies)
}

// Replaces each value of a header. A value that becomes empty is removed.
func replaceEach(headers http.Header, name string, replace func(string) string) {
	values := headers[name]
	headers.Del(name)
	for _, value := range values {
		if value = replace(value); value != "" {
			headers.Add(name, value)
		}
	}
}

// A Cookie header without the cookies of Anteroom.
func otherCookies(value string) string {
	var others []string
	for _, pair := range strings.Split(value, ";") {
		if !cookie.MatchString(pair) {
			others = append(others, strings.TrimSpace(pair))
		}
	}
	return strings.Join(others, "; ")
}

const unavailable = `{"type":"urn:anteroom:problem:gate_unavailable",` +
	`"title":"The gateway cannot reach Anteroom","status":503,"code":"gate_unavailable"}`

// Passes on the decisions of the check: only 200 passes, and the others refuse.
type decision struct {
	http.ResponseWriter
	isNone bool
}

func (d *decision) WriteHeader(status int) {
	switch status {
	case http.StatusOK, http.StatusFound, http.StatusUnauthorized, http.StatusForbidden:
		d.ResponseWriter.WriteHeader(status)
		return
	}
	if status < 200 {
		return
	}
	d.isNone = true
	id := make([]byte, 16)
	_, _ = rand.Read(id)
	headers := d.Header()
	for name := range headers {
		headers.Del(name)
	}
	headers.Set("Cache-Control", "no-store")
	headers.Set("Content-Type", "application/problem+json")
	headers.Set("Retry-After", "5")
	headers.Set("X-Request-Id", hex.EncodeToString(id))
	d.ResponseWriter.WriteHeader(http.StatusServiceUnavailable)
	_, _ = d.ResponseWriter.Write([]byte(unavailable))
}

func (d *decision) Write(body []byte) (int, error) {
	if d.isNone {
		return len(body), nil
	}
	return d.ResponseWriter.Write(body)
}
