// Command retryqueue delivers webhooks, and tries again with exponential backoff when a
// delivery fails.
//
//	go run ./examples/retryqueue
//
// A delivery that waits for its next attempt is a value in a foliot.Queue: a few bytes, and no
// goroutine that sleeps. Workers fetch what is due in batches. A delivery that fails goes back
// into the queue with a longer delay each time, until it succeeds or is given up.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/foliot-go/foliot"
)

// A delivery is a webhook that has not arrived yet. It is found by its ID, so it has no
// pointers, and the garbage collector does not have to scan a queue of a million of them.
type delivery struct {
	id       int
	attempts int // failed ones
}

// A Deliverer sends webhooks until each has arrived or is given up.
type Deliverer struct {
	Send    func(ctx context.Context, id int) error
	Settled func(id, attempts int, err error) // err is nil if the webhook has arrived

	queue   *foliot.Queue[delivery]
	backoff Backoff
	open    sync.WaitGroup // deliveries that are not settled
}

// Add adds a webhook, whose first attempt is due immediately.
func (d *Deliverer) Add(id int) error {
	d.open.Add(1)
	_, err := d.queue.Push(0, delivery{id: id})
	if err != nil {
		d.open.Done()
	}
	return err
}

// Work makes the attempts that are due. It returns when ctx ends. Several goroutines may run it
// at the same time, and each delivery is fetched by one of them.
func (d *Deliverer) Work(ctx context.Context) error {
	due := make([]delivery, 16)
	for {
		n, err := d.queue.Wait(ctx, due)
		if err != nil {
			return err
		}
		for _, v := range due[:n] {
			if err := d.attempt(ctx, v); err != nil {
				return err
			}
		}
	}
}

func (d *Deliverer) attempt(ctx context.Context, v delivery) error {
	err := d.Send(ctx, v.id)
	v.attempts++
	if err == nil || errors.Is(err, errGone) || v.attempts == d.backoff.Attempts {
		d.Settled(v.id, v.attempts, err)
		d.open.Done()
		return nil
	}
	_, err = d.queue.Push(d.backoff.After(v.attempts), v)
	return err
}

// Backoff says how often to try, and how long to wait in between.
type Backoff struct {
	Attempts  int           // in all
	Base, Max time.Duration // the longest wait after the first attempt, and after any; more than 0
}

// After returns how long to wait after the given number of failed attempts: a random time, whose
// upper bound doubles with each attempt. A server that comes back after an outage would otherwise
// get the retries of everything that failed during the outage at the same moment.
func (b Backoff) After(attempts int) time.Duration {
	return rand.N(b.bound(attempts))
}

func (b Backoff) bound(attempts int) time.Duration {
	bound := b.Base
	for range attempts - 1 {
		if bound > b.Max/2 {
			return b.Max // doubling it might overflow
		}
		bound *= 2
	}
	return bound
}

var (
	errBusy = errors.New("503 Service Unavailable")
	errGone = errors.New("410 Gone") // another attempt would not help
)

func main() {
	rt, err := foliot.New(foliot.Options{})
	if err != nil {
		log.Fatal(err)
	}
	var (
		mu       sync.Mutex
		attempts = make(map[int]int)    // by ID
		outcomes = make(map[int]string) // by ID
	)
	d := &Deliverer{
		queue:   foliot.NewQueue[delivery](rt),
		backoff: Backoff{Attempts: 6, Base: 5 * time.Millisecond, Max: 50 * time.Millisecond},
		Send: func(_ context.Context, id int) error { // stands for a POST request
			mu.Lock()
			defer mu.Unlock()
			attempts[id]++
			switch {
			case id == 4:
				return errGone
			case id == 5 || attempts[id] < id:
				return errBusy
			}
			return nil
		},
		Settled: func(id, attempts int, err error) {
			mu.Lock()
			defer mu.Unlock()
			outcomes[id] = fmt.Sprintf("arrived, attempts: %d", attempts)
			if err != nil {
				outcomes[id] = fmt.Sprintf("given up, attempts: %d, the last: %v", attempts, err)
			}
		},
	}
	for id := 1; id <= 5; id++ {
		if err := d.Add(id); err != nil {
			log.Fatal(err)
		}
	}

	ctx, stop := context.WithCancel(context.Background())
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			if err := d.Work(ctx); !errors.Is(err, context.Canceled) {
				log.Fatal(err)
			}
		})
	}
	d.open.Wait()
	stop()
	workers.Wait()

	for _, id := range slices.Sorted(maps.Keys(outcomes)) {
		fmt.Printf("webhook %d: %s\n", id, outcomes[id])
	}
	// After an interrupt, Drain would return the deliveries that are not settled, to be saved.
	for _, v := range d.queue.Drain() {
		fmt.Printf("webhook %d is left\n", v.id)
	}
}
