package stream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"
)

// put adds an event whose frame is its number.
func put(h *Hub, id uint64) { h.Put(id, "k", strconv.AppendUint(nil, id, 10)) }

func TestEventsWithTheirOwnNumbers(t *testing.T) {
	h := newHub(t, Options{Keep: 4})
	h.Skip(10)
	l := listen(t, h, "", 0, false)
	for _, id := range []uint64{10, 11, 11, 9, 12} {
		put(h, id)
	}
	if ids, missed := collect(t, l, 3); fmt.Sprint(ids) != "[10 11 12]" || missed {
		t.Errorf("%v, missed %v", ids, missed)
	}
	put(h, 13)
	put(h, 20) // 14 to 19 are not kept any more, so those before them are not, either
	put(h, 21)
	if ids, missed := collect(t, l, 2); fmt.Sprint(ids) != "[20 21]" || !missed {
		t.Errorf("%v, missed %v", ids, missed)
	}
	again := listen(t, h, "", 20, true)
	if ids, missed := collect(t, again, 1); fmt.Sprint(ids) != "[21]" || missed {
		t.Errorf("%v, missed %v", ids, missed)
	}
	if h.bytes != 4 {
		t.Errorf("%d bytes, want 4", h.bytes)
	}
}

func TestReach(t *testing.T) {
	h := newHub(t, Options{})
	h.Skip(10)
	if err := h.Reach(t.Context(), 9); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := h.Reach(ctx, 10); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	go put(h, 12)
	if err := h.Reach(t.Context(), 11); err != nil {
		t.Error(err)
	}
}
