package serve

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestPutMakesAndReplaces(t *testing.T) {
	ts := start(t, nil)
	r := ts.do("PUT", "/v1/timers/order-17", `{"after":"1h","kind":"expire","payload":{"n":1}}`).want(t, 201)
	made := into[Timer](t, r)
	if made.ID != "order-17" || made.Kind != "expire" || string(made.Payload) != `{"n":1}` || r.header.Get("ETag") != etag(made.Rev) {
		t.Fatalf("%+v, ETag %s", made, r.header.Get("ETag"))
	}
	if d := time.Until(made.At); d < 59*time.Minute || d > time.Hour {
		t.Fatalf("due in %v", d)
	}
	replaced := into[Timer](t, ts.do("PUT", "/v1/timers/order-17", `{"at":"2040-01-02T03:04:05.123456789+01:00","kind":"expire"}`).want(t, 200))
	if replaced.Rev <= made.Rev || !replaced.At.Equal(time.Date(2040, 1, 2, 2, 4, 5, 123456789, time.UTC)) {
		t.Fatalf("%+v", replaced)
	}
	got := ts.do("GET", "/v1/timers/order-17", "").want(t, 200)
	if into[Timer](t, got).Rev != replaced.Rev || got.header.Get("ETag") != etag(replaced.Rev) {
		t.Fatalf("%s", got.body)
	}
	ts.do("GET", "/v1/timers/order-17", "", "If-None-Match", etag(replaced.Rev)).want(t, 304)
	ts.do("GET", "/v1/timers/order-17", "", "If-None-Match", etag(made.Rev)).want(t, 200)
	ts.do("HEAD", "/v1/timers/order-17", "").want(t, 200)
	ts.do("GET", "/v1/timers/order-18", "").want(t, 404)
}

func TestConditions(t *testing.T) {
	ts := start(t, nil)
	body := `{"after":"1h","kind":"k"}`
	first := into[Timer](t, ts.do("PUT", "/v1/timers/a", body, "If-None-Match", "*").want(t, 201)).Rev
	ts.do("PUT", "/v1/timers/a", body, "If-None-Match", "*").want(t, 412)
	second := into[Timer](t, ts.do("PUT", "/v1/timers/a", body, "If-Match", etag(first)).want(t, 200)).Rev
	ts.do("PUT", "/v1/timers/a", body, "If-Match", etag(first)).want(t, 412)
	ts.do("PUT", "/v1/timers/none", body, "If-Match", etag(first)).want(t, 412)
	ts.do("PUT", "/v1/timers/none", body, "If-Match", "*").want(t, 412)
	ts.do("PUT", "/v1/timers/a", body, "If-Match", "W/"+etag(second)).want(t, 412)
	ts.do("PUT", "/v1/timers/a", body, "If-Match", `"a,b",,"x y"`).want(t, 400)
	ts.do("PUT", "/v1/timers/a", body, "If-Match", `"a,b",, W/"c", "0`+etag(second)[1:]).want(t, 412)
	for tags, status := range map[string]int{
		"*": 304, "W/" + etag(second): 304, `"a,b", ` + etag(second): 304, "W/" + etag(first) + "," + etag(second): 304,
		etag(first): 200, "W/" + etag(first): 200, "": 200, "17": 200, `"0` + etag(second)[1:]: 200,
	} {
		ts.do("GET", "/v1/timers/a", "", "If-None-Match", tags).want(t, status)
	}
	ts.do("GET", "/v1/timers/a", "", "If-None-Match", etag(first), "If-None-Match", etag(second)).want(t, 304)
	ts.do("GET", "/v1/timers/none", "", "If-None-Match", "*").want(t, 404)
	third := into[Timer](t, ts.do("PUT", "/v1/timers/a", body, "If-Match", `"x", `+etag(first)+`,`+etag(second)).want(t, 200)).Rev
	fourth := into[Timer](t, ts.do("PUT", "/v1/timers/a", body, "If-Match", "*").want(t, 200)).Rev
	for _, c := range [][]string{
		{"If-Match", "17"},
		{"If-Match", `"17`},
		{"If-Match", ""},
		{"If-None-Match", etag(fourth)},
		{"If-Match", etag(fourth), "If-None-Match", "*"},
	} {
		ts.do("PUT", "/v1/timers/a", body, c...).want(t, 400)
		ts.do("DELETE", "/v1/timers/a", "", c...).want(t, 400)
	}
	ts.do("DELETE", "/v1/timers/a", "", "If-None-Match", "*").want(t, 400)
	ts.do("DELETE", "/v1/timers/a", "", "If-Match", etag(third)).want(t, 412)
	if r := ts.do("DELETE", "/v1/timers/a", "", "If-Match", etag(fourth)).want(t, 200); strings.TrimSpace(r.body) != `{"cancelled":true}` {
		t.Fatal(r.body)
	}
	ts.do("DELETE", "/v1/timers/a", "").want(t, 404)
	ts.do("PUT", "/v1/timers/a", body).want(t, 201)
	ts.do("DELETE", "/v1/timers/a", "").want(t, 200)
}

