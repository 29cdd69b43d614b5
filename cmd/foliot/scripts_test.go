package main

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"foliot": main, "timers-fill": timersFill, "timers-hold": timersHold})
}

// TestScripts runs the scripts in testdata/script. In them, "exits n command" checks an exit status. The commands for
// timers are in timers_test.go, those for servers in remoteserve_test.go.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"ids": checkIDs, "serve": serveCommand, "setrev": setRev, "await": await, "damage": damage,
			"exits": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) < 2 {
					ts.Fatalf("usage: exits status command [args]")
				}
				var exit *exec.ExitError
				if err := ts.Exec(args[1], args[2:]...); !errors.As(err, &exit) || strconv.Itoa(exit.ExitCode()) != args[0] {
					ts.Fatalf("want exit status %s, got %v", args[0], err)
				}
			},
		},
	})
}
