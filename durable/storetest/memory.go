package storetest

import (
	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/internal/kvstore"
)

// A Memory is a store in memory, for tests. It can lose what a program must not rely on: Crash ends it
// like a power cut. What it keeps is lost when the process ends.
//
// Give it to [durable.New]. A program calls no methods of the embedded Store.
type Memory struct {
	durable.Store
	kv     *kvstore.Store
	engine *kvstore.Memory
}

// NewMemory returns an empty store.
func NewMemory() *Memory { return newMemory(kvstore.NewMemory()) }

func newMemory(e *kvstore.Memory) *Memory {
	kv, err := kvstore.Open(e)
	if err != nil {
		panic("storetest: " + err.Error()) // only content that another program has written is refused
	}
	return &Memory{Store: kv, kv: kv, engine: e}
}

// Close waits for the calls that are running and closes the store. Calls that come later return
// [durable.ErrClosed].
func (m *Memory) Close() error { return m.kv.Close() }

// Crash ends the store like a power cut: changes that no call has acknowledged are lost, calls that
// are running return an error, and so do all later ones. A Run returns that error.
func (m *Memory) Crash() {
	m.engine.Crash(0)
	m.kv.Fail(kvstore.ErrCrashed)
}

// Fail makes the store fail like one whose disk cannot be written any more: nothing is kept from now
// on, and all calls return an error that wraps err. A Run returns it as soon as it needs the store.
func (m *Memory) Fail(err error) { m.engine.Fail(err) }

// Reopen returns a store that begins with what this one has kept. It comes after Close, Crash or Fail;
// otherwise it crashes this one first.
func (m *Memory) Reopen() *Memory {
	m.Crash()
	return newMemory(m.engine.Reopen())
}
