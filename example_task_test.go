package foliot_test

import (
	"fmt"
	"sync"
	"time"

	"github.com/foliot-go/foliot"
)

// A task is polled once by itself, then whenever the time has come that it asked for.
func ExampleRuntime_Spawn() {
	clock := foliot.NewManualClock(time.Time{})
	rt, err := foliot.New(foliot.Options{Clock: clock})
	if err != nil {
		panic(err)
	}
	left := 3
	task, err := rt.Spawn(foliot.TaskFunc(func(cx *foliot.Context) foliot.Status {
		if left == 0 {
			fmt.Println(cx.Now(), "lift-off")
			return foliot.Done
		}
		fmt.Println(cx.Now(), left)
		left--
		cx.WakeAfter(time.Second)
		return foliot.Pending
	}))
	if err != nil {
		panic(err)
	}
	clock.Advance(time.Minute)
	fmt.Println("alive:", task.Alive())
	// Output:
	// 0s 3
	// 1s 2
	// 2s 1
	// 3s lift-off
	// alive: false
}

// Others find the task in a map. Its first poll comes after it was entered there.
func ExampleRuntime_SpawnIdle() {
	clock := foliot.NewManualClock(time.Time{})
	rt, err := foliot.New(foliot.Options{Clock: clock})
	if err != nil {
		panic(err)
	}
	var sessions sync.Map // of names to handles
	begin := func(name string) {
		idle := foliot.NewDelay(time.Minute)
		task, err := rt.SpawnIdle(foliot.TaskFunc(func(cx *foliot.Context) foliot.Status {
			if !idle.Poll(cx) {
				return foliot.Pending
			}
			sessions.Delete(name)
			fmt.Println(cx.Now(), name, "ends")
			return foliot.Done
		}))
		if err != nil {
			panic(err)
		}
		sessions.Store(name, task)
		task.Wake()
	}
	begin("alice")
	_, ok := sessions.Load("alice")
	fmt.Println("in the map:", ok)
	clock.Advance(time.Hour)
	_, ok = sessions.Load("alice")
	fmt.Println("in the map:", ok)
	// Output:
	// in the map: true
	// 1m0s alice ends
	// in the map: false
}

// A mailbox: a goroutine that puts something in wakes the task. Many wakes before a poll are one
// poll, and none is lost, so the task takes all that it finds.
func ExampleTaskHandle_Wake() {
	var (
		mu   sync.Mutex
		mail []int
		sum  int
		done = make(chan int, 1) // a poll should not block
	)
	task, err := foliot.Default().Spawn(foliot.TaskFunc(func(*foliot.Context) foliot.Status {
		mu.Lock()
		defer mu.Unlock()
		for _, n := range mail {
			sum += n
		}
		mail = mail[:0]
		if sum < 5050 {
			return foliot.Pending
		}
		done <- sum
		return foliot.Done
	}))
	if err != nil {
		panic(err)
	}
	for n := 1; n <= 100; n++ {
		go func() {
			mu.Lock()
			mail = append(mail, n)
			mu.Unlock()
			task.Wake()
		}()
	}
	fmt.Println(<-done)
	// Output: 5050
}

// Within one poll the earliest request wins, so each part of a task may ask for what it
// needs. A poll that asks for nothing leaves the prior request as it is.
func ExampleContext_WakeAfter() {
	clock := foliot.NewManualClock(time.Time{})
	rt, err := foliot.New(foliot.Options{Clock: clock})
	if err != nil {
		panic(err)
	}
	polls := 0
	task, err := rt.Spawn(foliot.TaskFunc(func(cx *foliot.Context) foliot.Status {
		fmt.Println("polled at", cx.Now())
		if polls++; polls == 1 {
			cx.WakeAfter(time.Hour)
			cx.WakeAfter(time.Minute)
		}
		return foliot.Pending
	}))
	if err != nil {
		panic(err)
	}
	clock.Advance(10 * time.Second)
	task.Wake()
	clock.Advance(24 * time.Hour)
	// Output:
	// polled at 0s
	// polled at 10s
	// polled at 1m0s
}

// A traffic light goes from one colour to the next after a pause. It goes round until it
// is aborted, which leaves nothing armed.
func ExampleDelay() {
	clock := foliot.NewManualClock(time.Time{})
	rt, err := foliot.New(foliot.Options{Clock: clock})
	if err != nil {
		panic(err)
	}
	colours := []string{"red", "green", "amber"}
	pauses := []time.Duration{30 * time.Second, 20 * time.Second, 3 * time.Second}
	var pause foliot.Delay // the zero Delay is due at once
	next := 0
	light, err := rt.Spawn(foliot.TaskFunc(func(cx *foliot.Context) foliot.Status {
		for pause.Poll(cx) {
			fmt.Println(cx.Now(), colours[next])
			pause.Reset(pauses[next])
			next = (next + 1) % len(colours)
		}
		return foliot.Pending
	}))
	if err != nil {
		panic(err)
	}
	clock.Advance(time.Minute)
	fmt.Println("aborted:", light.Abort(), "armed:", rt.Stats().Armed)
	// Output:
	// 0s red
	// 30s green
	// 50s amber
	// 53s red
	// aborted: true armed: 0
}

