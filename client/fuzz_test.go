package client

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

// FuzzEvents checks that a stream of events is read alike in whatever pieces it comes, and within the bounds.
func FuzzEvents(f *testing.F) {
	f.Add("event: fire\nid: 1\ndata: {}\n\n", 3)
	f.Add("\ufeffdata: a\r\ndata: b\r\r\nretry: 10\n\n", 1)
	f.Add(": comment\n\nid: \x00\n\n", 7)
	f.Fuzz(func(t *testing.T, text string, piece int) {
		whole, err := eventsOf(strings.NewReader(text))
		inPieces, errInPieces := eventsOf(&pieces{text: text, size: max(piece%64, 1)})
		if (err == nil) != (errInPieces == nil) {
			t.Fatalf("errors %v and, in pieces, %v", err, errInPieces)
		}
		if len(whole) != len(inPieces) {
			t.Fatalf("%d events and, in pieces, %d", len(whole), len(inPieces))
		}
		for i, e := range whole {
			p := inPieces[i]
			if e.id != p.id || e.name != p.name || !bytes.Equal(e.data, p.data) || e.retry != p.retry {
				t.Errorf("event %d is %+v and, in pieces, %+v", i, e, p)
			}
			if strings.ContainsAny(e.id, "\r\n\x00") || len(e.id) > maxEventID || len(e.data) > maxEvent {
				t.Errorf("event %d cannot be sent back: %+v", i, e)
			}
		}
	})
}

// pieces is a reader that returns a few bytes at a time.
type pieces struct {
	text string
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	r := strings.NewReader(p.text)
	n, err := r.Read(b[:min(p.size, len(b))])
	p.text = p.text[n:]
	return n, err
}

func eventsOf(r interface{ Read([]byte) (int, error) }) (events []event, err error) {
	lines := newLines(r)
	var e event
	for lines.Scan() {
		complete, err := e.add(lines.Bytes())
		if err != nil {
			return events, err
		}
		if complete {
			events = append(events, e)
			e = event{id: e.id}
		}
	}
	return events, lines.Err()
}

// FuzzProblem checks that the texts of a problem are short and printable and do not have the token, whatever the server sends.
func FuzzProblem(f *testing.F) {
	f.Add("application/problem+json", `{"title":"a","detail":"the token is s3cret"}`, "3")
	f.Add("text/plain", "s3cs3cretret \x1b[2J", "Sat, 01 Jan 2000 00:00:09 GMT")
	f.Fuzz(func(t *testing.T, media, body, after string) {
		const token = "s3cret"
		p := problemOf(404, http.Header{"Content-Type": {media}, "Retry-After": {after}}, []byte(body), token)
		if p.RetryAfter < 0 {
			t.Errorf("Retry-After %v", p.RetryAfter)
		}
		for _, text := range []string{p.Type, p.Title, p.Detail, p.Error()} {
			if strings.Contains(text, token) || len(text) > 2*maxText || !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
				t.Errorf("%q", text)
			}
		}
	})
}

func TestRetryAfterIsParsed(t *testing.T) {
	now := time.Date(2026, 11, 16, 8, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":                              0,
		"0":                             0,
		"120":                           2 * time.Minute,
		"-1":                            0,
		"1.5":                           0,
		"99999999999999999999":          0,
		"Mon, 16 Nov 2026 08:00:30 GMT": 30 * time.Second,
		"Mon, 16 Nov 2026 07:00:30 GMT": 0,
		"tomorrow":                      0,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}
