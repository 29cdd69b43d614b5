package client_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot/client"
)

func TestEachStatusHasItsError(t *testing.T) {
	all := []error{
		client.ErrInvalid, client.ErrUnauthorized, client.ErrForbidden, client.ErrNotFound, client.ErrConflict,
		client.ErrTooLarge, client.ErrUnavailable,
	}
	for status, want := range map[int]error{
		400: client.ErrInvalid, 401: client.ErrUnauthorized, 403: client.ErrForbidden, 404: client.ErrNotFound, 405: nil,
		409: client.ErrConflict, 412: client.ErrConflict, 413: client.ErrTooLarge, 415: client.ErrInvalid, 421: client.ErrForbidden, 422: client.ErrInvalid,
		429: client.ErrUnavailable, 500: nil, 501: nil, 502: client.ErrUnavailable, 503: client.ErrUnavailable, 504: client.ErrUnavailable,
	} {
		c := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(status)
			io.WriteString(w, `{"type":"about:blank","title":"No","detail":"do it so","status":1,"more":{}}`)
		}), client.Options{Retry: client.Retry{Attempts: 1}})
		_, err := c.Get(t.Context(), "a")
		var p *client.Problem
		if !errors.As(err, &p) || *p != (client.Problem{Status: status, Title: "No", Detail: "do it so", Type: "about:blank"}) {
			t.Errorf("%d: %+v, %v", status, p, err)
		}
		if text := fmt.Sprintf(`client: get timer "a": do it so (status %d)`, status); err.Error() != text {
			t.Errorf("%d: %q, want %q", status, err, text)
		}
		for _, e := range all {
			if errors.Is(err, e) != (e == want) {
				t.Errorf("%d: errors.Is(%v) is %t", status, e, e != want)
			}
		}
	}
}

func TestErrorsOfOtherServersAreReadable(t *testing.T) {
	for _, c := range []struct{ media, body, want string }{
		{"text/plain; charset=utf-8", "404 page\nnot \x1b[31mfound\n", "404 page not  [31mfound (status 404)"},
		{"text/html", "<html>", "Not Found (status 404)"},
		{"application/problem+json", "{", "Not Found (status 404)"},
		{"application/problem+json", `{"title":7}`, "Not Found (status 404)"},
		{"", "", "Not Found (status 404)"},
		{"text/plain", strings.Repeat("é", 100_000), strings.Repeat("é", 1024) + "… (status 404)"},
	} {
		cl := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = []string{c.media}
			w.WriteHeader(404)
			io.WriteString(w, c.body)
		}), client.Options{})
		if _, err := cl.Get(t.Context(), "a"); err == nil || err.Error() != `client: get timer "a": `+c.want {
			t.Errorf("%s: %v, want %s", c.media, err, c.want)
		}
	}
}

func TestAResponseThatIsNotOfTheServerIsAnError(t *testing.T) {
	for _, media := range []string{"text/html", "", "application/json"} {
		c := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = []string{media}
			io.WriteString(w, "<html>Welcome to the hotel</html>")
		}), client.Options{})
		if _, err := c.Get(t.Context(), "a"); err == nil || errors.Is(err, client.ErrUncertain) {
			t.Errorf("%q: Get: %v", media, err)
		}
		if _, err := c.Put(t.Context(), client.Timer{ID: "a", At: noon, Kind: "k"}); !errors.Is(err, client.ErrUncertain) {
			t.Errorf("%q: Put: %v, want ErrUncertain", media, err)
		}
		if _, err := failure(c.Fires(t.Context(), client.FireQuery{})); err == nil {
			t.Errorf("%q: Fires has no error", media)
		}
	}
}

const secret = "s3cret-t0ken"

func TestTheTokenIsSent(t *testing.T) {
	f, c := newFake(t, secret)
	if _, err := c.Put(t.Context(), client.Timer{ID: "a", At: noon, Kind: "k"}); err != nil || f.header.Get("Authorization") != "Bearer "+secret {
		t.Errorf("%v, %q", err, f.header.Get("Authorization"))
	}
}

func TestAWrongTokenIsAnErrorThatDoesNotTellIt(t *testing.T) {
	f := &fake{token: "another"}
	c := newClient(t, f.handler(), client.Options{Token: secret})
	_, err := c.Get(t.Context(), "a")
	if !errors.Is(err, client.ErrUnauthorized) || strings.Contains(err.Error(), secret) {
		t.Error(err)
	}
}

