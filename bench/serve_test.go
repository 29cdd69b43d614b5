package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// TestMain makes the test binary the command foliot when a scenario starts it by that name.
func TestMain(m *testing.M) {
	if os.Args[0] != "foliot" {
		os.Exit(m.Run())
	}
	err := fmt.Errorf("there is no command %q", os.Args[1])
	switch os.Args[1] {
	case "serve":
		err = standInServer()
	case "bench-bare-server":
		err = BareServer(context.Background(), os.Stderr)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// standInServer stands in for foliot serve, which is in another module: it keeps nothing. The tests of the command measure
// the real one.
func standInServer() error {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /v1/timers/{id}", barePut)
	mux.HandleFunc("POST /v1/timers", func(w http.ResponseWriter, r *http.Request) {
		var batch struct {
			Timers []struct {
				At      time.Time
				Webhook struct{ URL string }
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&batch); err != nil {
			panic(err)
		}
		sender := &bareSender{client: http.DefaultClient}
		for _, t := range batch.Timers {
			time.AfterFunc(time.Until(t.At), func() { sender.send(t.Webhook.URL) })
		}
		_, _ = w.Write(make([]byte, 10*len(batch.Timers)))
	})
	ts := httptest.NewServer(mux)
	fmt.Fprintf(os.Stderr, "some other line\n%s%s\n", readyLine, strings.TrimPrefix(ts.URL, "http://"))
	select {}
}

func TestAServerIsComparedWithBareHTTP(t *testing.T) {
	r, err := Run(context.Background(), Options{Timers: 200, Rounds: 1, Scenarios: []string{"serve"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Scenarios) != 1 || r.Scenarios[0].Error != "" {
		t.Fatalf("got %+v", r.Scenarios)
	}
	compared := 0
	for _, m := range r.Scenarios[0].Measures {
		for _, row := range m.Rows {
			checkRow(t, r.Scenarios[0], m, row)
			if row.Contender == "serve" && m.Base == serveBase && row.Ratio.Rounds > 0 {
				compared++
			}
		}
	}
	if compared < 8 { // two rates, and three figures of lateness with and without receivers that hang
		t.Errorf("%d figures are compared with those of bare net/http, want at least 8", compared)
	}
	if losses, _, n := r.Losses(); len(losses) != 0 || n != 0 {
		t.Errorf("%d losses, %d compared with the standard library, want none", len(losses), n)
	}
}

func TestAServerThatDoesNotStartIsAnErrorWithWhatItPrints(t *testing.T) {
	_, err := startChild("no-such-command")
	if err == nil || !strings.Contains(err.Error(), "it has ended") || !strings.Contains(err.Error(), `there is no command "no-such-command"`) {
		t.Errorf("error %v", err)
	}
}

func TestAServerIsNotStartedIfItIsNotWanted(t *testing.T) {
	r, err := Run(context.Background(), Options{Timers: 10, Rounds: 1, Scenarios: []string{"serve"}, Contenders: []string{"heap"}})
	if err != nil || len(r.Scenarios) != 0 {
		t.Errorf("error %v, report %+v", err, r)
	}
}

func TestTheAddressOfAServerIsFoundInWhatItPrints(t *testing.T) {
	l := &readyLog{ready: make(chan string, 1)}
	for _, part := range []string{"a line\nfoliot: serv", "ing on http://127.0.0.1:77", "77", "\nfoliot: serving on http://other\n"} {
		if n, err := l.Write([]byte(part)); n != len(part) || err != nil {
			t.Errorf("%q: %d bytes, error %v", part, n, err)
		}
	}
	if n, err := l.Write(make([]byte, 2*readyLogMax)); n != 2*readyLogMax || err != nil {
		t.Errorf("a long text: %d bytes, error %v", n, err)
	}
	if addr := <-l.ready; addr != "127.0.0.1:7777" {
		t.Errorf("the address is %q", addr)
	}
	if n := len(l.text()); n != readyLogMax {
		t.Errorf("%d bytes are kept, want %d", n, readyLogMax)
	}
}

func TestVariablesThatSetFlagsAreNotPassedOn(t *testing.T) {
	got := withoutFoliot([]string{"PATH=/bin", "FOLIOT_TOKEN_FILE=token", "HOME=/"})
	if strings.Join(got, " ") != "PATH=/bin HOME=/" {
		t.Errorf("got %q", got)
	}
}

func TestAClientReadsOneResponseAfterTheOther(t *testing.T) {
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case "PUT":
			barePut(w, r)
			return
		case "GET":
			_, _ = w.Write(make([]byte, 10_000)) // too long for a Content-Length that the server adds
			return
		}
		http.Error(w, "the reason", http.StatusTeapot)
	}))
	defer ts.Close()
	c, err := dialHTTP(strings.TrimPrefix(ts.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	for _, body := range []string{"", "x", strings.Repeat("y", 2000)} {
		if err := c.do("PUT", "/", []byte(body), 201); err != nil {
			t.Error(err)
		}
		if err := c.do("POST", "/p", []byte(body), 200); err == nil || !strings.Contains(err.Error(), "POST /p: status 418: the reason") {
			t.Errorf("error %v", err)
		}
		if err := c.do("GET", "/", []byte(body), 200); err != nil {
			t.Error(err)
		}
		if err := c.do("GET", "/", []byte(body), 201); err == nil || err.Error() != "GET /: status 200" {
			t.Errorf("error %v", err)
		}
	}
}

func TestReceiversNoteEachWebhookOnceAndTheFirstMayHang(t *testing.T) {
	h, err := startReceivers()
	if err != nil {
		t.Fatal(err)
	}
	defer h.close()
	log := newHookLog(1, 3, 2)
	h.log.Store(log)
	post := func(i int) error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second/4)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, "POST", h.url(i), strings.NewReader(`"body"`))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			err = resp.Body.Close()
		}
		return err
	}
	began := time.Now()
	for _, i := range []int{1, 1, 3, 7} {
		if err := post(i); err != nil {
			t.Error(err)
		}
	}
	<-log.done
	if log.arrived[1].Load() != 0 || log.last().Before(began.Truncate(0)) {
		t.Errorf("got %+v", log)
	}
	h.hangs.Store(true)
	if h.hung(1) || !h.hung(receiverCount) {
		t.Error("the first receiver does not hang, or the second does")
	}
	if post(receiverCount) == nil {
		t.Error("a receiver that hangs has responded")
	}
	if err := post(1); err != nil {
		t.Error(err)
	}
}
