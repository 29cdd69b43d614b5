package jetstream

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot/durable"
)

// TestCallsInConflictReturnAResult makes calls for the same IDs from two processes at once. Each of them
// returns a result: that a call may have happened is an error for times of trouble only.
func TestCallsInConflictReturnAResult(t *testing.T) {
	b := three(t)
	o := b.options(t)
	stores := []*Store{b.store(t, o), b.store(t, o)}
	var all sync.WaitGroup
	for i := range 12 {
		s := stores[i%2]
		all.Go(func() {
			for n := range 50 {
				id := fmt.Sprint("x", n%4)
				var err error
				if (i+n)%3 == 0 {
					_, err = s.Cancel(t.Context(), id, durable.Condition{})
				} else {
					_, err = s.Schedule(t.Context(), []durable.Timer{{ID: id, Kind: "k", At: time.Now().Add(time.Hour)}}, durable.Condition{})
				}
				if err != nil {
					t.Errorf("a call returns %v", err)
				}
			}
		})
	}
	all.Wait()
	t.Logf("%+v", stores[0].Stats())
}
