package serve

import (
	"net/http"
	"strconv"
	"time"

	stdjson "encoding/json"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/durable"
)

// recentFires is how many of the fires before it the page shows.
const recentFires = 50

// A snapshot is what the page shows of the server at one time, as package inspect describes snapshots. The one runtime in it is
// the scheduler: a timer is armed if it has no outcome yet. Durations are in nanoseconds.
type snapshot struct {
	Time     time.Time                `json:"time"`
	Runtimes map[string]timerSnapshot `json:"runtimes"`
	Serve    serverSnapshot           `json:"serve"`
}

// A timerSnapshot is the part of a snapshot that package inspect knows.
type timerSnapshot struct {
	Stats     foliot.Stats           `json:"stats"`
	Horizon   []foliot.HorizonBucket `json:"horizon"`
	Callbacks []struct{}             `json:"callbacks"` // none: all timers call the server
	Late      []histogramBucket      `json:"late"`
	Ran       []histogramBucket      `json:"ran"` // how long changes took until they were kept
}

// A histogramBucket is a bucket of a histogram.
type histogramBucket struct {
	UpTo  time.Duration
	Count uint64
}

// A serverSnapshot has the figures of the server.
type serverSnapshot struct {
	Pending   int    `json:"pending"`
	Exact     bool   `json:"exact"`
	Loaded    int    `json:"loaded"`
	Running   int    `json:"running"`
	Unhandled int    `json:"unhandled"`
	Dead      int    `json:"dead"`
	Retried   uint64 `json:"retried"`
	Died      uint64 `json:"died"`
	Missed    uint64 `json:"missed"`
	Steps     uint64 `json:"steps"`
	Scheduled uint64 `json:"scheduled"`
	Listeners int    `json:"listeners"`
	Fires     string `json:"fires"` // a Last-Event-ID for /v1/fires, after which the latest few events come
}

// takeSnapshot returns a snapshot in JSON.
func (s *server) takeSnapshot(d *durable.Scheduler) ([]byte, error) {
	st := d.Stats()
	p := timerSnapshot{Horizon: d.Horizon(), Callbacks: []struct{}{}, Late: histogramBuckets(st.Late), Ran: histogramBuckets(st.Commit)}
	if p.Horizon == nil {
		p.Horizon = []foliot.HorizonBucket{}
	}
	if rt := d.Runtime(); rt != nil {
		p.Stats = rt.Stats()
	}
	// The runtime has one timer, which wakes the scheduler. The timers of the users are those of the scheduler.
	p.Stats.Armed = st.Pending
	p.Stats.Fired = st.Started
	p.Stats.Stopped = st.Cancelled
	p.Stats.Rearmed = st.Retried
	p.Stats.Panics = st.Panicked
	p.Stats.Late = st.Late
	p.Stats.Ran = st.Commit
	return stdjson.Marshal(snapshot{
		Time: time.Now(), Runtimes: map[string]timerSnapshot{"timers": p},
		Serve: serverSnapshot{
			Pending: st.Pending, Exact: st.Exact, Loaded: st.Loaded, Running: st.Running, Unhandled: st.Unhandled, Dead: st.Dead,
			Retried: st.Retried, Died: st.Died, Missed: st.Missed, Steps: st.Steps, Scheduled: st.Scheduled,
			Listeners: s.hub.Listeners(), Fires: strconv.FormatUint(s.hub.Before(recentFires), 10),
		},
	})
}

func histogramBuckets(h foliot.Histogram) []histogramBucket {
	buckets := []histogramBucket{}
	for upTo, n := range h.All() {
		buckets = append(buckets, histogramBucket{upTo, n})
	}
	return buckets
}

// serveSnapshot sends one snapshot.
func (s *server) serveSnapshot(w http.ResponseWriter, _ *http.Request) error {
	body, err := s.takeSnapshot(s.scheduler())
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(body, '\n')) // an error means that the client is gone
	return nil
}
