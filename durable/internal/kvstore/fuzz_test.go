package kvstore

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/internal/moves"
)

// seedRecords are records in each state.
func seedRecords() (seeds [][]byte) {
	for s := moves.Armed; s < moves.States; s++ {
		r := moves.Record{State: s, Kind: "kind", At: 1e18, Rev: 7, Series: 7, Missed: 3, Payload: 4}
		if s.HasBoth() {
			r.Every = int64(time.Hour)
		}
		if s.HasOccurrence() {
			r.Occurrence = moves.Occurrence{At: 1e18 - 1, Rev: 6, Attempt: 2, Missed: 1, RetryAt: 1e18 + 1}
		}
		seeds = append(seeds, appendRecord(nil, &r, []byte("load")))
		r.Payload = inlineMax + 1
		seeds = append(seeds, appendRecord(nil, &r, nil))
		if r.Every != 0 {
			r.Series = 5
			seeds = append(seeds, appendRecord(nil, &r, nil))
		}
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
		if isInline(&r) && len(payload) != int(r.Payload) {
			t.Fatalf("%x: the payload has %d bytes, and the record says %d", b, len(payload), r.Payload)
		}
		encoded := appendRecord(nil, &r, payload)
		if len(encoded) > len(b) {
			t.Errorf("%x is encoded to %x, which is longer", b, encoded)
		}
		again, samePayload, err := decodeRecord(encoded)
		if err != nil || again != r || !bytes.Equal(payload, samePayload) {
			t.Errorf("%x: decoded to %+v, and after encoding to %+v, %v", b, r, again, err)
		}
		if _, ok := r.WakeAt(); !ok && r.State != moves.Handling {
			t.Errorf("%x: state %v has no time", b, r.State)
		}
	})
}

// FuzzDecodeDead does the same for dead timers.
func FuzzDecodeDead(f *testing.F) {
	d := moves.DeadRecord{Fire: durable.Fire{
		Timer:   durable.Timer{ID: "a", Kind: "kind", At: time.Unix(1e9, 1), Every: time.Hour, Rev: 9, Payload: []byte("load")},
		Attempt: 16, Missed: 2, Error: "failed",
	}}
	f.Add(d.Append(nil))
	f.Add((&moves.DeadRecord{Fire: durable.Fire{Timer: durable.Timer{At: time.Unix(0, 0)}}}).Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := moves.DecodeDead("a", b)
		if err != nil {
			return
		}
		encoded := d.Append(nil)
		again, err := moves.DecodeDead("a", encoded)
		if err != nil {
			t.Fatalf("%x is decoded to %+v, and encoded to %x: %v", b, d, encoded, err)
		}
		if !bytes.Equal(again.Append(nil), encoded) || again.Fire.Key() != d.Fire.Key() || !again.Fire.At.Equal(d.Fire.At) ||
			!bytes.Equal(again.Fire.Payload, d.Fire.Payload) || again.Fire.Error != d.Fire.Error {
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

// TestRecordsAreEncodedAsInExistingFolders has bytes that earlier versions of a store have written.
func TestRecordsAreEncodedAsInExistingFolders(t *testing.T) {
	const (
		inline = "0105046b696e6480c0e285e368048080a0f6f4acdbe01b0703feff9ff6f4acdbe01b0602018280a0f6f4acdbe01b6c6f6164"
		long   = "0105046b696e6480c0e285e36881048080a0f6f4acdbe01b0703feff9ff6f4acdbe01b0602018280a0f6f4acdbe01b"
		series = "0205046b696e6480c0e285e36881048080a0f6f4acdbe01b070305feff9ff6f4acdbe01b0602018280a0f6f4acdbe01b"
	)
	seeds := seedRecords()
	for i, want := range []string{inline, long, series} {
		if got := fmt.Sprintf("%x", seeds[len(seeds)-3+i]); got != want {
			t.Errorf("a record is encoded to %s, want %s", got, want)
		}
	}
}
