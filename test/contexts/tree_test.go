package contexts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// A node is a context of a tree.
type node struct {
	id       int
	parent   *node // nil for the root
	values   *node // the node that it has its values from, if not parent
	ctx      context.Context
	cancel   func(cause error) // nil: it cannot be cancelled
	end      func(error) bool  // ends a user's context or a wrapper; nil for other contexts
	user     *afterFuncContext // nil for other contexts
	keptDone <-chan struct{}   // the first result of Done; nil: Done was not called

	derived bool // made by WithCancel or a similar function
	// Properties of the contexts from this one up to the next derived one. A derived context has
	// none of them.
	opaque      bool // a goroutine or an AfterFunc method notifies children of the end
	independent bool // it does not end with its parent
	errNil      bool // Err is always nil
}

// A hook is a function registered with AfterFunc.
type hook struct {
	id      int
	on      *node
	stop    func() bool
	stopped bool // stop has returned true

	mu   sync.Mutex
	runs int
	saw  string // Err and Cause of the context in the first run
}

func (h *hook) String() string { return fmt.Sprintf("f%d", h.id) }

func (h *hook) ran() (runs int, saw string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.runs, h.saw
}

// A tree has the contexts that a program makes. It records the results that it observes in a trace.
// The trace must be that of the reference, which is the same program with standard contexts.
type tree struct {
	makers    makers
	base      time.Time     // deadlines are relative to it; the same in all runs
	patience  time.Duration // how long it waits for a condition
	reference []string      // the trace of the reference; nil: this is the reference
	trace     []string

	nodes  []*node
	hooks  []*hook
	shorts int // the number of contexts with a short deadline
	watch  errWatch
}

const (
	maxNodes  = 40 // contexts in a tree
	maxShorts = 2  // contexts with a short deadline
)

// A program panics with a mismatch when it observes other results than the reference.
type mismatch struct{ error }

func (t *tree) fail(format string, args ...any) {
	panic(mismatch{fmt.Errorf(format, args...)})
}

// record adds a line to the trace and compares it with the reference.
func (t *tree) record(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	want, known := t.expected()
	t.trace = append(t.trace, line)
	if known && line != want {
		t.fail("the trace differs from the reference\n got %s\nwant %s", line, want)
	}
}

// expected returns the next line of the reference.
func (t *tree) expected() (line string, known bool) {
	switch i := len(t.trace); {
	case t.reference == nil:
		return "", false
	case i < len(t.reference):
		return t.reference[i], true
	default:
		return "nothing more", true
	}
}

// add adds a context to the tree. It has the properties of its parent.
func (t *tree) add(parent *node, ctx context.Context) *node {
	n := &node{id: len(t.nodes), parent: parent, ctx: ctx}
	if parent != nil {
		n.opaque, n.independent, n.errNil = parent.opaque, parent.independent, parent.errNil
	}
	t.nodes = append(t.nodes, n)
	return n
}

// derive adds a derived context to the tree.
func (t *tree) derive(parent *node, ctx context.Context, cancel func(error)) *node {
	n := t.add(parent, ctx)
	n.derived, n.cancel = true, cancel
	n.opaque, n.independent, n.errNil = false, false, false
	return n
}

func (n *node) String() string { return fmt.Sprintf("n%d", n.id) }

// under reports whether n is top or one of its descendants.
func (n *node) under(top *node) bool {
	return n == top || n.parent != nil && n.parent.under(top)
}

// above adds n to set, and all nodes that can determine its end or its values.
func (n *node) above(set map[*node]bool) map[*node]bool {
	set[n] = true
	for _, x := range []*node{n.parent, n.values} {
		if x != nil {
			x.above(set)
		}
	}
	return set
}

// apart reports whether no step can end both a and b.
func apart(a, b *node) bool {
	aboveA := a.above(make(map[*node]bool))
	for n := range b.above(make(map[*node]bool)) {
		if aboveA[n] && (n.derived || n.end != nil) {
			return false
		}
	}
	return true
}

// of returns the nodes that have a property.
func (t *tree) of(has func(*node) bool) (found []*node) {
	for _, n := range t.nodes {
		if has(n) {
			found = append(found, n)
		}
	}
	return found
}

// pickNode returns one of the nodes, or nil if there are none.
func pickNode(b byte, ns []*node) *node {
	if i := choose(b, len(ns)); i >= 0 {
		return ns[i]
	}
	return nil
}

// A sliceError is an error that is not comparable.
type sliceError []string

func (e sliceError) Error() string { return "slice" }

// errorPool has the errors that programs end contexts with.
var errorPool = []error{
	nil,
	errors.New("e1"),
	errors.New("e2"),
	errors.New("e3"),
	errors.New("e4"),
	context.Canceled,
	context.DeadlineExceeded,
	sliceError{"e5"},
}

// poolError returns an error of the pool, which may be nil.
func poolError(b byte) error { return errorPool[int(b)%len(errorPool)] }

// properError returns an error of the pool that is not nil.
func properError(b byte) error { return errorPool[1+int(b)%(len(errorPool)-1)] }

// errorName returns a name that identifies an error of the pool.
func errorName(err error) string {
	if _, ok := err.(sliceError); ok {
		return "slice"
	}
	switch i := slices.IndexFunc(errorPool, func(e error) bool { return sameError(e, err) }); {
	case err == nil:
		return "nil"
	case i < 0:
		return fmt.Sprintf("unknown %T: %v", err, err)
	default:
		return err.Error()
	}
}

// sameError compares errors that may not be comparable.
func sameError(a, b error) bool {
	_, slice := a.(sliceError)
	if slice {
		_, slice = b.(sliceError)
		return slice
	}
	if _, slice = b.(sliceError); slice {
		return false
	}
	return a == b
}

// panicText calls f and returns the text of its panic, or "" if f does not panic.
func panicText(f func()) (w string) {
	defer func() {
		if v := recover(); v != nil {
			if u, ok := v.(mismatch); ok {
				panic(u)
			}
			w = fmt.Sprint("panic: ", v)
		}
	}()
	f()
	return ""
}
