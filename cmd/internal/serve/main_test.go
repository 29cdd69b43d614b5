package serve

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
)

// TestMain is that of the tests, and that of the process with the crowd of TestCrowd. At the end it ends the
// server of NATS that tests share.
func TestMain(m *testing.M) {
	if of := os.Getenv("FOLIOT_CROWD_OF"); of != "" {
		if err := beCrowd(of, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	if runtime.GOMAXPROCS(0) < 8 && flag.Lookup("test.parallel").Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = flag.Set("test.parallel", "8") // those that run in parallel mostly wait
	}
	code := m.Run()
	if s := sharedNATS.server; s != nil {
		if err := errors.Join(s.Kill(), os.RemoveAll(sharedNATS.dir)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}
