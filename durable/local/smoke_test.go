package local

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/durable"
)

func TestSmoke(t *testing.T) {
	st, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := durable.New(st, durable.Options{Retry: durable.Retry{Min: 20 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	var n atomic.Int64
	s.Handle("a", func(ctx context.Context, f durable.Fire) error {
		t.Log(f.ID, f.Attempt, f.Late, f.Missed, f.Rev)
		if n.Add(1) == 1 {
			return errors.New("first")
		}
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	for i := range 5 {
		if _, err := s.Schedule(ctx, durable.Timer{ID: fmt.Sprint(i), At: time.Now().Add(time.Duration(i) * 20 * time.Millisecond), Kind: "a"}); err != nil {
			t.Fatal(err)
		}
	}
	s.Schedule(ctx, durable.Timer{ID: "p", At: time.Now(), Kind: "a", Every: 50 * time.Millisecond})
	time.Sleep(300 * time.Millisecond)
	t.Logf("%+v", s.Stats())
	ok, err := s.Cancel(ctx, "p")
	t.Log(ok, err)
	cancel()
	t.Log(<-done)
	t.Log(st.Close())
}

func TestSpeed(t *testing.T) {
	st, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, _ := durable.New(st, durable.Options{Concurrency: 256})
	s.Handle("a", func(ctx context.Context, f durable.Fire) error { return nil })
	var wg sync.WaitGroup
	begin := time.Now()
	for g := range 64 {
		wg.Go(func() {
			for i := range 2000 {
				s.Schedule(t.Context(), durable.Timer{ID: fmt.Sprint("x", g, "-", i), At: time.Now().Add(time.Hour), Kind: "a"})
			}
		})
	}
	wg.Wait()
	t.Log("schedule/s", 64*2000/time.Since(begin).Seconds())
	begin = time.Now()
	for g := range 64 {
		wg.Go(func() {
			for i := range 2000 {
				if ok, _ := s.Cancel(t.Context(), fmt.Sprint("x", g, "-", i)); !ok {
					panic("no")
				}
			}
		})
	}
	wg.Wait()
	t.Log("cancel/s", 64*2000/time.Since(begin).Seconds())
	var ts []durable.Timer
	base := time.Now().Add(2 * time.Second)
	for i := range 50000 {
		ts = append(ts, durable.Timer{ID: fmt.Sprint("y", i), At: base.Add(time.Duration(i) * 100 * time.Microsecond), Kind: "a"})
		if len(ts) == 1000 {
			s.ScheduleBatch(t.Context(), ts)
			ts = ts[:0]
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	for s.Stats().Handled < 50000 {
		time.Sleep(100 * time.Millisecond)
	}
	st2 := s.Stats()
	t.Log("late", st2.Late.Quantile(.5), st2.Late.Quantile(.99), st2.Late.Max(), st2.Handled)
	cancel()
	t.Log(<-done)
}

func TestManual(t *testing.T) {
	st, _ := Open(t.TempDir(), Options{})
	defer st.Close()
	c := foliot.NewManualClock(time.Unix(1e9, 0))
	s, _ := durable.New(st, durable.Options{Clock: c})
	var mu sync.Mutex
	var got []string
	s.Handle("a", func(ctx context.Context, f durable.Fire) error {
		mu.Lock()
		got = append(got, f.ID)
		mu.Unlock()
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	for i := range 20 {
		s.Schedule(ctx, durable.Timer{ID: fmt.Sprint(i), At: c.Now().Add(time.Duration(20-i) * time.Second), Kind: "a"})
	}
	s.Schedule(ctx, durable.Timer{ID: "p", At: c.Now().Add(500 * time.Millisecond), Every: time.Second, Kind: "a"})
	c.Advance(30 * time.Second)
	mu.Lock()
	t.Log(got, len(got))
	mu.Unlock()
	cancel()
	t.Log(<-done)
}
