package inspect_test

import (
	"encoding/json"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/inspect"
)

func TestTheSnapshotHasTheTimersOfARuntime(t *testing.T) {
	clock := foliot.NewManualClock(time.Unix(0, 0))
	rt, err := foliot.New(foliot.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		if _, err := rt.AfterFunc(time.Duration(i+1)*time.Second, func() {}); err != nil {
			t.Fatal(err)
		}
	}
	h := inspect.Handler(inspect.Options{Runtimes: map[string]*foliot.Runtime{"main": rt}})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/snapshot.json", nil))
	var got struct {
		Runtimes map[string]struct {
			Stats   struct{ Armed int }
			Horizon []foliot.HorizonBucket
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, b := range got.Runtimes["main"].Horizon {
		n += b.Count
	}
	if armed := got.Runtimes["main"].Stats.Armed; n != 10 || armed != 10 {
		t.Errorf("the snapshot has %d timers in its horizon and %d in its statistics, want 10", n, armed)
	}
}
