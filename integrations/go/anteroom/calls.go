// Package anteroom has the calls to Anteroom, and the middleware that asks the gateway check.
// Copy this folder into your service: docs/how-to/integrate/go.md explains it.
package anteroom

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"time"
)

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