// Three intervals of a second in a task that has something else to do for 3.5 seconds, and
// does not look at them meanwhile. Skip makes one of the three ticks that it has missed,
// Burst counts them, and Shift starts anew from there.
func ExampleInterval() {
	clock := foliot.NewManualClock(time.Time{})
	rt, err := foliot.New(foliot.Options{Clock: clock})
	if err != nil {
		panic(err)
	}
	var intervals [3]foliot.Interval
	for i, missed := range []foliot.Missed{foliot.Skip, foliot.Burst, foliot.Shift} {
		if intervals[i], err = foliot.NewInterval(time.Second, missed); err != nil {
			panic(err)
		}
	}
	busy := foliot.NewDelay(3500 * time.Millisecond)
	started := false
	_, err = rt.Spawn(foliot.TaskFunc(func(cx *foliot.Context) foliot.Status {
		if !busy.Poll(cx) && started {
			return foliot.Pending
		}
		started = true
		skip, burst, shift := intervals[0].Poll(cx), intervals[1].Poll(cx), intervals[2].Poll(cx)
		fmt.Printf("%4v: skip %d, burst %d, shift %d\n", cx.Now(), skip, burst, shift)
		return foliot.Pending
	}))
	if err != nil {
		panic(err)
	}
	clock.Advance(5 * time.Second)
	// Output:
	//   0s: skip 0, burst 0, shift 0
	// 3.5s: skip 1, burst 3, shift 1
	//   4s: skip 1, burst 1, shift 0
	// 4.5s: skip 0, burst 0, shift 1
	//   5s: skip 1, burst 1, shift 0
}

// MustInterval is for a period that is known to be positive, here in the literal of a task.
func ExampleMustInterval() {
	rt, clock := manualRuntime()
	beat := foliot.MustInterval(time.Minute, foliot.Skip)
	_, err := rt.Spawn(foliot.TaskFunc(func(cx *foliot.Context) foliot.Status {
		if beat.Poll(cx) > 0 {
			fmt.Println("beat after", cx.Now())
		}
		return foliot.Pending
	}))
	if err != nil {
		panic(err)
	}
	clock.Advance(2 * time.Minute)
	// Output:
	// beat after 1m0s
	// beat after 2m0s
}

// A task that polls less often after each tick.
func ExampleInterval_Reset() {
	rt, clock := manualRuntime()
	period := time.Second
	beat := foliot.MustInterval(period, foliot.Skip)
	_, err := rt.Spawn(foliot.TaskFunc(func(cx *foliot.Context) foliot.Status {
		if beat.Poll(cx) > 0 {
			fmt.Println("tick after", cx.Now())
			period *= 2
			beat.Reset(period)
			beat.Poll(cx) // the new period begins
		}
		return foliot.Pending
	}))
	if err != nil {
		panic(err)
	}
	clock.Advance(10 * time.Second)
	// Output:
	// tick after 1s
	// tick after 3s
	// tick after 7s
}

// A task that is aborted is not polled again, and its handle is stale.
func ExampleTaskHandle_Abort() {
	rt, clock := manualRuntime()
	polls := 0
	task, err := rt.Spawn(foliot.TaskFunc(func(cx *foliot.Context) foliot.Status {
		polls++
		cx.WakeAfter(time.Second)
		return foliot.Pending
	}))
	if err != nil {
		panic(err)
	}
	clock.Advance(3 * time.Second)
	fmt.Println(polls, task.Alive())
	fmt.Println(task.Abort(), task.Abort(), task.Alive())
	clock.Advance(time.Minute)
	fmt.Println(polls)
	// Output:
	// 4 true
	// true false false
	// 4
}

// A task looks at its ticks too late, after 25 seconds instead of 10. Skip counts the two ticks that
// have passed as one, Burst counts both, and Shift also starts a new grid.
func ExampleNewInterval() {
	for _, missed := range []foliot.Missed{foliot.Skip, foliot.Burst, foliot.Shift} {
		rt, clock := manualRuntime()
		ticks, err := foliot.NewInterval(10*time.Second, missed)
		if err != nil {
			panic(err)
		}
		rt.Spawn(foliot.TaskFunc(func(cx *foliot.Context) foliot.Status {
			n := ticks.Poll(cx)
			if cx.Now() == 0 {
				cx.CancelWake() // not at the first tick
				cx.WakeAfter(25 * time.Second)
				return foliot.Pending
			}
			fmt.Printf("  %v: %d", cx.Now(), n)
			return foliot.Pending
		}))
		fmt.Print("ticks")
		clock.Advance(45 * time.Second)
		fmt.Println()
	}
	// Output:
	// ticks  25s: 1  30s: 1  40s: 1
	// ticks  25s: 2  30s: 1  40s: 1
	// ticks  25s: 1  35s: 1  45s: 1
}

