package serve

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/durable"
	foliotprom "github.com/foliot-go/foliot/prometheus"
)

// metrics are what /metrics shows.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	took     *prometheus.HistogramVec
	webhooks *prometheus.CounterVec
	sent     prometheus.Histogram
	fires    *prometheus.CounterVec
	lost     prometheus.Counter
	handler  http.Handler
}

func newMetrics(s *server) *metrics {
	seconds := []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "foliot_serve_requests_total", Help: "Requests that have ended.",
		}, []string{"method", "path", "status"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "foliot_serve_request_duration_seconds", Help: "How long requests took.", Buckets: seconds,
		}, []string{"method", "path"}),
		webhooks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "foliot_serve_webhooks_total", Help: "Webhooks that were sent, by the status of the response; none if there was none.",
		}, []string{"status"}),
		sent: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "foliot_serve_webhook_duration_seconds", Help: "How long webhooks took, with the wait for a place.", Buckets: seconds,
		}),
		fires: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "foliot_serve_fires_total", Help: "Attempts by their outcome.",
		}, []string{"outcome"}),
		lost: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "foliot_serve_events_lost_total", Help: "Events of webhooks that listeners may not get, because NATS has not acknowledged them.",
		}),
	}
	gauge := func(name, help string, value func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value()) })
	}
	m.registry.MustRegister(m.requests, m.took, m.webhooks, m.sent, m.fires, m.lost,
		gauge("foliot_serve_listeners", "Listeners of /v1/fires.", s.hub.Listeners),
		gauge("foliot_serve_webhooks_sending", "Webhooks that are being sent.", func() int { n, _ := s.sender.Load(); return n }),
		gauge("foliot_serve_webhooks_waiting", "Webhooks that are due and wait for a place to be sent.", func() int { _, n := s.sender.Load(); return n }),
		gauge("foliot_serve_ready", "1 if the timers are loaded and can be reached, else 0.", func() int {
			if s.notReady(context.Background()) == nil {
				return 1
			}
			return 0
		}),
		gauge("foliot_serve_processes", "Servers that share the timers and were heard lately, this one included.", func() int {
			if b := s.backend.Load(); b != nil {
				return b.processes()
			}
			return 0
		}),
		&schedulerCollector{s},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
	return m
}

// add adds the metrics of the runtime of the scheduler. rt is nil if the scheduler has ended meanwhile.
func (m *metrics) add(rt *foliot.Runtime) {
	if rt != nil {
		m.registry.MustRegister(foliotprom.NewCollector(rt, nil))
	}
}

func (m *metrics) request(method, path string, status int, took time.Duration) {
	if method == "" {
		method = "other"
	}
	m.requests.WithLabelValues(method, path, strconv.Itoa(status)).Inc()
	if path != "/v1/fires" { // it takes as long as the listener likes
		m.took.WithLabelValues(method, path).Observe(took.Seconds())
	}
}

func (m *metrics) webhook(status int, took time.Duration) {
	label := "none"
	if status != 0 {
		label = strconv.Itoa(status)
	}
	m.webhooks.WithLabelValues(label).Inc()
	m.sent.Observe(took.Seconds())
}

func (s *server) serveMetrics(w http.ResponseWriter, r *http.Request) error {
	s.metrics.handler.ServeHTTP(w, r)
	return nil
}

// A schedulerCollector collects the statistics of the scheduler.
type schedulerCollector struct{ s *server }

