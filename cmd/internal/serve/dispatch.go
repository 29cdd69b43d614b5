package serve

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/foliot-go/foliot/cmd/internal/serve/webhook"
	"github.com/foliot-go/foliot/durable"
)

// waitingRoom is how many handlers may wait for a place to send besides those that send. A handler that waits
// for a host that hangs must not take the place of one for another host. So the scheduler starts more
// handlers than webhooks are sent at a time, and a host may have as much of this room as it leaves to others.
const waitingRoom = 10_000

// handle sets the handlers of all kinds that serve makes.
func (s *server) handle(d *durable.Scheduler) {
	d.HandleNext(kindWebhook, s.fireWebhook, nextOccurrence)
	d.HandleNext(kindEvent, s.fireEvent, nextOccurrence)
}

// nextOccurrence returns the first occurrence of a calendar after a time, zero if there is none.
func nextOccurrence(t durable.Timer, after time.Time) time.Time {
	e, err := decodeEnvelope(t.Payload)
	if err != nil || e.Cron == "" {
		return time.Time{}
	}
	c, err := parseCalendar(e.Cron, e.TZ)
	if err != nil {
		return time.Time{}
	}
	return c.next(after)
}

// keepLimit is how long an attempt may wait until its event is kept. Then it gives its place to others, and
// is made again.
const keepLimit = 30 * time.Second

// fireEvent hands an occurrence to the listeners. It is done when the event is kept: those that come back
// get it, too.
func (s *server) fireEvent(ctx context.Context, f durable.Fire) error {
	e, err := decodeEnvelope(f.Payload)
	if err != nil {
		return s.dropped(&f, err)
	}
	ctx, cancel := context.WithTimeout(ctx, keepLimit)
	defer cancel()
	if err := s.backend.Load().events.keep(ctx, s.event(&f, e, outcomeDone, 0, nil)); err != nil {
		return durable.Postpone(err, 0)
	}
	s.metrics.fires.WithLabelValues(outcomeDone).Inc()
	return nil
}

// dropped ends an occurrence that cannot be understood.
func (s *server) dropped(f *durable.Fire, err error) error {
	s.log.Error("serve: a timer is dropped", "id", f.ID, "error", err)
	s.publish(f, &envelope{}, outcomeDropped, 0, err)
	return fmt.Errorf("%w: %w", durable.Drop, err)
}

// noPayload is the body of a webhook whose timer has no payload: the body is always JSON.
var noPayload = []byte("null")

// fireWebhook sends the webhook of an occurrence.
func (s *server) fireWebhook(ctx context.Context, f durable.Fire) error {
	e, err := decodeEnvelope(f.Payload)
	if err != nil || e.URL == "" {
		return s.dropped(&f, errEnvelope)
	}
	body := e.Payload
	if body == nil {
		body = noPayload
	}
	begin := time.Now()
	res := s.sender.Send(ctx, webhook.Request{URL: e.URL, Headers: e.Headers, Key: f.Key(), Body: body})
	switch {
	case errors.Is(res.Err, webhook.ErrStopped):
		return durable.Postpone(res.Err, 0) // the next process sends it
	case res.Unsent:
		return durable.Postpone(res.Err, s.pause(res.Err))
	}
	s.metrics.webhook(res.Status, time.Since(begin))
	switch {
	case res.Err == nil && res.Status == http.StatusGone:
		s.publish(&f, e, outcomeDone, res.Status, nil)
		return durable.EndSeries
	case res.Err == nil:
		s.publish(&f, e, outcomeDone, res.Status, nil)
		return nil
	}
	if exhausted(s.cfg.Attempts, f.Attempt) {
		s.publish(&f, e, outcomeDead, res.Status, res.Err)
		return res.Err
	}
	s.publish(&f, e, outcomeRetry, res.Status, res.Err)
	if res.RetryAfter > 0 {
		return durable.RetryAfter(res.Err, res.RetryAfter)
	}
	return res.Err
}

// pause returns when a webhook is tried again that was not sent because too many wait for its host. Each try is
// written to the store. So those that were refused come back in rounds, as many at a time as there is room for,
// and late if the host is slow. The times differ, so that not all are tried at once.
func (s *server) pause(why error) time.Duration {
	least, most := s.cfg.RetryMin, s.cfg.RetryMax/2+1
	if full, ok := errors.AsType[*webhook.FullError](why); ok {
		rounds := min(time.Duration(full.Rounds), most/least+1) // more would exceed most, and at last a Duration
		return min(least*rounds+rand.N(least), max(least, most))
	}
	return most + rand.N(most)
}

// exhausted reports whether an attempt that has failed was the last one.
func exhausted(attempts, attempt int) bool { return attempts > 0 && attempt >= attempts }
