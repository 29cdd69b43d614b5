package contract_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// The process is stopped while timers come due. When it continues, they run at once, in the order
// of their deadlines.
func TestTimersThatCameDueWhileTheProcessWasStoppedRunInOrder(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1})
	var mu sync.Mutex
	var ran []int
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Add(1)
		d := 50*millisecond + time.Duration(i*37%100)*millisecond
		deadline := time.Now().Add(d)
		kit.After(t, r, d, func() {
			defer wg.Done()
			if early := time.Until(deadline); early > 0 {
				t.Errorf("a timer ran %v early", early)
			}
			mu.Lock()
			defer mu.Unlock()
			ran = append(ran, i*37%100)
		})
	}
	pid := os.Getpid()
	stop := exec.Command("sh", "-c", fmt.Sprintf("kill -STOP %d; sleep 0.3; kill -CONT %d", pid, pid))
	if out, err := stop.CombinedOutput(); err != nil {
		t.Skipf("the process cannot be stopped: %v: %s", err, out)
	}
	testkit.Returns(t, "the timers after the stop", wg.Wait)
	if !slices.IsSorted(ran) {
		t.Errorf("the timers ran in the order %v, want sorted", ran)
	}
}
