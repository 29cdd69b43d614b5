package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

// loadDescription returns the description that a server serves, validated.
func loadDescription(t *testing.T, ts *testServer) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData([]byte(ts.do("GET", "/openapi.json", "").want(t, 200).body))
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return doc
}

var update = flag.Bool("update", false, "write openapi.json")

func TestOpenAPI(t *testing.T) {
	made, err := describeAPI((&server{}).routes())
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.MarshalIndent(made, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	body = append(body, '\n')
	if *update {
		if err := os.WriteFile("openapi.json", body, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(body, description) {
		t.Error("openapi.json does not describe the routes and types any more; go test ./cmd/internal/serve -run OpenAPI -update writes it")
	}
	if n := bytes.Count(body, []byte(versionMark)); n != 1 {
		t.Errorf("openapi.json has the mark of the version %d times", n)
	}
}

func TestTheDescriptionHasTheVersionOfTheServer(t *testing.T) {
	if doc := loadDescription(t, start(t, nil)); doc.Info.Version != "test" {
		t.Errorf("the version is %q, want that of the configuration", doc.Info.Version)
	}
}

func TestTheDescriptionHasEachRoute(t *testing.T) {
	ts := start(t, nil)
	doc := loadDescription(t, ts)
	var described, served []string
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			described = append(described, method+" "+path)
		}
	}
	rt := ts.s.router()
	for _, d := range described {
		method, path, _ := strings.Cut(d, " ")
		req, err := http.NewRequest(method, strings.ReplaceAll(path, "{id}", "x"), nil)
		if err != nil {
			t.Fatal(err)
		}
		pattern := ""
		if _, at, _ := rt.find(req); at == nil {
			_, pattern = rt.mux.Handler(req)
		} else if at.methods[method] != nil {
			pattern = method + " " + at.path
		}
		if pattern != d {
			t.Errorf("%s is served by %q", d, pattern)
		}
	}
	for _, rt := range ts.s.routes() {
		served = append(served, rt.method+" "+rt.path)
	}
	slices.Sort(described)
	slices.Sort(served)
	if !slices.Equal(described, served) {
		t.Errorf("described:\n%v\nserved:\n%v", described, served)
	}
}

// Requests and responses are as the description says.
func TestRequestsMatchTheDescription(t *testing.T) {
	ts := start(t, nil)
	doc := loadDescription(t, ts)
	doc.Servers = nil
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	openapi3filter.RegisterBodyDecoder("application/problem+json", openapi3filter.JSONBodyDecoder)
	for _, tt := range []struct {
		method, path, body string
		status             int
		invalid            bool // the description refuses it, too
	}{
		{"PUT", "/v1/timers/a", `{"after":"1h","kind":"k","payload":{"x":[1,null]}}`, 201, false},
		{"PUT", "/v1/timers/a", `{"at":"2040-01-01T00:00:00Z","every":"1h","webhook":{"url":"http://example.com","headers":{"A":"b"}}}`, 200, false},
		{"PUT", "/v1/timers/a", `{"after":"1h","kind":"k","colour":1}`, 400, true},
		{"PUT", "/v1/timers/a", `{"after":5,"kind":"k"}`, 400, true},
		{"PUT", "/v1/timers/a", `{"after":"1h","webhook":{}}`, 400, true},
		{"PUT", "/v1/timers/a", `{"after":"1h"}`, 400, false},
		{"GET", "/v1/timers/a", "", 200, false},
		{"GET", "/v1/timers/none", "", 404, false},
		{"GET", "/v1/timers/a", "", 304, false},
		{"POST", "/v1/timers", `{"timers":[{"id":"b","cron":"@daily","tz":"Europe/Berlin","kind":"k"}]}`, 200, false},
		{"POST", "/v1/timers", `{"timers":[{"cron":"@daily","kind":"k"}]}`, 400, true},
		{"POST", "/v1/timers", `{}`, 400, true},
		{"GET", "/v1/timers?prefix=a&order=due&limit=5&from=2030-01-01T00:00:00Z", "", 200, false},
		{"GET", "/v1/timers?limit=0", "", 400, true},
		{"GET", "/v1/dead", "", 200, false},
		{"POST", "/v1/dead/a/redrive", "", 404, false},
		{"DELETE", "/v1/dead/a", "", 404, false},
		{"DELETE", "/v1/timers/a", "", 200, false},
		{"GET", "/healthz", "", 200, false},
		{"GET", "/readyz", "", 200, false},
		{"GET", "/openapi.json", "", 200, false},
	} {
		req, err := http.NewRequest(tt.method, tt.path, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		if tt.body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		route, params, err := router.FindRoute(req)
		if err != nil {
			t.Fatalf("%s %s: %v", tt.method, tt.path, err)
		}
		in := &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route, Options: &openapi3filter.Options{
			AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
		}}
		if err := openapi3filter.ValidateRequest(context.Background(), in); (err != nil) != tt.invalid {
			t.Errorf("%s %s %s: %v", tt.method, tt.path, tt.body, err)
		}
		var headers []string
		if tt.status == http.StatusNotModified {
			headers = []string{"If-None-Match", "*"}
		}
		r := ts.do(tt.method, tt.path, tt.body, headers...).want(t, tt.status)
		out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: r.status, Header: r.header}
		out.SetBodyBytes([]byte(r.body))
		if err := openapi3filter.ValidateResponse(context.Background(), out); err != nil {
			t.Errorf("%s %s: %s: %v", tt.method, tt.path, r.body, err)
		}
	}
}
