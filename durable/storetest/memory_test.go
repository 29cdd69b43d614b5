package storetest

import "testing"

func TestMemory(t *testing.T) {
	Run(t, Config{
		Open:    func(*testing.T) Store { return NewMemory() },
		Reopen:  func(_ *testing.T, old Store) Store { return old.(*Memory).Reopen() },
		Crash:   func(_ *testing.T, s Store) { s.(*Memory).Crash() },
		Fail:    func(_ *testing.T, s Store, err error) { s.(*Memory).Fail(err) },
		OneNode: true,
	})
}
