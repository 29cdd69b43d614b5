package jetstream

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/foliot-go/foliot/durable"
)

// A room watches the size of a stream that has a bound. Servers in a cluster refuse each message to a stream
// that is full, also one that replaces another: nothing could fire, and no room would ever come back. So
// Schedule leaves a reserve for the other changes.
type room struct {
	p   *part
	max int64 // the bound; 0 or less: there is none

	mu    sync.Mutex
	bytes int64     // what the stream had, plus what was scheduled since
	read  time.Time // when that was read
}

var errFull = errors.New("it is close to its bound, and the rest is for timers to fire")

const (
	// messageOverhead is more than a message has besides the ID, the kind and the payload.
	messageOverhead = 400

	// roomFresh is how long the size of a stream is believed.
	roomFresh = time.Second
)

// reserve returns the part of the stream that Schedule does not use.
func (r *room) reserve() int64 { return min(max(r.max/16, 256<<10), r.max/4) }

// take takes the room of a timer, or returns errFull.
func (r *room) take(ctx context.Context, t *durable.Timer) error {
	if r.max <= 0 {
		return nil
	}
	size := int64(len(t.ID) + len(t.Kind) + len(t.Payload) + messageOverhead)
	r.mu.Lock()
	defer r.mu.Unlock()
	if full := r.bytes+size > r.max-r.reserve(); full || time.Since(r.read) > roomFresh {
		info, err := r.p.s.streamInfo(ctx, r.p.stream)
		if err != nil && full {
			return err
		}
		if err == nil {
			r.bytes, r.max, r.read = int64(info.State.Bytes), info.Config.MaxBytes, time.Now()
		}
		if r.max > 0 && r.bytes+size > r.max-r.reserve() {
			return errFull
		}
	}
	r.bytes += size
	return nil
}
