package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	// The scripts compile programs against these packages, so a result that the go command has kept is worth nothing
	// once they change.
	_ "github.com/foliot-go/foliot/context"
	_ "github.com/foliot-go/foliot/time"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"foliot-fix": main})
}

// TestScripts runs the scripts in testdata/script. In them, $FOLIOT is the directory of Foliot's module. The command
// "require" makes the module in the current directory depend on it, and "exits n command" checks an exit status.
func TestScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command many times")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("FOLIOT", root)
			e.Setenv("GOCACHE", strings.TrimSpace(string(cache)))
			e.Setenv("GOPROXY", "off")
			e.Setenv("GOWORK", "off")
			e.Setenv("GOTOOLCHAIN", "local")
			e.Setenv("GOFLAGS", "")
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) < 2 {
					ts.Fatalf("usage: exits status command [args]")
				}
				var exit *exec.ExitError
				if err := ts.Exec(args[1], args[2:]...); !errors.As(err, &exit) || strconv.Itoa(exit.ExitCode()) != args[0] {
					ts.Fatalf("want exit status %s, got %v", args[0], err)
				}
			},
			"require": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) > 0 {
					ts.Fatalf("usage: require")
				}
				const module = "github.com/foliot-go/foliot"
				ts.Check(ts.Exec("go", "mod", "edit", "-require="+module+"@v0.0.0", "-replace="+module+"="+root))
			},
		},
	})
}

func TestTheGoVersionIsThatOfTheModule(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "\ngo "+goVersion+"\n") {
		t.Errorf("goVersion is %s, but go.mod is\n%s", goVersion, text)
	}
}
