package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/foliot-go/foliot/durable"
)

// clockTests test manual clocks and the clock of the system.
var clockTests = []test{
	{name: "The handlers of one Advance have started in order of deadline when it returns", run: advanceInOrder},
	{name: "A timer that is due when it is scheduled has started when Schedule returns", run: scheduleStarts},
	{name: "One Advance fires each occurrence of a periodic timer", run: advanceSeries},
	{name: "On the clock of the system no handler starts early", run: notEarly},
}

func advanceInOrder(k *kit) {
	k.handleDone()
	k.with(func(o *durable.Options) { o.Concurrency = 1000 })
	k.ready()
	r := rand.New(rand.NewPCG(9, 10))
	const n = 200
	at := map[string]time.Duration{}
	want := make([]string, n)
	for i := range n {
		want[i] = fmt.Sprint(i)
		at[want[i]] = time.Duration(1+r.IntN(50)) * time.Second
		k.schedule(want[i], at[want[i]])
	}
	slices.SortStableFunc(want, func(a, b string) int { return int(at[a] - at[b]) })
	k.clock.Advance(25 * time.Second)
	half := len(k.fires())
	k.clock.Advance(25 * time.Second)
	got := k.fires()
	if len(got) != n {
		k.Fatalf("%d handlers have started when Advance returns, want %d", len(got), n)
	}
	for i, f := range got {
		if at[f.ID] != at[want[i]] {
			k.Fatalf("handler %d is of timer %s, due after %v, want one that is due after %v", i, f.ID, at[f.ID], at[want[i]])
		}
		if late := at[f.ID] > 25*time.Second; late != (i >= half) || f.Late != 0 {
			k.Errorf("timer %s, due after %v, has started in the wrong Advance or with Late %v", f.ID, at[f.ID], f.Late)
		}
	}
	k.settle()
}

func scheduleStarts(k *kit) {
	k.handleDone()
	k.ready()
	for n := 1; n <= 20; n++ {
		k.schedule(fmt.Sprint(n), 0)
		if got := len(k.fires()); got != n {
			k.Fatalf("%d handlers have started when Schedule returns, want %d", got, n)
		}
	}
	k.settle()
}

func advanceSeries(k *kit) {
	k.handleDone()
	k.ready()
	k.scheduleTimer(durable.Timer{ID: "x", At: start.Add(time.Second), Kind: kind, Every: time.Second})
	k.schedule("y", 5*time.Second+time.Millisecond)
	k.clock.Advance(10 * time.Second)
	got := k.fires()
	if len(got) != 11 {
		k.Fatalf("%d handlers have started, want 11: %v", len(got), fireNames(got))
	}
	for i, f := range got {
		n := i + 1
		if i > 5 {
			n = i
		}
		if i == 5 {
			if f.ID != "y" {
				k.Errorf("call %d is %s, want y", i, f.Key())
			}
		} else if want := start.Add(time.Duration(n) * time.Second); f.ID != "x" || !f.At.Equal(want) || f.Missed != 0 || f.Late != 0 {
			k.Errorf("call %d is %+v, want x at %v", i, f, want)
		}
	}
	k.settle()
}

func notEarly(k *kit) {
	k.onRealClock()
	k.handleDone()
	k.run()
	begin := time.Now()
	for i := range 50 {
		k.scheduleTimer(durable.Timer{ID: fmt.Sprint(i), At: begin.Add(time.Duration(i*3) * time.Millisecond), Kind: kind})
	}
	for _, f := range k.waitFires(50) {
		if f.Late < 0 || begin.Add(f.Late).After(time.Now()) {
			k.Errorf("timer %s has Late %v", f.ID, f.Late)
		}
	}
	if d := time.Since(begin); d < 147*time.Millisecond {
		k.Errorf("all handlers have started after %v, and the last timer is due after 147ms", d)
	}
	k.settle()
}
