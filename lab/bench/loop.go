package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/foliot-go/foliot/loop"
)

// eventLoop is a contender that calls functions one after the other. Each method does one piece of work and returns
// the time it took, or errUnsupported.
type eventLoop interface {
	register(n int) (time.Duration, error)                       // register n timers that do not fire
	delays(n int, from, to time.Duration) (time.Duration, error) // arm n evenly spaced timers and wait for the last
	soon(n int) (time.Duration, error)                           // queue n functions, queueSize at a time, and call them
	chain(n int) (time.Duration, error)                          // call n functions, each of which queues the next
	post(n, producers int) (time.Duration, error)                // queue n functions from other goroutines or threads
	late(n int, from, to time.Duration) ([]time.Duration, error) // arm n timers and return how late each was
}

// queueSize is the number of functions that are queued before they are called.
const queueSize = 1024

// spacedDelay returns the delay of the i-th of n evenly spaced timers.
func spacedDelay(i, n int, from, to time.Duration) time.Duration {
	return from + (to-from)*time.Duration(i)/time.Duration(max(n-1, 1))
}

// foliotLoop is package loop.
type foliotLoop struct{ ctx context.Context }

func (o foliotLoop) timed(l *loop.Loop, prepare func()) (time.Duration, error) {
	defer l.Close()
	began := time.Now()
	prepare()
	err := l.RunUntilIdle(o.ctx)
	return time.Since(began), err
}

func (o foliotLoop) register(n int) (time.Duration, error) {
	l := loop.New(loop.Options{})
	defer l.Close()
	began := time.Now()
	for i := range n {
		l.CallLater(time.Duration(60+i%60)*time.Second, noop)
	}
	return time.Since(began), nil
}

func (o foliotLoop) delays(n int, from, to time.Duration) (time.Duration, error) {
	l := loop.New(loop.Options{})
	return o.timed(l, func() {
		for i := range n {
			l.CallLater(spacedDelay(i, n, from, to), noop)
		}
	})
}

func (o foliotLoop) soon(n int) (time.Duration, error) {
	l := loop.New(loop.Options{})
	left := n
	var refill func()
	refill = func() {
		batch := min(left, queueSize)
		for range batch {
			l.CallSoon(noop)
		}
		if left -= batch; left > 0 {
			l.CallSoon(refill)
		}
	}
	return o.timed(l, refill)
}

func (o foliotLoop) chain(n int) (time.Duration, error) {
	l := loop.New(loop.Options{})
	left := n
	var one func()
	one = func() {
		if left--; left > 0 {
			l.CallSoon(one)
		}
	}
	return o.timed(l, func() { l.CallSoon(one) })
}

func (o foliotLoop) post(n, producers int) (time.Duration, error) {
	return o.posting(n, producers, func(l *loop.Loop, f func(), each int) {
		for range each {
			_ = l.Post(f) // never fails: the loop is open until all have run
		}
	})
}

// postBatch is post with one producer and a hundred functions at a time.
func (o foliotLoop) postBatch(n int) (time.Duration, error) {
	return o.posting(n, 1, func(l *loop.Loop, f func(), each int) {
		batch := make([]func(), 100)
		for i := range batch {
			batch[i] = f
		}
		for ; each > 0; each -= len(batch) {
			_ = l.PostBatch(batch[:min(each, len(batch))])
		}
	})
}

func (o foliotLoop) posting(n, producers int, produce func(l *loop.Loop, f func(), each int)) (time.Duration, error) {
	l := loop.New(loop.Options{})
	defer l.Close()
	left := n / producers * producers
	f := func() {
		if left--; left == 0 {
			l.Stop()
		}
	}
	var all sync.WaitGroup
	began := time.Now()
	for range producers {
		all.Go(func() { produce(l, f, n/producers) })
	}
	err := l.Run(o.ctx)
	took := time.Since(began)
	all.Wait()
	return took, err
}

