package engine

import (
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
)

// The driver keeps functions while it runs timers. It must start them before it runs a callback
// that may block.
func TestAFunctionRunsAlthoughACallbackOfTheSameTickBlocks(t *testing.T) {
	eng := Default()
	for round := range 20 {
		ran, release := make(chan struct{}), make(chan struct{})
		var blocked sync.WaitGroup
		blocked.Add(2)
		block := func() {
			<-release
			blocked.Done()
		}
		const d = 2 * time.Millisecond
		f := &GoFunc{F: CallbackOf(func() { close(ran) })}
		for i := range 3 {
			if i == round%3 {
				if !f.Start(d) {
					t.Fatal("Start returns false")
				}
			} else if _, err := eng.AfterFunc(d, block); err != nil {
				t.Fatal(err)
			}
		}
		testkit.Receive(t, ran, "the function")
		close(release)
		blocked.Wait()
	}
}
