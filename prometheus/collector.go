package prometheus

import (
	"errors"
	"runtime/debug"
	"strconv"

	client "github.com/prometheus/client_golang/prometheus"

	"github.com/foliot-go/foliot"
)

// Labels are the labels of all metrics of a runtime: names and values. They are those of client_golang.
type Labels = client.Labels

// NewCollector returns a collector of the metrics of rt. Each metric has the labels, which may be nil.
// The names "worker", "version" and "le" are taken. As with the collectors of client_golang, invalid
// labels are an error of Register. NewCollector panics if rt is nil.
//
// The collector may be used by several goroutines at the same time, and after Shutdown of rt.
func NewCollector(rt *foliot.Runtime, labels Labels) client.Collector {
	if rt == nil {
		panic("prometheus: NewCollector(nil, …); make a runtime with foliot.New, or use foliot.Default")
	}
	c := &collector{rt: rt}
	desc := func(name, help string, variable ...string) *client.Desc {
		if _, ok := labels["le"]; ok {
			return client.NewInvalidDesc(errLe)
		}
		return client.NewDesc(name, help, variable, labels)
	}
	for i, m := range scalars {
		c.scalars[i] = desc(m.name, m.help)
	}
	for i, m := range workerGauges {
		c.workers[i] = desc(m.name, m.help, "worker")
	}
	for i, m := range histograms {
		c.histograms[i] = desc(m.name, m.help)
	}
	c.build = desc("foliot_build_info", buildHelp, "version")
	return c
}

const buildHelp = "The version of the module github.com/foliot-go/foliot in the program, as a label. The value is 1."

var errLe = errors.New(`prometheus: the label "le" is that of the buckets of histograms; use another name`)

// A collector does not change.
type collector struct {
	rt         *foliot.Runtime
	scalars    [len(scalars)]*client.Desc
	workers    [len(workerGauges)]*client.Desc
	histograms [len(histograms)]*client.Desc
	build      *client.Desc
}

// Describe sends the descriptors of all metrics.
func (c *collector) Describe(ch chan<- *client.Desc) {
	for _, descs := range [][]*client.Desc{c.scalars[:], c.workers[:], c.histograms[:], {c.build}} {
		for _, d := range descs {
			ch <- d
		}
	}
}

// Collect sends the metrics of one snapshot.
func (c *collector) Collect(ch chan<- client.Metric) {
	st := c.rt.Stats()
	c.send(ch, &st)
}

// send sends the metrics of st.
func (c *collector) send(ch chan<- client.Metric, st *foliot.Stats) {
	for i, m := range scalars {
		ch <- newConst(c.scalars[i], m.kind, m.value(st))
	}
	for w := range st.PerWorker {
		number := strconv.Itoa(w)
		for i, m := range workerGauges {
			ch <- newConst(c.workers[i], client.GaugeValue, m.value(&st.PerWorker[w]), number)
		}
	}
	for i, m := range histograms {
		ch <- newHistogram(c.histograms[i], m.value(st), m.bounds)
	}
	ch <- newConst(c.build, client.GaugeValue, 1, version)
}

// newConst returns a metric with a value. If the descriptor is invalid, the metric reports the error.
func newConst(desc *client.Desc, kind client.ValueType, value float64, labels ...string) client.Metric {
	m, err := client.NewConstMetric(desc, kind, value, labels...)
	if err != nil {
		return client.NewInvalidMetric(desc, err)
	}
	return m
}

// version is the version of the root module.
var version = moduleVersion(debug.ReadBuildInfo())

const rootModule = "github.com/foliot-go/foliot"

// moduleVersion returns the version of the root module in a program, "(devel)" if it is that of a
// checkout, or "unknown".
func moduleVersion(info *debug.BuildInfo, ok bool) string {
	if !ok {
		return "unknown"
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path != rootModule {
			continue
		}
		if m.Replace != nil {
			m = m.Replace
		}
		if m.Version == "" {
			return "(devel)"
		}
		return m.Version
	}
	return "unknown"
}
