package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/foliot-go/foliot/durable"
)

// A Problem is the body of a response that is an error, as RFC 9457 describes it.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`

	// Of /readyz, while timers are loaded.
	Loaded  *int `json:"loaded,omitzero"`
	Pending *int `json:"pending,omitzero"`

	headers map[string]string
}

func (p *Problem) Error() string { return p.Detail }

// problem returns a problem. The detail says what to do.
func problem(status int, format string, args ...any) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: fmt.Sprintf(format, args...)}
}

// with adds a header.
func (p *Problem) with(name, value string) *Problem {
	if p.headers == nil {
		p.headers = make(map[string]string)
	}
	p.headers[name] = value
	return p
}

func badRequest(format string, args ...any) *Problem {
	return problem(http.StatusBadRequest, format, args...)
}

// problemOf returns the problem that an error of a handler is.
func problemOf(err error, log *slog.Logger) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	switch {
	case errors.Is(err, durable.ErrInvalid):
		return badRequest("%s", plain(err, durable.ErrInvalid))
	case errors.Is(err, durable.ErrTooLarge):
		return problem(http.StatusRequestEntityTooLarge, "%s", plain(err, durable.ErrTooLarge))
	case errors.Is(err, durable.ErrRev):
		return problem(http.StatusPreconditionFailed, "The timer has another revision, is being handled, or is gone. Read it again and decide anew.")
	case errors.Is(err, durable.ErrClosed):
		return problem(http.StatusServiceUnavailable, "The server is ending. Try again later.").with("Retry-After", "1")
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return problem(http.StatusServiceUnavailable, "The request was given up before it was done. Whether it was done is open: read the timer.")
	}
	log.Error("serve: a request failed", "error", err)
	return problem(http.StatusInternalServerError, "The server has failed; its log has the reason. Whether the request was done is open: read the timer.")
}

// plain returns the text of an error without what it wraps.
func plain(err, wrapped error) string {
	s := strings.TrimPrefix(err.Error(), wrapped.Error()+": ")
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

// write sends the problem.
func (p *Problem) write(w http.ResponseWriter) {
	for name, value := range p.headers {
		w.Header().Set(name, value)
	}
	body, err := json.Marshal(p, jsontext.AllowInvalidUTF8(true)) // a detail may quote what was sent
	if err != nil {
		body = []byte(`{}`)
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n'))
}

// writeJSON sends a response.
func writeJSON(w http.ResponseWriter, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
	return nil
}
