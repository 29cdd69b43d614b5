package webhook

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// take enters a queue where it must not wait.
func take(t *testing.T, q *queue, host string) *place {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	p, err := q.enter(ctx, host)
	if err != nil {
		t.Fatalf("%s: %v", host, err)
	}
	return p
}

// waits starts to enter a queue, and returns when it waits.
func waits(t *testing.T, q *queue, host string) chan *place {
	t.Helper()
	q.mu.Lock()
	before := q.waiting
	q.mu.Unlock()
	got := make(chan *place, 1)
	go func() {
		if p, err := q.enter(context.Background(), host); err == nil {
			got <- p
		}
	}()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		q.mu.Lock()
		now := q.waiting
		q.mu.Unlock()
		if now > before {
			return got
		}
		if time.Now().After(end) {
			t.Fatalf("%s does not wait", host)
		}
	}
}

func TestAHostHasAShare(t *testing.T) {
	q := newQueue(8, 100)
	a1 := take(t, q, "a")
	take(t, q, "a")
	third := waits(t, q, "a")
	for _, host := range []string{"b", "c", "d"} {
		take(t, q, host)
		take(t, q, host)
	}
	e := waits(t, q, "e") // all places are taken
	a1.leave(false)
	(<-e).leave(false) // it has waited longer than host a, which had its share
	(<-third).leave(false)
}

func TestSlowHostsShare(t *testing.T) {
	q := newQueue(16, 100) // a share is 4, a slow host has 1
	for i := range 6 {
		take(t, q, fmt.Sprint("slow", i)).leave(true)
	}
	var held []*place
	for i := range 4 {
		held = append(held, take(t, q, fmt.Sprint("slow", i)))
	}
	fifth := waits(t, q, "slow4")
	again := waits(t, q, "slow0")
	for i := range 3 {
		for range 4 {
			take(t, q, fmt.Sprint("good", i))
		}
	}
	held[1].leave(true)
	(<-fifth).leave(false)
	held[0].leave(false) // it is fast again
	(<-again).leave(false)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.held != 2 || q.hosts["slow0"] != nil || q.hosts["slow5"] == nil {
		t.Errorf("%d places held, hosts %v", q.held, q.hosts)
	}
}

func TestARoomIsBounded(t *testing.T) {
	q := newQueue(4, 4)
	take(t, q, "a")
	waits(t, q, "a")
	waits(t, q, "a")
	if _, err := q.enter(t.Context(), "a"); !isFull(err) {
		t.Error(err)
	}
	take(t, q, "b")
}

func isFull(err error) bool {
	_, ok := errors.AsType[*FullError](err)
	return ok
}

// Those that find no room are told to come back in rounds, as many at a time as there is room for.
func TestThoseWithoutRoomComeBackInRounds(t *testing.T) {
	q := newQueue(4, 8)
	p := take(t, q, "a")
	for range 4 {
		waits(t, q, "a")
	}
	var rounds []int
	refuse := func() {
		_, err := q.enter(t.Context(), "a")
		full, ok := errors.AsType[*FullError](err)
		if !ok {
			t.Fatal(err)
		}
		rounds = append(rounds, full.Rounds)
	}
	for range 8 {
		refuse()
	}
	p.leave(false) // one of those that wait gets the place, and its own is free
	waits(t, q, "a")
	refuse()
	if want := []int{1, 1, 1, 2, 2, 2, 2, 3, 3}; !slices.Equal(rounds, want) {
		t.Errorf("rounds %v, want %v", rounds, want)
	}
}

// However many hosts hang, there is room for another one.
func TestHostsThatHangLeaveRoom(t *testing.T) {
	const room, hosts = 80, 6
	q := newQueue(4, room)
	for i := range hosts {
		host := fmt.Sprint("host", i)
		hangs := take(t, q, host)
		for range (room - q.waitingNow() + 1) / 2 {
			waits(t, q, host)
		}
		if _, err := q.enter(t.Context(), host); !isFull(err) {
			t.Fatal(err)
		}
		hangs.leave(true)
		q.mu.Lock()
		if n, most := q.hosts[host].wait.Len(), (room-q.waiting)/slowRoom; n > most || n == 0 {
			t.Errorf("%d wait for host %d, want at most %d", n, i, most)
		}
		q.mu.Unlock()
	}
	if free := room - q.waitingNow(); free < room/3 {
		t.Errorf("%d of %d are free", free, room)
	}
	take(t, q, "good")
	for range room / 6 {
		waits(t, q, "good")
	}
}

func TestStopEndsThoseThatWait(t *testing.T) {
	q := newQueue(4, 1)
	a := take(t, q, "a")
	ended := make(chan error, 1)
	go func() {
		_, err := q.enter(context.Background(), "a")
		ended <- err
	}()
	for q.waitingNow() == 0 {
		time.Sleep(time.Millisecond)
	}
	q.stop()
	if err := <-ended; !errors.Is(err, ErrStopped) {
		t.Error(err)
	}
	a.leave(false)
	for range 100 {
		if _, err := q.enter(t.Context(), "b"); !errors.Is(err, ErrStopped) { // there are free places
			t.Fatal(err)
		}
	}
}

func (q *queue) waitingNow() int {
	_, n := q.load(0)
	return n
}

// Whatever happens, no more places are given out than there are, a host has its share at most, and nothing
// is left at the end.
func TestQueueKeepsItsBounds(t *testing.T) {
	const places = 12
	q := newQueue(places, 1000)
	var all atomic.Int64
	var hosts [5]atomic.Int64
	var wg sync.WaitGroup
	for i := range 400 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(i), 1))
			for range 50 {
				n := rnd.IntN(len(hosts))
				ctx, cancel := context.WithCancel(context.Background())
				if rnd.IntN(4) == 0 {
					time.AfterFunc(time.Duration(rnd.IntN(200))*time.Microsecond, cancel)
				}
				p, err := q.enter(ctx, fmt.Sprint(n))
				if err == nil {
					if a, h := all.Add(1), hosts[n].Add(1); a > places || h > places/4 {
						t.Errorf("%d places, %d of one host", a, h)
					}
					time.Sleep(time.Duration(rnd.IntN(20)) * time.Microsecond)
					all.Add(-1)
					hosts[n].Add(-1)
					p.leave(rnd.IntN(3) == 0)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.free != places || q.held != 0 || q.waiting != 0 || q.turns.Len() != 0 || q.slowTurns.Len() != 0 {
		t.Errorf("%d free, %d held, %d wait", q.free, q.held, q.waiting)
	}
}
