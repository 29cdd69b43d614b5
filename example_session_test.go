package foliot_test

import (
	"fmt"
	"log"
	"time"

	"github.com/foliot-go/foliot"
)

// A session sends heartbeats until it has been idle for too long. It has no goroutine.
type session struct {
	beat foliot.Interval
	idle foliot.Delay
}

func (s *session) Poll(cx *foliot.Context) foliot.Status {
	if s.idle.Poll(cx) {
		return foliot.Done
	}
	for range s.beat.Poll(cx) {
		s.sendHeartbeat()
	}
	return foliot.Pending
}

func (s *session) sendHeartbeat() { fmt.Println("beat") }

// A task is a small state machine. It is polled at the times that its Interval and its Delay
// ask for.
func ExampleTask() {
	clock := foliot.NewManualClock(time.Time{})
	rt, err := foliot.New(foliot.Options{Clock: clock})
	if err != nil {
		log.Fatal(err)
	}
	beat, err := foliot.NewInterval(30*time.Second, foliot.Skip)
	if err != nil {
		log.Fatal(err)
	}
	task, err := rt.Spawn(&session{beat: beat, idle: foliot.NewDelay(time.Minute)})
	if err != nil {
		log.Fatal(err)
	}
	clock.Advance(time.Hour)
	fmt.Println("alive:", task.Alive())
	// Output:
	// beat
	// alive: false
}
