package foliot_test

import (
	"fmt"
	"sync"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/wheel"
)

// A table of tokens, each of which is valid for a while. The table has one lock, which protects
// the Expirer, too: a token is in the map until it expires, and not a moment longer.
func ExampleExpirer() {
	clock := foliot.NewManualClock(time.Time{})
	rt, err := foliot.New(foliot.Options{Clock: clock})
	if err != nil {
		panic(err)
	}

	var mu sync.Mutex
	tokens := map[string]wheel.Handle{}
	expirer := foliot.NewExpirer(foliot.ExpirerOptions[string]{
		Runtime: rt,
		Locker:  &mu,
		Evict:   func(token string) { delete(tokens, token) },
	})

	mu.Lock()
	tokens["red"], _ = expirer.Push(time.Minute, "red")
	tokens["green"], _ = expirer.Push(time.Minute, "green")
	tokens["blue"], _ = expirer.Push(time.Hour, "blue")
	mu.Unlock()

	clock.Advance(30 * time.Second)
	mu.Lock()
	expirer.Reset(tokens["green"], time.Minute) // it was used
	mu.Unlock()

	clock.Advance(45 * time.Second)
	fmt.Println(tokens["red"] != 0, tokens["green"] != 0, tokens["blue"] != 0)
	clock.Advance(45 * time.Second)
	fmt.Println(tokens["red"] != 0, tokens["green"] != 0, tokens["blue"] != 0)
	// Output:
	// false true true
	// false false true
}

// Sessions that are closed when they have been idle for too long. The Expirer has its own lock,
// and Expired is called without it, so it may take its time.
func ExampleExpirer_expired() {
	clock := foliot.NewManualClock(time.Time{})
	rt, err := foliot.New(foliot.Options{Clock: clock})
	if err != nil {
		panic(err)
	}
	sessions := foliot.NewExpirer(foliot.ExpirerOptions[string]{
		Runtime: rt,
		Expired: func(names []string) { fmt.Println("close", names) },
	})

	alice, _ := sessions.Push(time.Minute, "alice")
	sessions.Push(time.Minute, "bob")
	carol, _ := sessions.Push(time.Minute, "carol")
	sessions.Remove(carol) // has logged out

	clock.Advance(40 * time.Second)
	sessions.Reset(alice, time.Minute)
	clock.Advance(40 * time.Second)
	sessions.Close()
	fmt.Println("left:", sessions.Len())
	// Output:
	// close [bob]
	// left: 1
}

// A value that is not used for a minute expires, and the caller can see how long it has. With a
// Resolution of 1 deadlines are exact, which a test may need.
func ExampleExpirer_Lookup() {
	rt, clock := manualRuntime()
	expirer := foliot.NewExpirer(foliot.ExpirerOptions[string]{Runtime: rt, Resolution: 1})
	h, err := expirer.Push(time.Minute, "token")
	if err != nil {
		panic(err)
	}
	clock.Advance(45 * time.Second)
	fmt.Println(expirer.Lookup(h))
	expirer.Reset(h, time.Minute)
	fmt.Println(expirer.Lookup(h))
	clock.Advance(time.Minute)
	_, _, ok := expirer.Lookup(h)
	fmt.Println(ok)
	// Output:
	// token 15s true
	// token 1m0s true
	// false
}

// A table counts how often an entry is used. ValueLocked returns a pointer to the entry in the
// Expirer, so the lock is held while the pointer is used.
func ExampleExpirer_ValueLocked() {
	rt, _ := manualRuntime()
	type entry struct {
		name string
		uses int
	}
	var mu sync.Mutex
	expirer := foliot.NewExpirer(foliot.ExpirerOptions[entry]{Runtime: rt, Locker: &mu})
	mu.Lock()
	defer mu.Unlock()
	h, err := expirer.Push(time.Minute, entry{name: "token"})
	if err != nil {
		panic(err)
	}
	expirer.ValueLocked(h).uses++
	expirer.ValueLocked(h).uses++
	for _, e := range expirer.All() {
		fmt.Println(e.name, e.uses)
	}
	// Output: token 2
}

// A program that ends saves the values that have not expired. Remove takes them out one by one.
func ExampleExpirer_Remove() {
	rt, _ := manualRuntime()
	expirer := foliot.NewExpirer(foliot.ExpirerOptions[string]{Runtime: rt})
	expirer.Push(time.Minute, "token")
	expirer.Close()
	fmt.Println("left:", expirer.Len())
	for h := range expirer.All() {
		v, ok := expirer.Remove(h)
		fmt.Println(v, ok, "left:", expirer.Len())
	}
	// Output:
	// left: 1
	// token true left: 0
}
