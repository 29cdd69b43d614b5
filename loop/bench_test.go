package loop_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/loop"
)

// reportPerCall reports the time of one call, in a benchmark whose operation is many
// calls.
func reportPerCall(b *testing.B, calls int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(calls), "ns/call")
	b.ReportMetric(0, "ns/op")
}

const armedTimers = 50_000

// benchmarkArming measures how long it takes to arm armedTimers timers on a loop that has
// none. arm arms them and appends their handles. They are cancelled while the benchmark
// is paused.
func benchmarkArming(b *testing.B, arm func(l *loop.Loop, handles []loop.Handle) []loop.Handle) {
	handles := make([]loop.Handle, 0, armedTimers)
	l := loop.New(loop.Options{})
	for b.Loop() {
		handles = arm(l, handles[:0])
		b.StopTimer()
		for _, h := range handles {
			h.Cancel()
		}
		b.StartTimer()
	}
	reportPerCall(b, b.N*armedTimers)
}

func armedDelay(i int) time.Duration { return time.Second + time.Duration(i%1000)*time.Millisecond }

// Event loops are often compared by the time for arming 50,000 timers.
func BenchmarkCallLater50k(b *testing.B) {
	benchmarkArming(b, func(l *loop.Loop, handles []loop.Handle) []loop.Handle {
		for i := range armedTimers {
			handles = append(handles, l.CallLater(armedDelay(i), noop))
		}
		return handles
	})
}

func BenchmarkCallLaterBatch50k(b *testing.B) {
	calls := make([]loop.Call, armedTimers)
	for i := range calls {
		calls[i] = loop.Call{After: armedDelay(i), Func: noop}
	}
	benchmarkArming(b, func(l *loop.Loop, handles []loop.Handle) []loop.Handle {
		return l.CallLaterBatch(handles, calls)
	})
}

func BenchmarkCallLaterAndCancel(b *testing.B) {
	l := loop.New(loop.Options{})
	for b.Loop() {
		l.CallLater(time.Second, noop).Cancel()
	}
}

// A thousand callbacks are queued, each of which queues itself again.
func BenchmarkCallSoonInTheLoop(b *testing.B) {
	const n = 1000
	l := loop.New(loop.Options{})
	var f func()
	f = func() { l.CallSoon(f) }
	for range n {
		l.CallSoon(f)
	}
	for b.Loop() {
		l.Step()
	}
	reportPerCall(b, b.N*n)
}

// The same with a buffered channel, for comparison.
func BenchmarkCallSoonThroughAChannel(b *testing.B) {
	const n = 1000
	c := make(chan func(), n)
	var f func()
	f = func() { c <- f }
	for range n {
		c <- f
	}
	for b.Loop() {
		for range n {
			(<-c)()
		}
	}
	reportPerCall(b, b.N*n)
}

// One callback queues itself again: one call in each iteration.
func BenchmarkIteration(b *testing.B) {
	l := loop.New(loop.Options{})
	left := b.N
	var f func()
	f = func() {
		if left--; left > 0 {
			l.CallSoon(f)
		}
	}
	l.CallSoon(f)
	b.ResetTimer()
	if err := l.RunUntilIdle(context.Background()); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkStepWithOneCallback(b *testing.B) {
	l := loop.New(loop.Options{})
	for b.Loop() {
		l.CallSoon(noop)
		l.Step()
	}
}

// Other goroutines post callbacks to a loop. For comparison, they send the same callbacks
// over a channel to a goroutine that calls them. The time is that from the first post
// until all callbacks have been called. Loop and channel take turns. The result is the
// median of the ratios of neighbouring rounds.
func BenchmarkPostBesideAChannel(b *testing.B) {
	for _, c := range []struct {
		name             string
		producers, batch int
	}{
		{"1 producer", 1, 1},
		{"2 producers", 2, 1},
		{"8 producers", 8, 1},
		{"1 producer of batches", 1, 64},
		{"8 producers of batches", 8, 64},
	} {
		for _, calls := range []int{1 << 14, 1 << 17, 1 << 20} {
			b.Run(fmt.Sprintf("%s/%d", c.name, calls), func(b *testing.B) {
				each := calls / c.producers
				var posts, sends, ratios []float64
				for b.Loop() {
					post := postAll(b, c.producers, each, c.batch)
					send := sendAll(b, c.producers, each)
					posts = append(posts, float64(post.Nanoseconds())/float64(calls))
					sends = append(sends, float64(send.Nanoseconds())/float64(calls))
					ratios = append(ratios, float64(send)/float64(post))
				}
				for _, xs := range [][]float64{posts, sends, ratios} {
					slices.Sort(xs)
				}
				b.ReportMetric(posts[len(posts)/2], "ns/post")
				b.ReportMetric(sends[len(sends)/2], "ns/send")
				b.ReportMetric(ratios[len(ratios)/2], "x-channel")
				b.ReportMetric(ratios[len(ratios)/4], "x-channel-p25")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

func postAll(b *testing.B, producers, each, batch int) time.Duration {
	l := loop.New(loop.Options{})
	called := 0 // belongs to the loop's goroutine
	f := func() {
		if called++; called == producers*each {
			l.Stop()
		}
	}
	fs := slices.Repeat([]func(){f}, batch)
	began := time.Now()
	for range producers {
		go func() {
			for left := each; left > 0; left -= batch {
				var err error
				if batch == 1 {
					err = l.Post(f)
				} else {
					err = l.PostBatch(fs)
				}
				if err != nil {
					panic(err)
				}
			}
		}()
	}
	if err := l.Run(context.Background()); err != nil || called != producers*each {
		b.Fatal(err, called)
	}
	return time.Since(began)
}

func sendAll(b *testing.B, producers, each int) time.Duration {
	c := make(chan func(), 1024)
	called := 0
	f := func() { called++ }
	began := time.Now()
	for range producers {
		go func() {
			for range each {
				c <- f
			}
		}()
	}
	for called < producers*each {
		(<-c)()
	}
	return time.Since(began)
}

// The lateness of a thousand timers of 1 to 100 ms, on a loop and on a foliot.Runtime in
// turns.
func BenchmarkLateness(b *testing.B) {
	const n = 1000
	delay := func(i int) time.Duration { return time.Millisecond + time.Duration(i*7919%n)*99*time.Microsecond }
	rt, err := foliot.New(foliot.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer rt.Shutdown(context.Background())
	var onLoop, onRuntime []time.Duration
	for b.Loop() {
		l := loop.New(loop.Options{})
		for i := range n {
			start := time.Now()
			l.CallLater(delay(i), func() { onLoop = append(onLoop, time.Since(start)-delay(i)) })
		}
		if err := l.RunUntilIdle(context.Background()); err != nil {
			b.Fatal(err)
		}

		late := make(chan time.Duration, n)
		for i := range n {
			start := time.Now()
			if _, err := rt.AfterFunc(delay(i), func() { late <- time.Since(start) - delay(i) }); err != nil {
				b.Fatal(err)
			}
		}
		for range n {
			onRuntime = append(onRuntime, <-late)
		}
	}
	for name, late := range map[string][]time.Duration{"loop": onLoop, "runtime": onRuntime} {
		slices.Sort(late)
		for unit, at := range map[string]int{"p50": len(late) / 2, "p99": len(late) * 99 / 100, "min": 0} {
			b.ReportMetric(float64(late[at].Nanoseconds())/1e3, name+"-"+unit+"-µs")
		}
	}
	b.ReportMetric(0, "ns/op")
}
