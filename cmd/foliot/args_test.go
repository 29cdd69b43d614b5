package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestWrongArgumentsSayWhatToDo(t *testing.T) {
	for line, want := range map[string]string{
		"timers ls":         "foliot timers ls needs DIR, the folder that keeps the timers; for example: foliot timers ls ",
		"stat":              "foliot stat needs --data, the folder that keeps the timers; for example: foliot stat --data ",
		"timers get":        "foliot timers get needs DIR, the folder that keeps the timers, and ID, the ID of the timer; for example: foliot timers get timers order-17",
		"get --data db":     "foliot get needs ID, the ID of the timer; for example: foliot get order-17",
		"timers get db a b": `foliot timers get takes DIR and ID and no more, got ["db" "a" "b"]; for example: foliot timers get `,
		"put":               "foliot put needs ID, the ID of the timer; for example: foliot put order-17 --after 30m ",
		"cancel a b":        `foliot cancel takes ID and no more, got ["a" "b"]; for example: foliot cancel order-17`,
		"ls timers":         `foliot ls takes no arguments, got ["timers"]`,
		"version 2":         `foliot version takes no arguments, got ["2"]`,
		"put a --after 1h":  "foliot put needs --kind or --webhook, ",
		"put a --kind k":    "foliot put needs --at, --after, --every or --cron, ",
	} {
		_, _, err := run(t, t.Context(), strings.Fields(line)...)
		if err == nil || !strings.HasPrefix(err.Error(), want) || exitCode(err) != 2 {
			t.Errorf("foliot %s: %v; want %s", line, err, want)
		}
	}
}

// Each command with arguments has an example with as many, and each argument has a meaning.
func TestEachCommandWithArgumentsHasAnExample(t *testing.T) {
	n := 0
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			look(c)
		}
		names := strings.Fields(cmd.Use)[1:]
		if len(names) == 0 || strings.HasPrefix(names[0], "[") {
			return
		}
		n++
		err := cmd.ValidateArgs(nil)
		if err == nil || !strings.Contains(err.Error(), "; for example: "+cmd.CommandPath()+" ") {
			t.Errorf("%s: %v", cmd.CommandPath(), err)
		}
		for _, name := range names {
			if argMeanings[name] == "" {
				t.Errorf("%s: %s has no meaning", cmd.CommandPath(), name)
			}
		}
	}
	look(newRootCmd())
	if n < 10 {
		t.Errorf("%d commands have arguments, want 10 or more", n)
	}
}
