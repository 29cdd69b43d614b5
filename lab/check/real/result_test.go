package main

import (
	"reflect"
	"testing"
)

func TestTestsThatFailOrAreMissingOnlyOnFoliotAreWorse(t *testing.T) {
	std := outcomes{"p A": "pass", "p B": "fail", "p C": "pass", "p D": "skip", "p E": "pass"}
	for _, test := range []struct {
		name   string
		foliot outcomes
		want   []string
	}{
		{"the same", outcomes{"p A": "pass", "p B": "fail", "p C": "pass", "p D": "skip", "p E": "pass"}, nil},
		{"better", outcomes{"p A": "pass", "p B": "pass", "p C": "pass", "p D": "pass", "p E": "pass"}, nil},
		{"failed", outcomes{"p A": "pass", "p B": "fail", "p C": "fail", "p D": "fail", "p E": "pass"}, []string{"p C", "p D"}},
		{"killed", outcomes{"p A": "pass", "p B": "fail", "p": "fail"}, []string{"p", "p C", "p D", "p E"}},
	} {
		r := result{std: std, foliot: test.foliot}
		if got := r.worse(); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}

func TestAPackageThatFailsWithoutAFailedTestIsAnOutcome(t *testing.T) {
	got, err := parseOutcomes([]byte(`
		{"Action":"start","Package":"p"}
		{"Action":"run","Package":"p","Test":"A"}
		{"Action":"pass","Package":"p","Test":"A"}
		{"Action":"fail","Package":"p","Test":"B"}
		{"Action":"fail","Package":"p"}
		{"Action":"skip","Package":"q"}
		{"ImportPath":"r","Action":"build-fail"}
		{"Action":"fail","Package":"r","FailedBuild":"r"}
		{"Action":"pass","Package":"s"}`))
	if err != nil {
		t.Fatal(err)
	}
	want := outcomes{"p A": "pass", "p B": "fail", "r": "fail"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
