package jetstream

import (
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/internal/moves"
)

func TestIDsAreEscaped(t *testing.T) {
	for id, want := range map[string]string{
		"order-17_a": "order-17_a", "a.b": "a=2eb", "*": "=2a", ">": "=3e", " ": "=20", "=": "=3d", "ä": "=c3=a4", "$JS": "=24JS",
	} {
		got := escape(id)
		back, ok := unescape(got)
		if got != want || !ok || back != id {
			t.Errorf("%q is escaped to %q, want %q, and back to %q, %t", id, got, want, back, ok)
		}
	}
	for _, bad := range []string{"", "a.b", "=", "=2", "=zz", "=41", "=2E", "a b"} {
		if id, ok := unescape(bad); ok {
			t.Errorf("%q is the escape of %q", bad, id)
		}
	}
}

func FuzzUnescape(f *testing.F) {
	f.Add("a=2eb", "order-17")
	f.Fuzz(func(t *testing.T, token, id string) {
		if id, ok := unescape(token); ok && escape(id) != token {
			t.Errorf("%q is the escape of %q, whose escape is %q", token, id, escape(id))
		}
		if got, ok := unescape(escape(id)); id != "" && (!ok || got != id) || strings.ContainsAny(escape(id), ".*> ") {
			t.Errorf("%q is escaped to %q, and back to %q, %t", id, escape(id), got, ok)
		}
	})
}

func FuzzDecodeMessage(f *testing.F) {
	m := message{change: change{instance{1}, 300}, owner: instance{2}, hasDead: true}
	m.record.Arm(&durable.Timer{ID: "a", At: time.Unix(1e9, 1), Kind: "k", Every: time.Hour, Payload: []byte("p")}, 7)
	m.record.Happen("a", moves.Tick, m.record.DueAt(2e18, nil), func() uint64 { return 0 })
	m.dead = moves.DeadRecord{Fire: durable.Fire{Timer: durable.Timer{ID: "a", Kind: "k", At: time.Unix(1e9, 1), Rev: 3}, Attempt: 16, Error: "no use"}}
	f.Add(m.encode(false))
	f.Add(m.encode(true))
	f.Add((&message{}).encode(false))
	f.Fuzz(func(t *testing.T, header string) {
		m, err := decodeMessage("a", header, 9)
		if err != nil {
			return
		}
		for _, padded := range []bool{false, true} {
			again, err := decodeMessage("a", m.encode(padded), 9)
			if err != nil || again.record != m.record || again.owner != m.owner || again.change != m.change || again.hasDead != m.hasDead ||
				again.dead.Fire.Error != m.dead.Fire.Error {
				t.Errorf("%q is decoded to %+v, and after encoding to %+v, %v", header, m, again, err)
			}
		}
	})
}
