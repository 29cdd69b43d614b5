//go:build full

package dashboard

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

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

// A server is what a Prometheus server does with metrics: it parses, keeps and queries them. The database of a real one
// needs the libraries of three clouds.
type server struct {
	storage.LabelQuerier // nil: nobody asks for labels
	engine               *promql.Engine
	options              textparse.ParserOptions
	series               map[string]*promql.Series
}

func newServer(t *testing.T, form string) *server {
	t.Helper()
	s := &server{
		engine:  promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Minute, LookbackDelta: 5 * time.Minute}),
		options: forms[form],
		series:  map[string]*promql.Series{},
	}
	t.Cleanup(func() {
		if err := s.engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// of returns the series with some labels and the one that a server adds.
func (s *server) of(l labels.Labels) *promql.Series {
	l = labels.NewBuilder(l).Set("instance", "127.0.0.1:8080").Labels()
	if s.series[l.String()] == nil {
		s.series[l.String()] = &promql.Series{Metric: l}
	}
	return s.series[l.String()]
}

// Querier and Select are what the engine needs of a storage.
func (s *server) Querier(_, _ int64) (storage.Querier, error) { return s, nil }

func (s *server) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	set := &seriesSet{}
	for _, series := range s.series {
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(series.Metric.Get(m.Name)) }) {
			set.rest = append(set.rest, series)
		}
	}
	return set
}

func (s *server) Close() error { return nil }

// A seriesSet is a storage.SeriesSet.
type seriesSet struct {
	current *promql.Series
	rest    []*promql.Series
}

func (s *seriesSet) Next() bool {
	if len(s.rest) == 0 {
		return false
	}
	s.current, s.rest = s.rest[0], s.rest[1:]
	return true
}

func (s *seriesSet) At() storage.Series                { return promql.NewStorageSeries(*s.current) }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }

// scrape gets the metrics of a collector in the protobuf format and stores them with the given time.
func (s *server) scrape(t *testing.T, c client.Collector, at time.Time) {
	t.Helper()
	reg := client.NewPedanticRegistry()
	reg.MustRegister(c)
	req, resp := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
	req.Header.Set("Accept", "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited")
	promhttp.HandlerFor(reg, promhttp.HandlerOpts{}).ServeHTTP(resp, req)
	if resp.Code != http.StatusOK {
		t.Fatal(resp.Body)
	}
	p, err := textparse.New(resp.Body.Bytes(), resp.Header().Get("Content-Type"), nil, s.options)
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
			series := s.of(l)
			series.Floats = append(series.Floats, promql.FPoint{T: at.UnixMilli(), F: value})
		case textparse.EntryHistogram:
			_, _, h, _ := p.Histogram()
			p.Labels(&l)
			if err := h.Validate(); err != nil { // as the database does
				t.Fatalf("%v: %v", l, err)
			}
			series := s.of(l)
			series.Histograms = append(series.Histograms, promql.HPoint{T: at.UnixMilli(), H: h.ToFloat(nil)})
		}
	}
}

// query returns the result of an expression at a time.
func (s *server) query(t *testing.T, expr string, at time.Time) promql.Vector {
	t.Helper()
	q, err := s.engine.NewInstantQuery(t.Context(), s, nil, expr, at)
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
	return slices.Clone(v)
}

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// newCollector returns a runtime and a collector of its metrics.
func newCollector(t *testing.T, o foliot.Options, l prometheus.Labels) (*foliot.Runtime, client.Collector) {
	t.Helper()
	rt, err := foliot.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = rt.Shutdown(context.Background()) })
	return rt, prometheus.NewCollector(rt, l)
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
