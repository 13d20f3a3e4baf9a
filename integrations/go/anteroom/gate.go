package anteroom

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"strings"
)

var (
	tokenHeaders  = []string{"Cookie", "X-Anteroom-Token", "Authorization"}
	answerHeaders = []string{"Content-Type", "Retry-After", "Www-Authenticate", "X-Anteroom-Room", "X-Anteroom-Refusal"}
)

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
