package main

import (
	"os"
	"slices"

	"github.com/dop251/goja"
)

func (h *Host) addPromises() {
	global := h.vm.GlobalObject()
	// A microtask of its own is one of a promise that is fulfilled already. What it throws ends the
	// script at once, as from any other callback; from a plain then it would be a rejection, which is
	// looked at when all microtasks are done. The arrow function makes the call one from JavaScript: for
	// goja it would else be an outermost call, with the other microtasks run inside of it.
	queue := h.compile("queueMicrotask", `(run => {
		const { apply } = Reflect, { then } = Promise.prototype, fulfilled = Promise.resolve()
		return callback => { apply(then, fulfilled, [() => { run(callback) }]) }
	})`, func(call goja.FunctionCall) goja.Value {
		if _, err := h.function(call.Argument(0))(goja.Undefined()); err != nil {
			h.fail(err)
		}
		return goja.Undefined()
	})
	h.define(global, "queueMicrotask", func(call goja.FunctionCall) goja.Value {
		callback := call.Argument(0)
		h.function(callback)
		return must(queue(goja.Undefined(), callback))
	})
	h.define(global, "sleep", h.sleep)
	h.define(global, "readFile", h.readFile)
}

// sleep returns a promise that is fulfilled after so many milliseconds: a timer of the loop without a
// callback in JavaScript.
func (h *Host) sleep(call goja.FunctionCall) goja.Value {
	promise, resolve, _ := h.vm.NewPromise()
	h.loop.CallLater(h.delay(call.Argument(0)), func() {
		h.enter(func() error { return resolve(goja.Undefined()) })
	})
	return h.vm.ToValue(promise)
}

// readFile returns a promise of a file's text.
func (h *Host) readFile(call goja.FunctionCall) goja.Value {
	path := call.Argument(0).String()
	return h.inBackground(func() (any, error) {
		text, err := os.ReadFile(path)
		return string(text), err
	})
}

// inBackground returns a promise of what work returns. All I/O of a host goes this way: work has a
// goroutine of its own and must not touch the interpreter; its result comes back by Post. Hold keeps the
// loop from being idle meanwhile, and is released when the result is in the loop's queue, not before.
func (h *Host) inBackground(work func() (any, error)) goja.Value {
	promise, resolve, reject := h.vm.NewPromise()
	release := h.loop.Hold()
	go func() {
		defer release()
		result, err := work()
		_ = h.loop.Post(func() { // or the host has ended, and nobody waits for it
			h.enter(func() error {
				if err != nil {
					return reject(h.vm.NewGoError(err))
				}
				return resolve(result)
			})
		})
	}()
	return h.vm.ToValue(promise)
}

// trackRejection is told by goja of promises that are rejected and have no handler, and of those among
// them that get one later.
func (h *Host) trackRejection(p *goja.Promise, operation goja.PromiseRejectionOperation) {
	switch operation {
	case goja.PromiseRejectionReject:
		h.rejected = append(h.rejected, p)
	case goja.PromiseRejectionHandle:
		h.rejected = slices.DeleteFunc(h.rejected, func(other *goja.Promise) bool { return other == p })
	}
}

// checkRejections is called by the loop after each callback, when its microtasks are done. A rejection
// that has no handler by now ends the script.
func (h *Host) checkRejections() {
	if len(h.rejected) == 0 || h.ended {
		return
	}
	reason := h.rejected[0].Result()
	h.rejected = nil
	h.failWith(func() string { return "(in promise) " + describe(reason) })
}
