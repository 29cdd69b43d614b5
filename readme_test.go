package foliot_test

import (
	"fmt"
	"log"
	"time"

	"github.com/foliot-go/foliot"
)

// Example_readme is the example of the README, so that it is compiled and run. The test that
// compares the two is in package wheel.
func Example_readme() {
	result := make(chan string, 1)
	rt, err := foliot.New(foliot.Options{})
	if err != nil {
		log.Fatal(err)
	}
	deadline, err := rt.AfterFunc(5*time.Second, func() { result <- "timed out" })
	if err == nil && deadline.Stop() { // true: the callback will not run
		result <- "in time"
	}
	fmt.Println(<-result)
	// Output: in time
}
