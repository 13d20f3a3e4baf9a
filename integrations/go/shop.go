// A shop that uses the package anteroom. The tests in integrations/checks run it.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync"

	"anteroom.dev/sample-shop/anteroom"
)

var handedOut sync.Map // your database: store the key in the transaction that hands out the item

func main() {
	// All paths need a place, but what a user needs to get one, and the webhook.
	protected := http.NewServeMux()
	protected.HandleFunc("/seats", seats)
	protected.HandleFunc("/order", post(order))
	mux := http.NewServeMux()
	mux.HandleFunc("/identity", login(identity))
	mux.HandleFunc("/join", post(login(join)))
	mux.HandleFunc("/webhook", post(webhook))
	mux.Handle("/", anteroom.Gate(protected))

	port := os.Getenv("PORT")
	if port == "" {
		port = "3000"
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("listening on http://%s", listener.Addr())
	log.Fatal(http.Serve(listener, ours(mux)))
}

func identity(w http.ResponseWriter, user string) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]string{"assertion": anteroom.Assertion(user)})
}

// The token of the user's place, or why there is none.
func join(w http.ResponseWriter, user string) {
	anteroom.Relay(w, anteroom.Join(user))
}

func webhook(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || !anteroom.IsFromAnteroom(r.Header.Get("X-Anteroom-Signature"), body) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var item struct {
		Key string `json:"idempotency_key"`
	}
	if err := json.Unmarshal(body, &item); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if _, repeated := handedOut.LoadOrStore(item.Key, true); repeated {
		w.WriteHeader(http.StatusConflict)
		return
	}
	w.WriteHeader(http.StatusCreated)
}

func seats(w http.ResponseWriter, r *http.Request) {
	fmt.Fprint(w, `<h1>Seats</h1><form method="post" action="/order"><button>Order</button></form>`)
}

func order(w http.ResponseWriter, r *http.Request) {
	anteroom.Finish(anteroom.Place(r)) // after your own work is committed
	fmt.Fprint(w, "Your order is complete.")
}
