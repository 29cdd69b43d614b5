package bench

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestABurstNoticesTimersThatFireEarly(t *testing.T) {
	b := newBurst(100, 5*soonest)
	for i := range b.delays {
		b.delays[i] = time.Hour
	}
	var at toll
	err := b.run(context.Background(), &at, func(_ time.Duration, f func()) error { f(); return nil })
	if err != nil || at.early[0] != 100 {
		t.Errorf("%v early, error %v, want all of them", at.early, err)
	}
}

func TestABurstEndsWithTheErrorOfArming(t *testing.T) {
	failed := errors.New("failed")
	err := newBurst(10, 5*soonest).run(context.Background(), new(toll), func(time.Duration, func()) error { return failed })
	if !errors.Is(err, failed) {
		t.Errorf("error %v, want %v", err, failed)
	}
}

func TestASleeperThatWakesEarlyIsFoundOut(t *testing.T) {
	hasty := &sleeper{arm: func(_ time.Duration, f func()) error { f(); return nil }}
	if err := takeTurns(context.Background(), 5, func() time.Duration { return time.Hour }, hasty); err != nil {
		t.Fatal(err)
	}
	rows := lateness("group", "", hasty, hasty)
	if early := rows[len(rows)-1]; early.Foliot.Median != 5 {
		t.Errorf("%+v, want 5 early", early)
	}
}