// Each body must be refused, and nothing stored.
func TestBadBodies(t *testing.T) {
	ts := start(t, nil)
	long := strings.Repeat("x", 64<<10)
	for body, status := range map[string]int{
		``:                                       400,
		`null`:                                   400,
		`[]`:                                     400,
		`{"after":null,"every":"1h","kind":"k"}`: 400,
		`{"after":"1h","kind":"k","webhook":null}`:                         400,
		`{"after":"1h","webhook":{"url":"http://x","headers":null}}`:       400,
		`{"after":"1h","webhook":{"url":"http://x","headers":{"A":null}}}`: 400,
		`{`:                                                                       400,
		`{"after":"1s","kind":"k"} {}`:                                            400,
		`{"after":"1s","kind":"k","colour":1}`:                                    400,
		`{"after":"1s","after":"2s","kind":"k"}`:                                  400,
		`{"After":"1s","kind":"k"}`:                                               400,
		`{"after":1,"kind":"k"}`:                                                  400,
		`{"after":"1s","kind":["k"]}`:                                             400,
		`{"after":"1s","kind":"k","id":"x"}`:                                      400,
		`{"after":"soon","kind":"k"}`:                                             400,
		`{"after":"-1s","kind":"k"}`:                                              400,
		`{"after":"2562047h","kind":"k"}`:                                         400,
		`{"at":"tomorrow","kind":"k"}`:                                            400,
		`{"at":"2040-01-01 01:00:00Z","kind":"k"}`:                                400,
		`{"at":"2040-01-01T01:00:00","kind":"k"}`:                                 400,
		`{"at":"2040-02-30T01:00:00Z","kind":"k"}`:                                400,
		`{"at":"9999-01-01T00:00:00Z","kind":"k"}`:                                400,
		`{"at":"1500-01-01T00:00:00Z","kind":"k"}`:                                400,
		`{"at":"2040-01-01T00:00:00Z","after":"1s","kind":"k"}`:                   400,
		`{"kind":"k"}`:                                                            400,
		`{"after":"1s"}`:                                                          400,
		`{"after":"1s","kind":"k","webhook":{"url":"http://x"}}`:                  400,
		`{"after":"1s","kind":"a b"}`:                                             400,
		`{"after":"1s","kind":"` + strings.Repeat("k", 64) + `"}`:                 400,
		`{"every":"1h","cron":"* * * * *","kind":"k"}`:                            400,
		`{"every":"1us","kind":"k"}`:                                              400,
		`{"every":"0s","after":"1s","kind":"k"}`:                                  400,
		`{"every":"-1h","kind":"k"}`:                                              400,
		`{"cron":"* * *","kind":"k"}`:                                             400,
		`{"cron":"61 * * * *","kind":"k"}`:                                        400,
		`{"cron":"TZ=UTC * * * * *","kind":"k"}`:                                  400,
		`{"cron":"CRON_TZ=","kind":"k"}`:                                          400,
		`{"cron":"@every 1s","kind":"k"}`:                                         400,
		`{"cron":"0 0 30 2 *","kind":"k"}`:                                        400,
		`{"cron":"* * * * *","tz":"Mars/Phobos","kind":"k"}`:                      400,
		`{"cron":"* * * * *","tz":"Local","kind":"k"}`:                            400,
		`{"cron":"* * * * *","tz":"../etc/passwd","kind":"k"}`:                    400,
		`{"after":"1s","tz":"UTC","kind":"k"}`:                                    400,
		`{"after":"1s","webhook":{}}`:                                             400,
		`{"after":"1s","webhook":{"url":""}}`:                                     400,
		`{"after":"1s","webhook":{"url":"ftp://x"}}`:                              400,
		`{"after":"1s","webhook":{"url":"//x"}}`:                                  400,
		`{"after":"1s","webhook":{"url":"http://"}}`:                              400,
		`{"after":"1s","webhook":{"url":"http://u:p@x"}}`:                         400,
		`{"after":"1s","webhook":{"url":"http://x:0"}}`:                           400,
		`{"after":"1s","webhook":{"url":"http://x:65536"}}`:                       400,
		`{"after":"1s","webhook":{"url":"http://x","headers":{"a":"1","A":"2"}}}`: 400,
		`{"after":"1s","kind":"\ud800"}`:                                          400,
		`{"after":"1s","kind":"k","payload":"\ud800"}`:                            400,
		`{"after":"1s","kind":"k","payload":{"a":1,"a":2}}`:                       400,
		`{"after":"1s","kind":"k","payload":` + strings.Repeat("[", 9001) + strings.Repeat("]", 9001) + `}`:   400,
		`{"after":"1s","kind":"k","payload":` + strings.Repeat("[", 30000) + strings.Repeat("]", 30000) + `}`: 400,
		`{"after":"1s","kind":"k","payload":` + strings.Repeat("[", 500000):                                   400,
		`{"after":"1s","webhook":{"url":"http://x/#a"}}`:                                                      400,
		`{"after":"1s","webhook":{"url":"http://x/\u0000"}}`:                                                  400,
		`{"after":"1s","webhook":{"url":"http://x","verb":"GET"}}`:                                            400,
		`{"after":"1s","webhook":{"url":"http://x","headers":{"a":1}}}`:                                       400,
		`{"after":"1s","webhook":{"url":"http://x","headers":{"a b":""}}}`:                                    400,
		`{"after":"1s","webhook":{"url":"http://x","headers":{"a":"b\r\nc"}}}`:                                400,
		`{"after":"1s","webhook":{"url":"http://x","headers":{"Host":"y"}}}`:                                  400,
		`{"after":"1s","webhook":{"url":"http://x","headers":{"Webhook-Id":"y"}}}`:                            400,
		`{"after":"1s","webhook":{"url":"http://x","headers":{"content-type":"y"}}}`:                          400,
		"{\"after\":\"1s\",\"kind\":\"k\",\"payload\":\"\xff\"}":                                              400,
		`{"after":"1s","kind":"k","payload":"` + long + `"}`:                                                  413,
		`{"after":"1s","kind":"k","payload":"` + strings.Repeat(long, 17) + `"}`:                              413,
	} {
		r := ts.do("PUT", "/v1/timers/bad", body)
		if r.status != status {
			t.Errorf("%.90s: status %d, want %d: %.200s", body, r.status, status, r.body)
			continue
		}
		r.want(t, status)
	}
	ts.do("GET", "/v1/timers/bad", "").want(t, 404)
	if r := ts.do("GET", "/v1/timers", ""); strings.TrimSpace(r.body) != `{"timers":[]}` {
		t.Error(r.body)
	}
}

