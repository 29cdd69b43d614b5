package natsserver

import (
	"errors"
	"testing"
)

// ForTest starts n servers for a test, as StartCluster does, and kills them at the end of the test. It skips
// the test if there is no server to be had, because the tests are not in a checkout of the repository.
func ForTest(tb testing.TB, n int, o Options) []*Server {
	tb.Helper()
	all, err := StartCluster(tb.TempDir(), n, o)
	if errors.Is(err, ErrNoModule) {
		tb.Skip(err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	for _, s := range all {
		tb.Cleanup(func() {
			if err := s.Kill(); err != nil {
				tb.Error(err)
			}
			s.LogTail(tb)
		})
	}
	return all
}

// LogTail writes the end of the server's log to that of a test, if the test has failed.
func (s *Server) LogTail(tb testing.TB) {
	if tb.Failed() {
		tb.Logf("the log of server %s ends with:\n%s", s.Name, tail(s.Log(), 4<<10))
	}
}
