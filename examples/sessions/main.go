// Command sessions is a chat server with 10,000 sessions and no goroutine for any of them.
//
//	go run ./examples/sessions
//
// Each session sends a heartbeat every ten seconds, handles the messages that arrive for it, and
// closes after a minute without any. With a goroutine per session that would be a loop around a
// select, and a stack of at least two kilobytes for something that waits nearly all the time. As
// a task it is a struct with a Poll method, which the runtime calls when there may be something to
// do.
package main

import (
	"fmt"
	"log"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot"
)

// A session is a task. Its timers are plain fields.
type session struct {
	server *server
	task   foliot.TaskHandle // set before anybody delivers a message
	beat   foliot.Interval   // touched only by Poll, so no lock is needed
	idle   foliot.Delay

	mu   sync.Mutex
	mail []string // messages that have arrived and are not handled yet
}

// Poll does what can be done now. The runtime calls it after Spawn, after Wake, and at the time
// that beat or idle have asked for, but never twice at the same time.
func (s *session) Poll(cx *foliot.Context) foliot.Status {
	for _, m := range s.takeMail() {
		s.server.handle(m)
		s.idle.Reset(time.Minute)
	}
	// Poll both each time: the one that is skipped would not ask to be polled again.
	if s.beat.Poll(cx) > 0 {
		s.server.heartbeats.Add(1)
	}
	if s.idle.Poll(cx) {
		s.server.open.Add(-1)
		return foliot.Done
	}
	return foliot.Pending
}

// deliver leaves a message where Poll finds it, and wakes the task. It may be called from any
// goroutine. It returns false if the session has closed.
func (s *session) deliver(m string) bool {
	s.mu.Lock()
	s.mail = append(s.mail, m)
	s.mu.Unlock()
	return s.task.Wake()
}

// takeMail returns all messages, not only one: wakes before a poll coalesce into one poll.
func (s *session) takeMail() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	mail := s.mail
	s.mail = nil
	return mail
}

// A server counts what its sessions do.
type server struct {
	open, heartbeats, messages atomic.Int64
}

func (s *server) handle(string) { s.messages.Add(1) }

func main() {
	// On a manual clock minutes pass as fast as the program can run, and every run prints the
	// same. Without the option the runtime uses the system's clock, and nothing else changes.
	clock := foliot.NewManualClock(time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC))
	rt, err := foliot.New(foliot.Options{Clock: clock})
	if err != nil {
		log.Fatal(err)
	}

	var srv server
	sessions := make([]*session, 10_000)
	for i := range sessions {
		s := &session{
			server: &srv,
			beat:   foliot.MustInterval(10*time.Second, foliot.Skip),
			idle:   foliot.NewDelay(time.Minute),
		}
		if s.task, err = rt.Spawn(s); err != nil {
			log.Fatal(err)
		}
		srv.open.Add(1)
		sessions[i] = s
	}

	// One user in ten says something every 45 seconds, for three minutes.
	refused := 0
	talk := func() {
		for i := 0; i < len(sessions); i += 10 {
			if !sessions[i].deliver("anybody here?") {
				refused++
			}
		}
	}
	chat, err := rt.Every(45*time.Second, talk)
	if err != nil {
		log.Fatal(err)
	}

	fmt.Println("time     open  heartbeats  messages")
	for minute := range 5 {
		if minute > 0 {
			clock.Advance(time.Minute)
		}
		if minute == 3 {
			chat.Stop()
		}
		fmt.Printf("%s%8d%12d%10d\n", clock.Now().Format("15:04"), srv.open.Load(), srv.heartbeats.Load(), srv.messages.Load())
	}
	talk()
	fmt.Printf("%d messages came too late: all sessions have closed\n", refused)
}
