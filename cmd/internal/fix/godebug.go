package fix

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// godebugs are the GODEBUG settings whose default depends on the go line of the main module, by the minor version of Go
// that changed the default. The list is that of GOROOT/src/internal/godebugs for GoVersion.
var godebugs = []struct {
	minor int
	names string
}{
	{19, "netedns0"},
	{21, "panicnil"},
	{22, "httplaxcontentlength httpmuxgo121 tls10server tlsrsakex tlsunsafeekm"},
	{23, "asynctimerchan gotypesalias httpservecontentkeepheaders tls3des winreadlinkvolume winsymlink x509keypairleaf x509negativeserial"},
	{24, "gotestjsonbuildtext httpcookiemaxnum multipathtcp randseednop rsa1024min tlsmlkem urlmaxqueryparams x509rsacrt x509usepolicies"},
	{25, "containermaxprocs decoratemappings tlssha1 updatemaxprocs x509sha256skid"},
	{26, "cryptocustomrand tlssecpmlkem urlstrictcolons"},
}

// loopVars is the minor version of Go whose go line gives each iteration its own loop variables.
const loopVars = 22

// minorVersion returns 21 for "1.21", "1.21.3" and "1.21rc1".
func minorVersion(v string) (int, bool) {
	rest, ok := strings.CutPrefix(v, "1.")
	if !ok {
		return 0, false
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(rest)
	}
	n, err := strconv.Atoi(rest[:end])
	return n, err == nil
}

// pinned matches a line of go.mod that keeps the GODEBUG defaults of one version, in a block or alone.
var pinned = regexp.MustCompile(`(?m)^\s*(?:godebug\s+)?default=go`)

// RaiseGo says what changes in a module besides timers when it requires Foliot and its go line rises, in lines to print.
// There are none if the go line is high enough.
func RaiseGo(m MainModule) []string {
	was := m.Go
	if was == "" {
		was = "1.16" // what the go command assumes
	}
	from, ok := minorVersion(was)
	to, _ := minorVersion(GoVersion)
	if !ok || from >= to {
		return nil
	}
	lines := []string{fmt.Sprintf("the go line of %s will rise from %s to %s, for all code of the module:",
		shorten(filepath.Join(m.Dir, "go.mod")), was, GoVersion)}
	if from < loopVars {
		lines = append(lines, fmt.Sprintf("  language (1.%d): each iteration of a loop has its own variables", loopVars))
	}
	if text, err := os.ReadFile(filepath.Join(m.Dir, "go.mod")); err == nil && pinned.Match(text) {
		return append(lines, "  GODEBUG: go.mod has a line that keeps the defaults as they are")
	}
	for _, g := range godebugs {
		if g.minor > from {
			lines = append(lines, fmt.Sprintf("  GODEBUG defaults (1.%d): %s", g.minor, g.names))
		}
	}
	return append(lines, fmt.Sprintf("  godebug default=go1.%d in go.mod, or in the go.work of a workspace, keeps these defaults; https://go.dev/doc/godebug", from))
}
