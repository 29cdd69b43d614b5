// A program of a user: it takes something from each package of the library.
package main

import (
	"fmt"
	"log"
	"os"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/context"
	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/local"
	"github.com/foliot-go/foliot/loop"
	"github.com/foliot-go/foliot/time"
	"github.com/foliot-go/foliot/wheel"
)

func main() {
	rt, err := foliot.New(foliot.Options{})
	if err != nil {
		log.Fatal(err)
	}
	done := make(chan string)
	if _, err := rt.AfterFunc(time.Millisecond, func() { done <- "foliot" }); err != nil {
		log.Fatal(err)
	}
	fmt.Println(<-done)

	var w wheel.Wheel[string]
	w.Schedule(40, "wheel")
	for _, name := range w.Advance(40) {
		fmt.Println(name)
	}

	l := loop.New(loop.Options{})
	l.CallSoon(func() { fmt.Println("loop") })
	if err := l.RunUntilIdle(context.Background()); err != nil {
		log.Fatal(err)
	}

	<-time.After(time.Millisecond)
	fmt.Println("time")

	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	<-ctx.Done()
	fmt.Println("context")

	dir, err := os.MkdirTemp("", "foliot")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := local.Open(dir, local.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	if _, err := durable.New(store, durable.Options{}); err != nil {
		log.Fatal(err)
	}
	fmt.Println("durable")
}
