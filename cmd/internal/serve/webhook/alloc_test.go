package webhook

import (
	"net/http"
	"testing"
	"time"
)

func TestHeadersOfAWebhookAllocateOnlyTheirValues(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { headerID("order-0000000017@1@2") }); n != 0 {
		t.Errorf("headerID allocates %v times", n)
	}
	var unsigned *Signer
	h := make(http.Header, 4)
	now := time.Unix(1_800_000_000, 0)
	sign := func() {
		if err := unsigned.sign(h, "order-0000000017@1@2", now, nil); err != nil {
			t.Error(err)
		}
	}
	if n := testing.AllocsPerRun(100, sign); n > 3 { // two slices of one value, and the digits of the time
		t.Errorf("sign allocates %v times, want at most 3", n)
	}
}

func TestHeaderIDEncodesWhatIsNotVisibleASCII(t *testing.T) {
	for key, want := range map[string]string{
		"a@1": "a@1", "": "", "a b": "a%20b", "\x7f": "%7F", "ä": "%C3%A4", "a\xff": "a%FF", "~!": "~!",
	} {
		if got := headerID(key); got != want {
			t.Errorf("%q: %q, want %q", key, got, want)
		}
	}
}
