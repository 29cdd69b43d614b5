package jetstream

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/internal/natstest"
)

// benchBeds are the servers of the benchmarks.
func benchBeds(b *testing.B, f func(b *testing.B, nc *nats.Conn, o Options)) {
	for _, n := range []int{1, 3} {
		b.Run(fmt.Sprintf("servers=%d", n), func(b *testing.B) {
			var connect func(...nats.Option) *nats.Conn
			if n == 1 {
				connect = natstest.Start(b, natstest.Options{}).Connect
			} else {
				connect = natstest.StartCluster(b, n, natstest.Options{}).Connect
			}
			f(b, connect(), Options{Stream: fmt.Sprintf("B%d", streams.Add(1)), Replicas: n, Synced: true})
		})
	}
}

// callers calls f from a number of goroutines, b.N times in all.
func callers(b *testing.B, n int, f func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for range n {
		wg.Go(func() {
			for i := int(next.Add(1)); i <= b.N; i = int(next.Add(1)) {
				f(i)
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "op/s")
}

const benchCallers = 64

// BenchmarkBare publishes what Schedule publishes, and waits for the acknowledgements, without a store.
func BenchmarkBare(b *testing.B) {
	benchBeds(b, func(b *testing.B, nc *nats.Conn, o Options) {
		s, err := Open(b.Context(), nc, o)
		if err != nil {
			b.Fatal(err)
		}
		p := s.parts[0]
		x := &next{id: "x"}
		x.message.record.Arm(&durable.Timer{ID: "x", At: time.Now().Add(time.Hour), Kind: "kind"}, 0)
		header := p.msg(1, x).Header
		_ = s.Close()
		callers(b, benchCallers, func(i int) {
			h := nats.Header{recordHeader: header[recordHeader], expectedHeader: {"0"}}
			if _, err := nc.RequestMsg(&nats.Msg{Subject: p.subject(strconv.Itoa(i)), Header: h}, 10*time.Second); err != nil {
				b.Error(err)
			}
		})
	})
}

// BenchmarkSchedule schedules timers with different IDs.
func BenchmarkSchedule(b *testing.B) {
	benchBeds(b, func(b *testing.B, nc *nats.Conn, o Options) {
		s := benchScheduler(b, nc, o)
		at := time.Now().Add(time.Hour)
		callers(b, benchCallers, func(i int) {
			if _, err := s.Schedule(context.Background(), durable.Timer{ID: strconv.Itoa(i), At: at, Kind: "kind"}); err != nil {
				b.Error(err)
			}
		})
	})
}

// BenchmarkCancel cancels timers that are armed.
func BenchmarkCancel(b *testing.B) {
	benchBeds(b, func(b *testing.B, nc *nats.Conn, o Options) {
		s := benchScheduler(b, nc, o)
		at := time.Now().Add(time.Hour)
		for i := 0; i < b.N; i += batchMax {
			var ts []durable.Timer
			for n := i + 1; n <= min(i+batchMax, b.N); n++ {
				ts = append(ts, durable.Timer{ID: strconv.Itoa(n), At: at, Kind: "kind"})
			}
			if _, err := s.ScheduleBatch(context.Background(), ts); err != nil {
				b.Fatal(err)
			}
		}
		callers(b, benchCallers, func(i int) {
			if ok, err := s.Cancel(context.Background(), strconv.Itoa(i)); !ok || err != nil {
				b.Error(ok, err)
			}
		})
	})
}

// BenchmarkScheduleBatch schedules batches of 100 timers. An operation is one timer.
func BenchmarkScheduleBatch(b *testing.B) {
	benchBeds(b, func(b *testing.B, nc *nats.Conn, o Options) {
		s := benchScheduler(b, nc, o)
		at := time.Now().Add(time.Hour)
		const size = 100
		var next atomic.Int64
		var wg sync.WaitGroup
		b.ResetTimer()
		for range 16 {
			wg.Go(func() {
				for from := int(next.Add(size)) - size; from < b.N; from = int(next.Add(size)) - size {
					var ts []durable.Timer
					for i := from; i < min(from+size, b.N); i++ {
						ts = append(ts, durable.Timer{ID: strconv.Itoa(i), At: at, Kind: "kind"})
					}
					if _, err := s.ScheduleBatch(context.Background(), ts); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "op/s")
	})
}

// BenchmarkFire fires 3000 timers a second, and reports how late the handlers are.
func BenchmarkFire(b *testing.B) {
	benchBeds(b, func(b *testing.B, nc *nats.Conn, o Options) {
		s := benchScheduler(b, nc, o)
		s.Handle("kind", func(context.Context, durable.Fire) error { return nil })
		const rate = 3000
		begin := time.Now().Add(time.Second + time.Duration(b.N)*100*time.Microsecond)
		for i := 0; i < b.N; i += batchMax {
			var ts []durable.Timer
			for n := i; n < min(i+batchMax, b.N); n++ {
				ts = append(ts, durable.Timer{ID: strconv.Itoa(n), At: begin.Add(time.Duration(n) * time.Second / rate), Kind: "kind"})
			}
			if _, err := s.ScheduleBatch(context.Background(), ts); err != nil {
				b.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		for s.Stats().Handled < uint64(b.N) {
			time.Sleep(time.Millisecond)
		}
		late := s.Stats().Late
		cancel()
		<-done
		b.ReportMetric(float64(late.Quantile(0.5))/1e6, "p50-ms")
		b.ReportMetric(float64(late.Quantile(0.99))/1e6, "p99-ms")
	})
}

func benchScheduler(b *testing.B, nc *nats.Conn, o Options) *durable.Scheduler {
	b.Helper()
	store, err := Open(b.Context(), nc, o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close() })
	s, err := durable.New(store, durable.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return s
}
