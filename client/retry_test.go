package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot/client"
)

var errLost = errors.New("connection reset")

// A step is what becomes of one attempt of a request.
type step struct {
	unreached  bool          // no connection is made
	lost       bool          // the server does what it is asked for, but the response is lost
	refused    int           // the status of a response that the server sends instead of doing anything
	takes      time.Duration // the time that the attempt takes
	retryAfter string
}

// A network is a transport that takes steps, one for each attempt. After the last one, all attempts reach the server.
type network struct {
	t      *testing.T
	server http.Handler
	steps  []step
	at     []time.Duration // when each attempt began
	bodies []string
	begin  time.Time
}

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	n.at = append(n.at, time.Since(n.begin))
	var s step
	if len(n.steps) > 0 {
		s, n.steps = n.steps[0], n.steps[1:]
	}
	trace := httptrace.ContextClientTrace(r.Context())
	trace.GetConn("server:80")
	select {
	case <-time.After(s.takes):
	case <-r.Context().Done():
		if !s.unreached {
			trace.GotConn(httptrace.GotConnInfo{})
		}
		return nil, r.Context().Err()
	}
	if s.unreached {
		return nil, errLost
	}
	trace.GotConn(httptrace.GotConnInfo{})
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			n.t.Error(err)
		}
		n.bodies = append(n.bodies, string(body))
		r.Body = io.NopCloser(strings.NewReader(string(body)))
	}
	w := newRecorder()
	if s.refused != 0 {
		if s.retryAfter != "" {
			w.Header().Set("Retry-After", s.retryAfter)
		}
		problem(w, s.refused, "refused")
	} else {
		n.server.ServeHTTP(w, r)
	}
	if s.lost {
		return nil, errLost
	}
	return w.response(r), nil
}

// A recorder records a response. It has no goroutine, so that it works in a bubble.
type recorder struct {
	status int
	header http.Header
	body   strings.Builder
}

func newRecorder() *recorder { return &recorder{status: http.StatusOK, header: http.Header{}} }

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }

func (r *recorder) response(req *http.Request) *http.Response {
	return &http.Response{StatusCode: r.status, Header: r.header, Body: io.NopCloser(strings.NewReader(r.body.String())), Request: req}
}

// onNetwork calls f in a bubble, with a client on a network that takes steps.
func onNetwork(t *testing.T, o client.Options, steps []step, f func(c *client.Client, s *fake, n *network)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &fake{timers: map[string]client.Timer{}, dead: map[string]client.DeadTimer{}}
		n := &network{t: t, server: s.handler(), steps: steps, begin: time.Now()}
		o.HTTPClient = &http.Client{Transport: n}
		c, err := client.New("http://server", o)
		if err != nil {
			t.Fatal(err)
		}
		f(c, s, n)
		if len(n.steps) > 0 {
			t.Errorf("%d steps were not taken", len(n.steps))
		}
	})
}

var (
	unreached = step{unreached: true}
	lost      = step{lost: true}
	busy      = step{refused: http.StatusServiceUnavailable}
	limited   = step{refused: http.StatusTooManyRequests}
	away      = step{refused: http.StatusBadGateway}
	broken    = step{refused: http.StatusInternalServerError}
)

