package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/foliot-go/foliot/cmd/internal/serve/webhook"
)

// secrets are the contents of the files that a configuration names. They are replaced as a whole when they
// are read again, and never logged.
type secrets struct {
	token  *[sha256.Size]byte // the hash of the token; nil if there is none
	cert   *tls.Certificate   // nil: no TLS
	signer *webhook.Signer    // nil: webhooks are not signed
}

const maxToken = 4096

// readSecrets reads the files. An error names the file and not its content.
func readSecrets(c Config) (*secrets, error) {
	s := &secrets{}
	if c.TokenFile != "" {
		text, err := os.ReadFile(c.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("--token-file: %w", err)
		}
		token := strings.TrimSpace(string(text))
		if err := checkToken(token); err != nil {
			return nil, fmt.Errorf("--token-file %s: %w", c.TokenFile, err)
		}
		sum := sha256.Sum256([]byte(token))
		s.token = &sum
	}
	if c.TLSCert != "" {
		cert, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
		if err != nil {
			return nil, fmt.Errorf("--tls-cert %s and --tls-key %s: %w", c.TLSCert, c.TLSKey, err)
		}
		s.cert = &cert
	}
	if c.SecretFile != "" {
		text, err := os.ReadFile(c.SecretFile)
		if err != nil {
			return nil, fmt.Errorf("--signing-secret-file: %w", err)
		}
		if s.signer, err = webhook.ParseSecrets(string(text)); err != nil {
			return nil, fmt.Errorf("--signing-secret-file %s: %w", c.SecretFile, err)
		}
	}
	return s, nil
}

func checkToken(token string) error {
	if token == "" {
		return errors.New("the file is empty; write a token into it, for example with: openssl rand -hex 32")
	}
	if len(token) > maxToken {
		return fmt.Errorf("the token has %d bytes; at most %d are allowed", len(token), maxToken)
	}
	for i := range len(token) {
		if token[i] <= ' ' || token[i] >= 0x7f {
			return errors.New("the token must be one word of visible characters of ASCII")
		}
	}
	return nil
}

// knows reports whether an Authorization header has the token. Hashes are compared, in constant time, so
// that neither the content nor the length of the token can be measured.
func (s *secrets) knows(authorization string) bool {
	scheme, token, ok := strings.Cut(authorization, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return false
	}
	sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
	return subtle.ConstantTimeCompare(sum[:], s.token[:]) == 1
}
