package natsserver

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
)

// Binary returns the path of the NATS server. It builds the server from the module in testdata/server, once
// for each version of that module, into the cache folder of the user. The environment variable
// FOLIOT_NATS_SERVER names another binary.
//
// The error is ErrNoModule if the module is not there, because this package is not in a checkout of the
// repository.
func Binary() (string, error) { return binary() }

// ErrNoModule says that the server cannot be built.
var ErrNoModule = errors.New("natsserver: there is no module of the server; this is not a checkout of the repository, so set FOLIOT_NATS_SERVER to the path of a nats-server")

var binary = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("FOLIOT_NATS_SERVER"); path != "" {
		return path, nil
	}
	_, file, _, _ := runtime.Caller(0)
	return build(filepath.Join(filepath.Dir(file), "testdata", "server"))
})

// build builds the server of a module.
func build(module string) (string, error) {
	sum, err := os.ReadFile(filepath.Join(module, "go.sum"))
	if err != nil {
		return "", ErrNoModule
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	hash := sha256.Sum256(append(sum, runtime.Version()...))
	path := filepath.Join(cache, "foliot-test", fmt.Sprintf("nats-server-%x", hash[:8]))
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	// Several processes may build at the same time. Each has its own file, and the last rename wins.
	draft := fmt.Sprintf("%s.%d", path, os.Getpid())
	defer os.Remove(draft)
	cmd := exec.Command("go", "build", "-trimpath", "-o", draft, "github.com/nats-io/nats-server/v2")
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly -buildvcs=false")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("natsserver: the server cannot be built: %w\n%s", err, out)
	}
	return path, os.Rename(draft, path)
}
