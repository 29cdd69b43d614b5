// Command orders is a shop whose orders expire unless they are paid in time. The orders are in a
// database and their deadlines are durable timers. No transaction spans the two, so a crash can
// come between any two steps. Crash it, and start it again:
//
//	go run ./durable/examples/orders -dir shop -crash remind
//	go run ./durable/examples/orders -dir shop
//
// Three rules make crashes harmless:
//
//   - The database knows, the timers only remind. An order is placed in the database first, and its
//     timers are scheduled second. A shop that starts schedules those that are missing.
//   - An order is paid in the database first, and its timers are canceled second. A timer that
//     fires all the same finds out that the order is not open any more, and is dropped.
//   - A handler may be called twice for the same deadline, but then with the same Fire.Key. What it
//     does to the database it does once, and what it does elsewhere carries the key.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/local"
)

const window = 200 * time.Millisecond // the time to pay; a real shop would grant days

// An order is open, and then paid or expired.
type order struct {
	Placed   time.Time
	State    string
	Reminded bool
}

// place places an order, unless an earlier process has done so.
func (s *shop) place(ctx context.Context, name string) error {
	ok, err := s.update(name, func(o *order) bool {
		o.Placed = time.Now()
		return o.move("", "open")
	})
	if err != nil || !ok {
		return err
	}
	fmt.Println("placed:", name)
	crash("place")
	return s.schedule(ctx, name)
}

// schedule schedules those timers of an order that are missing.
func (s *shop) schedule(ctx context.Context, name string) error {
	o := s.order(name)
	timers := []durable.Timer{{ID: name + "/expire", Kind: "expire", At: o.Placed.Add(window)}}
	if !o.Reminded {
		timers = append(timers, durable.Timer{ID: name + "/remind", Kind: "remind", At: o.Placed.Add(window / 2)})
	}
	for _, t := range timers {
		_, err := s.timers.Schedule(ctx, t, durable.IfAbsent())
		if err != nil && !errors.Is(err, durable.ErrExists) {
			return err
		}
	}
	return nil
}

// pay pays an order, unless it has expired or is paid.
func (s *shop) pay(ctx context.Context, name string) error {
	ok, err := s.update(name, func(o *order) bool { return o.move("open", "paid") })
	if err != nil || !ok {
		return err
	}
	fmt.Println("paid:", name)
	crash("pay")
	for _, kind := range []string{"/remind", "/expire"} {
		if _, err := s.timers.Cancel(ctx, name+kind); err != nil {
			return err
		}
	}
	return nil
}

// remind handles the first timer of an order.
func (s *shop) remind(_ context.Context, f durable.Fire) error {
	name, _, _ := strings.Cut(f.ID, "/")
	if o := s.order(name); o.State != "open" || o.Reminded {
		fmt.Printf("no reminder for %s: it is %s\n", name, o.State)
		return durable.Drop
	}
	// A mail server that gets a message twice, because of a crash, can tell by the ID.
	fmt.Printf("mail: please pay for %s, attempt %d, ID %s\n", name, f.Attempt, f.Key())
	crash("remind")
	_, err := s.update(name, func(o *order) bool { o.Reminded = true; return true })
	return err
}

// expire handles the second one.
func (s *shop) expire(_ context.Context, f durable.Fire) error {
	name, _, _ := strings.Cut(f.ID, "/")
	ok, err := s.update(name, func(o *order) bool { return o.move("open", "expired") })
	crash("expire")
	if err == nil && name == lastOrder {
		s.close()
	}
	if err == nil && !ok {
		fmt.Printf("%s does not expire: it is %s\n", name, s.order(name).State)
		return durable.Drop
	}
	return err
}

var (
	dir     = flag.String("dir", "shop", "directory for the orders and the timers; remove it to start over")
	crashAt = flag.String("crash", "", "exit in the middle of this step: place, pay, remind or expire")
)

// crash exits as abruptly as kill -9 would. Nothing is closed, and no deferred call runs.
func crash(step string) {
	if step == *crashAt {
		fmt.Fprintf(os.Stderr, "crash in the middle of %s; start again without -crash\n", step)
		os.Exit(3)
	}
}

func main() {
	flag.Parse()
	if !slices.Contains([]string{"", "place", "pay", "remind", "expire"}, *crashAt) {
		log.Fatalf("-crash %s: want place, pay, remind or expire", *crashAt)
	}
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// lastOrder is the last order of the day. When it is paid or expired, the shop closes.
const lastOrder = "coffee"

func run(ctx context.Context) (err error) {
	store, err := local.Open(filepath.Join(*dir, "timers"), local.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	// Handlers run one by one, so that the output is in the order of the deadlines.
	timers, err := durable.New(store, durable.Options{Concurrency: 1})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &shop{timers: timers, close: cancel, orders: make(map[string]order)}
	timers.Handle("remind", s.remind)
	timers.Handle("expire", s.expire)
	if err := s.recover(ctx); err != nil {
		return err
	}
	if err := errors.Join(s.place(ctx, "tea"), s.place(ctx, lastOrder), s.pay(ctx, "tea")); err != nil {
		return err
	}
	_, ok, err := timers.Get(ctx, lastOrder+"/expire")
	if err == nil && ok { // otherwise the shop has closed
		err = timers.Run(ctx)
	}
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(s.orders)) {
		fmt.Printf("%s is %s\n", name, s.orders[name].State)
	}
	return nil
}

// A shop has a map and a file as its database.
type shop struct {
	timers *durable.Scheduler
	close  func()

	mu     sync.Mutex
	orders map[string]order
}

func ordersFile() string { return filepath.Join(*dir, "orders.json") }

// recover continues where an earlier process has ended.
func (s *shop) recover(ctx context.Context) error {
	data, err := os.ReadFile(ordersFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := errors.Join(err, json.Unmarshal(data, &s.orders)); err != nil {
		return err
	}
	for name, o := range s.orders {
		if o.State == "open" {
			err = errors.Join(err, s.schedule(ctx, name))
		}
	}
	return err
}

func (s *shop) order(name string) order {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.orders[name]
}

// update is a transaction. It saves the change, unless that returns false.
func (s *shop) update(name string, change func(*order) bool) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.orders[name]
	if !change(&o) {
		return false, nil
	}
	s.orders[name] = o
	data, err := json.Marshal(s.orders)
	if err == nil {
		err = os.WriteFile(ordersFile()+".new", data, 0o600)
	}
	if err == nil {
		err = os.Rename(ordersFile()+".new", ordersFile())
	}
	return err == nil, err
}

func (o *order) move(from, to string) bool {
	if o.State != from {
		return false
	}
	o.State = to
	return true
}
