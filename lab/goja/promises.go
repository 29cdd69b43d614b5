package main

import (
	"os"
	"slices"

	"github.com/dop251/goja"
)

func (h *Host) addPromises() {
	global := h.vm.GlobalObject()
	// queueMicrotask uses then of a promise that is already fulfilled. If the callback throws, that ends the
	// script at once, as in any other callback. With a plain then it would be a rejection, which is checked only
	// after all microtasks. The arrow function makes JavaScript the caller of run: otherwise goja would treat run
	// as an outermost call and run the other microtasks inside of it.
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

// sleep returns a promise that is fulfilled after the given milliseconds. It is a timer of the loop without a
// JavaScript callback.
func (h *Host) sleep(call goja.FunctionCall) goja.Value {
	promise, resolve, _ := h.vm.NewPromise()
	h.loop.CallLater(h.delay(call.Argument(0)), func() {
		h.enter(func() error { return resolve(goja.Undefined()) })
	})
	return h.vm.ToValue(promise)
}

// readFile returns a promise for the text of a file.
func (h *Host) readFile(call goja.FunctionCall) goja.Value {
	path := call.Argument(0).String()
	return h.inBackground(func() (any, error) {
		text, err := os.ReadFile(path)
		return string(text), err
	})
}

// inBackground returns a promise for the result of work. All I/O of a host uses it. work runs on a new goroutine and
// must not touch the interpreter. Post passes its result to the loop. Hold keeps the loop running meanwhile; it is
// released only after the result is in the loop's queue.
func (h *Host) inBackground(work func() (any, error)) goja.Value {
	promise, resolve, reject := h.vm.NewPromise()
	release := h.loop.Hold()
	go func() {
		defer release()
		result, err := work()
		_ = h.loop.Post(func() { // fails only if the host has ended
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

// trackRejection is called by goja when a promise is rejected without a handler, and when such a promise gets a
// handler later.
func (h *Host) trackRejection(p *goja.Promise, operation goja.PromiseRejectionOperation) {
	switch operation {
	case goja.PromiseRejectionReject:
		h.rejected = append(h.rejected, p)
	case goja.PromiseRejectionHandle:
		h.rejected = slices.DeleteFunc(h.rejected, func(other *goja.Promise) bool { return other == p })
	}
}

// checkRejections is called by the loop after each callback and its microtasks. A rejection that still has no handler
// ends the script.
func (h *Host) checkRejections() {
	if len(h.rejected) == 0 || h.ended {
		return
	}
	reason := h.rejected[0].Result()
	h.rejected = nil
	h.failWith(func() string { return "(in promise) " + describe(reason) })
}
