package natsserver

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"sync"
)

// Binary returns the path of the NATS server. It builds the version that the module lab requires, once per
// version and Go release, into the user's cache directory. The environment variable FOLIOT_NATS_SERVER names
// another binary.
//
// The error is ErrNoModule if there is no module lab, because this package is not in a checkout of the
// repository.
func Binary() (string, error) { return binary() }

// ErrNoModule says that the server cannot be built.
var ErrNoModule = errors.New("natsserver: there is no module of the server; this is not a checkout of the repository, so set FOLIOT_NATS_SERVER to the path of a nats-server")

var binary = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("FOLIOT_NATS_SERVER"); path != "" {
		return path, nil
	}
	_, file, _, _ := runtime.Caller(0)
	return build(filepath.Join(filepath.Dir(file), "..", "..", "lab"))
})

const serverPath = "github.com/nats-io/nats-server/v2"

// requirePattern matches the line of a go.mod that requires the server.
var requirePattern = regexp.MustCompile(`(?m)^\s*(?:require )?` + regexp.QuoteMeta(serverPath) + ` v\S+`)

// build builds the server that a module requires.
func build(module string) (string, error) {
	mod, err := os.ReadFile(filepath.Join(module, "go.mod"))
	if err != nil {
		return "", ErrNoModule
	}
	require := requirePattern.Find(mod)
	if require == nil {
		return "", fmt.Errorf("natsserver: %s does not require %s", filepath.Join(module, "go.mod"), serverPath)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	hash := sha256.Sum256(append(require, runtime.Version()...))
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
	cmd := exec.Command("go", "build", "-trimpath", "-o", draft, serverPath)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly -buildvcs=false")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("natsserver: the server cannot be built: %w\n%s", err, out)
	}
	return path, os.Rename(draft, path)
}
