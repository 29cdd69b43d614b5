package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot/client"
)

// The tests in this file check the unit of systemd. deploy/check-image checks the image.

func deployFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const installed = "/usr/local/bin/foliot" // where the unit has the command

// foliotBinary returns the path of the command, which is the binary of this test.
func foliotBinary(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("foliot")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// analyze runs systemd-analyze on the text of a unit, and returns an error with what it prints if it finds a fault.
func analyze(t *testing.T, unit string, args ...string) error {
	t.Helper()
	name := filepath.Join(t.TempDir(), "foliot.service")
	if err := os.WriteFile(name, []byte(strings.ReplaceAll(unit, installed, foliotBinary(t))), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("systemd-analyze", append(args, name)...).CombinedOutput()
	// verify has the exit status 0 for a key that it does not know.
	if err != nil || args[0] == "verify" && strings.Contains(string(out), "foliot.service") {
		return fmt.Errorf("%v: %w\n%s", args, errors.Join(err, errors.New("it has a fault")), out)
	}
	return nil
}

func TestTheUnitIsValidAndConfined(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("there is no systemd-analyze")
	}
	unit := deployFile(t, "foliot.service")
	verify := []string{"verify", "--man=no"}
	security := []string{"security", "--offline=yes", "--threshold=15"} // tenths; 0 is the best
	if err := errors.Join(analyze(t, unit, verify...), analyze(t, unit, security...)); err != nil {
		t.Error(err)
	}
	// Both find faults.
	if analyze(t, strings.Replace(unit, "NoNewPrivileges=", "NoNewPrivilege=", 1), verify...) == nil {
		t.Error("a wrong key is not found")
	}
	if analyze(t, strings.Replace(unit, "SystemCallFilter=@system-service", "", 1), security...) == nil {
		t.Error("a unit that allows more is not found")
	}
}

// unitValues returns the values of a key of a unit.
func unitValues(unit, key string) (values []string) {
	for line := range strings.Lines(unit) {
		if value, ok := strings.CutPrefix(line, key+"="); ok {
			values = append(values, strings.TrimSpace(value))
		}
	}
	return values
}

// groupNames finds the groups in the commands that install the unit.
var groupNames = regexp.MustCompile(`(?:groupadd --system|-g|chgrp) (\S+)`)

// The group that can read the configuration is the one that the commands in the unit make. It has another name than the unit:
// systemd makes a user and a group of that name, and refuses to do so if there is such a group already.
func TestTheGroupOfTheUnitIsNotThatOfItsUser(t *testing.T) {
	unit := deployFile(t, "foliot.service")
	groups := unitValues(unit, "SupplementaryGroups")
	if len(groups) != 1 || groups[0] == "foliot" {
		t.Fatalf("SupplementaryGroups is %q, want one group that is not foliot", groups)
	}
	found := groupNames.FindAllStringSubmatch(unit, -1)
	if len(found) != 3 {
		t.Errorf("the commands name a group %d times, want 3: to make it, for the folder, and for the token", len(found))
	}
	for _, m := range found {
		if m[1] != groups[0] {
			t.Errorf("%s: want the group %s", m[0], groups[0])
		}
	}
}

// The commands of the unit start the server, check it, reload it, and end it.
func TestTheCommandsOfTheUnitWork(t *testing.T) {
	state := t.TempDir()
	unit := strings.NewReplacer("%S", state, installed, foliotBinary(t)).Replace(deployFile(t, "foliot.service"))
	if err := os.Mkdir(filepath.Join(state, unitValues(unit, "StateDirectory")[0]), 0o700); err != nil {
		t.Fatal(err)
	}
	token := filepath.Join(state, "token")
	setToken := func(text string) {
		t.Helper()
		if err := os.WriteFile(token, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	setToken("first")
	command := func(line, pid string) *exec.Cmd {
		words := strings.Fields(strings.ReplaceAll(line, "$MAINPID", pid))
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir = unitValues(unit, "WorkingDirectory")[0]
		cmd.Env = append(unitValues(unit, "Environment"), "FOLIOT_LISTEN=127.0.0.1:0", "FOLIOT_TOKEN_FILE="+token)
		return cmd
	}
	if out, err := command(unitValues(unit, "ExecStartPre")[0], "").CombinedOutput(); err != nil {
		t.Fatalf("ExecStartPre: %v\n%s", err, out)
	}
	p, err := startProcess(command(unitValues(unit, "ExecStart")[0], ""))
	if err != nil {
		t.Fatal(err)
	}
	defer p.kill()
	timer := client.Timer{ID: "a", At: faraway, Kind: "k"}
	if err := putAll(t.Context(), clientOf(t, p.url, "first"), timer); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(filepath.Join(state, "foliot")); err != nil || len(entries) == 0 {
		t.Errorf("the timers are not in the folder of the state: %v", err)
	}
	setToken("second")
	reload := unitValues(unit, "ExecReload")
	for _, line := range reload {
		if out, err := command(line, strconv.Itoa(p.cmd.Process.Pid)).CombinedOutput(); err != nil {
			t.Errorf("ExecReload: %v\n%s", err, out)
		}
	}
	for begin := time.Now(); putAll(t.Context(), clientOf(t, p.url, "second"), timer) != nil; time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > 20*time.Second {
			t.Fatal("the second token is not accepted after a reload")
		}
	}
	setToken("")
	if err := command(reload[0], "").Run(); err == nil {
		t.Error("a reload accepts an empty token")
	}
	if err := p.stop(); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
}
