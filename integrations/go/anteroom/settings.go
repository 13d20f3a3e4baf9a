package anteroom

import (
	"log"
	"net/http"
	"os"
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
