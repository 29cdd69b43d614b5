//go:build browser

package serve

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/foliot-go/foliot/lab/check/internal/browser"
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "foliot-serve-")
	if err != nil {
		panic(err)
	}
	command = sync.OnceValues(func() (string, error) {
		name := filepath.Join(dir, "foliot")
		out, err := exec.Command("go", "build", "-o", name, "github.com/foliot-go/foliot/cmd/foliot").CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("%w: %s", err, out)
		}
		return name, nil
	})
	browser.Main(m, func() { os.RemoveAll(dir) })
}

// command builds the command foliot when it is first called, and returns its name.
var command func() (string, error)

// A server is a process of foliot serve, with a folder of its own.
type server struct {
	t       *testing.T
	data    string
	flags   []string
	url     string
	token   string // for requests of the test; empty: none
	process *exec.Cmd
}

// newServer starts a server.
func newServer(t *testing.T, flags ...string) *server {
	t.Helper()
	s := &server{t: t, data: t.TempDir(), flags: flags}
	s.start("127.0.0.1:0")
	t.Cleanup(s.stop)
	return s
}

// start starts the process and waits until it is ready.
func (s *server) start(address string) {
	s.t.Helper()
	name, err := command()
	if err != nil {
		s.t.Fatal(err)
	}
	s.process = exec.Command(name, append([]string{"serve", "--listen", address, "--data", s.data}, s.flags...)...)
	out, err := s.process.StderrPipe()
	if err == nil {
		err = s.process.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "foliot: serving on "); ok {
			s.url = url
			go io.Copy(io.Discard, out)
			return
		}
	}
	s.t.Fatal("the server has ended before it was ready")
}

// stop kills the process.
func (s *server) stop() {
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
}

// reload has the server read its files again.
func (s *server) reload() {
	s.t.Helper()
	if err := s.process.Process.Signal(syscall.SIGHUP); err != nil {
		s.t.Fatal(err)
	}
}

// send sends a request and returns the status and the body.
func (s *server) send(method, path, body string) (int, string) {
	s.t.Helper()
	r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if s.token != "" {
		r.Header.Set("Authorization", "Bearer "+s.token)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	var text bytes.Buffer
	if _, err := io.Copy(&text, resp.Body); err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, text.String()
}

// put makes timers. Each is an object with an id.
func (s *server) put(timers ...string) {
	s.t.Helper()
	if status, body := s.send("POST", "/v1/timers", `{"timers":[`+strings.Join(timers, ",")+`]}`); status != 200 {
		s.t.Fatalf("the status is %d: %s", status, body)
	}
}

// dueIn returns when a timer is due from now, or 0 if there is none.
func (s *server) dueIn(id string) time.Duration {
	s.t.Helper()
	status, body := s.send("GET", "/v1/timers/"+id, "")
	if status == 404 {
		return 0
	}
	var timer struct{ At time.Time }
	if err := json.Unmarshal([]byte(body), &timer); err != nil || status != 200 {
		s.t.Fatalf("%d: %v: %s", status, err, body)
	}
	return time.Until(timer.At)
}

// page opens the page of the server.
func (s *server) page(t *testing.T, screen browser.Screen) *tab {
	t.Helper()
	return &tab{browser.Open(t, screen, s.url+"/"), t}
}

// A tab is a page of the server. Its methods go by the names that the page has for people who cannot see it.
type tab struct {
	*browser.Tab
	t *testing.T
}

// names are functions for scripts: they find elements by their names.
const names = `
	const field = name => [...document.querySelectorAll("label")].find(l => l.textContent === name).control;
	const table = name => [...document.querySelectorAll("table[aria-labelledby]")].find(t => document.getElementById(t.getAttribute("aria-labelledby")).textContent === name);
	const row = (name, id) => [...table(name).tBodies[0].rows].find(r => r.cells[0].querySelector(".value").textContent === id);
	const button = name => [...document.querySelectorAll("button")].find(b => (b.getAttribute("aria-label") ?? b.textContent) === name);
	const complaint = name => field(name).getAttribute("aria-invalid") !== "true" ? "" : field(name).getAttribute("aria-describedby").split(" ").map(id => document.getElementById(id)).filter(e => !e.hidden).map(e => e.textContent).join(" ");
	const said = () => document.getElementById("message").textContent;
`

// script returns an expression that may use the functions of names.
func script(expression string) string { return "(() => {" + names + "return " + expression + "})()" }

// until waits until an expression is true.
func (p *tab) until(format string, args ...any) {
	p.t.Helper()
	p.Until(p.t, script(fmt.Sprintf(format, args...)))
}

// get returns the text of an expression.
func (p *tab) get(format string, args ...any) string {
	p.t.Helper()
	return browser.Eval[string](p.t, p.Tab, script("String("+fmt.Sprintf(format, args...)+")"))
}

// fill puts values into fields, as a person does. Pairs are a field and its value.
func (p *tab) fill(pairs ...string) {
	p.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		p.get(`(() => { const f = field(%q); f.focus(); f.value = %q; f.dispatchEvent(new Event("input", {bubbles: true})); f.dispatchEvent(new Event("change", {bubbles: true})) })()`, pairs[i], pairs[i+1])
	}
}

// click clicks a button with the focus on it.
func (p *tab) click(name string) {
	p.t.Helper()
	p.until(`Boolean(button(%q))`, name)
	p.get(`(button(%q).focus(), button(%[1]q).click())`, name)
}
