package inspect_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/inspect"
	"github.com/foliot-go/foliot/test/kit"
)

// eachCount runs a benchmark with runtimes that have very many timers, due between an hour and two from
// now. They are in all shards, or one goroutine has armed all of them, so that most are in one shard:
// then its lock is held for nearly all of a Horizon.
func eachCount(b *testing.B, f func(b *testing.B, rt *foliot.Runtime)) {
	for _, count := range []int{1_000_000, 10_000_000} {
		for _, shards := range []string{"all", "one"} {
			b.Run(fmt.Sprintf("timers=%d/shards=%s", count, shards), func(b *testing.B) {
				rt := kit.NewRuntime(b, foliot.Options{})
				rnd := rand.New(rand.NewPCG(1, 2))
				delay := func() time.Duration { return time.Hour + time.Duration(rnd.Int64N(int64(time.Hour))) }
				calls := make([]foliot.Call, 1000)
				for n := 0; n < count; n += len(calls) {
					for i := range calls {
						calls[i] = foliot.Call{After: delay(), Func: closeIdle}
						if shards == "one" {
							kit.After(b, rt, calls[i].After, closeIdle)
						}
					}
					if shards == "all" {
						// A batch has at most as many timers as go to one shard: let the goroutine of each
						// batch choose another one.
						done := make(chan error)
						go func() {
							_, err := rt.AfterFuncBatch(nil, calls)
							done <- err
						}()
						if err := <-done; err != nil {
							b.Fatal(err)
						}
					}
				}
				f(b, rt)
			})
		}
	}
}

func BenchmarkHorizon(b *testing.B) {
	eachCount(b, func(b *testing.B, rt *foliot.Runtime) {
		for b.Loop() {
			rt.Horizon()
		}
		b.ReportMetric(float64(len(rt.Horizon())), "buckets")
	})
}

func BenchmarkCallbacks(b *testing.B) {
	eachCount(b, func(b *testing.B, rt *foliot.Runtime) {
		for b.Loop() {
			rt.Callbacks(0)
		}
	})
}

func BenchmarkStats(b *testing.B) {
	eachCount(b, func(b *testing.B, rt *foliot.Runtime) {
		for b.Loop() {
			rt.Stats()
		}
	})
}

func BenchmarkSnapshot(b *testing.B) {
	eachCount(b, func(b *testing.B, rt *foliot.Runtime) {
		h := inspect.Handler(inspect.Options{Runtimes: map[string]*foliot.Runtime{"main": rt}})
		var size int64
		for b.Loop() {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", "/snapshot.json", nil))
			size, _ = io.Copy(io.Discard, w.Body)
		}
		b.ReportMetric(float64(size), "bytes")
	})
}
