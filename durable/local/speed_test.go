package local

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/foliot-go/foliot/durable"
)

func parallel64(b *testing.B, f func(i int)) {
	var wg sync.WaitGroup
	b.ResetTimer()
	for g := range 64 {
		wg.Go(func() {
			for i := g; i < b.N; i += 64 {
				f(i)
			}
		})
	}
	wg.Wait()
}

func BenchmarkPebble(b *testing.B) {
	db, err := pebble.Open(b.TempDir(), &pebble.Options{Logger: logger{&engine{}}})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	value := make([]byte, 100)
	parallel64(b, func(i int) {
		if err := db.Set([]byte(fmt.Sprintf("order-%08d", i)), value, pebble.Sync); err != nil {
			b.Error(err)
		}
	})
}

func BenchmarkSchedule(b *testing.B) {
	st, _ := Open(b.TempDir(), Options{})
	defer st.Close()
	s, _ := durable.New(st, durable.Options{})
	s.Handle("a", func(ctx context.Context, f durable.Fire) error { return nil })
	at := time.Now().Add(time.Hour)
	value := make([]byte, 64)
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	parallel64(b, func(i int) {
		if _, err := s.Schedule(b.Context(), durable.Timer{ID: fmt.Sprintf("order-%08d", i), At: at, Kind: "a", Payload: value}); err != nil {
			b.Error(err)
		}
	})
	b.StopTimer()
	cancel()
	<-done
}

func BenchmarkCancel(b *testing.B) {
	st, _ := Open(b.TempDir(), Options{})
	defer st.Close()
	s, _ := durable.New(st, durable.Options{})
	at := time.Now().Add(time.Hour)
	value := make([]byte, 64)
	var ts []durable.Timer
	for i := range b.N {
		ts = append(ts, durable.Timer{ID: fmt.Sprintf("order-%08d", i), At: at, Kind: "a", Payload: value})
		if len(ts) == 1000 || i == b.N-1 {
			if _, err := s.ScheduleBatch(b.Context(), ts); err != nil {
				b.Fatal(err)
			}
			ts = ts[:0]
		}
	}
	parallel64(b, func(i int) {
		if ok, err := s.Cancel(b.Context(), fmt.Sprintf("order-%08d", i)); err != nil || !ok {
			b.Error(err)
		}
	})
}

func BenchmarkLate(b *testing.B) {
	st, _ := Open(b.TempDir(), Options{})
	defer st.Close()
	s, _ := durable.New(st, durable.Options{})
	s.Handle("a", func(ctx context.Context, f durable.Fire) error { return nil })
	n := uint64(30000)
	var ts []durable.Timer
	base := time.Now().Add(time.Second)
	for i := range n {
		ts = append(ts, durable.Timer{ID: fmt.Sprintf("order-%08d", i), At: base.Add(time.Duration(i) * 100 * time.Microsecond), Kind: "a"})
		if len(ts) == 1000 || i == n-1 {
			s.ScheduleBatch(b.Context(), ts)
			ts = ts[:0]
		}
	}
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error)
	b.ResetTimer()
	go func() { done <- s.Run(ctx) }()
	for s.Stats().Handled < n {
		time.Sleep(20 * time.Millisecond)
	}
	st2 := s.Stats()
	b.ReportMetric(float64(st2.Late.Quantile(.5).Microseconds()), "p50us")
	b.ReportMetric(float64(st2.Late.Quantile(.99).Microseconds()), "p99us")
	b.ReportMetric(float64(st2.Late.Max().Microseconds()), "maxus")
	cancel()
	<-done
}
