package jetstream

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/internal/natsserver"
)

func TestTimersFireOnceWhenTheLeaderOfTheStreamChanges(t *testing.T) {
	t.Parallel()
	b := own(t, 3, natsserver.Options{})
	o := b.options(t)
	s, err := durable.New(b.store(t, o), durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	late := map[string][]time.Duration{} // by ID: one for each attempt
	s.Handle("quick", func(_ context.Context, f durable.Fire) error {
		mu.Lock()
		defer mu.Unlock()
		late[f.ID] = append(late[f.ID], f.Late)
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	through := func(what string, change func()) {
		t.Helper()
		const timers = 100
		begin := time.Now().Add(time.Second)
		var batch []durable.Timer
		for i := range timers {
			batch = append(batch, durable.Timer{ID: fmt.Sprint(what, i), At: begin.Add(time.Duration(i) * 10 * time.Millisecond), Kind: "quick"})
		}
		if _, err := s.ScheduleBatch(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Until(begin.Add(300 * time.Millisecond)))
		change()
		eventually(t, "all timers have an outcome", func() bool { return s.Stats().Pending == 0 })
		worst := time.Duration(0)
		mu.Lock()
		defer mu.Unlock()
		for _, timer := range batch {
			attempts := late[timer.ID]
			if len(attempts) != 1 || attempts[0] < 0 {
				t.Errorf("the leader %s: timer %s was handled with these delays: %v, want one that is not negative", what, timer.ID, attempts)
				continue
			}
			worst = max(worst, attempts[0])
		}
		t.Logf("the leader %s: timers were late by at most %v", what, worst)
	}
	through("steps down", func() { b.servers.StepDown(t, o.Stream) })
	leader := b.servers.Leader(t, o.Stream)
	through("is killed", func() { must(t, leader.Kill()) })
	must(t, leader.Restart())
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
