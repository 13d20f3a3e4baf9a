// Package anteroom has the calls to Anteroom, and the middleware that asks the gateway check.
// Copy this folder into your service: docs/how-to/integrate/go.md explains it.
package anteroom

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// ShopURL is the address of the shop as visitors type it. Its origin is in return_to_origins.
var ShopURL = setting("SHOP_URL", "http://127.0.0.1:3000")

var (
	queue          = setting("QUEUE", "concert")
	publicPort     = setting("ANTEROOM_PUBLIC", "http://127.0.0.1:8080")
	servicePort    = setting("ANTEROOM_SERVICE", "http://127.0.0.1:8081")
	serviceHeaders = http.Header{
		"Authorization": {"Bearer " + setting("ANTEROOM_KEY", "")},
		"Content-Type":  {"application/json"},
	}
	tokenHeaders  = []string{"Cookie", "X-Anteroom-Token", "Authorization"}
	answerHeaders = []string{"Content-Type", "Retry-After", "Www-Authenticate", "X-Anteroom-Room", "X-Anteroom-Refusal"}
)

func setting(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	if otherwise == "" {
		log.Fatalf("set %s", name)
	}
	return otherwise
}

// It has no cookie jar and follows no redirects. The time-out is that of a whole try.
var client = &http.Client{
	Timeout:       2 * time.Second,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Transport:     &http.Transport{MaxIdleConnsPerHost: 100, IdleConnTimeout: time.Minute},
}

// Answer is an answer of Anteroom.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// One call, and one retry after a 5xx or no answer.
func call(method, port, path string, header http.Header, body []byte) (answer Answer) {
	for tries := 0; tries < 2; tries++ {
		var err error
		if answer, err = try(method, port+"/v1/queues/"+queue+"/"+path, header, body); err != nil {
			log.Print("no answer of Anteroom: ", err)
			answer = Answer{http.StatusServiceUnavailable, http.Header{"Retry-After": {"5"}}, nil}
		}
		if answer.Status < 500 {
			break
		}
	}
	return answer
}

func try(method, address string, header http.Header, body []byte) (Answer, error) {
	request, err := http.NewRequest(method, address, bytes.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	request.Header = header
	response, err := client.Do(request)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return Answer{response.StatusCode, response.Header, text}, err
}

type placeKey struct{}

// Place returns the handle of the visitor's place, behind Gate.
func Place(r *http.Request) string {
	place, _ := r.Context().Value(placeKey{}).(string)
	return place
}

// Gate asks the gateway check. Only 200 passes.
func Gate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := http.Header{}
		for _, name := range tokenHeaders {
			header[name] = r.Header[name]
		}
		answer := call(http.MethodGet, publicPort, "authorize", header, nil)
		w.Header().Set("Cache-Control", "private, no-store")
		for _, line := range answer.Header.Values("Set-Cookie") {
			w.Header().Add("Set-Cookie", line)
		}
		switch answer.Status {
		case http.StatusOK:
			place := context.WithValue(r.Context(), placeKey{}, answer.Header.Get("X-Anteroom-Place"))
			next.ServeHTTP(w, r.WithContext(place))
		case http.StatusUnauthorized, http.StatusForbidden:
			refuse(w, r, answer)
		default:
			log.Printf("the gateway check failed: %d %s", answer.Status, answer.Body)
			w.Header().Set("Retry-After", "5")
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, "The waiting room is not available. Please try again.")
		}
	})
}

// A page leads to the waiting room. A script gets Anteroom's own answer.
func refuse(w http.ResponseWriter, r *http.Request, answer Answer) {
	room := answer.Header.Get("X-Anteroom-Room")
	mode := r.Header.Get("Sec-Fetch-Mode")
	isPage := mode == "navigate" || mode == "" && strings.Contains(r.Header.Get("Accept"), "text/html")
	isRead := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case room == "" || !isPage:
		Relay(w, answer)
	case isRead:
		http.Redirect(w, r, room+"?return_to="+url.QueryEscape(ShopURL+r.URL.RequestURI()), http.StatusFound)
	default:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(answer.Status)
		address := room + "?return_to=" + url.QueryEscape(ShopURL+"/")
		fmt.Fprintf(w, `<p>Nothing was changed. <a href="%s">Go to the waiting room</a></p>`, address)
	}
}

// Relay returns Anteroom's own answer.
func Relay(w http.ResponseWriter, answer Answer) {
	for _, name := range answerHeaders {
		if value := answer.Header.Get(name); value != "" {
			w.Header().Set(name, value)
		}
	}
	w.WriteHeader(answer.Status)
	w.Write(answer.Body)
}

// Finish ends the place of a visitor who is done: its slot is free for the next one.
// If the call fails, the session ends after session_ttl.
func Finish(place string) {
	if place == "" {
		return
	}
	if answer := call(http.MethodDelete, servicePort, "places/"+place, serviceHeaders, nil); answer.Status != 204 {
		log.Printf("a place was not finished: %d %s", answer.Status, answer.Body)
	}
}

// Join joins for a user that you know: the same place on each device.
func Join(visitorID string) Answer {
	body, _ := json.Marshal(map[string]string{"visitor_id": visitorID}) // strings never fail
	return call(http.MethodPost, servicePort, "tokens", serviceHeaders, body)
}