// A server that repeats the header in its error does not bring the token into the log of the client.
func TestTheTokenIsInNoError(t *testing.T) {
	for _, status := range []int{302, 400, 404, 500, 503} {
		c := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			token := r.Header.Get("Authorization")
			w.Header().Set("Location", "/"+token)
			problem(w, status, "your request has the header Authorization: "+token)
		}), client.Options{Token: secret, Retry: client.Retry{Attempts: 1}})
		_, err := c.Get(t.Context(), "a")
		if err == nil || strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), secret) {
			t.Errorf("%d: %v", status, err)
		}
		if _, err := failure(c.Fires(t.Context(), client.FireQuery{})); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%d: Fires: %v", status, err)
		}
	}
	if _, err := client.New("http://127.0.0.1:1", client.Options{Token: secret + "\nsecond line"}); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("a token of two lines: %v", err)
	}
	if _, err := client.New("http://user:"+secret+"@127.0.0.1:1", client.Options{}); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("a password: %v", err)
	}
	if _, err := client.New("http://user:"+secret+"@[", client.Options{}); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("a password in a wrong address: %v", err)
	}
	c := clientOf(t, "http://127.0.0.1:1", client.Options{Token: secret})
	if _, err := c.Get(t.Context(), "a"); !errors.Is(err, client.ErrUnavailable) || strings.Contains(err.Error(), secret) {
		t.Errorf("no server: %v", err)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	var reached atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(other.Close)
	for _, status := range []int{301, 302, 303, 307, 308} {
		c := newClient(t, http.RedirectHandler(other.URL+"/v1/timers/a", status), client.Options{
			Token: secret, HTTPClient: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return nil }},
		})
		_, err := c.Put(t.Context(), client.Timer{ID: "a", At: noon, Kind: "k"})
		var p *client.Problem
		if !errors.As(err, &p) || p.Status != status || !strings.Contains(err.Error(), other.URL) || errors.Is(err, client.ErrUncertain) {
			t.Errorf("%d: %v", status, err)
		}
		if _, err := c.Get(t.Context(), "a"); !errors.As(err, &p) {
			t.Errorf("%d: Get: %v", status, err)
		}
		if _, err := failure(c.Fires(t.Context(), client.FireQuery{})); !errors.As(err, &p) {
			t.Errorf("%d: Fires: %v", status, err)
		}
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("the other server had %d requests", n)
	}
}

// endless sends spaces until the client has enough, and counts them.
func endless(w io.Writer, sent *atomic.Int64) {
	block := bytes.Repeat([]byte(" "), 64<<10)
	for sent.Load() < 1<<30 {
		n, err := w.Write(block)
		sent.Add(int64(n))
		if err != nil {
			return
		}
	}
}

func TestAHugeResponseIsCutOff(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		zip    bool
	}{"a result": {200, false}, "a problem": {400, false}, "a zipped result": {200, true}} {
		t.Run(name, func(t *testing.T) {
			var sent atomic.Int64
			cl := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if c.zip {
					w.Header().Set("Content-Encoding", "gzip")
				}
				w.WriteHeader(c.status)
				if !c.zip {
					endless(w, &sent)
					return
				}
				// Zipped, it takes longer to notice that the client has gone.
				z := gzip.NewWriter(w)
				for range 5 << 20 >> 16 {
					z.Write(make([]byte, 64<<10))
				}
				z.Close()
			}), client.Options{})
			_, err := cl.Get(t.Context(), "a")
			switch {
			case c.status == 200 && !errors.Is(err, client.ErrTooLarge):
				t.Errorf("%v, want ErrTooLarge", err)
			case c.status != 200 && !errors.Is(err, client.ErrInvalid):
				t.Errorf("%v, want ErrInvalid", err)
			}
			if n := sent.Load(); n > 64<<20 {
				t.Errorf("%d bytes were sent", n)
			}
		})
	}
}

// A server that accepts connections and says nothing.
func TestAServerThatHangsIsLeft(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	c := clientOf(t, "http://"+listener.Addr().String(), client.Options{Timeout: 20 * time.Millisecond, Retry: client.Retry{Attempts: 2}})
	if err := c.Cancel(t.Context(), "a"); !errors.Is(err, client.ErrUnavailable) || !errors.Is(err, client.ErrUncertain) {
		t.Errorf("Cancel: %v", err)
	}
	if _, err := c.Get(t.Context(), "a"); !errors.Is(err, client.ErrUnavailable) || errors.Is(err, client.ErrUncertain) {
		t.Errorf("Get: %v", err)
	}
	if _, err := failure(c.Fires(t.Context(), client.FireQuery{})); !errors.Is(err, client.ErrUnavailable) {
		t.Errorf("Fires: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := c.Ready(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Ready: %v", err)
	}
}

// A response that ends too early is lost, and the request is repeated.
func TestAResponseThatIsCutOffIsLost(t *testing.T) {
	var n atomic.Int32
	f := &fake{timers: map[string]client.Timer{}}
	c := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) == 1 {
			w.Header().Set("Content-Length", "1000")
			w.Write([]byte("{"))
			return
		}
		f.handler().ServeHTTP(w, r)
	}), client.Options{})
	if got, err := c.Put(t.Context(), client.Timer{ID: "a", At: noon, Kind: "k"}); err != nil || !got.Created || n.Load() != 2 {
		t.Errorf("%+v, %v after %d attempts", got, err, n.Load())
	}
}

