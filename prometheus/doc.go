// Package prometheus exports the statistics of a runtime as Prometheus metrics.
//
//	reg.MustRegister(prometheus.NewCollector(rt, prometheus.Labels{"runtime": "sessions"}))
//
// Here reg is a registry of client_golang, whose package has the name prometheus, too. A file that
// imports both renames one of them:
//
//	import (
//		"github.com/prometheus/client_golang/prometheus"
//
//		foliotprom "github.com/foliot-go/foliot/prometheus"
//	)
//
// # Metrics
//
// A scrape calls [foliot.Runtime.Stats] once, so all metrics of a runtime are of one snapshot. It costs
// the same however many timers there are. Each field of [foliot.Stats] is a metric, with the prefix
// foliot_: counters end in _total, durations are in seconds. docs/metrics.md in the repository lists the
// metrics, says how to alert on them and how to import dashboard.json, a dashboard for Grafana.
//
// # Histograms
//
// foliot_timer_lateness_seconds and foliot_callback_duration_seconds are classic and native histograms
// at once. A server that scrapes native histograms gets 8 buckets for each power of two, others get the
// classic buckets. The text format has the classic ones only.
//
// A [foliot.Histogram] has its own buckets, which are narrower. A duration counts as the longest one of
// its bucket there: at least the duration itself, and less than a sixteenth longer. So a bucket counts
// no duration that exceeds its bound, and may miss some that are less than a sixteenth below it. Sum and
// count are exact.
//
// # Several runtimes
//
// Runtimes on one registry need different labels, with the same names: for example runtime="sessions"
// and runtime="cache". Else the registry refuses the second one. The metrics of a runtime stay after its
// Shutdown, and so does the runtime itself, until Unregister.
package prometheus
