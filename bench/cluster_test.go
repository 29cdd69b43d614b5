package bench

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/natsserver"
)

// needNATS skips the test if there is no NATS server to start.
func needNATS(t *testing.T) {
	t.Helper()
	if _, err := natsserver.Binary(); errors.Is(err, natsserver.ErrNoModule) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
}

func TestTimersOnServersAreComparedWithBarePublishes(t *testing.T) {
	needNATS(t)
	names := []string{"cluster-schedule", "cluster-late", "cluster-open"}
	r, err := Run(context.Background(), Options{Timers: 200, Rounds: 1, Scenarios: names})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Scenarios) != len(names) {
		t.Fatalf("%d scenarios, want %d", len(r.Scenarios), len(names))
	}
	for _, s := range r.Scenarios {
		if s.Error != "" {
			t.Errorf("%s: %s", s.Name, s.Error)
		}
		for _, m := range s.Measures {
			seen := map[string]bool{}
			for _, row := range m.Rows {
				checkRow(t, s, m, row)
				seen[row.Contender] = true
				if row.Error != "" {
					t.Errorf("%s, %s, %s: %s", s.Name, m.Name, row.Contender, row.Error)
				}
				if row.Contender == "cluster" && m.Main && row.Ratio.Rounds == 0 {
					t.Errorf("%s, %s: no ratio to bare publishes", s.Name, m.Name)
				}
				if row.Contender != "nats-schedule" && m.Name == "cancels that were acknowledged, and the timer fired" && row.Value.Max != 0 {
					t.Errorf("%s: %v timers fired although they were cancelled", row.Contender, row.Value.Max)
				}
			}
			if m.Main && (!seen["cluster"] || !seen[clusterBase]) {
				t.Errorf("%s, %s: only %v", s.Name, m.Name, seen)
			}
		}
	}
}

func TestAContenderThatIsNotWantedStartsNoServers(t *testing.T) {
	t.Setenv("PATH", "") // so that nothing can be built
	r, err := Run(context.Background(), Options{Timers: 10, Rounds: 1, Scenarios: []string{"cluster-open"}, Contenders: []string{"heap"}})
	if err != nil || len(r.Scenarios) != 0 {
		t.Errorf("error %v, report %+v", err, r)
	}
}

func TestAClusterLogCountsEachTimerOnce(t *testing.T) {
	l := newClusterLog(3)
	l.addFired(0, time.Millisecond)
	l.addFired(0, time.Millisecond)
	l.addCancelled(1)
	l.addFired(1, time.Millisecond)
	l.addFired(7, time.Millisecond)
	if l.settled != 2 || l.twice != 1 || !l.fired[1] || !l.cancelled[1] {
		t.Errorf("got %+v", l)
	}
	select {
	case <-l.done:
		t.Error("it is done before the last timer")
	default:
	}
	l.addCancelled(2)
	<-l.done
}

func TestOrderNumbersAreThoseOfTheirIDs(t *testing.T) {
	for _, i := range []int{0, 7, 1234, 999_999_999} {
		if got := orderNumber(orderID(i)); got != i {
			t.Errorf("the number of %s is %d", orderID(i), got)
		}
	}
}
