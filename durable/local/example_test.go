package local_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/local"
)

// A timer is in the folder when Schedule has returned. The next process that opens the folder finds it.
func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "timers")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	for _, process := range []string{"first", "second"} {
		store, err := local.Open(dir, local.Options{})
		if err != nil {
			log.Fatal(err)
		}
		s, err := durable.New(store, durable.Options{})
		if err != nil {
			log.Fatal(err)
		}
		t, ok, err := s.Get(ctx, "renew-certificate")
		if err != nil {
			log.Fatal(err)
		}
		if ok {
			fmt.Printf("the %s process finds a timer for %s\n", process, t.At.UTC().Format(time.DateOnly))
		} else {
			at := time.Date(2040, 1, 31, 0, 0, 0, 0, time.UTC)
			if _, err := s.Schedule(ctx, durable.Timer{ID: "renew-certificate", At: at, Kind: "renew"}); err != nil {
				log.Fatal(err)
			}
			fmt.Printf("the %s process schedules a timer\n", process)
		}
		if err := store.Close(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// the first process schedules a timer
	// the second process finds a timer for 2040-01-31
}
