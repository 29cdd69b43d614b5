package serve

import (
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/foliot-go/foliot/cmd/internal/serve/page"
)

func TestThePageHasAStrictPolicy(t *testing.T) {
	ts := start(t, nil)
	for _, c := range []struct{ path, contentType string }{
		{"/", "text/html; charset=utf-8"},
		{"/page/app.js", "text/javascript; charset=utf-8"},
		{"/page/timers.css", "text/css; charset=utf-8"},
		{"/page/live/live.js", "text/javascript; charset=utf-8"},
		{"/page/live/icon.svg", "image/svg+xml"},
	} {
		r := ts.do("GET", c.path, "").want(t, 200)
		for name, want := range map[string]string{
			"Content-Type":           c.contentType,
			"Cache-Control":          "no-cache",
			"X-Content-Type-Options": "nosniff",
			"Referrer-Policy":        "no-referrer",
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
				"font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
		} {
			if got := r.header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", c.path, name, got, want)
			}
		}
		tag := r.header.Get("ETag")
		if again := ts.do("GET", c.path, "", "If-None-Match", tag); again.status != 304 || again.body != "" || tag == "" {
			t.Errorf("%s: the status is %d with the ETag %s, want 304", c.path, again.status, tag)
		}
		if head := ts.do("HEAD", c.path, ""); head.status != 200 || head.body != "" {
			t.Errorf("HEAD %s: the status is %d", c.path, head.status)
		}
	}
	for _, p := range []string{"/page/", "/page/nothing", "/page/index.html", "/page/live/", "/page/live/wheel.html", "/page/page.go"} {
		ts.do("GET", p, "").want(t, 404)
	}
	ts.do("POST", "/", "").want(t, 405)
	ts.do("PUT", "/page/app.js", "").want(t, 405)
}

// A snapshot is data, and a file of the page is not.
func TestThePageIsOpenAndItsDataIsNot(t *testing.T) {
	ts := start(t, func(c *Config) { c.TokenFile = writeFile(t, "s3cret") })
	if html := ts.do("GET", "/", "", "Host", "foliot.example.com").want(t, 200).body; !strings.Contains(html, `data-token="needed"`) {
		t.Error("the page does not say that it needs a token")
	}
	for p := range page.Files(true) {
		ts.do("GET", p, "").want(t, 200)
	}
	ts.do("GET", "/live.json", "").want(t, 401)
	ts.do("GET", "/live.json", "", "Authorization", "Bearer s3cret").want(t, 200)
	if html := start(t, nil).do("GET", "/", "").want(t, 200).body; strings.Contains(html, "data-token") {
		t.Error("the page of a server without a token asks for one")
	}
}

// The page must work below any prefix, without a network, and under its policy.
func TestThePageRefersToItsOwnFilesByRelativeAddresses(t *testing.T) {
	files := page.Files(false)
	html := string(files["/"].Body)
	for _, bad := range []string{" style=", " onclick=", " onload=", "<style", "<base", "<!-- "} {
		if strings.Contains(html, bad) {
			t.Errorf("the page contains %s", bad)
		}
	}
	used := map[string]bool{}
	for _, f := range regexp.MustCompile(`\s(?:src|href)="([^"]*)"`).FindAllStringSubmatch(html, -1) {
		used[f[1]] = true
		if _, ok := files["/"+f[1]]; f[1] != "openapi.json" && !ok {
			t.Errorf("the page refers to %s, which is no file", f[1])
		}
	}
	imports := regexp.MustCompile(`(?m)^(?:import|export) .*from "(.*)";$`)
	for name, f := range files {
		for _, i := range imports.FindAllStringSubmatch(string(f.Body), -1) {
			target := path.Join(path.Dir(name), i[1])
			used[target[1:]] = true
			if _, ok := files[target]; !ok || !strings.HasPrefix(i[1], "./") {
				t.Errorf("%s imports %s, which is no file", name, i[1])
			}
		}
	}
	for name := range files {
		shared := strings.HasPrefix(name, "/page/live/")
		if name != "/" && !shared && !used[name[1:]] {
			t.Errorf("%s is not used", name)
		}
	}
}

func TestASnapshotHasTheTimersOfTheServer(t *testing.T) {
	ts := start(t, nil)
	if r := ts.do("GET", "/live.json", "").want(t, 200); !strings.Contains(r.body, `"horizon":[]`) || r.header.Get("Content-Type") != "application/json" || r.header.Get("Cache-Control") != "no-store" {
		t.Errorf("the snapshot without timers is %s with %v", r.body, r.header)
	}
	ts.do("PUT", "/v1/timers/a", `{"after":"1h","kind":"k"}`).want(t, 201)
	ts.do("PUT", "/v1/timers/b", `{"after":"2h","kind":"k"}`).want(t, 201)
	ts.do("PUT", "/v1/timers/now", `{"after":"0s","kind":"k"}`).want(t, 201)
	type shown struct {
		Runtimes struct {
			Timers struct {
				Stats struct {
					Armed int
					Late  struct{ Count int }
				} `json:"stats"`
				Horizon []struct{ Count int }          `json:"horizon"`
				Late    []struct{ UpTo, Count uint64 } `json:"late"`
			} `json:"timers"`
		} `json:"runtimes"`
		Serve serverSnapshot `json:"serve"`
	}
	var p shown
	eventually(t, func() bool {
		p = shown{}
		if err := json.Unmarshal([]byte(ts.do("GET", "/live.json", "").want(t, 200).body), &p); err != nil {
			t.Fatal(err)
		}
		return p.Serve.Pending == 2 && p.Serve.Loaded == 2 && p.Serve.Running == 0
	})
	sum := 0
	for _, b := range p.Runtimes.Timers.Horizon {
		sum += b.Count
	}
	if st := p.Runtimes.Timers.Stats; st.Armed != 2 || sum != 2 || st.Late.Count != 1 || len(p.Runtimes.Timers.Late) != 1 {
		t.Errorf("the snapshot is %+v", p)
	}
	if !p.Serve.Exact || p.Serve.Scheduled != 3 {
		t.Errorf("the figures of the server are %+v", p.Serve)
	}
	// With the number of the snapshot, a listener gets the fires before it.
	if e := listen(t, ts, "/v1/fires", "Last-Event-ID", p.Serve.Fires).next(); e.event.ID != "now" {
		t.Errorf("the fire before the snapshot is %+v", e)
	}
}