// TestProblemsSayWhatToDo tests the details of problems with a body.
func TestProblemsSayWhatToDo(t *testing.T) {
	ts := start(t, nil)
	for body, want := range map[string]string{
		`{`:                                  "The body ends within its JSON; send all of it.",
		`hello`:                              "there is a fault at byte 1. Names and strings stand in double quotes",
		`{"after":'1s'}`:                     "there is a fault at byte 10. Names",
		`{"after":"1s"} {}`:                  "there is a fault at byte 16. Names and strings stand in double quotes, and there is one object.",
		`[]`:                                 "The body has the wrong type: a JSON list cannot be used there; send an object.",
		`"x"`:                                "The body has the wrong type: a JSON string cannot be used there; send an object.",
		`{"after":3}`:                        `/after has the wrong type: a JSON number cannot be used there; send a string such as "90s".`,
		`{"webhook":{"url":3}}`:              `send a string such as "https://example.com/hook".`,
		`{"webhook":"http://x"}`:             "/webhook has the wrong type: a JSON string cannot be used there; send an object.",
		`{"webhook":{"headers":{"A":true}}}`: "/webhook/headers/A has the wrong type: a JSON true cannot be used there; send a string.",
		`{"id":"a"}`:                         "There is no field /id in this body: the ID is in the path. Leave it out.",
		`{"rev":1}`:                          `send it as the header If-Match, such as If-Match: "17". Leave it out.`,
		`{"colour":1}`:                       "There is no field /colour; correct its name or leave it out.",
		`{"at":"2040-01-01T01:00:00.5","kind":"k"}`: "at has no time zone; append Z for UTC, or an offset such as +02:00.",
		`{"at":"2040-01-01 01:00","kind":"k"}`:      "at must be a time as in RFC 3339",
		`{"after":"1d","kind":"k"}`:                 "such as 90s or 36h. The units are h, m, s, ms, us and ns.",
	} {
		r := ts.do("PUT", "/v1/timers/a", body).want(t, 400)
		if p := into[Problem](t, r); !strings.Contains(p.Detail, want) || !strings.HasSuffix(r.body, "}\n") {
			t.Errorf("%s: %q, want %q", body, r.body, want)
		}
	}
	if r := ts.do("POST", "/v1/timers", `{"timers":{}}`).want(t, 400); !strings.Contains(r.body, "/timers has the wrong type: a JSON object cannot be used there; send a list.") {
		t.Error(r.body)
	}
	if r := ts.do("POST", "/v1/timers", `{"timers":[{"id":7}]}`).want(t, 400); !strings.Contains(r.body, "/timers/0/id has the wrong type: a JSON number cannot be used there; send a string.") {
		t.Error(r.body)
	}
}

