package main

import (
	"log"
	"net/http"
	"net/url"

	"anteroom.dev/sample-shop/anteroom"
)

// A page of another origin can send your visitors' cookies. It must change nothing (CSRF).
func ours(next http.Handler) http.Handler {
	shop, err := url.Parse(anteroom.ShopURL)
	if err != nil {
		log.Fatal(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Origin")
		isOurs := site == "same-origin" || site == "none"
		if site == "" {
			isOurs = origin == "" || origin == shop.Scheme+"://"+shop.Host
		}
		if r.Method == http.MethodGet || r.Method == http.MethodHead || isOurs {
			next.ServeHTTP(w, r)
			return
		}
		w.WriteHeader(http.StatusForbidden)
	})
}

func post(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		next(w, r)
	}
}

func login(next func(w http.ResponseWriter, user string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		user := r.Header.Get("X-Demo-User") // your login
		if user == "" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		next(w, user)
	}
}
