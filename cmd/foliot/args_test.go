package main

import (
	"strings"
	"testing"
)

func TestWrongArgumentsSayWhatToDo(t *testing.T) {
	for line, want := range map[string]string{
		"stat":             "foliot stat needs --data, the folder that keeps the timers; for example: foliot stat --data ",
		"get --data db":    "foliot get needs ID, the ID of the timer; for example: foliot get order-17",
		"put":              "foliot put needs ID, the ID of the timer; for example: foliot put order-17 --after 30m ",
		"cancel a b":       `foliot cancel takes ID and no more, got ["a" "b"]; for example: foliot cancel order-17`,
		"ls timers":        `foliot ls takes no arguments, got ["timers"]`,
		"version 2":        `foliot version takes no arguments, got ["2"]`,
		"put a --after 1h": "foliot put needs --kind or --webhook, ",
		"put a --kind k":   "foliot put needs --at, --after, --every or --cron, ",
	} {
		_, _, err := run(t, t.Context(), strings.Fields(line)...)
		if err == nil || !strings.HasPrefix(err.Error(), want) || exitCode(err) != 2 {
			t.Errorf("foliot %s: %v; want %s", line, err, want)
		}
	}
}

// Each command that takes an ID has an example with one.
func TestEachCommandWithAnIDHasAnExample(t *testing.T) {
	n := 0
	for _, cmd := range newRootCmd().Commands() {
		if !strings.HasSuffix(cmd.Use, " ID") {
			continue
		}
		n++
		err := cmd.ValidateArgs(nil)
		if err == nil || !strings.Contains(err.Error(), "; for example: "+cmd.CommandPath()+" ") {
			t.Errorf("%s: %v", cmd.CommandPath(), err)
		}
	}
	if n < 5 {
		t.Errorf("%d commands take an ID, want 5 or more", n)
	}
}
