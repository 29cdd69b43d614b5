package serve

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/foliot-go/foliot/cmd/internal/serve/stream"
	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/local"
)

// A backend keeps the timers and the events of attempts: a folder of this process, or servers of NATS that
// several processes share. Only openStore and what it calls know which one it is.
type backend struct {
	store     durable.Store
	events    events
	processes func() int                      // how many processes share the timers, this one included
	reachable func(ctx context.Context) error // returns why timers can be neither read nor changed now
	close     func() error
}

// openStore opens the backend that the configuration names. hub gets the events. lost is called for each
// event that listeners do not get. waits is called with the reason if it takes longer than usual.
func openStore(ctx context.Context, c *Config, hub *stream.Hub, lost func(), waits func(why string)) (*backend, error) {
	if c.NATS != "" {
		return openNATS(ctx, c, hub, lost, waits)
	}
	store, err := local.Open(c.Data, local.Options{})
	if err != nil {
		return nil, folderError(c.Data, err)
	}
	return &backend{
		store:     store,
		events:    memoryEvents{hub},
		processes: func() int { return 1 },
		reachable: func(context.Context) error { return nil }, // if the disk fails, the server ends
		close:     store.Close,
	}, nil
}

// folderError returns the error of a folder that cannot be opened, with its flag.
func folderError(dir string, err error) error {
	if errors.Is(err, syscall.EAGAIN) { // of the lock
		return fmt.Errorf("--data %s: another foliot uses this folder; end that one, or name another folder", dir)
	}
	if why := checkFolder(dir); why != nil {
		return why
	}
	return fmt.Errorf("--data: %w", err)
}
