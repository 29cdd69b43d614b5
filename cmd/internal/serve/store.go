package serve

import (
	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/local"
)

// A closingStore is a store that the server has opened.
type closingStore interface {
	durable.Store
	Close() error
}

// openStore opens the store that the configuration names.
func openStore(c *Config) (closingStore, error) {
	return local.Open(c.Data, local.Options{})
}