// A reconnect waits longer after each failure.
func ExampleDelay_Reset() {
	rt, clock := manualRuntime()
	var backoff foliot.Delay // over at once
	wait := time.Second
	rt.Spawn(foliot.TaskFunc(func(cx *foliot.Context) foliot.Status {
		for backoff.Poll(cx) {
			fmt.Println("try after", cx.Now())
			if wait > 4*time.Second {
				return foliot.Done
			}
			backoff.Reset(wait)
			wait *= 2
		}
		return foliot.Pending
	}))
	clock.Advance(time.Minute)
	// Output:
	// try after 0s
	// try after 1s
	// try after 3s
	// try after 7s
}

// A task that runs at full seconds of the runtime, however long each poll takes.
func ExampleContext_WakeAt() {
	rt, clock := manualRuntime()
	clock.Advance(300 * time.Millisecond)
	rt.Spawn(foliot.TaskFunc(func(cx *foliot.Context) foliot.Status {
		fmt.Println("poll at", cx.Now())
		cx.WakeAt(cx.Now().Truncate(time.Second) + time.Second)
		return foliot.Pending
	}))
	clock.Advance(2 * time.Second)
	// Output:
	// poll at 300ms
	// poll at 1s
	// poll at 2s
}

// A task that has reached its goal waits for a Wake, and no longer for the time.
func ExampleContext_CancelWake() {
	rt, clock := manualRuntime()
	n := 0
	task, err := rt.Spawn(foliot.TaskFunc(func(cx *foliot.Context) foliot.Status {
		n++
		cx.WakeAfter(time.Second)
		if n == 3 {
			fmt.Println("had asked for the time:", cx.CancelWake())
		}
		return foliot.Pending
	}))
	if err != nil {
		panic(err)
	}
	clock.Advance(time.Minute)
	fmt.Println(n, "polls")
	task.Wake()
	clock.Advance(0)
	fmt.Println(n, "polls")
	// Output:
	// had asked for the time: true
	// 3 polls
	// 4 polls
}

// A task gives its handle to something that wakes it later.
func ExampleContext_Handle() {
	rt, clock := manualRuntime()
	started := false
	rt.Spawn(foliot.TaskFunc(func(cx *foliot.Context) foliot.Status {
		if !started {
			started = true
			self := cx.Handle()
			rt.AfterFunc(time.Minute, func() { self.Wake() })
			return foliot.Pending
		}
		fmt.Println("woken at", rt.Now().Format(time.TimeOnly))
		return foliot.Done
	}))
	clock.Advance(time.Hour)
	// Output: woken at 00:01:00
}

// A mailbox sends a heartbeat every ten seconds and ends after a minute without mail.
type mailbox struct {
	beat foliot.Interval // used only by Poll, so no lock is needed
	idle foliot.Delay

	mu   sync.Mutex
	mail []string // guarded by mu
}

func (b *mailbox) Poll(cx *foliot.Context) foliot.Status {
	for _, m := range b.takeMail() {
		fmt.Println(cx.Now(), m)
		b.idle.Reset(time.Minute)
	}
	if b.beat.Poll(cx) > 0 {
		fmt.Println(cx.Now(), "beat")
	}
	if b.idle.Poll(cx) {
		return foliot.Done
	}
	return foliot.Pending
}

func (b *mailbox) takeMail() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	mail := b.mail
	b.mail = nil
	return mail
}

// deliver leaves a message where Poll finds it, and wakes the task.
func (b *mailbox) deliver(task foliot.TaskHandle, m string) {
	b.mu.Lock()
	b.mail = append(b.mail, m)
	b.mu.Unlock()
	task.Wake()
}

// A task that waits for time and for other goroutines.
func ExampleTaskHandle_Wake_mailbox() {
	clock := foliot.NewManualClock(time.Time{})
	rt, err := foliot.New(foliot.Options{Clock: clock})
	if err != nil {
		panic(err)
	}
	box := &mailbox{beat: foliot.MustInterval(40*time.Second, foliot.Skip), idle: foliot.NewDelay(time.Minute)}
	task, err := rt.Spawn(box)
	if err != nil {
		panic(err)
	}
	clock.Advance(50 * time.Second)
	box.deliver(task, "hello")
	clock.Advance(time.Hour)
	fmt.Println("alive:", task.Alive())
	// Output:
	// 40s beat
	// 50s hello
	// 1m20s beat
	// alive: false
}
