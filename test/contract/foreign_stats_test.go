package contract_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/test/kit"
)

var statsRows = []foreignRow{
	{"Runtime.Stats", nil, func(f *foreignTest) {
		f.withStats(func(t *testing.T, want foliot.Stats) {
			got := f.rt.Stats()
			if got.Workers != want.Workers || got.Armed != want.Armed ||
				got.Slots != want.Slots || got.Tasks != want.Tasks || got.Polls != want.Polls ||
				got.Fired != want.Fired || got.Stopped != want.Stopped || got.Rearmed != want.Rearmed {
				t.Errorf("Stats returns %+v, want %+v", got, want)
			}
			if len(got.Worker) != len(want.Worker) {
				t.Errorf("Stats has %d workers, want %d", len(got.Worker), len(want.Worker))
			}
			due := 0
			for _, w := range got.Worker {
				due += w.Due
			}
			if due != 0 {
				t.Errorf("the sum of WorkerStats.Due is %d, want 0", due)
			}
		})
	}},
	{"Runtime.String", nil, func(f *foreignTest) {
		f.withStats(func(t *testing.T, want foliot.Stats) {
			var got struct{ Armed, Slots, Tasks int }
			if err := json.Unmarshal([]byte(f.rt.String()), &got); err != nil {
				t.Fatalf("String returns %q: %v", f.rt, err)
			}
			if got.Armed != want.Armed || got.Slots != want.Slots || got.Tasks != want.Tasks {
				t.Errorf("String returns %+v, want %d, %d, %d",
					got, want.Armed, want.Slots, want.Tasks)
			}
		})
	}},
	{"Runtime.Horizon", nil, func(f *foreignTest) {
		f.withStats(func(t *testing.T, want foliot.Stats) {
			h := f.rt.Horizon()
			if n := countOf(h); h != nil && n != want.Armed {
				t.Errorf("Horizon has %d timers, want %d, or nil", n, want.Armed)
			}
		})
	}},
	{"Runtime.Callbacks", nil, func(f *foreignTest) {
		f.withStats(func(t *testing.T, want foliot.Stats) {
			n := 0
			for _, c := range f.rt.Callbacks(0) {
				n += c.Samples
			}
			if n != want.Armed && !f.shared {
				t.Errorf("Callbacks has seen %d timers, want %d", n, want.Armed)
			}
		})
	}},
	{"Histogram.Count", oneWorker, histogramRow(foliot.Histogram.Count)},
	{"Histogram.Max", oneWorker, histogramRow(foliot.Histogram.Max)},
	{"Histogram.Mean", oneWorker, histogramRow(foliot.Histogram.Mean)},
	{"Histogram.Sum", oneWorker, histogramRow(foliot.Histogram.Sum)},
	{"Histogram.String", oneWorker, histogramRow(foliot.Histogram.String)},
	{"Histogram.Sub", oneWorker, histogramRow(func(h foliot.Histogram) uint64 { return h.Sub(foliot.Histogram{}).Sub(h).Count() })},
	{"Histogram.Quantile", oneWorker, histogramRow(func(h foliot.Histogram) time.Duration { return h.Quantile(0.9) })},
	{"Histogram.MarshalJSON", oneWorker, histogramRow(func(h foliot.Histogram) string {
		text, err := h.MarshalJSON()
		if err != nil {
			return err.Error()
		}
		return string(bytes.TrimSpace(text))
	})},
	{"Histogram.All", oneWorker, histogramRow(func(h foliot.Histogram) (n uint64) {
		for _, count := range h.All() {
			n += count
		}
		return n
	})},
	{"Recorder.Record", oneWorker, recorderRow},
	{"Recorder.Histogram", oneWorker, recorderRow},
	{"Runtime.Resize", nil, func(f *foreignTest) { f.resize(5, 1, 4) }},
	{"Runtime.Resize, to one worker", nil, func(f *foreignTest) { f.resize(1) }},
	{"Runtime.Resize, to as many as there are", nil, func(f *foreignTest) { f.resize(f.rt.Stats().Workers) }},
	{"Runtime.Resize, while a goroutine sleeps", func(w variant) bool {
		return notEndedNotShared(w) && !w.manual
	}, resizeDuringSleeps},
	{"Runtime.Stats, and other calls in both places at once", notEndedNotShared, useBothAtOnce},
}

// oneWorker selects one variant, for calls that do not depend on the runtime.
func oneWorker(w variant) bool { return w.workers == 1 }

