package serve

import (
	"sync"

	"github.com/foliot-go/foliot/durable"
)

// deadErrors remembers why the latest timers died, by their keys.
type deadErrors struct {
	mu   sync.Mutex // protects what follows
	why  map[string]string
	keys []string // in the order of their deaths, as a ring
	next int
}

const keepDeadErrors = 10_000

func (d *deadErrors) add(key string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.why == nil {
		d.why, d.keys = make(map[string]string), make([]string, keepDeadErrors)
	}
	delete(d.why, d.keys[d.next])
	d.keys[d.next] = key
	d.next = (d.next + 1) % len(d.keys)
	d.why[key] = err.Error()
}

// deadError returns why a timer died.
func (s *server) deadError(f *durable.Fire) string {
	s.dead.mu.Lock()
	defer s.dead.mu.Unlock()
	if why, ok := s.dead.why[f.Key()]; ok {
		return why
	}
	return "the reason is in the log"
}