// Each call returns what is true, whatever becomes of its attempts.
func TestOutcomesAreTruthful(t *testing.T) {
	put := func(on ...client.If) func(c *client.Client) error {
		return func(c *client.Client) error {
			_, err := c.Put(context.Background(), client.Timer{ID: "a", After: time.Hour, Kind: "k"}, on...)
			return err
		}
	}
	get := func(c *client.Client) error { _, err := c.Get(context.Background(), "there"); return err }
	cancel := func(c *client.Client) error { return c.Cancel(context.Background(), "there") }
	cancelMissing := func(c *client.Client) error { return c.Cancel(context.Background(), "missing") }
	cancelRev := func(c *client.Client) error { return c.Cancel(context.Background(), "there", client.IfRev(10)) }
	discard := func(c *client.Client) error { return c.Discard(context.Background(), "rip") }
	redrive := func(c *client.Client) error { return c.Redrive(context.Background(), "rip") }
	batch := func(c *client.Client) error {
		_, err := c.Batch(context.Background(), []client.Timer{{ID: "a", At: noon, Kind: "k"}})
		return err
	}
	type errs []error
	for _, c := range []struct {
		name     string
		call     func(c *client.Client) error
		steps    []step
		attempts int
		is, not  errs // what the error wraps; no error if is is nil
	}{
		{"get", get, []step{lost, busy, unreached}, 4, nil, nil},
		{"get, in vain", get, []step{lost, lost, lost, lost}, 4, errs{client.ErrUnavailable, errLost}, errs{client.ErrUncertain}},
		{"get, status 500", get, []step{broken}, 1, errs{&client.Problem{}}, errs{client.ErrUnavailable}},

		{"put", put(), []step{unreached, lost, busy}, 4, nil, nil},
		{"put, no connection", put(), []step{unreached, unreached, unreached, unreached}, 4, errs{client.ErrUnavailable}, errs{client.ErrUncertain}},
		{"put, too many requests", put(), []step{limited, limited, limited, limited}, 4, errs{client.ErrUnavailable}, errs{client.ErrUncertain}},
		{"put, all lost", put(), []step{lost, lost, lost, lost}, 4, errs{client.ErrUnavailable, client.ErrUncertain}, nil},
		{"put, the first one lost", put(), []step{lost, unreached, unreached, unreached}, 4, errs{client.ErrUnavailable, client.ErrUncertain}, nil},
		{"put, away", put(), []step{away, away, away, away}, 4, errs{client.ErrUnavailable, client.ErrUncertain}, nil},
		{"put, status 500", put(), []step{broken}, 1, errs{client.ErrUncertain}, errs{client.ErrUnavailable}},

		{"put if absent", put(client.IfAbsent()), []step{unreached, limited}, 3, nil, nil},
		{"put if absent, busy", put(client.IfAbsent()), []step{busy}, 2, nil, nil},
		{"put if absent, lost", put(client.IfAbsent()), []step{lost}, 2, errs{client.ErrUncertain}, errs{client.ErrConflict, &client.Problem{}}},
		{"put with a revision, unreached", put(client.IfRev(1)), []step{unreached}, 2, errs{client.ErrConflict}, errs{client.ErrUncertain}},

		{"cancel", cancel, []step{unreached, limited, busy}, 4, nil, nil},
		{"cancel, lost", cancel, []step{lost}, 2, errs{client.ErrUncertain}, errs{client.ErrNotFound}},
		{"cancel of none, unreached", cancelMissing, []step{unreached}, 2, errs{client.ErrNotFound}, errs{client.ErrUncertain}},
		{"cancel of none, lost", cancelMissing, []step{lost}, 2, errs{client.ErrUncertain}, errs{client.ErrNotFound}},
		{"cancel with a revision, lost", cancelRev, []step{lost}, 2, errs{client.ErrUncertain}, errs{client.ErrNotFound, client.ErrConflict}},

		{"discard, lost", discard, []step{lost}, 2, errs{client.ErrUncertain}, errs{client.ErrNotFound}},
		{"redrive, unreached", redrive, []step{unreached, limited}, 3, nil, nil},
		{"redrive, lost", redrive, []step{lost}, 1, errs{client.ErrUncertain, client.ErrUnavailable}, nil},
		{"redrive, busy", redrive, []step{busy}, 1, errs{client.ErrUncertain, client.ErrUnavailable}, nil},
		{"batch, unreached", batch, []step{unreached, limited}, 3, nil, nil},
		{"batch, lost", batch, []step{lost}, 1, errs{client.ErrUncertain, client.ErrUnavailable}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			onNetwork(t, client.Options{}, c.steps, func(cl *client.Client, s *fake, n *network) {
				s.store(client.Timer{ID: "there", At: noon, Kind: "k"})
				s.dead["rip"] = client.DeadTimer{ID: "rip"}
				err := c.call(cl)
				if (err == nil) != (c.is == nil) {
					t.Errorf("error: %v", err)
				}
				for _, want := range c.is {
					if !is(err, want) {
						t.Errorf("error %q is not %q", err, want)
					}
				}
				for _, bad := range c.not {
					if is(err, bad) {
						t.Errorf("error %q is %q", err, bad)
					}
				}
				if len(n.at) != c.attempts {
					t.Errorf("%d attempts, want %d", len(n.at), c.attempts)
				}
			})
		})
	}
}

