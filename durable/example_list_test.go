package durable_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/local"
)

// IDs that begin alike can be listed together. A page begins after the last ID of the page before.
func ExampleScheduler_List() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "timers")
	check(err)
	defer os.RemoveAll(dir)
	store, err := local.Open(dir, local.Options{})
	check(err)
	defer store.Close()
	s, err := durable.New(store, durable.Options{})
	check(err)

	noon := time.Date(2040, 1, 1, 12, 0, 0, 0, time.UTC)
	_, err = s.ScheduleBatch(ctx, []durable.Timer{
		{ID: "order-17/expire", At: noon.Add(3 * time.Hour), Kind: "expire"},
		{ID: "order-17/remind", At: noon.Add(1 * time.Hour), Kind: "remind"},
		{ID: "order-18/expire", At: noon.Add(2 * time.Hour), Kind: "expire"},
	})
	check(err)

	fmt.Println("of order 17:")
	for t, err := range s.List(ctx, durable.Query{Prefix: "order-17/"}) {
		check(err)
		fmt.Println(" ", t.ID)
	}
	fmt.Println("due before 15:00, the first due first:")
	for t, err := range s.List(ctx, durable.Query{ByDue: true, To: noon.Add(3 * time.Hour)}) {
		check(err)
		fmt.Println(" ", t.At.UTC().Format("15:04"), t.ID)
	}
	fmt.Println("pages of two:")
	for after, more := "", true; more; {
		more = false
		for t, err := range s.List(ctx, durable.Query{After: after, Limit: 2}) {
			check(err)
			after, more = t.ID, true
			fmt.Println(" ", t.ID)
		}
	}
	// Output:
	// of order 17:
	//   order-17/expire
	//   order-17/remind
	// due before 15:00, the first due first:
	//   13:00 order-17/remind
	//   14:00 order-18/expire
	// pages of two:
	//   order-17/expire
	//   order-17/remind
	//   order-18/expire
}
