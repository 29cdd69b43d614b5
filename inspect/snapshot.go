package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/loop"
)

// A source takes snapshots of what a handler shows. It is immutable.
type source struct {
	runtimes map[string]*foliot.Runtime // nil: the default runtime
	loops    map[string]*loop.Loop
	queues   map[string]Queue
}

func newSource(o Options) source {
	return source{maps.Clone(o.Runtimes), maps.Clone(o.Loops), maps.Clone(o.Queues)}
}

// snapshot returns the current state as JSON.
func (s *source) snapshot() ([]byte, error) {
	p := snapshot{
		Time:     time.Now(),
		Runtimes: map[string]runtimeSnapshot{},
		Loops:    map[string]loopSnapshot{},
		Queues:   map[string]queueSnapshot{},
	}
	runtimes := s.runtimes
	if runtimes == nil {
		runtimes = map[string]*foliot.Runtime{"default": foliot.Default()}
	}
	for name, rt := range runtimes {
		p.Runtimes[name] = newRuntimeSnapshot(rt)
	}
	for name, l := range s.loops {
		p.Loops[name] = newLoopSnapshot(l)
	}
	for name, q := range s.queues {
		p.Queues[name] = newQueueSnapshot(q)
	}
	return json.Marshal(p)
}

// A snapshot is the state of everything that a handler shows, for JSON. Durations are in nanoseconds.
type snapshot struct {
	Time     time.Time                  `json:"time"`
	Runtimes map[string]runtimeSnapshot `json:"runtimes"`
	Loops    map[string]loopSnapshot    `json:"loops"`
	Queues   map[string]queueSnapshot   `json:"queues"`
}

// A runtimeSnapshot is the state of a runtime.
type runtimeSnapshot struct {
	Stats     *foliot.Stats          `json:"stats"` // null if there is no runtime
	Horizon   []foliot.HorizonBucket `json:"horizon"`
	Callbacks []foliot.CallbackShare `json:"callbacks"`
	Late      []histogramBucket      `json:"late"` // Stats.Late in full
	Ran       []histogramBucket      `json:"ran"`  // Stats.Ran in full

	// Unavailable maps the name of each missing figure to the reason why it is missing.
	Unavailable map[string]string `json:"unavailable,omitempty"`
}

// A histogramBucket counts the durations of at most UpTo that are in no earlier bucket.
type histogramBucket struct {
	UpTo  time.Duration
	Count uint64
}

const (
	noRuntime     = "there is no runtime of this name: it is nil"
	runtimeClosed = "the runtime is shut down"
	otherBubble   = "the runtime is part of a synctest bubble, and this page is not"
	noLoop        = "there is no loop of this name: it is nil"
	noQueue       = "there is no queue of this name: it is nil"
)

func newRuntimeSnapshot(rt *foliot.Runtime) (p runtimeSnapshot) {
	p = runtimeSnapshot{
		Horizon:   []foliot.HorizonBucket{},
		Callbacks: []foliot.CallbackShare{},
		Late:      []histogramBucket{},
		Ran:       []histogramBucket{},
	}
	figures := []string{"stats", "horizon", "callbacks", "late", "ran"}
	if rt == nil {
		p.Unavailable = without(noRuntime, figures...)
		return p
	}
	defer excuse(&p.Unavailable, figures...)
	st := rt.Stats()
	p.Stats = &st
	p.Late = append(p.Late, histogramBuckets(st.Late)...)
	p.Ran = append(p.Ran, histogramBuckets(st.Ran)...)
	if errors.Is(rt.Sleep(context.Background(), 0), foliot.ErrClosed) { // it does not sleep
		p.Unavailable = without(runtimeClosed, "horizon", "callbacks")
		return p
	}
	p.Horizon = append(p.Horizon, rt.Horizon()...)
	p.Callbacks = append(p.Callbacks, rt.Callbacks(0)...)
	if st.Armed > 0 && len(p.Horizon) == 0 && len(p.Callbacks) > 0 {
		p.Unavailable = without(otherBubble, "horizon")
	}
	return p
}

func histogramBuckets(h foliot.Histogram) (buckets []histogramBucket) {
	for upTo, n := range h.All() {
		buckets = append(buckets, histogramBucket{upTo, n})
	}
	return buckets
}

// A loopSnapshot is the state of a loop.
type loopSnapshot struct {
	Stats       *loop.Stats       `json:"stats"` // null if there is no loop
	Unavailable map[string]string `json:"unavailable,omitempty"`
}

func newLoopSnapshot(l *loop.Loop) (p loopSnapshot) {
	if l == nil {
		return loopSnapshot{Unavailable: without(noLoop, "stats")}
	}
	defer excuse(&p.Unavailable, "stats")
	st := l.Stats()
	p.Stats = &st
	return p
}

// A queueSnapshot is the state of a queue.
type queueSnapshot struct {
	Len     int                    `json:"len"`
	Overdue int                    `json:"overdue"` // the number of values that are due
	Next    *time.Duration         `json:"next"`    // when the first value is due, or somewhat earlier. null: none
	Horizon []foliot.HorizonBucket `json:"horizon"`

	Unavailable map[string]string `json:"unavailable,omitempty"`
}

func newQueueSnapshot(q Queue) (p queueSnapshot) {
	p.Horizon = []foliot.HorizonBucket{}
	figures := []string{"len", "overdue", "next", "horizon"}
	if v := reflect.ValueOf(q); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		p.Unavailable = without(noQueue, figures...)
		return p
	}
	defer excuse(&p.Unavailable, figures...)
	p.Len = q.Len()
	p.Horizon = append(p.Horizon, q.Horizon()...)
	for i, b := range p.Horizon {
		if i == 0 {
			p.Overdue = b.Count
		}
		if b.Count > 0 {
			p.Next = &b.From
			break
		}
	}
	if p.Len > 0 && len(p.Horizon) == 0 {
		p.Unavailable = without(otherBubble, "overdue", "next", "horizon")
	}
	return p
}

// without gives the same reason for each of the given figures.
func without(why string, figures ...string) map[string]string {
	reasons := map[string]string{}
	for _, f := range figures {
		reasons[f] = why
	}
	return reasons
}

// excuse is deferred. If taking a snapshot panics, it says so in the snapshot, because a runtime or
// a queue that was not created by its constructor must not crash the program.
func excuse(unavailable *map[string]string, figures ...string) {
	if v := recover(); v != nil {
		*unavailable = without(fmt.Sprintf("it panics: %v", v), figures...)
	}
}