// A request that gets no connection has not reached the server.
func TestNoServerIsNotUncertain(t *testing.T) {
	f := &fake{timers: map[string]client.Timer{}}
	server := httptest.NewServer(f.handler())
	defer server.Close()
	transport := &http.Transport{}
	c := clientOf(t, server.URL, client.Options{HTTPClient: &http.Client{Transport: transport}})
	timer := client.Timer{ID: "a", At: noon, Kind: "k"}
	if _, err := c.Put(t.Context(), timer); err != nil {
		t.Fatal(err)
	}
	server.Close()
	transport.CloseIdleConnections()
	if _, err := c.Put(t.Context(), timer); !errors.Is(err, client.ErrUnavailable) || errors.Is(err, client.ErrUncertain) {
		t.Errorf("Put: %v", err)
	}
	if err := c.Redrive(t.Context(), "a"); !errors.Is(err, client.ErrUnavailable) || errors.Is(err, client.ErrUncertain) {
		t.Errorf("Redrive: %v", err)
	}
}

// Over TLS the requests go by HTTP/2, which has other hooks.
func TestItWorksOverTLS(t *testing.T) {
	f := &fake{timers: map[string]client.Timer{}}
	server := httptest.NewUnstartedServer(f.handler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	c := clientOf(t, server.URL, client.Options{HTTPClient: server.Client()})
	timer := client.Timer{ID: "a", At: noon, Kind: "k"}
	for range 3 {
		if _, err := c.Put(t.Context(), timer); err != nil {
			t.Fatal(err)
		}
	}
	// A certificate that is not trusted stays so.
	c = clientOf(t, server.URL, client.Options{Retry: client.Retry{Min: time.Hour, Max: time.Hour}})
	if _, err := c.Put(t.Context(), timer); !errors.Is(err, client.ErrUnavailable) || errors.Is(err, client.ErrUncertain) {
		t.Errorf("a certificate that is not trusted: %v", err)
	}
	server.Close()
	c = clientOf(t, server.URL, client.Options{HTTPClient: server.Client()})
	if _, err := c.Put(t.Context(), timer); !errors.Is(err, client.ErrUnavailable) || errors.Is(err, client.ErrUncertain) {
		t.Errorf("a server that is gone: %v", err)
	}
}

func TestAddressesAreChecked(t *testing.T) {
	for _, base := range []string{"", "127.0.0.1:7357", "localhost:7357", "ftp://x", "http://", "http:x", "unix:///x", "http://x?a=b", "http://x?", "http://x#a", "http://a:b@x", ":"} {
		if c, err := client.New(base, client.Options{}); err == nil {
			t.Errorf("%q: %v, want an error", base, c)
		}
	}
	for _, o := range []client.Options{{Timeout: -1}, {Token: "a b"}, {Token: "ä"}, {Retry: client.Retry{Attempts: -1}}, {Retry: client.Retry{Max: -1}}} {
		if _, err := client.New("http://127.0.0.1:1", o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	// A prefix, for a server behind others.
	f := &fake{timers: map[string]client.Timer{}}
	server := httptest.NewServer(http.StripPrefix("/sub", f.handler()))
	defer server.Close()
	for _, base := range []string{server.URL + "/sub", server.URL + "/sub/"} {
		c := clientOf(t, base, client.Options{})
		if _, err := c.Put(t.Context(), client.Timer{ID: "a/b", At: noon, Kind: "k"}); err != nil {
			t.Errorf("%s: %v", base, err)
		}
	}
}

// An address with the wrong scheme is an error that names the right one, and the request is not repeated.
func TestTheOtherSchemeIsNamed(t *testing.T) {
	plain := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	for _, s := range []*httptest.Server{plain, secure} {
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
	}
	plain.Start()
	defer plain.Close()
	secure.StartTLS()
	defer secure.Close()
	for _, c := range []struct{ base, want string }{
		{strings.Replace(plain.URL, "http:", "https:", 1), "the server speaks http; use an address that begins with http://"},
		{strings.Replace(secure.URL, "https:", "http:", 1), "the server speaks https; use an address that begins with https://"},
	} {
		slow := client.Retry{Min: time.Hour, Max: time.Hour}
		cl := clientOf(t, c.base, client.Options{Retry: slow})
		_, err := cl.Put(t.Context(), client.Timer{ID: "a", At: noon, Kind: "k"})
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, client.ErrUncertain) {
			t.Errorf("Put: %v, want %s", err, c.want)
		}
		for _, err := range cl.Fires(t.Context(), client.FireQuery{}) {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Fires: %v, want %s", err, c.want)
			}
		}
	}
}

// The client of the caller stays as it is.
func TestTheHTTPClientOfTheCallerIsCopied(t *testing.T) {
	own := &http.Client{Timeout: 20 * time.Millisecond}
	hang := make(chan struct{})
	defer close(hang)
	c := newClient(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}), client.Options{HTTPClient: own, Retry: client.Retry{Attempts: 1}})
	if _, err := c.Get(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "20ms") {
		t.Errorf("its time limit does not count: %v", err)
	}
	if own.Timeout == 0 || own.CheckRedirect != nil {
		t.Error("it was changed")
	}
}
