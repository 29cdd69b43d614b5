package contexts

import "fmt"

// keys are the arguments of Value. No context has values for the last three.
var keys = [...]any{ctxKey(0), ctxKey(1), ctxKey(2), 0, nil, []int{0}}

// query calls all methods of a context and Cause, in the order that order selects, and formats the
// results.
func (t *tree) query(n *node, order byte) string {
	err, cause, done, deadline, values := "", "", "", "", ""
	calls := [...]func(){
		func() { err = errorName(n.ctx.Err()) },
		func() { cause = errorName(t.makers[order>>7].cause(n.ctx)) },
		func() { done = fmt.Sprint(isDone(n.ctx)) },
		func() {
			if d, ok := n.ctx.Deadline(); ok {
				deadline = t.when(d)
			} else {
				deadline = "none"
			}
		},
		func() {
			for _, key := range keys {
				if v := value(n, key); v != nil {
					values += fmt.Sprintf(", %v has %v", key, v)
				}
			}
		},
	}
	// A stride of 1 to 4 makes each of the 5 calls once, since 5 is a prime.
	first, stride := int(order)%5, 1+int(order>>3)%4
	for i := range calls {
		calls[(first+i*stride)%5]()
	}
	return fmt.Sprintf("Err %s, Cause %s, done %s, deadline %s%s",
		err, cause, done, deadline, values)
}

// value returns a value of a context, or a text if the value is a context.
func value(n *node, key any) any {
	v := n.ctx.Value(key)
	if _, ok := v.(plainWrapper); ok {
		return "context"
	}
	return v
}

// check queries all contexts, the oldest first or the youngest first.
func (t *tree) check(how byte) {
	t.settle()
	for i := range t.nodes {
		if how&1 == 1 {
			i = len(t.nodes) - 1 - i
		}
		t.record("%v: %s", t.nodes[i], t.query(t.nodes[i], how))
	}
	t.recordHooks()
}

// recordHooks records how often the hooks have run and which results they observed.
func (t *tree) recordHooks() {
	for _, h := range t.hooks {
		runs, saw := h.ran()
		t.record("%v has run %d times, stopped %t, observed %s", h, runs, h.stopped, saw)
	}
}
