package kvstore

import (
	"bytes"
	"testing"
	"time"

	"github.com/foliot-go/foliot/durable"
)

// seedRecords are records in each state.
func seedRecords() (seeds [][]byte) {
	for s := armed; s < states; s++ {
		r := record{state: s, kind: "kind", at: 1e18, rev: 7, missed: 3, payload: 4}
		if s.hasBoth() {
			r.every = int64(time.Hour)
		}
		if s.hasOccurrence() {
			r.occurrence = occurrence{at: 1e18 - 1, rev: 6, attempt: 2, missed: 1, retryAt: 1e18 + 1}
		}
		seeds = append(seeds, r.encode(nil, []byte("load")))
		r.payload = inlineMax + 1
		seeds = append(seeds, r.encode(nil, nil))
	}
	return seeds
}

// FuzzDecodeRecord checks that a record that can be decoded is encoded to one that is decoded to the same.
func FuzzDecodeRecord(f *testing.F) {
	for _, seed := range seedRecords() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, payload, err := decodeRecord(b)
		if err != nil {
			return
		}
		if r.isInline() && len(payload) != int(r.payload) {
			t.Fatalf("%x: the payload has %d bytes, and the record says %d", b, len(payload), r.payload)
		}
		encoded := r.encode(nil, payload)
		if len(encoded) > len(b) {
			t.Errorf("%x is encoded to %x, which is longer", b, encoded)
		}
		again, samePayload, err := decodeRecord(encoded)
		if err != nil || again != r || !bytes.Equal(payload, samePayload) {
			t.Errorf("%x: decoded to %+v, and after encoding to %+v, %v", b, r, again, err)
		}
		if _, ok := r.wakeAt(); !ok && r.state != handling {
			t.Errorf("%x: state %v has no time", b, r.state)
		}
	})
}

// FuzzDecodeDead does the same for dead timers.
func FuzzDecodeDead(f *testing.F) {
	d := deadRecord{
		fire: durable.Fire{Timer: durable.Timer{ID: "a", Kind: "kind", At: time.Unix(1e9, 1), Every: time.Hour, Rev: 9, Payload: []byte("load")}, Attempt: 16, Missed: 2},
		err:  "failed",
	}
	f.Add(d.encode(nil))
	f.Add((&deadRecord{fire: durable.Fire{Timer: durable.Timer{At: time.Unix(0, 0)}}}).encode(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := decodeDead("a", b)
		if err != nil {
			return
		}
		encoded := d.encode(nil)
		again, err := decodeDead("a", encoded)
		if err != nil {
			t.Fatalf("%x is decoded to %+v, and encoded to %x: %v", b, d, encoded, err)
		}
		if !bytes.Equal(again.encode(nil), encoded) || again.fire.Key() != d.fire.Key() || !again.fire.At.Equal(d.fire.At) ||
			!bytes.Equal(again.fire.Payload, d.fire.Payload) || again.err != d.err {
			t.Errorf("%x: decoded to %+v, and after encoding to %+v", b, d, again)
		}
	})
}

// FuzzTimeKey checks the keys of the indexes by time: they are decoded to what they were made of, and
// sort by time.
func FuzzTimeKey(f *testing.F) {
	f.Add([]byte("d12345678id"), int64(0), int64(-1))
	f.Add(dueKey(1e18, "id"), int64(1e18), int64(-1e18))
	f.Add(retryKey(-5, "id"), int64(1), int64(2))
	f.Fuzz(func(t *testing.T, k []byte, a, b int64) {
		if at, id, ok := splitTimeKey(k); ok {
			if again := appendTimeKey(nil, k[0], at, id); !bytes.Equal(again, k) {
				t.Errorf("%x is decoded to %d and %q, and encoded to %x", k, at, id, again)
			}
		}
		if len(k) == 0 {
			return
		}
		id := string(k)
		if at, same, ok := splitTimeKey(dueKey(a, id)); !ok || at != a || same != id {
			t.Errorf("the key of %d and %q is decoded to %d and %q, %t", a, id, at, same, ok)
		}
		if a < b && bytes.Compare(dueKey(a, id), dueKey(b, "")) >= 0 {
			t.Errorf("the key of %d does not sort before that of %d", a, b)
		}
	})
}