// The deepest payload that is accepted can be read, listed and sent.
func TestTheDeepestPayload(t *testing.T) {
	ts := start(t, nil)
	l := listen(t, ts, "/v1/fires")
	payload := strings.Repeat(`{"":[`, maxDepth/2) + `"[[\\\"["` + strings.Repeat("]}", maxDepth/2)
	timer := `"kind":"k","payload":` + payload + `}`
	ts.do("POST", "/v1/timers", `{"timers":[{"id":"a","after":"1h",`+timer+`]}`).want(t, 200)
	for _, path := range []string{"/v1/timers/a", "/v1/timers"} {
		if r := ts.do("GET", path, "").want(t, 200); !strings.Contains(r.body, payload) {
			t.Errorf("%s: %.100s", path, r.body)
		}
	}
	ts.do("PUT", "/v1/timers/a", `{"after":"0s",`+timer).want(t, 200)
	if e := l.next().event; string(e.Payload) != payload {
		t.Errorf("%.100s", e.Payload)
	}
}

func TestIDs(t *testing.T) {
	ts := start(t, nil)
	body := `{"after":"1h","kind":"k"}`
	for path, id := range map[string]string{
		"a%2Fb": "a/b", "%2E%2E": "..", "%C3%BC": "ü", "a%20b": "a b", "a%25b": "a%b", "a+b": "a+b", "x%2F%2Fy": "x//y",
		strings.Repeat("a", 255): strings.Repeat("a", 255),
	} {
		if got := into[Timer](t, ts.do("PUT", "/v1/timers/"+path, body).want(t, 201)).ID; got != id {
			t.Errorf("%s: ID %q, want %q", path, got, id)
		}
		ts.do("GET", "/v1/timers/"+path, "").want(t, 200)
		ts.do("DELETE", "/v1/timers/"+path, "").want(t, 200)
	}
	for _, path := range []string{"%00", "a%0Ab", "%7F", "%C2%85", "%FF", strings.Repeat("a", 256)} {
		ts.do("PUT", "/v1/timers/"+path, body).want(t, 400)
		ts.do("GET", "/v1/timers/"+path, "").want(t, 400)
		ts.do("DELETE", "/v1/timers/"+path, "").want(t, 400)
		ts.do("POST", "/v1/dead/"+path+"/redrive", "").want(t, 400)
		ts.do("DELETE", "/v1/dead/"+path, "").want(t, 400)
	}
}

