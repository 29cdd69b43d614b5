package testkit

import (
	"context"
	"log/slog"
	"slices"
	"sync"
)

// A LogRecorder is a slog.Handler that keeps the records it gets, of all levels. The zero
// value is ready for use, by several goroutines at once. It ignores the attributes and
// groups of loggers.
type LogRecorder struct {
	mu      sync.Mutex
	records []string
}

// Enabled returns true.
func (*LogRecorder) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs returns the recorder itself.
func (r *LogRecorder) WithAttrs([]slog.Attr) slog.Handler { return r }

// WithGroup returns the recorder itself.
func (r *LogRecorder) WithGroup(string) slog.Handler { return r }

// Handle keeps a record.
func (r *LogRecorder) Handle(_ context.Context, record slog.Record) error {
	text := record.Message
	record.Attrs(func(a slog.Attr) bool {
		text += " " + a.String()
		return true
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records = append(r.records, text)
	return nil
}

// Records returns the records so far. Each is the message followed by the attributes,
// like "loop: slow callback took=3s".
func (r *LogRecorder) Records() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.records)
}

// Clear drops the records so far.
func (r *LogRecorder) Clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records = nil
}
