package main

import (
	"errors"
	"strings"
	"testing"
)

func TestUsageErrorsSayWhatToWrite(t *testing.T) {
	for args, want := range map[string]string{
		"put a --kind k --webhook http://x.example --after 1h": "--webhook and --kind: give one of them",
		"put a --kind k --after 1h --at now":                   "--at and --after: give one of them",
		"ls --dead --prefix a":                                 "--dead with --prefix, --kind, --from or --to needs --data",
		"ls --dead --by-due":                                   "--dead and --by-due: give one of them",
		"put a --kind k --after 1d":                            "--after 1d: want a duration in h, m, s or ms, such as 24h, 30m or 5s",
		"put a --kind k --every 5":                             "--every 5: want a duration in h",
		"put a --kind k --if-rev x":                            "--if-rev x: want a whole number",
		"ls --limit 1.5":                                       "--limit 1.5: want a whole number",
		"serve --retry-min 5":                                  "--retry-min 5: want a duration in h",
	} {
		_, _, err := run(t, t.Context(), strings.Fields(args)...)
		var u usageError
		if !errors.As(err, &u) || !strings.HasPrefix(err.Error(), want) || exitCode(err) != 2 {
			t.Errorf("foliot %s: %v, want %s", args, err, want)
			continue
		}
		if command, _, _ := strings.Cut(args, " "); u.command != "foliot "+command {
			t.Errorf("foliot %s: it is an error of %q", args, u.command)
		}
	}
}

func TestADurationInTheEnvironmentNeedsAUnit(t *testing.T) {
	t.Setenv("FOLIOT_RETRY_MIN", "5")
	_, _, err := run(t, t.Context(), "serve", "--check")
	if want := "FOLIOT_RETRY_MIN: --retry-min 5: want a duration in h"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}
