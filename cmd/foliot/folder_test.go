package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot/client"
)

// The commands show the folder of a server that has ended as they show the server, and no secrets of webhooks.
func TestAFolderLooksLikeItsServer(t *testing.T) {
	dir := t.TempDir()
	p, err := startServer(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	c := clientOf(t, p.url, "")
	for _, timer := range []client.Timer{
		{ID: "tea", At: faraway, Kind: "drink", Payload: []byte(`{"sugar":2}`)},
		{ID: "night", Cron: "0 3 29 2 *", TZ: "Europe/Vienna", Kind: "report"},
		{ID: "hook", At: faraway, Every: time.Hour, Webhook: &client.Webhook{URL: "https://x.example/a", Headers: map[string]string{"Authorization": "s3cret"}}},
	} {
		if _, err := c.Put(t.Context(), timer); err != nil {
			t.Fatal(err)
		}
	}
	calls := [][]string{
		{"ls"},
		{"ls", "--by-due", "--limit", "2"},
		{"ls", "--kind", "drink"},
		{"ls", "--json", "--kind", "report"},
		{"get", "tea"},
		{"get", "night"},
		{"get", "hook"},
		{"get", "--json", "hook"},
	}
	foliot := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), "foliot", args...).Output()
		if err != nil {
			t.Fatalf("foliot %s: %v", args, err)
		}
		return string(out)
	}
	var shown []string
	for _, call := range calls {
		shown = append(shown, foliot(append(call, "--server", p.url)...))
	}
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "foliot-data")
	for i, call := range calls {
		got := foliot(append(call, "--data", data)...)
		if got != shown[i] {
			t.Errorf("foliot %s prints\n%s\nof the server, and\n%s\nof its folder", call, shown[i], got)
		}
		if strings.Contains(got, "s3cret") && !slices.Contains(call, "--json") {
			t.Errorf("foliot %s shows the value of a header:\n%s", call, got)
		}
	}
	stat := foliot("stat", "--data", data)
	for _, want := range []string{"3, of these 2 periodic", "drink", "report", "webhook"} {
		if !strings.Contains(stat, want) {
			t.Errorf("foliot stat does not print %q:\n%s", want, stat)
		}
	}
}
