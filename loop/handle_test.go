package loop

import (
	"testing"
	"unsafe"
)

func noop() {}

func TestAHandleIsAComparableValueOfAtMost32Bytes(t *testing.T) {
	if size := unsafe.Sizeof(Handle{}); size > 32 {
		t.Errorf("a Handle has %d bytes, want at most 32", size)
	}
	l := New(Options{})
	a, b := l.CallSoon(noop), l.CallSoon(noop)
	if same := a; a == b || a != same {
		t.Errorf("%v == %v is %t, want false; %v == %v is %t, want true",
			a, b, a == b, a, same, a == same)
	}
}
