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
		{[]string{"ls", "-dead", "-limit", "5"}, []string{"ls", "--dead", "--limit", "5"}},
		{[]string{"ls", "--dead", "-limit=5"}, []string{"ls", "--dead", "--limit=5"}},
		{[]string{"ls", "-prefix", "-"}, []string{"ls", "--prefix", "-"}},
		{[]string{"ls", "-deadd"}, []string{"ls", "-deadd"}},
		{[]string{"ls", "-h", "-5"}, []string{"ls", "-h", "-5"}},
		{[]string{"ls", "--", "-dead"}, []string{"ls", "--", "-dead"}},
		{[]string{"ls", "-help"}, []string{"ls", "--help"}},
		{[]string{"-version"}, []string{"--version"}},
		{[]string{"no-such-command", "-full"}, []string{"no-such-command", "-full"}},
		{nil, nil},
	} {
		if got := withDoubleDashes(newRootCmd(), c.args); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.args, got, c.want)
		}
	}
}
