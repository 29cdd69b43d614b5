package webhook

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// A Signer signs webhooks as Standard Webhooks describes. nil signs nothing: it sets the other headers only.
type Signer struct {
	secrets []*standardwebhooks.Webhook
}

// The size of a secret, as Standard Webhooks demands.
const (
	minSecret = 24
	maxSecret = 64
)

// ParseSecrets reads the content of a file of secrets, one on each line. Webhooks are signed with each of
// them, so that a secret can be changed while receivers still use the old one. The error does not have a
// secret in it.
func ParseSecrets(text string) (*Signer, error) {
	s := &Signer{}
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(line, "whsec_"))
		if err != nil || len(key) < minSecret || len(key) > maxSecret {
			return nil, fmt.Errorf("line %d is no signing secret: write whsec_ and %d to %d random bytes in base64", i+1, minSecret, maxSecret)
		}
		w, err := standardwebhooks.NewWebhookRaw(key)
		if err != nil {
			return nil, fmt.Errorf("line %d cannot be used to sign", i+1)
		}
		s.secrets = append(s.secrets, w)
	}
	if len(s.secrets) == 0 {
		return nil, errors.New("there is no signing secret in it: write whsec_ and random bytes in base64")
	}
	return s, nil
}

// The names of headers, in the form that an http.Header has.
var (
	idHeader        = http.CanonicalHeaderKey(standardwebhooks.HeaderWebhookID)
	timestampHeader = http.CanonicalHeaderKey(standardwebhooks.HeaderWebhookTimestamp)
	signatureHeader = http.CanonicalHeaderKey(standardwebhooks.HeaderWebhookSignature)
)

// sign sets the headers of Standard Webhooks.
func (s *Signer) sign(h http.Header, key string, now time.Time, body []byte) error {
	id := headerID(key)
	h.Set(idHeader, id)
	h.Set(timestampHeader, strconv.FormatInt(now.Unix(), 10))
	if s == nil {
		return nil
	}
	var all []string
	for _, secret := range s.secrets {
		signature, err := secret.Sign(id, now, body)
		if err != nil {
			return err
		}
		all = append(all, signature)
	}
	h.Set(signatureHeader, strings.Join(all, " "))
	return nil
}

// headerID returns a key as it is sent. Receivers trim spaces of a header and do not agree on what other
// characters than those of ASCII mean, so these are percent-encoded.
func headerID(key string) string {
	if !strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
		return key
	}
	var b strings.Builder
	for i := range len(key) {
		if c := key[i]; c > ' ' && c < 0x7f {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
