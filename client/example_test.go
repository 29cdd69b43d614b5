package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http/httptest"
	"os"
	"time"

	"github.com/foliot-go/foliot/client"
)

// exampleServer returns the address of a server, in place of "foliot serve".
func exampleServer() (address string, stop func()) {
	f := &fake{timers: map[string]client.Timer{}}
	server := httptest.NewServer(f.handler())
	return server.URL, server.Close
}

// An order expires in half an hour, unless it is paid before.
func Example() {
	address, stop := exampleServer() // such as http://127.0.0.1:7357
	defer stop()
	c, err := client.New(address, client.Options{Token: os.Getenv("SHOP_TIMERS_TOKEN")})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	made, err := c.Put(ctx, client.Timer{
		ID:      "order-17",
		After:   30 * time.Minute,
		Webhook: &client.Webhook{URL: "https://shop.example/expire"},
		Payload: json.RawMessage(`{"order":17}`),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("created:", made.Created)

	switch err := c.Cancel(ctx, "order-17"); {
	case err == nil:
		fmt.Println("the order does not expire")
	case errors.Is(err, client.ErrNotFound):
		fmt.Println("the order has expired")
	default: // ErrUncertain: the response was lost
		log.Fatal(err)
	}
	// Output:
	// created: true
	// the order does not expire
}

// IfRev changes a timer only if no one else has changed it meanwhile.
func ExampleIfRev() {
	address, stop := exampleServer()
	defer stop()
	c, err := client.New(address, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	_, err = c.Put(ctx, client.Timer{ID: "cart-17", After: time.Hour, Kind: "remind"})
	if err != nil {
		log.Fatal(err)
	}
	t, err := c.Get(ctx, "cart-17")
	if err != nil {
		log.Fatal(err)
	}
	t.At = t.At.Add(time.Hour)
	_, err = c.Put(ctx, t, client.IfRev(t.Rev))
	fmt.Println(err)
	_, err = c.Put(ctx, t, client.IfRev(t.Rev)) // it has another revision now
	fmt.Println(errors.Is(err, client.ErrConflict))
	// Output:
	// <nil>
	// true
}

// Listen to the timers of a kind, in place of a webhook.
func ExampleClient_Fires() {
	c, err := client.New("http://127.0.0.1:7357", client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for fire, err := range c.Fires(context.Background(), client.FireQuery{Kind: "expire"}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(fire.ID, "is due,", fire.Late, "late")
	}
}