func TestBatchIsAllOrNone(t *testing.T) {
	ts := start(t, nil)
	r := ts.do("POST", "/v1/timers", `{"timers":[{"id":"a","after":"1h","kind":"k"},{"id":"b","every":"1h","webhook":{"url":"http://example.com/"}}]}`).want(t, 200)
	revs := into[BatchResult](t, r).Timers
	if len(revs) != 2 || revs[0].ID != "a" || revs[1].ID != "b" || revs[1].Rev <= revs[0].Rev {
		t.Fatal(r.body)
	}
	if got := into[Timer](t, ts.do("GET", "/v1/timers/b", "").want(t, 200)); got.Rev != revs[1].Rev || got.Every != "1h0m0s" || got.Webhook.URL != "http://example.com/" {
		t.Fatalf("%+v", got)
	}
	many := make([]string, 1001)
	for i := range many {
		many[i] = fmt.Sprintf(`{"id":"m-%d","after":"1h","kind":"k"}`, i)
	}
	for _, body := range []string{
		`{}`, `{"timers":null}`, `{"timers":{}}`, `{"timers":[{"after":"1h","kind":"k"}]}`,
		`{"timers":[{"id":"c","after":"1h","kind":"k"},{"id":"d","after":"1h"}]}`,
		`{"timers":[{"id":"c","after":"1h","kind":"k"},{"id":"d\u0000","after":"1h","kind":"k"}]}`,
		`{"timers":[{"id":"c","after":"1h","kind":"k"},{"id":"c","after":"2h","kind":"k"}]}`,
		`{"timers":[{"id":"c","after":"1h","kind":"k","x":1}]}`,
		`{"timers":[` + strings.Join(many, ",") + `]}`,
	} {
		ts.do("POST", "/v1/timers", body).want(t, 400)
	}
	for _, name := range []string{"If-Match", "If-None-Match"} {
		r := ts.do("POST", "/v1/timers", `{"timers":[{"id":"c","after":"1h","kind":"k"}]}`, name, "*").want(t, 400)
		if !strings.Contains(r.body, name+" is not possible with a batch") {
			t.Error(r.body)
		}
	}
	ts.do("GET", "/v1/timers/c", "").want(t, 404)
	ts.do("GET", "/v1/timers/m-0", "").want(t, 404)
	ts.do("POST", "/v1/timers", `{"timers":[`+strings.Join(many[:1000], ",")+`]}`).want(t, 200)
	ts.do("POST", "/v1/timers", `{"timers":[]}`).want(t, 200)
}

