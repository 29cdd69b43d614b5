package time_test

import (
	"sync"
	"testing"
	"testing/synctest"
	std "time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/time"
)

func TestInABubbleTimersUseTheClockOfTheBubble(t *testing.T) {
	before := foliot.Default().Stats()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		want := func(d time.Duration) {
			t.Helper()
			if took := time.Since(began); took != d {
				t.Fatalf("%v have passed, want %v", took, d)
			}
		}
		time.Sleep(10 * time.Hour)
		want(10 * time.Hour)
		if at := <-time.After(time.Hour); !at.Equal(time.Now()) {
			t.Errorf("After sends %v, want %v", at, time.Now())
		}
		want(11 * time.Hour)
		timer := time.NewTimer(time.Second)
		if !timer.Reset(time.Hour) || !timer.Stop() || timer.Reset(time.Minute) {
			t.Error("Reset, Stop, Reset do not return true, true, false")
		}
		<-timer.C
		want(11*time.Hour + time.Minute)

		ran := time.Time{}
		f := time.AfterFunc(time.Minute, func() { ran = time.Now() })
		time.Sleep(time.Hour)
		synctest.Wait()
		if f.C != nil || ran.Sub(began) != 11*time.Hour+2*time.Minute || f.Stop() {
			t.Errorf("the function ran after %v, want 11h2m, or C is not nil, or Stop returns true",
				ran.Sub(began))
		}

		began = time.Now()
		ticker := time.NewTicker(time.Hour)
		for n := range time.Duration(10) {
			<-ticker.C
			want((n + 1) * time.Hour)
		}
		ticker.Reset(time.Minute)
		<-ticker.C
		want(10*time.Hour + time.Minute)
		ticker.Stop()
		<-time.Tick(time.Hour)
		want(11*time.Hour + time.Minute)
	})
	if after := foliot.Default().Stats(); after.Fired != before.Fired || after.Armed != before.Armed {
		t.Error("timers in a bubble have used the default runtime")
	}
}

func TestInABubblePanicsHaveTheTextsOfTheStandardPackage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, do := range map[string]struct{ own, other func() }{
			"Stop of a Timer": {func() { new(time.Timer).Stop() }, func() { new(std.Timer).Stop() }},
			"Reset of nil Timer": {
				func() { (*time.Timer)(nil).Reset(1) }, func() { (*std.Timer)(nil).Reset(1) },
			},
		} {
			if own, other := panicOf(do.own), panicOf(do.other); own != other || own == "" {
				t.Errorf("%s panics with %q, want %q", name, own, other)
			}
		}
	})
}

// Go ends the program if a channel or timer of a bubble is used outside of it. So objects that were
// made in a bubble must not be reused outside.
func TestNoObjectOfABubbleIsReusedOutside(t *testing.T) {
	for range 5 {
		synctest.Test(t, func(t *testing.T) {
			for range 10 {
				time.Sleep(time.Hour)
				<-time.After(time.Hour)
				time.NewTimer(time.Hour).Stop()
				time.NewTicker(time.Hour).Stop()
				time.AfterFunc(time.Hour, func() {}).Stop()
			}
		})
		for range 10 {
			time.Sleep(time.Microsecond)
			testkit.Receive(t, time.After(time.Microsecond), "After outside")
		}
	}
}

func TestTimersWorkInABubbleAndOutsideAtTheSameTime(t *testing.T) {
	stop := make(chan struct{})
	var outside sync.WaitGroup
	for range 4 {
		outside.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(50 * time.Microsecond):
				}
				time.Sleep(50 * time.Microsecond)
				timer := time.NewTimer(time.Hour)
				timer.Reset(0)
				<-timer.C
				ran := make(chan struct{})
				time.AfterFunc(time.Microsecond, func() { close(ran) })
				<-ran
			}
		})
	}
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			var wg sync.WaitGroup
			for i := range time.Duration(20) {
				wg.Go(func() {
					time.Sleep(i * time.Hour)
					<-time.After(time.Hour)
				})
			}
			wg.Wait()
			if took := time.Since(began); took != 20*time.Hour {
				t.Errorf("the goroutines took %v, want 20h", took)
			}
		})
	}
	close(stop)
	outside.Wait()
}
