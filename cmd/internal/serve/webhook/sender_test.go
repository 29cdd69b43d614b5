package webhook

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestParseRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, "7": 7 * time.Second, "120": 2 * time.Minute, "99999999": retryAfterMax, "-5": 0, "1.5": 0, "soon": 0,
		now.Add(90 * time.Second).Format(http.TimeFormat): 90 * time.Second,
		now.Add(-time.Hour).Format(http.TimeFormat):       0,
		now.AddDate(1, 0, 0).Format(http.TimeFormat):      retryAfterMax,
	} {
		if got := parseRetryAfter(value, now); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

func newSender(t *testing.T) *Sender {
	t.Helper()
	p, err := NewPolicy(Loopback)
	if err != nil {
		t.Fatal(err)
	}
	return NewSender(Options{Policy: p, Sends: 4, Room: 10, Timeout: 5 * time.Second, UserAgent: "test"})
}

func TestResults(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := 0
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &status)
		w.Header().Set("Retry-After", "9")
		w.Header().Set("Location", "/200")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(strings.Repeat("x", 1<<20))) // more than is read
	}))
	defer srv.Close()
	s := newSender(t)
	for status, retry := range map[int]time.Duration{200: 0, 410: 0, 302: 0, 404: 0, 500: 0, 429: 9 * time.Second, 503: 9 * time.Second} {
		res := s.Send(t.Context(), Request{URL: fmt.Sprintf("%s/%d", srv.URL, status), Key: "k", Body: []byte("{}")})
		if res.Status != status || res.RetryAfter != retry || res.Unsent || (res.Err == nil) != (status == 200 || status == 410) {
			t.Errorf("%d: %+v", status, res)
		}
	}
}

// A proxy would connect to addresses that the policy does not see.
func TestProxiesOfTheEnvironmentAreNotUsed(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	tr := newSender(t).transport
	if tr.Proxy != nil {
		t.Error("there is a proxy")
	}
}

func TestHeadersThatAreReservedAreNotSent(t *testing.T) {
	var got http.Header
	var host string
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got, host = r.Header, r.Host }))
	defer srv.Close()
	res := newSender(t).Send(t.Context(), Request{URL: srv.URL, Key: "a@1", Body: []byte("1"), Headers: map[string]string{
		"webhook-id": "x", "Webhook-Signature": "x", "HOST": "evil.example", "Content-Type": "text/plain", "X-Mine": "y",
	}})
	if res.Err != nil || got.Get("Webhook-Id") != "a@1" || got.Get("Webhook-Signature") != "" || got.Get("Content-Type") != "application/json" ||
		got.Get("X-Mine") != "y" || host == "evil.example" {
		t.Errorf("%+v: %v, host %s", res, got, host)
	}
}

func FuzzCheckURL(f *testing.F) {
	for _, s := range []string{"http://example.com/", "https://[::1]:80/a?b=c", "http://u@h/", "//h", "http://a b/", "http://h/\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if CheckURL(raw) != nil {
			return
		}
		req, err := http.NewRequest("POST", raw, nil)
		if err != nil || req.URL.Host == "" {
			t.Fatalf("%q was accepted: %v", raw, err)
		}
	})
}

func FuzzSecrets(f *testing.F) {
	f.Add("whsec_" + strings.Repeat("QUJD", 10) + "\n\n" + strings.Repeat("QUJD", 10))
	f.Add("whsec_")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSecrets(text)
		if err != nil {
			return
		}
		h := http.Header{}
		if err := s.sign(h, "k", time.Unix(0, 0), nil); err != nil || !strings.HasPrefix(h.Get("Webhook-Signature"), "v1,") {
			t.Fatalf("%v: %v", h, err)
		}
	})
}

// FuzzRetryAfter checks that a receiver cannot ask for a pause that is too long or negative.
func FuzzRetryAfter(f *testing.F) {
	f.Add("120")
	f.Add("Fri, 31 Dec 9999 23:59:59 GMT")
	f.Fuzz(func(t *testing.T, value string) {
		if d := parseRetryAfter(value, time.Unix(1_800_000_000, 0)); d < 0 || d > retryAfterMax {
			t.Fatalf("%q: %v", value, d)
		}
	})
}