func TestListPages(t *testing.T) {
	ts := start(t, nil)
	for i := range 7 {
		ts.do("PUT", fmt.Sprintf("/v1/timers/t-%d", i), fmt.Sprintf(`{"at":"2040-01-01T00:00:%02dZ","kind":%q}`, (10-i)/2, []string{"even", "odd"}[i%2])).want(t, 201)
	}
	ts.do("PUT", "/v1/timers/u", `{"at":"2041-01-01T00:00:00Z","webhook":{"url":"https://example.com"}}`).want(t, 201)
	ids := func(query string) string {
		t.Helper()
		var all []string
		cursor := ""
		for {
			l := into[List](t, ts.do("GET", "/v1/timers?"+query+cursor, "").want(t, 200))
			for _, timer := range l.Timers {
				all = append(all, strings.TrimPrefix(timer.ID, "t-"))
			}
			if l.Next == "" {
				return strings.Join(all, " ")
			}
			if len(l.Timers) == 0 {
				t.Fatalf("%s: an empty page that is not the last one", query)
			}
			cursor = "&cursor=" + l.Next
		}
	}
	for query, want := range map[string]string{
		"":                           "0 1 2 3 4 5 6 u",
		"limit=1":                    "0 1 2 3 4 5 6 u",
		"limit=3":                    "0 1 2 3 4 5 6 u",
		"order=id&prefix=t-&limit=2": "0 1 2 3 4 5 6",
		"order=due":                  "5 6 3 4 1 2 0 u",
		"order=due&limit=1":          "5 6 3 4 1 2 0 u",
		"order=due&limit=2&kind=odd": "5 3 1",
		"kind=even&limit=1":          "0 2 4 6",
		"from=2040-01-01T00:00:03Z&to=2040-01-01T00:00:05Z&order=due": "3 4 1 2",
		"from=2040-01-01T00:00:03%2B00:00&limit=1&order=due":          "3 4 1 2 0 u",
		"prefix=none": "",
	} {
		if got := ids(query); got != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
	next := into[List](t, ts.do("GET", "/v1/timers?order=due&limit=2", "")).Next
	ts.do("DELETE", "/v1/timers/t-6", "").want(t, 200) // the last one of the page
	if got := ids("order=due&cursor=" + next); !strings.HasPrefix(got, "3 4 1 2 0 u") {
		t.Errorf("after the last timer of the page is gone: %s", got)
	}
	for _, query := range []string{"limit=0", "limit=1001", "limit=x", "from=x", "to=x", "order=x", "cursor=x", "cursor=e30", "colour=x", "limit=1&limit=2", "cursor=" + next} {
		ts.do("GET", "/v1/timers?"+query, "").want(t, 400)
	}
}

// A page of large timers is cut short, and the next one goes on.
func TestPagesOfLargeTimers(t *testing.T) {
	t.Parallel()
	ts := start(t, nil)
	const n = 300
	payload := `"` + strings.Repeat("x", maxPayload-2) + `"`
	for first := 0; first < n; first += 10 {
		var timers []string
		for i := first; i < first+10; i++ {
			timers = append(timers, fmt.Sprintf(`{"id":"t-%03d","at":"2040-01-01T00:00:00Z","webhook":{"url":"http://example.com"},"payload":%s}`, i, payload))
		}
		ts.do("POST", "/v1/timers", `{"timers":[`+strings.Join(timers, ",")+`]}`).want(t, 200)
	}
	for _, query := range []string{"limit=1000", "limit=1000&order=due"} {
		seen, pages := 0, 0
		for cursor := ""; ; pages++ {
			r := ts.do("GET", "/v1/timers?"+query+cursor, "").want(t, 200)
			if len(r.body) > maxPage+2*maxPayload {
				t.Errorf("a page has %d bytes", len(r.body))
			}
			l := into[List](t, r)
			for _, timer := range l.Timers {
				if timer.ID != fmt.Sprintf("t-%03d", seen) {
					t.Fatalf("%s after %d timers", timer.ID, seen)
				}
				seen++
			}
			if l.Next == "" {
				break
			}
			cursor = "&cursor=" + l.Next
		}
		if seen != n || pages < 2 {
			t.Errorf("%s: %d timers on %d pages", query, seen, pages+1)
		}
	}
}

func TestPathsAndMethodsThatDoNotExist(t *testing.T) {
	ts := start(t, nil)
	for _, path := range []string{"/v1", "/v1/", "/v2/timers", "/favicon.ico", "/v1/timers/a/b", "/v1/dead/x/y/z"} {
		ts.do("GET", path, "").want(t, 404)
	}
	for path, allow := range map[string]string{
		"/v1/timers": "GET, HEAD, POST", "/v1/timers/a": "DELETE, GET, HEAD, PUT", "/v1/fires": "GET, HEAD",
		"/v1/dead/a": "DELETE", "/v1/dead/a/redrive": "POST", "/healthz": "GET, HEAD", "/": "GET, HEAD",
	} {
		if got := ts.do("PATCH", path, "").want(t, 405).header.Get("Allow"); got != allow {
			t.Errorf("%s: Allow is %q, want %q", path, got, allow)
		}
	}
	if r := ts.do("GET", "/", "").want(t, 200); !strings.Contains(r.body, "Foliot") || r.header.Get("Content-Security-Policy") == "" {
		t.Error(r.body)
	}
	ts.do("GET", "/healthz", "").want(t, 200)
	ts.do("GET", "/readyz", "").want(t, 200)
	if r := ts.do("GET", "/metrics", "").want(t, 200); !strings.Contains(r.body, "foliot_durable_lateness_seconds_bucket") ||
		!strings.Contains(r.body, `foliot_serve_requests_total{method="GET",path="/healthz",status="200"} 1`) {
		t.Error(r.body)
	}
}
