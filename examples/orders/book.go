package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// A book keeps orders in a file, a line for each change. It stands for a database. A line survives
// kill -9. It is not synced, so it may not survive a power cut.
type book struct {
	mu     sync.Mutex
	file   *os.File
	orders map[int]*order
	n      counts
	faults []error      // what check returns
	onEnd  func(counts) // called after an order has got an end; set before others use the book
}

// An order is open until it has an end.
type order struct {
	id       int
	placed   time.Time
	reminded string // the key of the reminder
	end      string // paid or expired
	ended    time.Time
}

const (
	paid    = "paid"
	expired = "expired"
)

// counts are numbers of orders.
type counts struct{ placed, open, paid, expired, reminded int }

func (n counts) String() string {
	return fmt.Sprintf("%d orders: %d open, %d paid, %d expired; %d reminders", n.placed, n.open, n.paid, n.expired, n.reminded)
}

// A line is a change of an order.
type line struct {
	Order int       `json:"order"`
	What  string    `json:"what"` // placed, reminded, paid, expired
	Key   string    `json:"key,omitempty"`
	At    time.Time `json:"at"`
}

// openBook reads the file, or makes it.
func openBook(name string) (*book, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	whole := bytes.LastIndexByte(text, '\n') + 1 // what follows was being written in a crash
	if err := file.Truncate(int64(whole)); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	b := &book{file: file, orders: make(map[int]*order), onEnd: func(counts) {}}
	for text := range bytes.Lines(text[:whole]) {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", name, err), file.Close())
		}
		b.apply(l)
	}
	return b, nil
}

func (b *book) close() error { return b.file.Close() }

// write writes a change and makes it. The caller holds mu.
func (b *book) write(l line) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if _, err := b.file.Write(append(text, '\n')); err != nil {
		return err
	}
	b.apply(l)
	return nil
}

// apply makes a change in memory. A change that must not be in the file is noted for check.
func (b *book) apply(l line) {
	o := b.orders[l.Order]
	switch {
	case (l.What == "placed") != (o == nil):
		b.faults = append(b.faults, fmt.Errorf("order %d is %s: it was placed twice or never", l.Order, l.What))
	case l.What == "placed":
		b.orders[l.Order] = &order{id: l.Order, placed: l.At}
		b.n.placed++
		b.n.open++
	case o.end != "":
		b.faults = append(b.faults, fmt.Errorf("order %d is %s after it was %s", l.Order, l.What, o.end))
	case l.What == "reminded":
		o.reminded = l.Key
		b.n.reminded++
	default:
		o.end, o.ended = l.What, l.At
		b.n.open--
		if l.What == paid {
			b.n.paid++
		} else {
			b.n.expired++
		}
	}
}

// place adds an order.
func (b *book) place(id int, now time.Time) (order, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now = now.Round(0)
	if err := b.write(line{Order: id, What: "placed", At: now}); err != nil {
		return order{}, err
	}
	return *b.orders[id], nil
}

// end ends an order. It returns false if the order is not open.
func (b *book) end(id int, how string, now time.Time) (ok bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if o := b.orders[id]; o == nil || o.end != "" {
		return false, nil
	}
	if err := b.write(line{Order: id, What: how, At: now.Round(0)}); err != nil {
		return false, err
	}
	b.onEnd(b.n)
	return true, nil
}

// mayRemind reports whether the order is open and the reminder was not sent.
func (b *book) mayRemind(id int, key string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	o := b.orders[id]
	return o != nil && o.end == "" && o.reminded != key
}

// reminded notes that a reminder was sent. If the order has got an end meanwhile, nothing is noted.
func (b *book) reminded(id int, key string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.orders[id].end != "" {
		return nil
	}
	return b.write(line{Order: id, What: "reminded", Key: key, At: time.Now().Round(0)})
}

// openOrders returns the open orders, the oldest first.
func (b *book) openOrders() (open []order) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, o := range b.orders {
		if o.end == "" {
			open = append(open, *o)
		}
	}
	slices.SortFunc(open, func(a, b order) int { return a.id - b.id })
	return open
}

func (b *book) counts() counts {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.n
}

// check returns an error if an order has no end, more than one, or has expired early.
func (b *book) check(window time.Duration) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	faults := slices.Clone(b.faults)
	for _, o := range b.orders {
		switch {
		case o.end == "":
			faults = append(faults, fmt.Errorf("order %d has no end", o.id))
		case o.end == expired && o.ended.Before(o.placed.Add(window)):
			faults = append(faults, fmt.Errorf("order %d has expired %v after it was placed", o.id, o.ended.Sub(o.placed)))
		}
	}
	return errors.Join(faults...)
}