func (o foliotLoop) late(n int, from, to time.Duration) ([]time.Duration, error) {
	l := loop.New(loop.Options{})
	result := make([]time.Duration, 0, n)
	draw := between(from, to)
	_, err := o.timed(l, func() {
		for range n {
			d := draw()
			armed := time.Now()
			l.CallLater(d, func() { result = append(result, time.Since(armed)-d) })
		}
	})
	return result, err
}

// stdLoop is what a program without an event loop uses: timers of the standard library, and a channel of functions.
type stdLoop struct{ ctx context.Context }

func (s stdLoop) register(n int) (time.Duration, error) {
	timers := make([]*time.Timer, n)
	began := time.Now()
	for i := range timers {
		timers[i] = time.AfterFunc(time.Duration(60+i%60)*time.Second, noop)
	}
	took := time.Since(began)
	for _, t := range timers {
		t.Stop()
	}
	return took, nil
}

func (s stdLoop) delays(n int, from, to time.Duration) (time.Duration, error) {
	var all sync.WaitGroup
	all.Add(n)
	began := time.Now()
	for i := range n {
		time.AfterFunc(spacedDelay(i, n, from, to), all.Done)
	}
	all.Wait()
	return time.Since(began), nil
}

func (s stdLoop) soon(n int) (time.Duration, error) {
	c := make(chan func(), queueSize)
	began := time.Now()
	for left := n; left > 0; {
		batch := min(left, cap(c))
		for range batch {
			c <- noop
		}
		for range batch {
			(<-c)()
		}
		left -= batch
	}
	return time.Since(began), nil
}

func (s stdLoop) chain(n int) (time.Duration, error) {
	c := make(chan func(), 1)
	left := n
	var one func()
	one = func() {
		if left--; left > 0 {
			c <- one
		}
	}
	began := time.Now()
	for c <- one; len(c) > 0; {
		(<-c)()
	}
	return time.Since(began), nil
}

func (s stdLoop) post(n, producers int) (time.Duration, error) {
	c := make(chan func(), queueSize)
	var all sync.WaitGroup
	began := time.Now()
	for range producers {
		all.Go(func() {
			for range n / producers {
				c <- noop
			}
		})
	}
	for range n / producers * producers {
		(<-c)()
	}
	took := time.Since(began)
	all.Wait()
	return took, nil
}

func (s stdLoop) late(int, time.Duration, time.Duration) ([]time.Duration, error) {
	return nil, errUnsupported // scenario thousand measures the standard library itself
}

// A scriptLoop is the event loop of another program.
type scriptLoop struct {
	ctx  context.Context
	name string
}

func (s scriptLoop) run(work string, n int, extra ...int) (time.Duration, error) {
	a, err := runScript(s.ctx, s.name, work, n, extra...)
	return time.Duration(a.NS), err
}

func (s scriptLoop) register(n int) (time.Duration, error) { return s.run("register", n) }

func (s scriptLoop) delays(n int, from, to time.Duration) (time.Duration, error) {
	return s.run("delays", n, int(from), int(to))
}

func (s scriptLoop) soon(n int) (time.Duration, error)  { return s.run("soon", n) }
func (s scriptLoop) chain(n int) (time.Duration, error) { return s.run("chain", n) }

func (s scriptLoop) post(n, producers int) (time.Duration, error) {
	if s.name == "node" {
		return 0, errUnsupported
	}
	return s.run("post", n, producers)
}

func (s scriptLoop) late(n int, from, to time.Duration) ([]time.Duration, error) {
	a, err := runScript(s.ctx, s.name, "late", n, int(from), int(to))
	late := make([]time.Duration, len(a.Late))
	for i, ns := range a.Late {
		late[i] = time.Duration(ns)
	}
	return late, err
}

// loopMakers make the event loops that are installed, but not that of the standard library.
func (r *run) loopMakers() []maker[eventLoop] {
	all := []maker[eventLoop]{{"loop", always(eventLoop(foliotLoop{r.ctx}))}}
	for _, name := range []string{"asyncio", "uvloop", "node"} {
		if r.wants(name) && installed(r.ctx, name) {
			all = append(all, maker[eventLoop]{name, always(eventLoop(scriptLoop{r.ctx, name}))})
		}
	}
	return all
}