// is reports whether err is target, or is a *Problem if target is one.
func is(err, target error) bool {
	var p *client.Problem
	if errors.As(target, &p) {
		return errors.As(err, &p)
	}
	return errors.Is(err, target)
}

func TestPausesGrowUpToABound(t *testing.T) {
	o := client.Options{Retry: client.Retry{Attempts: 6, Min: time.Second, Max: 4 * time.Second}}
	onNetwork(t, o, []step{lost, lost, lost, lost, lost, lost}, func(c *client.Client, _ *fake, n *network) {
		c.Get(context.Background(), "a")
		for i, longest := range []time.Duration{1, 2, 4, 4, 4} {
			longest *= time.Second
			if pause := n.at[i+1] - n.at[i]; pause < longest/2 || pause > longest {
				t.Errorf("pause %d is %v, want %v to %v", i+1, pause, longest/2, longest)
			}
		}
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	asked := func(value string) []step { return []step{{refused: http.StatusServiceUnavailable, retryAfter: value}} }
	onNetwork(t, client.Options{}, asked("7"), func(c *client.Client, s *fake, n *network) {
		s.store(client.Timer{ID: "a", At: noon})
		if _, err := c.Get(context.Background(), "a"); err != nil || n.at[1] != 7*time.Second {
			t.Errorf("%v after %v, want 7s", err, n.at[1])
		}
	})
	// The clock of a bubble begins at midnight UTC, 2000-01-01.
	onNetwork(t, client.Options{}, asked("Sat, 01 Jan 2000 00:00:09 GMT"), func(c *client.Client, s *fake, n *network) {
		s.store(client.Timer{ID: "a", At: noon})
		if _, err := c.Get(context.Background(), "a"); err != nil || n.at[1] != 9*time.Second {
			t.Errorf("%v after %v, want 9s", err, n.at[1])
		}
	})
	onNetwork(t, client.Options{}, asked("31"), func(c *client.Client, _ *fake, n *network) {
		var p *client.Problem
		if _, err := c.Get(context.Background(), "a"); !errors.As(err, &p) || p.RetryAfter != 31*time.Second || len(n.at) != 1 {
			t.Errorf("%v after %d attempts, want the problem after 1", err, len(n.at))
		}
	})
	onNetwork(t, client.Options{}, asked("soon"), func(c *client.Client, s *fake, n *network) {
		s.store(client.Timer{ID: "a", At: noon})
		if _, err := c.Get(context.Background(), "a"); err != nil || n.at[1] > time.Second {
			t.Errorf("%v after %v", err, n.at[1])
		}
	})
	onNetwork(t, client.Options{}, asked("20"), func(c *client.Client, _ *fake, n *network) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if _, err := c.Get(ctx, "a"); !errors.Is(err, client.ErrUnavailable) || time.Since(n.begin) > time.Second {
			t.Errorf("%v after %v, want the problem at once: the context would end first", err, time.Since(n.begin))
		}
	})
}

func TestARepeatedPutIsDueAtTheSameTime(t *testing.T) {
	steps := []step{{lost: true, takes: 3 * time.Second}, {lost: true, takes: 4 * time.Second}}
	onNetwork(t, client.Options{}, steps, func(c *client.Client, _ *fake, n *network) {
		begin := time.Now()
		got, err := c.Put(context.Background(), client.Timer{ID: "a", After: time.Minute, Kind: "k"})
		if err != nil || !got.At.Equal(begin.Add(time.Minute)) {
			t.Errorf("due after %v, %v; want 1m", got.At.Sub(begin), err)
		}
		var body struct{ After string }
		json.Unmarshal([]byte(n.bodies[0]), &body)
		if body.After != "1m0s" {
			t.Errorf("the first request has after %q", body.After)
		}
	})
}

func TestAPutIsNotRepeatedOnceItsTimerMayHaveFired(t *testing.T) {
	for name, timer := range map[string]client.Timer{
		"after": {ID: "a", After: 3 * time.Second, Kind: "k"},
		"at":    {ID: "a", At: time.Date(2000, 1, 1, 0, 0, 3, 0, time.UTC), Kind: "k"},
		"every": {ID: "a", Every: 3 * time.Second, Kind: "k"},
		"past":  {ID: "a", At: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), Kind: "k"},
	} {
		t.Run(name, func(t *testing.T) {
			onNetwork(t, client.Options{}, []step{{lost: true, takes: 3 * time.Second}}, func(c *client.Client, _ *fake, n *network) {
				_, err := c.Put(context.Background(), timer)
				if !errors.Is(err, client.ErrUncertain) || !errors.Is(err, client.ErrUnavailable) || len(n.at) != 1 {
					t.Errorf("%v after %d attempts", err, len(n.at))
				}
				if !strings.Contains(err.Error(), "may have fired") {
					t.Errorf("the error does not say why: %v", err)
				}
			})
			// No server has seen the first attempt, so the timer cannot have fired.
			onNetwork(t, client.Options{}, []step{{unreached: true, takes: 4 * time.Second}}, func(c *client.Client, _ *fake, _ *network) {
				if _, err := c.Put(context.Background(), timer); err != nil {
					t.Error(err)
				}
			})
		})
	}
	onNetwork(t, client.Options{}, []step{{lost: true, takes: 3 * time.Second}}, func(c *client.Client, _ *fake, _ *network) {
		if _, err := c.Put(context.Background(), client.Timer{ID: "a", Cron: "* * * * * *", Kind: "k"}); err != nil {
			t.Errorf("cron: %v", err)
		}
	})
}

