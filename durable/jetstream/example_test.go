package jetstream_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/jetstream"
)

// A process that fires timers, of which any number may run.
func Example() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	nc, err := nats.Connect("nats://127.0.0.1:4222", nats.MaxReconnects(-1))
	if err != nil {
		log.Fatal(err)
	}
	defer nc.Close()
	store, err := jetstream.Open(ctx, nc, jetstream.Options{Replicas: 3})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	s, err := durable.New(store, durable.Options{})
	if err != nil {
		log.Fatal(err)
	}
	s.Handle("expire", func(_ context.Context, f durable.Fire) error {
		fmt.Println("expired:", f.ID)
		return nil
	})
	if _, err := s.Schedule(ctx, durable.Timer{ID: "order-17", At: time.Now().Add(time.Minute), Kind: "expire"}); err != nil {
		log.Fatal(err)
	}
	if err := s.Run(ctx); err != nil {
		log.Print(err)
	}
}

// A process that only schedules timers needs no Run.
func ExampleOpen() {
	nc, err := nats.Connect("nats://127.0.0.1:4222", nats.MaxReconnects(-1))
	if err != nil {
		log.Fatal(err)
	}
	defer nc.Close()
	ctx := context.Background()
	store, err := jetstream.Open(ctx, nc, jetstream.Options{Replicas: 3, Synced: true})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	s, err := durable.New(store, durable.Options{})
	if err != nil {
		log.Fatal(err)
	}
	ok, err := s.Cancel(ctx, "order-17")
	fmt.Println(ok, err)
}

// More streams, while no process uses the timers.
func ExampleRepartition() {
	nc, err := nats.Connect("nats://127.0.0.1:4222")
	if err != nil {
		log.Fatal(err)
	}
	defer nc.Close()
	if err := jetstream.Repartition(context.Background(), nc, jetstream.Options{}, 4); err != nil {
		log.Fatal(err)
	}
}

// Looking at what a process has done.
func ExampleStore_Stats() {
	var store *jetstream.Store // from Open
	st := store.Stats()
	fmt.Printf("%d processes; %d firings, %d in vain; the servers are ahead by %v\n", st.Processes, st.Won, st.Lost, st.Skew)
}
