package serve

import (
	"context"
	"strconv"

	"github.com/foliot-go/foliot/cmd/internal/serve/stream"
)

// events keep the last events of attempts and hand them to the listeners of this process. Their methods may
// be called from any goroutine.
type events interface {
	// keep returns nil when an event is kept. An event that is kept twice under the same name within a
	// minute is one event.
	keep(ctx context.Context, e *event) error

	// post keeps an event, and returns at once. The event may be lost, and is counted then.
	post(e *event)

	// catchUp returns nil when the hub has all events that were kept when catchUp was called.
	catchUp(ctx context.Context) error

	// flush returns when the hub has all events that this process has kept or posted, or when ctx ends.
	flush(ctx context.Context)
}

// An event is one that is kept.
type event struct {
	name string // of the attempt
	kind string // empty for a webhook
	data []byte // JSON
}

// frame returns an event as listeners get it.
func frame(id uint64, data []byte) []byte {
	f := make([]byte, 0, len(data)+64)
	f = append(f, "id: "...)
	f = strconv.AppendUint(f, id, 10)
	f = append(f, "\nevent: fire\ndata: "...)
	f = append(f, data...)
	return append(f, "\n\n"...)
}

// memoryEvents keep the events in memory, for the listeners of one process. They end with the process.
type memoryEvents struct{ hub *stream.Hub }

func (m memoryEvents) keep(_ context.Context, e *event) error {
	m.post(e)
	return nil
}

func (m memoryEvents) post(e *event) {
	m.hub.Publish(e.kind, func(id uint64) []byte { return frame(id, e.data) })
}

func (memoryEvents) catchUp(context.Context) error { return nil }
func (memoryEvents) flush(context.Context)         {}
