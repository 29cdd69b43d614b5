package fix

import (
	"strings"
	"testing"
)

// toFoliot and back return the paths to replace, on the way to Foliot and back.
func toFoliot() map[string]string {
	return map[string]string{"time": Module + "/time", "context": Module + "/context"}
}

func back() map[string]string {
	return map[string]string{Module + "/time": "time", Module + "/context": "context"}
}

func TestImportsMoveToTheirSectionAndBack(t *testing.T) {
	for _, c := range []struct{ name, before, after, back string }{
		{
			"a single import",
			"import \"time\"\n",
			"import \"FOLIOT/time\"\n",
			"",
		},
		{
			"names and raw strings stay",
			"import clock `time`\nimport . \"context\"\n",
			"import clock `FOLIOT/time`\nimport . \"FOLIOT/context\"\n",
			"",
		},
		{
			"a block of one",
			"import (\n\t\"time\"\n)\n",
			"import (\n\t\"FOLIOT/time\"\n)\n",
			"",
		},
		{
			"no others: a new section",
			"import (\n\t\"context\"\n\t\"fmt\"\n\t\"time\"\n)\n",
			"import (\n\t\"fmt\"\n\n\t\"FOLIOT/context\"\n\t\"FOLIOT/time\"\n)\n",
			"",
		},
		{
			"others of other modules",
			"import (\n\t\"fmt\"\n\t\"time\"\n\n\t\"example.com/a\"\n\t\"golang.org/x/b\"\n)\n",
			"import (\n\t\"fmt\"\n\n\t\"example.com/a\"\n\t\"FOLIOT/time\"\n\t\"golang.org/x/b\"\n)\n",
			"",
		},
		{
			"others of other modules before those of this module",
			"import (\n\t\"fmt\"\n\t\"time\"\n\n\t\"my.org/app/a\"\n\n\t\"golang.org/x/b\"\n)\n",
			"import (\n\t\"fmt\"\n\n\t\"my.org/app/a\"\n\n\t\"FOLIOT/time\"\n\t\"golang.org/x/b\"\n)\n",
			"",
		},
		{
			"only imports of this module",
			"import (\n\t\"fmt\"\n\t\"time\"\n\n\t\"my.org/app/a\"\n)\n",
			"import (\n\t\"fmt\"\n\n\t\"FOLIOT/time\"\n\t\"my.org/app/a\"\n)\n",
			"",
		},
		{
			"the last of a section",
			"import (\n\t\"time\"\n\n\t\"example.com/a\"\n)\n",
			"import (\n\t\"example.com/a\"\n\t\"FOLIOT/time\"\n)\n",
			"import (\n\t\"example.com/a\"\n\t\"time\"\n)\n",
		},
		{
			"no sections: sorted",
			"import (\n\t\"fmt\"\n\t\"golang.org/x/b\"\n\t\"time\"\n)\n",
			"import (\n\t\"fmt\"\n\t\"FOLIOT/time\"\n\t\"golang.org/x/b\"\n)\n",
			"",
		},
		{
			"comments behind imports go with them",
			"import (\n\t\"fmt\"\n\t\"time\" // for the timers\n\n\t\"example.com/a\"\n)\n",
			"import (\n\t\"fmt\"\n\n\t\"example.com/a\"\n\t\"FOLIOT/time\" // for the timers\n)\n",
			"",
		},
		{
			"comments between imports keep them in place",
			"import (\n\t// standard\n\t\"fmt\"\n\t\"time\"\n\n\t// others\n\t\"example.com/a\"\n)\n",
			"import (\n\t// standard\n\t\"fmt\"\n\t\"FOLIOT/time\"\n\n\t// others\n\t\"example.com/a\"\n)\n",
			"",
		},
		{
			"cgo",
			"/*\n#include <time.h>\n*/\nimport \"C\"\n\nimport (\n\t\"fmt\"\n\t\"time\"\n)\n",
			"/*\n#include <time.h>\n*/\nimport \"C\"\n\nimport (\n\t\"fmt\"\n\n\t\"FOLIOT/time\"\n)\n",
			"",
		},
		{
			"several blocks",
			"import (\n\t\"fmt\"\n\t\"time\"\n)\n\nimport (\n\t\"example.com/a\"\n)\n",
			"import (\n\t\"fmt\"\n\n\t\"FOLIOT/time\"\n)\n\nimport (\n\t\"example.com/a\"\n)\n",
			"",
		},
		{
			"two sections of the standard library",
			"import (\n\t\"fmt\"\n\t\"time\"\n\n\t\"os\"\n\n\t\"example.com/a\"\n)\n",
			"import (\n\t\"fmt\"\n\n\t\"os\"\n\n\t\"example.com/a\"\n\t\"FOLIOT/time\"\n)\n",
			"",
		},
		{
			"a file that gofmt would change is not formatted",
			"import (\n  \"time\"\n  \"fmt\"\n)\n",
			"import (\n  \"FOLIOT/time\"\n  \"fmt\"\n)\n",
			"",
		},
		{
			"carriage returns",
			"import (\r\n\t\"fmt\"\r\n\t\"time\"\r\n)\r\n",
			"import (\r\n\t\"fmt\"\r\n\t\"FOLIOT/time\"\r\n)\r\n",
			"",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			const head, tail = "//go:build linux\n\n// Package p.\npackage p\n\n", "\nvar x = \"time\" // \"time\"\n"
			before := head + c.before + tail
			want := head + strings.ReplaceAll(c.after, "FOLIOT", Module) + tail
			after, err := rewrite([]byte(before), toFoliot(), "my.org/app")
			if err != nil {
				t.Fatal(err)
			}
			if string(after) != want {
				t.Errorf("got:\n%s\nwant:\n%s", after, want)
			}
			restored, err := rewrite(after, back(), "my.org/app")
			if err != nil {
				t.Fatal(err)
			}
			want = before
			if c.back != "" {
				want = head + c.back + tail
			}
			if string(restored) != want {
				t.Errorf("after the way back:\n%s\nwant:\n%s", restored, want)
			}
		})
	}
}

func TestAModuleWithoutADotInItsPathIsNotTheStandardLibrary(t *testing.T) {
	before := "package p\n\nimport (\n\t\"fmt\"\n\t\"time\"\n\n\t\"app/store\"\n)\n"
	want := "package p\n\nimport (\n\t\"fmt\"\n\n\t\"app/store\"\n\t\"" + Module + "/time\"\n)\n"
	if after, err := rewrite([]byte(before), toFoliot(), "app"); err != nil || string(after) != want {
		t.Errorf("error %v, got:\n%s\nwant:\n%s", err, after, want)
	}
}
