package dashboard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/prometheus"
)

// forms are the ways in which a server can scrape histograms.
var forms = map[string]textparse.ParserOptions{
	"classic": {IgnoreNativeHistograms: true},
	"native":  {},
	"both":    {KeepClassicOnClassicAndNativeHistograms: true},

	// The server makes native histograms of the classic ones, with the same buckets.
	"converted": {IgnoreNativeHistograms: true, ConvertClassicHistogramsToNHCB: true},
}

// A server is what a Prometheus server does with metrics: it parses, keeps and queries them.
type server struct {
	memory  memory
	engine  *promql.Engine
	options textparse.ParserOptions
}

func newServer(t *testing.T, options textparse.ParserOptions) *server {
	t.Helper()
	s := &server{
		engine:  promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Minute, LookbackDelta: 5 * time.Minute}),
		options: options,
	}
	t.Cleanup(func() {
		if err := s.engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// scrape gets the metrics of a URL in the protobuf format and stores them with the given time.
func (s *server) scrape(t *testing.T, url string, at time.Time) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	p, err := textparse.New(body, resp.Header.Get("Content-Type"), nil, s.options)
	if err != nil {
		t.Fatal(err)
	}
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		var l labels.Labels
		switch entry {
		case textparse.EntrySeries:
			_, _, value := p.Series()
			p.Labels(&l)
			s.memory.append(withInstance(l), point{at: at.UnixMilli(), f: value})
		case textparse.EntryHistogram:
			_, _, h, _ := p.Histogram()
			p.Labels(&l)
			if err := h.Validate(); err != nil { // as the database does
				t.Fatalf("%v: %v", l, err)
			}
			s.memory.append(withInstance(l), point{at: at.UnixMilli(), h: h.Copy()})
		}
	}
}

// withInstance adds the label that a server adds.
func withInstance(l labels.Labels) labels.Labels {
	return labels.NewBuilder(l).Set("instance", "127.0.0.1:8080").Labels()
}

// query returns the result of an expression at a time.
func (s *server) query(t *testing.T, expr string, at time.Time) promql.Vector {
	t.Helper()
	q, err := s.engine.NewInstantQuery(t.Context(), &s.memory, nil, expr, at)
	if err != nil {
		t.Fatalf("%v in\n%s", err, expr)
	}
	defer q.Close()
	result := q.Exec(t.Context())
	v, err := result.Vector()
	if err != nil {
		t.Fatalf("%v in\n%s", err, expr)
	}
	for _, w := range result.Warnings.AsErrors() {
		t.Errorf("%v in\n%s", w, expr)
	}
	return append(promql.Vector(nil), v...)
}

// serve serves the metrics of a collector.
func serve(t *testing.T, c client.Collector) string {
	t.Helper()
	reg := client.NewPedanticRegistry()
	reg.MustRegister(c)
	server := httptest.NewServer(promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	t.Cleanup(server.Close)
	return server.URL
}

// work lets a runtime fire n timers.
func work(t *testing.T, rt *foliot.Runtime, n int) {
	t.Helper()
	fired := make(chan bool, n)
	for i := range n {
		if _, err := rt.AfterFunc(time.Duration(i%20)*time.Millisecond, func() { fired <- true }); err != nil {
			t.Fatal(err)
		}
	}
	for range n {
		<-fired
	}
}

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Every query of the dashboard has a result, without a warning, whatever the form of histograms is, and
// whether or not the program uses the label runtime.
func TestEveryQueryHasAResult(t *testing.T) {
	for form, options := range forms {
		for _, l := range []prometheus.Labels{nil, {"runtime": "sessions"}} {
			t.Run(fmt.Sprintf("%s %v", form, l), func(t *testing.T) {
				rt, err := foliot.New(foliot.Options{})
				if err != nil {
					t.Fatal(err)
				}
				defer rt.Shutdown(context.Background())
				url := serve(t, prometheus.NewCollector(rt, l))
				s := newServer(t, options)
				var now time.Time
				for i := range 5 {
					work(t, rt, 100)
					now = start.Add(time.Duration(i) * 15 * time.Second)
					s.scrape(t, url, now)
				}
				for _, p := range load(t).Panels {
					for _, target := range p.Targets {
						v := s.query(t, fill(target.Expr), now)
						if len(v) == 0 {
							t.Errorf("%s: no result of\n%s", p.Title, target.Expr)
							continue
						}
						for _, sample := range v {
							if math.IsNaN(sample.F) {
								t.Errorf("%s: %v is not a number in\n%s", p.Title, sample.Metric, target.Expr)
							}
						}
						// A panel that showed both forms would show everything twice.
						if native := v[0].H != nil; target.Format == "heatmap" && native != (form != "classic") || native && len(v) != 1 {
							t.Errorf("%s: %d results, native: %v", p.Title, len(v), native)
						}
					}
				}
			})
		}
	}
}

func TestQuantilesOfTheServerAgreeWithThoseOfTheRuntime(t *testing.T) {
	rt, err := foliot.New(foliot.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Shutdown(context.Background())
	url := serve(t, prometheus.NewCollector(rt, nil))
	servers := map[string]*server{}
	for form, options := range forms {
		if form == "classic" || form == "native" {
			servers[form] = newServer(t, options)
			servers[form].scrape(t, url, start)
		}
	}
	// Callbacks of very different durations, up to some milliseconds.
	r := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		d := time.Duration(math.Exp(r.Float64()*9)) * time.Microsecond / 3
		done := make(chan bool)
		if _, err := rt.AfterFunc(0, func() { time.Sleep(d); close(done) }); err != nil {
			t.Fatal(err)
		}
		<-done
	}
	if _, err := rt.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, s := range servers {
		s.scrape(t, url, start.Add(time.Minute))
	}
	for name, h := range map[string]foliot.Histogram{
		"foliot_timer_lateness_seconds":    rt.Stats().Late,
		"foliot_callback_duration_seconds": rt.Stats().Ran,
	} {
		t.Logf("%s: %d, %v to %v", name, h.Count(), h.Quantile(0.01), h.Max())
		for form, s := range servers {
			series, width := name, math.Exp2(1.0/8)
			if form == "classic" {
				series, width = name+"_bucket", 5.0 // from 1 to 5 µs is the widest bucket
			}
			for _, q := range []float64{0.1, 0.5, 0.9, 0.99} {
				v := s.query(t, fmt.Sprintf("histogram_quantile(%v, %s)", q, series), start.Add(time.Minute))
				if len(v) != 1 {
					t.Fatalf("%s: %v", form, v)
				}
				// By rounding, the server may look for a rank that is one less or one more.
				one := 1 / float64(h.Count())
				low := h.Quantile(q-one).Seconds() / width / (1 + 1.0/16)
				high := h.Quantile(q+one).Seconds() * width
				if form == "classic" && low < 1e-6 {
					low = 0 // where the first bucket begins
				}
				if v[0].F < low || v[0].F > high {
					t.Errorf("%s, %s: the quantile %v is %v, want %v to %v", name, form, q, v[0].F, low, high)
				}
			}
		}
		v := servers["native"].query(t, fmt.Sprintf("histogram_count(%s)", name), start.Add(time.Minute))
		if len(v) != 1 || v[0].F != float64(h.Count()) || h.Count() != 300 {
			t.Errorf("%s: a count of %v, want %d", name, v, h.Count())
		}
		v = servers["native"].query(t, fmt.Sprintf("histogram_sum(%s)", name), start.Add(time.Minute))
		if len(v) != 1 || v[0].F != h.Sum().Seconds() {
			t.Errorf("%s: a sum of %v, want %v", name, v, h.Sum())
		}
	}
}
