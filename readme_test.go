package foliot_test

import (
	"errors"
	"fmt"
	"log"
	"net"
	"time"

	"github.com/foliot-go/foliot"
)

// The examples of the README, for the compiler and the tests to see. The test that compares
// them is in package wheel.

func serve(rt *foliot.Runtime, conn net.Conn) error {
	idle, err := rt.NewTimer(func() { conn.Close() })
	if err != nil {
		return err
	}
	defer idle.Free()
	buf := make([]byte, 4096)
	for {
		idle.Reset(time.Minute) // cheap, however many sessions there are
		n, err := conn.Read(buf)
		if err != nil {
			return err
		}
		if !idle.Stop() { // the timer rests while handle runs
			return errIdle // it was too late: the callback has started
		}
		handle(buf[:n])
	}
}

var errIdle = errors.New("idle for too long")

func handle([]byte) {}

type request struct {
	reply    chan string
	deadline foliot.Timer
}

func (r *request) send(rt *foliot.Runtime) (err error) {
	r.deadline, err = rt.AfterFunc(5*time.Second, func() { r.reply <- "timed out" })
	return err
}

func (r *request) received(text string) {
	if r.deadline.Stop() { // true: the callback will not run
		r.reply <- text
	}
}

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

func Example_readmeTask() {
	clock := foliot.NewManualClock(time.Time{})
	rt, err := foliot.New(foliot.Options{Clock: clock})
	if err != nil {
		log.Fatal(err)
	}
	beat, err := foliot.NewInterval(30*time.Second, foliot.Skip)
	if err != nil {
		log.Fatal(err)
	}
	h, err := rt.Spawn(&session{beat: beat, idle: foliot.NewDelay(time.Minute)})
	if err != nil {
		log.Fatal(err)
	}
	clock.Advance(time.Hour)
	fmt.Println("alive:", h.Alive())
	// Output:
	// beat
	// alive: false
}

func Example_readme() {
	client, server := net.Pipe()
	rt, err := foliot.New(foliot.Options{})
	if err != nil {
		log.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- serve(rt, server) }()
	client.Write([]byte("hello"))
	client.Close()
	fmt.Println(<-ended)

	r := &request{reply: make(chan string, 1)}
	if err := r.send(rt); err != nil {
		log.Fatal(err)
	}
	r.received("here you are")
	fmt.Println(<-r.reply)
	// Output:
	// EOF
	// here you are
}
