package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dop251/goja"
)

func (h *Host) addConsole() {
	console := h.vm.NewObject()
	for name, w := range map[string]io.Writer{"log": h.Out, "info": h.Out, "debug": h.Out, "warn": h.Err, "error": h.Err} {
		h.define(console, name, func(call goja.FunctionCall) goja.Value {
			words := make([]string, len(call.Arguments))
			for i, v := range call.Arguments {
				words[i] = describe(v)
			}
			fmt.Fprintln(w, strings.Join(words, " "))
			return goja.Undefined()
		})
	}
	must(console, h.vm.Set("console", console))

	performance, start := h.vm.NewObject(), h.clock()
	h.define(performance, "now", func(goja.FunctionCall) goja.Value {
		return h.vm.ToValue(float64(h.clock().Sub(start)) / float64(time.Millisecond))
	})
	must(performance, h.vm.Set("performance", performance))
}

// describe returns v as console.log prints it: an error with its stack, an object or array as JSON, anything
// else as a string.
func describe(v goja.Value) string {
	if symbol, ok := v.(*goja.Symbol); ok {
		return "Symbol(" + symbol.String() + ")"
	}
	object, ok := v.(*goja.Object)
	if !ok {
		return v.String()
	}
	if _, ok := goja.AssertFunction(object); ok {
		return "[Function: " + object.Get("name").String() + "]"
	}
	if stack := object.Get("stack"); stack != nil && goja.IsString(stack) {
		return strings.TrimRight(stack.String(), "\n")
	}
	if class := object.ClassName(); class == "Object" || class == "Array" {
		if json, err := object.MarshalJSON(); err == nil {
			return string(json)
		}
	}
	return object.String()
}

func (h *Host) addProcess() {
	process := h.vm.NewObject()
	argv := append([]string{"goja"}, h.Args...)
	must(process, process.Set("argv", argv))
	exitCode := goja.Undefined() // the value that the script has set
	set := func(v goja.Value) {
		exitCode = h.checkExitCode(v)
		h.code = int(exitCode.ToInteger())
	}
	getter := func(goja.FunctionCall) goja.Value { return exitCode }
	setter := func(call goja.FunctionCall) goja.Value {
		set(call.Argument(0))
		return goja.Undefined()
	}
	must(process, process.DefineAccessorProperty("exitCode", h.vm.ToValue(getter), h.vm.ToValue(setter), goja.FLAG_FALSE, goja.FLAG_TRUE))
	h.define(process, "exit", func(call goja.FunctionCall) goja.Value {
		if code := call.Argument(0); !goja.IsUndefined(code) {
			set(code)
		}
		h.exit(h.code)
		return goja.Undefined()
	})
	must(process, h.vm.Set("process", process))
}

// checkExitCode returns v as an integer or undefined, or throws. As in Node, a string that spells an integer
// counts as one.
func (h *Host) checkExitCode(v goja.Value) goja.Value {
	switch {
	case goja.IsUndefined(v), goja.IsNull(v):
		return goja.Undefined()
	case goja.IsNumber(v) && v.ToFloat() == math.Trunc(v.ToFloat()) && !goja.IsInfinity(v):
		return v
	case goja.IsString(v):
		if n, err := strconv.Atoi(v.String()); err == nil {
			return h.vm.ToValue(n)
		}
	}
	panic(h.invalid("The exit code must be an integer"))
}
