package serve

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestTokenIsNeeded(t *testing.T) {
	path := writeFile(t, "s3cret-token\n")
	ts := start(t, func(c *Config) { c.TokenFile = path })
	good := "Bearer s3cret-token"
	for _, p := range []string{"/v1/timers", "/v1/timers/a", "/v1/fires", "/v1/dead", "/metrics", "/openapi.json", "/nothing"} {
		for _, auth := range []string{"", "Bearer", "Bearer ", "Bearer wrong", "Bearer s3cret-toke", "Bearer s3cret-token2", "Basic s3cret-token", "s3cret-token"} {
			headers := []string{"Authorization", auth}
			if auth == "" {
				headers = nil
			}
			if r := ts.do("GET", p, "", headers...).want(t, 401); !strings.HasPrefix(r.header.Get("WWW-Authenticate"), "Bearer") {
				t.Errorf("%s: WWW-Authenticate is %q", p, r.header.Get("WWW-Authenticate"))
			}
		}
		ts.do("GET", p+"?token=s3cret-token&access_token=s3cret-token", "").want(t, 401)
	}
	for _, p := range []string{"/healthz", "/readyz", "/"} {
		ts.do("GET", p, "").want(t, 200)
		ts.do("GET", p, "", "Host", "foliot.example.com").want(t, 200)
	}
	for _, p := range []string{"/v1/timers", "/metrics", "/openapi.json"} {
		ts.do("GET", p, "", "Authorization", good).want(t, 200)
		ts.do("GET", p, "", "Authorization", "bearer s3cret-token").want(t, 200)
	}
	ts.do("DELETE", "/v1/timers/a", "").want(t, 401)
	ts.do("PUT", "/v1/timers/a", `{"after":"1h","kind":"k"}`, "Authorization", good, "Host", "foliot.example.com").want(t, 201)

	if err := os.WriteFile(path, []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	ts.s.reload()
	ts.do("GET", "/v1/timers", "", "Authorization", good).want(t, 401)
	ts.do("GET", "/v1/timers", "", "Authorization", "Bearer another").want(t, 200)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ts.s.reload() // the file is not valid, so the token stays
	ts.do("GET", "/v1/timers", "", "Authorization", "Bearer another").want(t, 200)
	ts.do("GET", "/v1/timers", "").want(t, 401)
}

func TestPagesOfOtherSitesCannotChangeAnything(t *testing.T) {
	ts := start(t, nil)
	host := strings.TrimPrefix(ts.url, "http://")
	body := `{"after":"1h","kind":"k"}`
	for _, h := range [][]string{
		{"Origin", "https://evil.example"},
		{"Origin", "null"},
		{"Origin", ""},
		{"Origin", "http://localhost:1"},
		{"Origin", "http://" + host, "Origin", "https://evil.example"},
		{"Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "same-site"},
		{"Sec-Fetch-Site", "cross-site", "Origin", "http://" + host},
		{"Sec-Fetch-Site", "same-origin", "Origin", "https://evil.example"},
	} {
		ts.do("PUT", "/v1/timers/a", body, h...).want(t, 403)
		ts.do("POST", "/v1/timers", `{"timers":[]}`, h...).want(t, 403)
		ts.do("DELETE", "/v1/timers/a", "", h...).want(t, 403)
		ts.do("POST", "/v1/dead/a/redrive", "", h...).want(t, 403)
		ts.do("DELETE", "/v1/dead/a", "", h...).want(t, 403)
		if r := ts.do("GET", "/v1/timers", "", h...).want(t, 200); r.header.Get("Access-Control-Allow-Origin") != "" {
			t.Error("there is a CORS header")
		}
	}
	for _, h := range [][]string{nil, {"Origin", "http://" + host}, {"Sec-Fetch-Site", "same-origin"}, {"Sec-Fetch-Site", "none"}} {
		ts.do("PUT", "/v1/timers/b", body, h...)
		ts.do("DELETE", "/v1/timers/b", "", h...).want(t, 200)
	}
}

// A name of another site that is resolved to this machine makes its pages the same origin.
func TestForeignHostsAreRefusedWithoutAToken(t *testing.T) {
	ts := start(t, nil)
	for _, host := range []string{"evil.example", "evil.example:7357", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "[::2]:80", "0.0.0.0", "localhost:80:80"} {
		for _, p := range []string{"/v1/timers", "/v1/fires", "/metrics", "/", "/readyz", "/openapi.json"} {
			ts.do("GET", p, "", "Host", host).want(t, 403)
		}
		ts.do("PUT", "/v1/timers/a", `{"after":"1h","kind":"k"}`, "Host", host, "Origin", "http://"+host).want(t, 403)
	}
	for _, host := range []string{"localhost", "LOCALHOST:1", "localhost.:80", "127.0.0.1", "127.3.2.1:9", "[::1]", "[::1]:80", "[::ffff:127.0.0.1]:80"} {
		ts.do("GET", "/v1/timers", "", "Host", host).want(t, 200)
	}
	for text, status := range map[string]int{
		"GET /healthz HTTP/1.0\r\n\r\n": 200, "GET /healthz HTTP/1.0\r\nHost: evil.example\r\n\r\n": 403,
		"GET http://evil.example/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n": 403, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n": 200,
	} {
		ts.raw(text).want(t, status)
	}
}

func TestBadConfigurations(t *testing.T) {
	token, empty := writeFile(t, "secret"), writeFile(t, " \n")
	base, _ := testConfig(t)
	for want, change := range map[string]func(c *Config){
		"":                        func(c *Config) {},
		"--token-file, or":        func(c *Config) { c.Listen = "0.0.0.0:0" },
		"--token-file, or liste":  func(c *Config) { c.Listen = ":0" },
		"or listen on 127.0.0.1":  func(c *Config) { c.Listen = "[::]:0" },
		"--listen nowhere":        func(c *Config) { c.Listen = "nowhere" },
		"the file is empty":       func(c *Config) { c.TokenFile = empty },
		"no such file":            func(c *Config) { c.TokenFile = empty + "x" },
		"one word":                func(c *Config) { c.TokenFile = writeFile(t, "two words") },
		"belong together":         func(c *Config) { c.TLSCert = token },
		"--tls-cert":              func(c *Config) { c.TLSCert, c.TLSKey = token, token },
		"line 1 is no signing":    func(c *Config) { c.SecretFile = token },
		"no signing secret":       func(c *Config) { c.SecretFile = empty },
		"--webhook-allow":         func(c *Config) { c.WebhookAllow = []string{"10.0.0.0/99"} },
		"is no network":           func(c *Config) { c.WebhookAllow = []string{"x/1"} },
		"\"http://x\" is neither": func(c *Config) { c.WebhookAllow = []string{"http://x"} },
		"without scheme, port":    func(c *Config) { c.WebhookAllow = []string{"x:80"} },
		"--concurrency 0":         func(c *Config) { c.Concurrency = 0 },
		"--attempts 0":            func(c *Config) { c.Attempts = 0 },
		"--retry-min 0s":          func(c *Config) { c.RetryMin = 0 },
		"--retry-max":             func(c *Config) { c.RetryMax = 1 },
		"is a file":               func(c *Config) { c.Data = token },
		"--data is empty":         func(c *Config) { c.Data = "" },
		"exclude each other":      func(c *Config) { c.NATS, c.Replicas = "nats://localhost", 3 },
		"is for --nats":           func(c *Config) { c.NATSCreds = token },
		"--replicas 2":            func(c *Config) { c.Data, c.NATS, c.Replicas = "", "localhost", 2 },
		"address 2 cannot":        func(c *Config) { c.Data, c.NATS, c.Replicas = "", "localhost,nats://u:secret\n@x", 1 },
		"address 1 begins with":   func(c *Config) { c.Data, c.NATS, c.Replicas = "", "http://localhost", 1 },
		"no credentials of NATS":  func(c *Config) { c.Data, c.NATS, c.NATSCreds, c.Replicas = "", "localhost", token, 1 },
	} {
		c := base
		change(&c)
		err := Check(t.Context(), c)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if err != nil && (strings.Contains(err.Error(), "secret\n") || strings.Contains(err.Error(), "two words")) {
			t.Errorf("the error has a secret in it: %v", err)
		}
	}
}

// TestAServerThatCannotStartSaysWhy tests the errors of a start that the configuration alone does not show.
func TestAServerThatCannotStartSaysWhy(t *testing.T) {
	ts := start(t, nil)
	fails := func(change func(c *Config), want string) {
		t.Helper()
		c, _ := testConfig(t)
		change(&c)
		err := Run(t.Context(), c)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	fails(func(c *Config) { c.Listen = strings.TrimPrefix(ts.url, "http://") }, "another program listens there; end that one, or choose another port")
	fails(func(c *Config) { c.Data = ts.s.cfg.Data }, "--data: durable/local: folder "+ts.s.cfg.Data+": another process has it open, or this process")
	file := writeFile(t, "x")
	fails(func(c *Config) { c.Data = file }, "--data "+file+": "+file+" is a file; name a folder")
	if c, _ := testConfig(t); runtime.GOOS == "linux" {
		c.Data = "/proc/foliot"
		for _, err := range []error{Run(t.Context(), c), Check(t.Context(), c)} {
			if err == nil || !strings.Contains(err.Error(), "--data /proc/foliot: /proc cannot be written; ") {
				t.Errorf("%v", err)
			}
		}
	}
}

// TestCheckLeavesNothingBehind tests that Check looks at a folder that is in use, and removes what it has made.
func TestCheckLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	c, _ := testConfig(t)
	for _, c.Data = range []string{dir, filepath.Join(dir, "a", "b")} {
		if err := Check(t.Context(), c); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("the folder has %v, error %v", left, err)
	}
	if err := Check(t.Context(), start(t, nil).s.cfg); err != nil {
		t.Errorf("a folder in use: %v", err)
	}
}

// TestATokenWithoutTLSIsLogged tests the warning about a token that others can read.
func TestATokenWithoutTLSIsLogged(t *testing.T) {
	dir := t.TempDir()
	writeCert(t, dir, "a.example")
	token := writeFile(t, "secret")
	for _, tt := range []struct {
		listen string
		tls    bool
		warns  bool
	}{{"0.0.0.0:0", false, true}, {"[::]:0", false, true}, {"0.0.0.0:0", true, false}, {"127.0.0.1:0", false, false}} {
		c, log := testConfig(t)
		c.Listen, c.TokenFile = tt.listen, token
		if tt.tls {
			c.TLSCert, c.TLSKey = filepath.Join(dir, "cert"), filepath.Join(dir, "key")
		}
		if err := Check(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if warns := strings.Contains(log.String(), "the token travels without TLS"); warns != tt.warns {
			t.Errorf("%+v: %s", tt, log)
		}
	}
}

// The line that says that the server is ready has the address that was asked for.
func TestTheAddressIsTheOneThatWasAskedFor(t *testing.T) {
	token := writeFile(t, "secret")
	for listen, want := range map[string]string{"127.0.0.1:0": "http://127.0.0.1:", "localhost:0": "http://127.0.0.1:", "0.0.0.0:0": "http://0.0.0.0:"} {
		ts := start(t, func(c *Config) { c.Listen, c.TokenFile = listen, token })
		if log := ts.log.String(); !strings.Contains(log, "foliot: serving on "+want) {
			t.Errorf("%s: %s", listen, log)
		}
	}
}

// writeCert writes a certificate for a name, and its key.
func writeCert(t *testing.T, dir, name string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{"cert": {Type: "CERTIFICATE", Bytes: cert}, "key": {Type: "PRIVATE KEY", Bytes: der}} {
		if err := os.WriteFile(filepath.Join(dir, file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTLS(t *testing.T) {
	dir := t.TempDir()
	writeCert(t, dir, "first.example")
	ts := start(t, func(c *Config) {
		c.TLSCert, c.TLSKey = filepath.Join(dir, "cert"), filepath.Join(dir, "key")
	})
	name := func(highest uint16) string {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(ts.url, "https://"), &tls.Config{InsecureSkipVerify: true, MaxVersion: highest})
		if err != nil {
			return err.Error()
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].DNSNames[0]
	}
	if got := name(tls.VersionTLS12); got != "first.example" {
		t.Error(got)
	}
	if got := name(tls.VersionTLS11); !strings.Contains(got, "version") {
		t.Errorf("TLS 1.1: %s", got)
	}
	writeCert(t, dir, "second.example")
	ts.s.reload()
	if got := name(0); got != "second.example" {
		t.Error(got)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	resp, err := client.Get(ts.url + "/readyz")
	if err != nil || resp.StatusCode != 200 || resp.ProtoMajor != 2 {
		t.Fatal(resp, err)
	}
	resp.Body.Close()
}

// A client that sends its request slowly is cut off, and does not stop others.
func TestSlowRequestsAreCutOff(t *testing.T) {
	ts := start(t, func(c *Config) { c.requestLimit = 200 * time.Millisecond })
	for _, text := range []string{
		"",
		"GET /v1/timers HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
		"PUT /v1/timers/slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(ts.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprint(conn, text)
		if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(bufio.NewReader(conn))
		if err != nil {
			t.Errorf("%q is not cut off: %v", text, err)
		}
		if strings.HasPrefix(text, "PUT") && !strings.HasPrefix(string(got), "HTTP/1.1 400") {
			t.Errorf("%q", got)
		}
	}
	ts.do("GET", "/v1/timers/slow", "").want(t, 404)
}

// A client that sends all of a large body before it reads gets the response. One that asks before gets it at once.
func TestHugeBodiesAreRefused(t *testing.T) {
	ts := start(t, nil)
	const size = 8 << 20
	for _, headers := range []string{fmt.Sprintf("Content-Length: %d\r\n\r\n", size), fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n", size)} {
		text := "PUT /v1/timers/huge HTTP/1.1\r\nHost: localhost\r\n" + headers + strings.Repeat("x", size)
		if strings.HasPrefix(headers, "T") {
			text += "\r\n0\r\n\r\n"
		}
		ts.raw(text).want(t, 413)
	}
	ts.raw(fmt.Sprintf("PUT /v1/timers/huge HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", size)).want(t, 413)
	ts.do("GET", "/v1/timers/huge", "").want(t, 404)
}

func TestHugeHeadersAreRefused(t *testing.T) {
	ts := start(t, nil)
	r, err := ts.try("GET", "/v1/timers", "", "X-Huge", strings.Repeat("x", 128<<10))
	if err == nil && r.status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("status %d", r.status)
	}
}

// Secrets are in no line of the log, whatever happens.
func TestSecretsAreNotLogged(t *testing.T) {
	rc := receive(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	secrets := []string{"tok-geheim", strings.TrimPrefix(testSecret("s"), "whsec_"), "query-geheim", "header-geheim", "payload-geheim"}
	ts := start(t, func(c *Config) { c.TokenFile, c.SecretFile = writeFile(t, secrets[0]), writeFile(t, testSecret("s")) })
	auth := []string{"Authorization", "Bearer tok-geheim"}
	for _, url := range []string{rc.URL, "http://127.0.0.1:1", "http://10.255.255.1:1", "http://does-not-exist.invalid"} {
		body := fmt.Sprintf(`{"after":"0s","payload":"payload-geheim","webhook":{"url":%q,"headers":{"Authorization":"header-geheim"}}}`, url+"/?key=query-geheim")
		ts.do("PUT", fmt.Sprintf("/v1/timers/%d", len(url)), body, auth...).want(t, 201)
	}
	ts.do("GET", "/v1/timers", "", "Authorization", "Bearer tok-geheim2").want(t, 401)
	ts.do("PUT", "/v1/timers/x", `{"payload":"payload-geheim"}`, auth...).want(t, 400)
	ts.s.reload()
	eventually(t, func() bool {
		return len(into[DeadList](t, ts.do("GET", "/v1/dead", "", auth...).want(t, 200)).Dead) == 4
	})
	shown := ts.log.String() + ts.do("GET", "/v1/dead", "", auth...).body + ts.do("GET", "/metrics", "", auth...).body
	if !strings.Contains(shown, "status 500") {
		t.Fatal("nothing was logged")
	}
	for _, s := range secrets {
		if strings.Contains(shown, s) {
			t.Errorf("the log has %q in it", s)
		}
	}
}
