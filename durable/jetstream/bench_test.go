package jetstream

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/internal/natsserver"
)

// benchBeds are the servers of the benchmarks.
func benchBeds(b *testing.B, f func(b *testing.B, nc *nats.Conn, o Options)) {
	for _, n := range []int{1, 3} {
		b.Run(fmt.Sprintf("servers=%d", n), func(b *testing.B) {
			f(b, StartServers(b, n, natsserver.Options{}).Connect(b), Options{Stream: fmt.Sprintf("B%d", streams.Add(1)), Replicas: n, Synced: true})
		})
	}
}

// BenchmarkBeside measures Schedule and Cancel beside bare publishes with the same headers and
// acknowledgements, in turns, so that other programs on the machine disturb all of them alike. It reports the
// operations in a second, and their ratios to the bare ones.
func BenchmarkBeside(b *testing.B) {
	benchBeds(b, func(b *testing.B, nc *nats.Conn, o Options) {
		s := benchScheduler(b, nc, o)
		x := &next{id: "x"}
		at := time.Now().Add(time.Hour)
		x.message.record.Arm(&durable.Timer{ID: "x", At: at, Kind: "kind"}, 0)
		other := o
		other.Stream += "bare"
		bare, err := Open(b.Context(), nc, other) // only its stream is used
		if err != nil {
			b.Fatal(err)
		}
		p := bare.parts[0]
		header := p.msg(1, x).Header
		_ = bare.Close()
		var took [3]time.Duration
		const turn = 2000
		total := 0
		for total < b.N {
			first := total
			for i, f := range []func(n int){
				func(n int) {
					h := nats.Header{recordHeader: header[recordHeader], expectedHeader: {"0"}}
					if _, err := nc.RequestMsg(&nats.Msg{Subject: p.subject(strconv.Itoa(n)), Header: h}, 10*time.Second); err != nil {
						b.Error(err)
					}
				},
				func(n int) {
					if _, err := s.Schedule(context.Background(), durable.Timer{ID: strconv.Itoa(n), At: at, Kind: "kind"}); err != nil {
						b.Error(err)
					}
				},
				func(n int) {
					if ok, err := s.Cancel(context.Background(), strconv.Itoa(n)); !ok || err != nil {
						b.Error(ok, err)
					}
				},
			} {
				begin := time.Now()
				callers(turn, func(n int) { f(first + n) })
				took[i] += time.Since(begin)
			}
			total += turn
		}
		for i, name := range []string{"bare", "schedule", "cancel"} {
			b.ReportMetric(float64(total)/took[i].Seconds(), name+"/s")
			b.ReportMetric(took[0].Seconds()/took[i].Seconds(), name+"-ratio")
		}
	})
}

// callers calls f from benchCallers goroutines, n times in all.
func callers(n int, f func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range benchCallers {
		wg.Go(func() {
			for i := int(next.Add(1)); i <= n; i = int(next.Add(1)) {
				f(i)
			}
		})
	}
	wg.Wait()
}

const benchCallers = 64

// BenchmarkOpen opens a store with b.N timers.
func BenchmarkOpen(b *testing.B) {
	nc := StartServers(b, 1, natsserver.Options{}).Connect(b)
	o := Options{Stream: "OPEN", Synced: true}
	s := benchScheduler(b, nc, o)
	at := time.Now().Add(time.Hour)
	for i := 0; i < b.N; i += batchMax {
		var ts []durable.Timer
		for n := i; n < min(i+batchMax, b.N); n++ {
			ts = append(ts, durable.Timer{ID: fmt.Sprintf("timer-%08d", n), At: at, Kind: "kind"})
		}
		if _, err := s.ScheduleBatch(context.Background(), ts); err != nil {
			b.Fatal(err)
		}
	}
	bare := time.Now() // a consumer that does nothing with what it gets
	got := make(chan struct{})
	n := 0
	inbox := nc.NewInbox()
	sub, err := nc.Subscribe(inbox, func(m *nats.Msg) {
		if m.Reply != "" && m.Header.Get("Status") == "100" {
			_ = nc.Publish(m.Reply, nil)
			return
		}
		if n++; n == b.N {
			close(got)
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	_ = sub.SetPendingLimits(-1, -1)
	if _, err := nc.Request("$JS.API.CONSUMER.CREATE.OPEN", fmt.Appendf(nil,
		`{"stream_name":"OPEN","config":{"deliver_subject":%q,"deliver_policy":"all","ack_policy":"none","headers_only":true,"flow_control":true,"idle_heartbeat":1000000000,"mem_storage":true}}`, inbox), 5*time.Second); err != nil {
		b.Fatal(err)
	}
	<-got
	took := time.Since(bare)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	b.ResetTimer()
	store, err := Open(b.Context(), nc, o)
	if err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(b.Elapsed().Seconds(), "open-s")
	b.ReportMetric(b.Elapsed().Seconds()/took.Seconds(), "times-bare")
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(b.N), "B/timer")
	_ = store.Close()
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
		begin := time.Now().Add(time.Second + time.Duration(b.N)*500*time.Microsecond)
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
