package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// runScript runs a script on virtual time and returns its output.
func runScript(t *testing.T, source string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := run(t.Context(), []string{"-virtual", "-"}, strings.NewReader(source), &out)
	return out.String(), err
}

func TestScriptsPrintTheExpectedOutput(t *testing.T) {
	for _, test := range []struct{ name, source, want string }{
		{
			"timers run by deadline, then in the order of arming",
			`after(2, print, "c") after(1, print, "a", now()) after(1, print, "b") after(0, print, "soon") after(-1, print, "too") print("script")`,
			"script\nsoon\ntoo\na\t0\nb\nc\n",
		},
		{
			"a simulated week ends at once",
			`local n = 0
			local t = every(60, function() n = n + 1 end)
			after(7 * 86400 + 1, function() print(n, now(), cancel(t), cancel(t)) end)`,
			"10080\t604801\ttrue\tfalse\n",
		},
		{
			"a cancelled timer does not run",
			`local b
			after(1, function() print("a", cancel(b)) end)
			b = after(1, print, "must not run")
			local own own = after(2, function() print("own", cancel(own)) end)
			local t t = every(1, function() print("once", cancel(t)) end)`,
			"a\ttrue\nonce\ttrue\nown\tfalse\n",
		},
		{
			"the script and spawned coroutines sleep independently",
			`local function count(name, pause)
				for i = 1, 3 do sleep(pause) print(name, i, now()) end
			end
			spawn(count, "slow", 3)
			spawn(count, "fast", 2)
			sleep(5)
			print("script", now())`,
			"fast\t1\t2\nslow\t1\t3\nfast\t2\t4\nscript\t5\nslow\t2\t6\nfast\t3\t6\nslow\t3\t9\n",
		},
		{
			"other coroutines of the script work as usual",
			`local co = coroutine.wrap(function() for i = 1, 2 do coroutine.yield(i) end end)
			after(1, function() print(co()) end) after(2, function() print(co()) end)
			print(pcall(coroutine.wrap(function() sleep(1) end)))`,
			"false\t-:3: sleep is for the script itself and for what was spawned\n1\n2\n",
		},
		{
			"sleep may be the last call, and must not be inside of pcall",
			`local function last() return sleep(1) end
			local function deep() return last() end
			spawn(function() deep() print("woke", now()) return deep() end)
			print(pcall(deep))
			print(pcall(function() sleep(1) end))`,
			"false\t-:1: sleep cannot leave a function that is not Lua, such as pcall\n" +
				"false\t-:5: sleep cannot leave a function that is not Lua, such as pcall\nwoke\t1\n",
		},
		{
			"an immense delay is never due",
			`local t = after(math.huge, print, "must not run") after(1, function() print(cancel(t)) end)`,
			"true\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got, err := runScript(t, test.source); got != test.want || err != nil {
				t.Errorf("printed\n%s%v\nwant\n%s", got, err, test.want)
			}
		})
	}
}

func TestAnErrorEndsTheScript(t *testing.T) {
	for name, source := range map[string]string{
		"in the script":       `after(0, print, "must not run") error("boom")`,
		"in a callback":       `after(1, function() error("boom") end) after(1, print, "must not run")`,
		"in an interval":      `every(1, function() error("boom") end)`,
		"after a sleep":       `after(2, print, "must not run") sleep(1) error("boom")`,
		"in what was spawned": `spawn(function() sleep(1) error("boom") end) sleep(2) print("must not run")`,
	} {
		if out, err := runScript(t, source); err == nil || !strings.Contains(err.Error(), "-:1: boom") || out != "" {
			t.Errorf("%s: %v, printed %q", name, err, out)
		}
	}
}

func TestInvalidScriptsAndFlagsAreErrors(t *testing.T) {
	for _, source := range []string{
		`after("soon", print)`, `after(1)`, `every(0, print)`, `every(-1, print)`, `every(1, "print")`, `spawn(sleep, 1)`, `cancel(1)`, `cancel(io.stdout)`,
		`after(1, function() sleep(1) end)`, `coroutine.yield()`, `)`,
	} {
		if _, err := runScript(t, source); err == nil {
			t.Errorf("%s: no error", source)
		}
	}
	for _, args := range [][]string{{}, {"a", "b"}, {"-no-such-flag"}, {"there is no such file"}} {
		if err := run(t.Context(), args, strings.NewReader(""), io.Discard); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

func TestAnInterruptEndsAScriptWhereverItIs(t *testing.T) {
	for name, source := range map[string]string{
		"endless loop":   `print("on") while true do end`,
		"in a callback":  `after(0, function() print("on") while true do end end)`,
		"endless timers": `print("on") every(0.001, function() end)`,
		"a long sleep":   `print("on") sleep(1e9)`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r, w := io.Pipe()
			result := make(chan error, 1)
			go func() { result <- run(ctx, []string{"-"}, strings.NewReader(source), w) }()
			if _, err := io.ReadFull(r, make([]byte, len("on\n"))); err != nil {
				t.Fatal(err)
			}
			cancel()
			if err := <-result; !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
		})
	}
}
