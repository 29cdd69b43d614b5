package storetest

import (
	"strings"
	"time"

	"github.com/foliot-go/foliot/durable"
)

// validTests test that bad input is refused before it is stored.
var validTests = []test{
	{name: "Timers that are not valid are refused, by field and bound", run: refusesTimers},
	{name: "Options that are not valid are refused, by field", run: refusesOptions},
	{name: "IDs and queries that are not valid are refused", run: refusesIDs},
	{name: "MaxPayload bounds payloads", run: boundsPayloads},
}

// badIDs are IDs that are refused, with a word of the error.
var badIDs = []struct{ id, word string }{
	{"", "ID"},
	{strings.Repeat("x", 256), "255"},
	{strings.Repeat("ä", 128), "255"},
	{"a\x00b", "control"},
	{"a\nb", "control"},
	{"\x1f", "control"},
	{"a\x7f", "control"},
	{"a\u0080", "control"},
	{"a\u009fb", "control"},
	{"a\xff", "UTF-8"},
	{"\xc3", "UTF-8"},
}

func refusesTimers(k *kit) {
	good := durable.Timer{ID: "x", At: start, Kind: kind}
	type bad struct {
		change func(t *durable.Timer)
		words  []string
		err    error
	}
	at := func(t time.Time) func(*durable.Timer) { return func(x *durable.Timer) { x.At = t } }
	kindIs := func(s string) func(*durable.Timer) { return func(x *durable.Timer) { x.Kind = s } }
	every := func(d time.Duration) func(*durable.Timer) { return func(x *durable.Timer) { x.Every = d } }
	all := []bad{
		{at(time.Time{}), []string{"At", "zero"}, durable.ErrInvalid},
		{at(time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC)), []string{"At", "2261"}, durable.ErrInvalid},
		{at(time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)), []string{"At", "2261"}, durable.ErrInvalid},
		{kindIs(""), []string{"Kind", "63"}, durable.ErrInvalid},
		{kindIs(strings.Repeat("k", 64)), []string{"Kind", "63"}, durable.ErrInvalid},
		{kindIs("a.b"), []string{"Kind", "."}, durable.ErrInvalid},
		{kindIs("ä"), []string{"Kind"}, durable.ErrInvalid},
		{kindIs("a b"), []string{"Kind"}, durable.ErrInvalid},
		{every(-time.Second), []string{"Every", "1ms"}, durable.ErrInvalid},
		{every(time.Millisecond - 1), []string{"Every", "1ms"}, durable.ErrInvalid},
		{every(1), []string{"Every", "1ms"}, durable.ErrInvalid},
		{func(t *durable.Timer) { t.Payload = make([]byte, 64<<10+1) }, []string{"Payload", "65536"}, durable.ErrTooLarge},
	}
	for _, b := range badIDs {
		all = append(all, bad{func(t *durable.Timer) { t.ID = b.id }, []string{"ID", b.word}, durable.ErrInvalid})
	}
	check := func(call string, t durable.Timer, b bad, err error) {
		if !is(err, b.err) {
			k.Errorf("%s of %.80q returns %v, want an error that is %v", call, t.ID, err, b.err)
			return
		}
		for _, word := range b.words {
			if !strings.Contains(err.Error(), word) {
				k.Errorf("%s returns %q, which does not say %q", call, err, word)
			}
		}
	}
	for _, b := range all {
		t := good
		b.change(&t)
		_, err := k.s.Schedule(k.ctx, t)
		check("Schedule", t, b, err)
		_, err = k.s.ScheduleBatch(k.ctx, []durable.Timer{{ID: "good", At: start, Kind: kind}, t})
		check("ScheduleBatch", t, b, err)
	}
	if ids := k.list(durable.Query{}); len(ids) != 0 {
		k.Errorf("after refused calls the store has %q", ids)
	}
	if s := k.s.Stats(); s.Pending != 0 || s.Scheduled != 0 {
		k.Errorf("after refused calls Stats.Pending is %d, Scheduled %d", s.Pending, s.Scheduled)
	}
}

func refusesOptions(k *kit) {
	for field, o := range map[string]durable.Options{
		"Concurrency":    {Concurrency: -1},
		"Retry.Min":      {Retry: durable.Retry{Min: -1}},
		"Retry.Max":      {Retry: durable.Retry{Min: 2, Max: 1}},
		"Retry.Attempts": {Retry: durable.Retry{Attempts: -2}},
		"Late":           {Late: 2},
		"LateAfter":      {LateAfter: -1},
		"Drain":          {Drain: -1},
		"MaxPayload":     {MaxPayload: 64<<10 + 1},
	} {
		if s, err := durable.New(k.store, o); s != nil || !is(err, durable.ErrInvalid) || !strings.Contains(err.Error(), field) {
			k.Errorf("New with a bad %s returns %v", field, err)
		}
	}
	if _, err := durable.New(nil, durable.Options{}); !is(err, durable.ErrInvalid) {
		k.Errorf("New without a store returns %v", err)
	}
	if _, err := durable.New(k.store, durable.Options{}); err != nil {
		k.Errorf("New with all defaults returns %v", err)
	}
}

func refusesIDs(k *kit) {
	for _, b := range badIDs {
		_, cancelled := k.s.Cancel(k.ctx, b.id)
		_, _, got := k.s.Get(k.ctx, b.id)
		_, redriven := k.s.Redrive(k.ctx, b.id)
		_, discarded := k.s.Discard(k.ctx, b.id)
		for name, err := range map[string]error{"Cancel": cancelled, "Get": got, "Redrive": redriven, "Discard": discarded} {
			if !is(err, durable.ErrInvalid) || !strings.Contains(err.Error(), b.word) {
				k.Errorf("%s of %.20q returns %v, want ErrInvalid that says %q", name, b.id, err, b.word)
			}
		}
	}
	k.schedule("x", time.Hour)
	for name, q := range map[string]durable.Query{"Limit": {Limit: -1}, "Kind": {Kind: "not valid"}} {
		n := 0
		for _, err := range k.s.List(k.ctx, q) {
			n++
			if !is(err, durable.ErrInvalid) || !strings.Contains(err.Error(), name) {
				k.Errorf("List of %+v yields %v, want ErrInvalid", q, err)
			}
		}
		if n != 1 {
			k.Errorf("List of %+v yields %d times, want one error", q, n)
		}
	}
}

func boundsPayloads(k *kit) {
	k.with(func(o *durable.Options) { o.MaxPayload = 10 })
	t := durable.Timer{ID: "x", At: start, Kind: kind, Payload: make([]byte, 10)}
	k.scheduleTimer(t)
	t.ID, t.Payload = "y", make([]byte, 11)
	if _, err := k.s.Schedule(k.ctx, t); !is(err, durable.ErrTooLarge) || !strings.Contains(err.Error(), "10") {
		k.Errorf("Schedule of 11 bytes returns %v, want ErrTooLarge that says 10", err)
	}
	k.absent("y")
}
