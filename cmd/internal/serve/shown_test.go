package serve

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

// TestATimerThatWasMadeIsShownAsItIsKept compares the response of a PUT with that of a GET after it.
func TestATimerThatWasMadeIsShownAsItIsKept(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 8, time.FixedZone("", 3600))
	for _, body := range []string{
		`{"after":"1h","kind":"a"}`,
		`{"at":"2040-01-02T03:04:05.678+02:00","kind":"a","payload":null}`,
		`{"every":"90s","kind":"a","payload":{"b":[1, 2]}}`,
		`{"cron":"0 3 * * *","tz":"Europe/Berlin","kind":"a","payload":"x"}`,
		`{"cron":"@daily","after":"1s","webhook":{"url":"http://example.com/"}}`,
		`{"after":"1h","webhook":{"url":"http://example.com/","headers":{}},"payload":0}`,
		`{"after":"1h","webhook":{"url":"http://example.com/","headers":{"X-A":"b"}}}`,
	} {
		var spec Spec
		if err := decode([]byte(body), &spec); err != nil {
			t.Fatal(err)
		}
		timer, err := spec.timer("id", now)
		if err != nil {
			t.Fatal(err)
		}
		timer.Rev = 7
		made, err := json.Marshal(spec.shown(&timer), json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		kept, err := json.Marshal(show(&timer), json.Deterministic(true))
		if err != nil || string(made) != string(kept) {
			t.Errorf("%s: error %v, the PUT shows\n%s, the GET\n%s", body, err, made, kept)
		}
	}
}