// withStats fires some timers and arms others. Then it calls compare in the foreign place with the
// Stats of the own place.
func (f *foreignTest) withStats(compare func(t *testing.T, want foliot.Stats)) {
	c := f.callback("a timer", 0)
	var timer foliot.Timer
	var want foliot.Stats
	f.own(func(t *testing.T) {
		f.before = f.rt.Stats()
		for range 5 {
			kit.After(t, f.rt, 0, c.run)
		}
		c.want.Store(5)
		f.awaitCallbacks(t)
		c.setBase()
		timer = kit.After(t, f.rt, hour, kit.Never(t, "a timer of an hour"))
		f.within(t, "nothing runs", func() bool { return f.rt.Stats().Running == 0 })
		want = f.rt.Stats()
	})
	f.foreign(func(t *testing.T) { compare(t, want) })
	f.own(func(t *testing.T) { timer.Stop() })
}

// histogramRow returns a case that compares a method of Histogram in both places.
func histogramRow[V comparable](method func(foliot.Histogram) V) func(f *foreignTest) {
	return func(f *foreignTest) {
		f.withStats(func(t *testing.T, want foliot.Stats) {
			if got, want := method(f.rt.Stats().Late), method(want.Late); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// recorderRow records durations in both places.
func recorderRow(f *foreignTest) {
	var r foliot.Recorder
	f.start()
	f.own(func(*testing.T) { r.Record(1) })
	f.foreign(func(t *testing.T) {
		r.Record(2)
		if n := r.Histogram().Count(); n != 2 {
			t.Errorf("the histogram has %d durations, want 2", n)
		}
	})
}

// resize tries Resize while timers are armed in all shards, and then restores the number of
// workers.
func (f *foreignTest) resize(numbers ...int) {
	f.start()
	var before int
	f.own(func(t *testing.T) { before = f.rt.Stats().Workers })
	f.foreign(func(t *testing.T) {
		for _, n := range numbers {
			want := f.rt.Stats().Workers
			if !refused(t, "Resize", f.rt.Resize(n)) {
				want = n
			}
			if got := f.rt.Stats().Workers; got != want {
				t.Errorf("Workers is %d after Resize, want %d", got, want)
			}
		}
	})
	f.own(func(t *testing.T) {
		f.awaitCallbacks(t)
		f.wantWorks(t)
		if err := f.rt.Resize(before); err != nil {
			t.Errorf("Resize in the place of the runtime returns %v", err)
		}
	})
}

// resizeDuringSleeps calls Resize again and again while a goroutine of the own place calls Sleep.
func resizeDuringSleeps(f *foreignTest) {
	f.startAlone()
	var stop atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.foreign(func(t *testing.T) {
			for i := 0; !stop.Load(); i++ {
				refused(t, "Resize", f.rt.Resize(1+i%3))
			}
		})
	}()
	f.own(func(t *testing.T) {
		defer stop.Store(true)
		ctx, cancel := context.WithTimeout(context.Background(), 5*second)
		defer cancel()
		for range 50 {
			early := f.notBefore("Sleep", millisecond/2)
			if err := f.rt.Sleep(ctx, millisecond/2); err != nil {
				t.Fatalf("Sleep in the place of the runtime returns %v", err)
			}
			early()
		}
	})
	<-ended
}

// useBothAtOnce uses the runtime in both places at the same time.
func useBothAtOnce(f *foreignTest) {
	var timers []foliot.Timer
	_, h := f.task()
	q := f.queueOf(9)
	f.own(func(t *testing.T) {
		for range 200 {
			timers = append(timers, kit.After(t, f.rt, hour, kit.Never(t, "a timer of an hour")))
		}
	})
	f.startAlone()
	f.armed, f.slots = -200, -200
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.foreign(func(t *testing.T) {
			for i, timer := range slices.Backward(timers) {
				if !timer.Stop() {
					t.Error("Stop returns false")
				}
				_ = f.rt.Stats()
				if f.manual {
					continue // a timer armed here may fire in the other place and count there
				}
				if i%20 == 0 {
					if err := f.rt.Resize(1 + i/20%3); err != nil {
						refused(t, "Resize", err)
					}
				}
				if _, err := q.Push(hour, i); err != nil {
					refused(t, "Push", err)
				}
				if _, err := f.rt.AfterFunc(0, func() {}); err != nil {
					refused(t, "AfterFunc", err)
				}
				if !h.Alive() {
					t.Error("a task has ended")
				}
			}
		})
	}()
	f.own(func(t *testing.T) {
		f.wantTimersWork(t)
		f.wantTasksWork(t)
		f.wantSleepWorks(t)
		f.wantQueuesWork(t)
	})
	<-ended
	f.own(func(t *testing.T) {
		h.Abort()
		f.tasks = -1
		f.within(t, "nothing runs", func() bool { return f.rt.Stats().Running == 0 })
	})
}