// loops measures event loops. What they are compared with is timers of the standard library, or a buffered channel of
// functions.
func loops(r *run) error {
	makers := r.loopMakers()
	against := func(base string) []*entrant[eventLoop] {
		return enter(r, append([]maker[eventLoop]{{base, always(eventLoop(stdLoop{r.ctx}))}}, makers...))
	}
	timers, functions := against("std"), against("channel")
	one := func(name, key string, rounds int, all []*entrant[eventLoop], do func(eventLoop) (time.Duration, error), figure func(took float64) value) {
		if !r.measures(name) {
			return
		}
		turns(r, rounds, all, func(_ int, e *entrant[eventLoop]) ([]result, error) {
			took, err := do(e.it)
			return []result{{name, key, 1, []value{figure(float64(max(took, 1)))}}}, err
		})
	}
	rate := func(n int) func(float64) value {
		return func(took float64) value { return value{1e9 * float64(n) / took, "op/s"} }
	}

	const many = 50_000
	one("loop-register", count(many), r.rounds, timers, func(l eventLoop) (time.Duration, error) { return l.register(many) }, rate(many))
	for _, n := range pick(r, []int{1000, 10_000}, []int{100, 1000, 10_000}) {
		one("loop-micro-delays", count(n), r.rounds, timers,
			func(l eventLoop) (time.Duration, error) { return l.delays(n, 0, 9*time.Millisecond) },
			func(took float64) value { return value{took, "ns"} })
	}
	longest := pick(r, 250*time.Millisecond, time.Second)
	for _, n := range pick(r, []int{1000}, []int{100, 1000, 5000}) {
		one("loop-delays", count(n), r.few(pick(r, 3, 4)), timers,
			func(l eventLoop) (time.Duration, error) { return l.delays(n, 10*time.Millisecond, longest) },
			func(took float64) value { return value{max(took-float64(longest), 1), "late-ns"} })
	}
	n := pick(r, 20_000, 200_000)
	one("loop-soon", "", r.rounds, functions, func(l eventLoop) (time.Duration, error) { return l.soon(n) }, rate(n))
	one("loop-chain", "", r.rounds, functions, func(l eventLoop) (time.Duration, error) { return l.chain(n) },
		func(took float64) value { return value{took / float64(n), "ns/op"} })
	n /= 2
	for _, producers := range []int{1, 8} {
		one("loop-post", fmt.Sprintf("producers=%d", producers), r.rounds, functions,
			func(l eventLoop) (time.Duration, error) { return l.post(n, producers) }, rate(n))
	}
	one("loop-post-batch", "", r.rounds, functions, func(l eventLoop) (time.Duration, error) {
		switch l := l.(type) {
		case foliotLoop:
			return l.postBatch(n)
		case stdLoop:
			return l.post(n, 1) // a channel takes one at a time
		}
		return 0, errUnsupported
	}, rate(n))
	return nil
}

//go:embed script/loop.py
var pythonScript string

//go:embed script/loop.js
var nodeScript string

// A scriptResult is what a script prints.
type scriptResult struct {
	NS   float64   `json:"ns"`   // time of the work, in nanoseconds
	Late []float64 `json:"late"` // how late each timer was, in nanoseconds
}

// runScript runs a script that does one piece of work.
func runScript(ctx context.Context, name, work string, n int, extra ...int) (a scriptResult, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	args := []string{"-", name, work, strconv.Itoa(n)}
	for _, x := range extra {
		args = append(args, strconv.Itoa(x))
	}
	program, text := "python3", pythonScript
	if name == "node" {
		program, text = "node", nodeScript
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdin = strings.NewReader(text)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(errs.String()), "\n")
		return a, fmt.Errorf("%s: %w: %s", name, err, lines[len(lines)-1])
	}
	if err := json.Unmarshal(out.Bytes(), &a); err != nil {
		return a, fmt.Errorf("%s: %w", name, err)
	}
	return a, nil
}

// installed reports whether a program can run its script.
func installed(ctx context.Context, name string) bool {
	_, err := runScript(ctx, name, "version", 0)
	return err == nil
}
