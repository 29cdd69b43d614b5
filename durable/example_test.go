package durable_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/local"
)

// A first program: open a folder, handle a kind, schedule, run. If the process is killed before the
// timer is due, the next process fires it.
func Example() {
	ctx, stop := context.WithCancel(context.Background()) // or signal.NotifyContext
	dir, err := os.MkdirTemp("", "timers")                // a program has a folder that stays
	check(err)
	defer os.RemoveAll(dir)
	expire := func(ctx context.Context, id string) error {
		fmt.Println(id, "was not paid in time")
		stop() // a program goes on
		return nil
	}

	store, err := local.Open(dir, local.Options{})
	check(err)
	defer store.Close()
	s, err := durable.New(store, durable.Options{})
	check(err)
	s.Handle("expire", func(ctx context.Context, f durable.Fire) error { return expire(ctx, f.ID) })
	_, err = s.Schedule(ctx, durable.Timer{ID: "order-17", At: time.Now().Add(time.Second), Kind: "expire"})
	check(err)
	check(s.Run(ctx)) // calls handlers until ctx ends
	// Output: order-17 was not paid in time
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