// schedulerMetrics are the metrics with one value.
var schedulerMetrics = []struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(st *durable.Stats) float64
}{
	gaugeOf("pending", "Timers that have no outcome yet.", func(st *durable.Stats) int { return st.Pending }),
	gaugeOf("loaded", "Timers in memory.", func(st *durable.Stats) int { return st.Loaded }),
	gaugeOf("running", "Handlers that run, those that wait for a place to send included.", func(st *durable.Stats) int { return st.Running }),
	gaugeOf("unhandled", "Timers that are due and were not made by this server.", func(st *durable.Stats) int { return st.Unhandled }),
	gaugeOf("dead", "Timers that gave up.", func(st *durable.Stats) int { return st.Dead }),
	gaugeOf("due_1m", "Timers that are due within a minute; an estimate.", func(st *durable.Stats) int { return st.DueMinute }),
	counterOf("scheduled_total", "Timers that were made or replaced.", func(st *durable.Stats) uint64 { return st.Scheduled }),
	counterOf("cancelled_total", "Timers that were cancelled.", func(st *durable.Stats) uint64 { return st.Cancelled }),
	counterOf("started_total", "Attempts that were started, those that were postponed included.", func(st *durable.Stats) uint64 { return st.Started }),
	counterOf("handled_total", "Occurrences that are done.", func(st *durable.Stats) uint64 { return st.Handled }),
	counterOf("dropped_total", "Occurrences that were dropped.", func(st *durable.Stats) uint64 { return st.Dropped }),
	counterOf("retried_total", "Attempts that have failed and are repeated.", func(st *durable.Stats) uint64 { return st.Retried }),
	counterOf("postponed_total", "Webhooks that were not sent because too many wait for their host or the server ends; no attempts.", func(st *durable.Stats) uint64 { return st.Postponed }),
	counterOf("died_total", "Occurrences whose attempts were used up.", func(st *durable.Stats) uint64 { return st.Died }),
	counterOf("missed_total", "Occurrences of periodic timers that were passed over.", func(st *durable.Stats) uint64 { return st.Missed }),
	counterOf("panicked_total", "Panics of handlers.", func(st *durable.Stats) uint64 { return st.Panicked }),
	counterOf("clock_steps_total", "Steps of the wall clock.", func(st *durable.Stats) uint64 { return st.Steps }),
}

// schedulerHistograms are the metrics with a distribution.
var schedulerHistograms = []struct {
	desc  *prometheus.Desc
	value func(st *durable.Stats) foliot.Histogram
}{
	{schedulerDesc("lateness_seconds", "How long after their time first attempts were started."), func(st *durable.Stats) foliot.Histogram { return st.Late }},
	{schedulerDesc("commit_seconds", "How long changes took until they were kept."), func(st *durable.Stats) foliot.Histogram { return st.Commit }},
}

func schedulerDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("foliot_durable_"+name, help, nil, nil)
}

func gaugeOf(name, help string, value func(st *durable.Stats) int) (m struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(st *durable.Stats) float64
},
) {
	m.desc, m.kind = schedulerDesc(name, help), prometheus.GaugeValue
	m.value = func(st *durable.Stats) float64 { return float64(value(st)) }
	return m
}

func counterOf(name, help string, value func(st *durable.Stats) uint64) (m struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(st *durable.Stats) float64
},
) {
	m.desc, m.kind = schedulerDesc(name, help), prometheus.CounterValue
	m.value = func(st *durable.Stats) float64 { return float64(value(st)) }
	return m
}

// bounds are those of the buckets, in seconds.
var bounds = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30, 300}

func (c *schedulerCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range schedulerMetrics {
		ch <- m.desc
	}
	for _, h := range schedulerHistograms {
		ch <- h.desc
	}
}

func (c *schedulerCollector) Collect(ch chan<- prometheus.Metric) {
	d := c.s.run.Load()
	if d == nil {
		return
	}
	st := d.Stats()
	for _, m := range schedulerMetrics {
		ch <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(&st))
	}
	for _, h := range schedulerHistograms {
		hist := h.value(&st)
		buckets := make(map[float64]uint64, len(bounds))
		for _, b := range bounds {
			buckets[b] = 0
		}
		for d, n := range hist.All() {
			for _, b := range bounds {
				if d.Seconds() <= b {
					buckets[b] += n
				}
			}
		}
		ch <- prometheus.MustNewConstHistogram(h.desc, hist.Count(), hist.Sum().Seconds(), buckets)
	}
}
