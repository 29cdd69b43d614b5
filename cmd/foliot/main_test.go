package main

import (
	"bytes"
	"context"
	"slices"
	"testing"
)

// run executes the command line and returns what it prints.
func run(t *testing.T, ctx context.Context, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir()) // for the page with plots
	var out, errs bytes.Buffer
	root := newRootCmd()
	root.SetArgs(withDoubleDashes(root, args))
	root.SetOut(&out)
	root.SetErr(&errs)
	err = execute(ctx, root)
	return out.String(), errs.String(), err
}

func TestLongFlagsMayHaveOneDash(t *testing.T) {
	for _, c := range []struct{ args, want []string }{
		{[]string{"bench", "-full", "-n", "5"}, []string{"bench", "--full", "-n", "5"}},
		{[]string{"bench", "--full", "-json=x", "-n=5"}, []string{"bench", "--full", "--json=x", "-n=5"}},
		{[]string{"bench", "-json", "-"}, []string{"bench", "--json", "-"}},
		{[]string{"bench", "-fulll"}, []string{"bench", "-fulll"}},
		{[]string{"bench", "-n", "-5"}, []string{"bench", "-n", "-5"}},
		{[]string{"bench", "--", "-full"}, []string{"bench", "--", "-full"}},
		{[]string{"bench", "-help"}, []string{"bench", "--help"}},
		{[]string{"-version"}, []string{"--version"}},
		{[]string{"no-such-command", "-full"}, []string{"no-such-command", "-full"}},
		{nil, nil},
	} {
		if got := withDoubleDashes(newRootCmd(), c.args); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.args, got, c.want)
		}
	}
}