func TestTheEndOfTheContextEndsACall(t *testing.T) {
	timer := client.Timer{ID: "a", After: time.Hour, Kind: "k"}
	cause := errors.New("enough")
	onNetwork(t, client.Options{}, []step{{takes: time.Hour}}, func(c *client.Client, _ *fake, n *network) {
		ctx, cancel := context.WithTimeoutCause(context.Background(), time.Second, cause)
		defer cancel()
		_, err := c.Put(ctx, timer)
		if !errors.Is(err, cause) || !errors.Is(err, client.ErrUncertain) || time.Since(n.begin) != time.Second {
			t.Errorf("%v after %v", err, time.Since(n.begin))
		}
	})
	onNetwork(t, client.Options{}, []step{{takes: time.Hour, unreached: true}}, func(c *client.Client, _ *fake, _ *network) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := c.Put(ctx, timer); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, client.ErrUncertain) {
			t.Error(err)
		}
	})
	// Between two attempts, too.
	onNetwork(t, client.Options{Retry: client.Retry{Min: time.Minute, Max: time.Minute}}, []step{lost}, func(c *client.Client, _ *fake, n *network) {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, cancel)
		_, err := c.Put(ctx, timer)
		if !errors.Is(err, context.Canceled) || !errors.Is(err, client.ErrUncertain) || time.Since(n.begin) != time.Second {
			t.Errorf("%v after %v", err, time.Since(n.begin))
		}
	})
}

func TestAnAttemptWithoutAResponseEnds(t *testing.T) {
	hang := step{takes: time.Hour}
	onNetwork(t, client.Options{Timeout: 2 * time.Second}, []step{hang, hang, hang, hang}, func(c *client.Client, _ *fake, n *network) {
		_, err := c.Get(context.Background(), "a")
		if !errors.Is(err, client.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no response within 2s") {
			t.Error(err)
		}
		if took := time.Since(n.begin); took < 8*time.Second || took > 9*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestReadyIsAskedOnce(t *testing.T) {
	onNetwork(t, client.Options{}, []step{busy}, func(c *client.Client, _ *fake, n *network) {
		if err := c.Ready(context.Background()); !errors.Is(err, client.ErrUnavailable) || len(n.at) != 1 {
			t.Errorf("%v after %d attempts", err, len(n.at))
		}
		if err := c.Ready(context.Background()); err != nil {
			t.Error(err)
		}
	})
}
