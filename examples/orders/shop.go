package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/durable"
)

// A shop changes orders and timers. No transaction spans both, so a crash can come between the two.
// These rules make that harmless:
//
//   - An order is placed in the book first, then its timers are scheduled. When the shop opens, it
//     schedules timers for all open orders, with IfAbsent.
//   - An order is paid in the book first, then its timers are cancelled. A timer that fires all the
//     same finds an order that is not open, and is dropped.
//   - A handler can be called twice. An order that has expired does not expire again. A reminder is
//     in the book with the key of its timer, so that it is not sent again.
type shop struct {
	config
	timers *durable.Scheduler
	book   *book
	memory *foliot.Runtime

	mu  sync.Mutex // for out
	out io.Writer
}

var errMail = errors.New("the mail server is away")

// open runs the shop until all orders have an end, or ctx ends.
func (s *shop) open(ctx context.Context) error {
	ctx, closeShop := context.WithCancel(ctx)
	defer closeShop()
	s.book.onEnd = func(n counts) {
		if n.placed >= s.orders && n.open == 0 {
			closeShop()
		}
	}
	s.timers.Handle("expire", s.expire)
	s.timers.Handle("remind", s.remind)
	s.timers.Handle("report", s.report)
	if err := s.reconcile(ctx); err != nil {
		return err
	}
	placed := make(chan error, 1)
	go func() { placed <- s.placeAll(ctx, closeShop) }()
	err := s.timers.Run(ctx)
	closeShop()
	return errors.Join(err, <-placed)
}

// reconcile schedules what must be scheduled and is not, because an earlier process has crashed.
func (s *shop) reconcile(ctx context.Context) error {
	for _, o := range s.book.openOrders() {
		if err := s.schedule(ctx, o, durable.IfAbsent()); err != nil {
			return err
		}
		if err := s.customer(o.id); err != nil {
			return err
		}
	}
	t, ok, err := s.timers.Get(ctx, "report")
	if err != nil || ok && t.Every == s.config.report {
		return err // it goes on as before
	}
	_, err = s.timers.Schedule(ctx, durable.Timer{
		ID: "report", Kind: "report", At: time.Now().Add(s.config.report), Every: s.config.report,
	})
	return err
}

// placeAll places orders until there are as many as the flags say.
func (s *shop) placeAll(ctx context.Context, closeShop func()) error {
	tick := time.NewTicker(time.Second / time.Duration(s.rate))
	defer tick.Stop()
	for n := s.book.counts(); n.placed < s.orders; n = s.book.counts() {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := s.place(ctx, n.placed+1); err != nil && ctx.Err() == nil {
			closeShop()
			return err
		}
	}
	s.book.onEnd(s.book.counts()) // an earlier process may have ended all
	return nil
}

// place places an order.
func (s *shop) place(ctx context.Context, id int) error {
	o, err := s.book.place(id, time.Now())
	if err != nil {
		return err
	}
	if err := s.schedule(ctx, o); err != nil {
		return err
	}
	return s.customer(id)
}

// schedule schedules the timers of an order.
func (s *shop) schedule(ctx context.Context, o order, on ...durable.If) error {
	for kind, after := range map[string]time.Duration{"remind": s.window / 2, "expire": s.window} {
		if kind == "remind" && o.reminded != "" {
			continue
		}
		_, err := s.timers.Schedule(ctx, durable.Timer{ID: timerID(o.id, kind), Kind: kind, At: o.placed.Add(after)}, on...)
		if err != nil && !errors.Is(err, durable.ErrExists) {
			return err
		}
	}
	return nil
}

// customer pays an order after a while, or never.
func (s *shop) customer(id int) error {
	if rand.Float64() >= s.paying {
		return nil
	}
	wait := time.Duration(rand.Float64() * 1.2 * float64(s.window)) // some are too late
	_, err := s.memory.AfterFunc(wait, func() {
		if err := s.pay(context.Background(), id); err != nil && !errors.Is(err, durable.ErrClosed) {
			s.print("order %d cannot be paid: %v", id, err)
		}
	})
	return err
}

// pay pays an order, unless it has expired.
func (s *shop) pay(ctx context.Context, id int) error {
	ok, err := s.book.end(id, paid, time.Now())
	if err != nil || !ok {
		return err // too late: the money goes back
	}
	for _, kind := range []string{"remind", "expire"} {
		if _, err := s.timers.Cancel(ctx, timerID(id, kind)); err != nil {
			return err
		}
	}
	return nil
}

// expire handles the deadline of an order.
func (s *shop) expire(_ context.Context, f durable.Fire) error {
	id, err := orderOf(f.ID)
	if err != nil {
		return err
	}
	ok, err := s.book.end(id, expired, time.Now())
	if err == nil && !ok {
		return durable.Drop // it was paid, or an earlier attempt has ended it
	}
	return err
}

// remind sends a reminder.
func (s *shop) remind(_ context.Context, f durable.Fire) error {
	id, err := orderOf(f.ID)
	if err != nil {
		return err
	}
	if !s.book.mayRemind(id, f.Key()) {
		return durable.Drop
	}
	if rand.Float64() < s.fail {
		return errMail // again later
	}
	// The mail is sent here. After a crash before the next line it is sent twice: a mail server that
	// takes f.Key() as the ID of the message can tell.
	return s.book.reminded(id, f.Key())
}

// report handles the periodic timer.
func (s *shop) report(_ context.Context, f durable.Fire) error {
	missed := ""
	if f.Missed > 0 {
		missed = fmt.Sprintf(" (reports missed: %d)", f.Missed)
	}
	s.print("%v%s", s.book.counts(), missed)
	return nil
}

func (s *shop) print(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, format+"\n", args...)
}

// timerID returns the ID of a timer of an order. Those of one order have the same prefix.
func timerID(id int, kind string) string { return fmt.Sprintf("order-%d/%s", id, kind) }

// orderOf returns the order of a timer.
func orderOf(timer string) (int, error) {
	number, _, _ := strings.Cut(strings.TrimPrefix(timer, "order-"), "/")
	id, err := strconv.Atoi(number)
	if err != nil {
		return 0, fmt.Errorf("timer %q is not one of an order: %w", timer, durable.Drop)
	}
	return id, nil
}
