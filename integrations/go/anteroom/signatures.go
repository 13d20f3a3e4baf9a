package anteroom

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

var (
	identitySecret = setting("ANTEROOM_IDENTITY_SECRET", "")
	webhookSecret  = setting("ANTEROOM_WEBHOOK_SECRET", "")
)

// Assertion signs an identity: the user's browser joins with it on the public port.
func Assertion(visitorID string) string {
	expiry := time.Now().Unix() + 150
	signature := mac(identitySecret, fmt.Sprintf("anteroom assertion\n%s\n%s\n%d", queue, visitorID, expiry))
	encode := base64.RawURLEncoding.EncodeToString
	return fmt.Sprintf("ara1.%s.%d.%s", encode([]byte(visitorID)), expiry, encode(signature))
}

// IsFromAnteroom reports whether a webhook's raw body was signed by Anteroom, within the last 5 minutes.
func IsFromAnteroom(signature string, body []byte) bool {
	var sentAt string
	var macs []string
	for _, part := range strings.Split(signature, ",") {
		switch name, value, _ := strings.Cut(part, "="); name {
		case "t":
			sentAt = value
		case "v1":
			macs = append(macs, value)
		}
	}
	seconds, err := strconv.ParseInt(sentAt, 10, 64)
	if age := time.Now().Unix() - seconds; err != nil || age > 300 || age < -300 {
		return false
	}
	expected := hex.EncodeToString(mac(webhookSecret, sentAt+"."+string(body)))
	for _, it := range macs {
		if hmac.Equal([]byte(it), []byte(expected)) {
			return true
		}
	}
	return false
}

func mac(secret, message string) []byte {
	hash := hmac.New(sha256.New, []byte(secret))
	hash.Write([]byte(message))
	return hash.Sum(nil)
}
