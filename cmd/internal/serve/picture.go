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

// A picture is what the page shows of the server at one time, as package inspect describes pictures. The one runtime in it is
// the scheduler: a timer is armed if it has no outcome yet. Durations are in nanoseconds.
type picture struct {
	Time     time.Time               `json:"time"`
	Runtimes map[string]timerPicture `json:"runtimes"`
	Serve    serverPicture           `json:"serve"`
}

// A timerPicture is the part of a picture that package inspect knows.
type timerPicture struct {
	Stats     foliot.Stats           `json:"stats"`
	Horizon   []foliot.HorizonBucket `json:"horizon"`
	Callbacks []struct{}             `json:"callbacks"` // none: all timers call the server
	Late      []pictureBucket        `json:"late"`
	Ran       []pictureBucket        `json:"ran"` // how long changes took until they were kept
}

// A pictureBucket is a bucket of a histogram.
type pictureBucket struct {
	UpTo  time.Duration
	Count uint64
}

// A serverPicture has the figures of the server.
type serverPicture struct {
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

// takePicture returns a picture in JSON.
func (s *server) takePicture(d *durable.Scheduler) ([]byte, error) {
	st := d.Stats()
	p := timerPicture{Horizon: d.Horizon(), Callbacks: []struct{}{}, Late: bucketsOf(st.Late), Ran: bucketsOf(st.Commit)}
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
	return stdjson.Marshal(picture{
		Time: time.Now(), Runtimes: map[string]timerPicture{"timers": p},
		Serve: serverPicture{
			Pending: st.Pending, Exact: st.Exact, Loaded: st.Loaded, Running: st.Running, Unhandled: st.Unhandled, Dead: st.Dead,
			Retried: st.Retried, Died: st.Died, Missed: st.Missed, Steps: st.Steps, Scheduled: st.Scheduled,
			Listeners: s.hub.Listeners(), Fires: strconv.FormatUint(s.hub.Before(recentFires), 10),
		},
	})
}

func bucketsOf(h foliot.Histogram) []pictureBucket {
	buckets := []pictureBucket{}
	for upTo, n := range h.All() {
		buckets = append(buckets, pictureBucket{upTo, n})
	}
	return buckets
}

// servePicture sends one picture.
func (s *server) servePicture(w http.ResponseWriter, _ *http.Request) error {
	body, err := s.takePicture(s.scheduler())
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(body, '\n')) // an error means that the client is gone
	return nil
}
