package main

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/foliot-go/foliot/client"
)

// An instruction is one of a Dockerfile: its name, and the rest in one line.
type instruction struct{ name, rest string }

// stages returns the instructions of each stage of a Dockerfile. The first one of each is FROM.
func stages(dockerfile string) (found [][]instruction) {
	var joined strings.Builder
	for line := range strings.Lines(dockerfile) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		line = strings.TrimRight(line, "\n")
		if part, ok := strings.CutSuffix(line, `\`); ok {
			joined.WriteString(part + " ")
			continue
		}
		joined.WriteString(line + "\n")
	}
	for line := range strings.Lines(joined.String()) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "" {
			continue
		}
		if name == "FROM" {
			found = append(found, nil)
		}
		last := len(found) - 1
		found[last] = append(found[last], instruction{name, strings.TrimSpace(rest)})
	}
	return found
}

// An image is the result of the last stage of a Dockerfile.
type image struct {
	copies  []string // source and destination in turns
	owners  map[string]string
	env     []string
	user    string
	folder  string
	command []string
}

// lastStage returns the image of a stage from scratch.
func lastStage(stage []instruction) (*image, error) {
	if stage[0].rest != "scratch" {
		return nil, fmt.Errorf("the last stage is FROM %s", stage[0].rest)
	}
	im := &image{owners: map[string]string{}}
	var entry, args []string
	for _, in := range stage[1:] {
		words := strings.Fields(in.rest)
		var err error
		switch in.name {
		case "COPY":
			var plain []string
			owner := ""
			for _, w := range words {
				if value, ok := strings.CutPrefix(w, "--chown="); ok {
					owner = value
				} else if !strings.HasPrefix(w, "--") {
					plain = append(plain, w)
				}
			}
			if len(plain) != 2 || !slices.Contains(words, "--from=build") {
				return nil, fmt.Errorf("COPY %s: want one file of the stage build", in.rest)
			}
			im.copies = append(im.copies, plain...)
			im.owners[plain[1]] = owner
		case "ENV":
			im.env = append(im.env, words...)
		case "USER":
			im.user = in.rest
		case "WORKDIR":
			im.folder = in.rest
		case "ENTRYPOINT":
			err = json.Unmarshal([]byte(in.rest), &entry)
		case "CMD":
			err = json.Unmarshal([]byte(in.rest), &args)
		case "VOLUME", "EXPOSE", "STOPSIGNAL":
		default:
			return nil, fmt.Errorf("%s in a stage from scratch, which has no shell", in.name)
		}
		if err != nil {
			return nil, fmt.Errorf("%s %s: it must be JSON, as there is no shell: %w", in.name, in.rest, err)
		}
	}
	im.command = append(entry, args...)
	return im, nil
}

// buildCommand returns the command of the first stage that builds the binary.
func buildCommand(stage []instruction) (string, error) {
	for _, in := range stage {
		if in.name == "RUN" && strings.Contains(in.rest, "go build") {
			words := slices.DeleteFunc(strings.Fields(in.rest), func(w string) bool { return strings.HasPrefix(w, "--mount=") })
			return strings.Join(words, " "), nil
		}
	}
	return "", errors.New("no RUN has go build")
}

// buildContext copies what docker sends as the context of a build: the files of the repository without those that
// Dockerfile.dockerignore names.
func buildContext(t *testing.T, to string) {
	t.Helper()
	root := filepath.Join("..", "..")
	var patterns []string
	for line := range strings.Lines(deployFile(t, "Dockerfile.dockerignore")) {
		patterns = append(patterns, strings.TrimSpace(line))
	}
	ignored := func(name string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			if anywhere, ok := strings.CutPrefix(p, "**/"); ok {
				return slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { ok, _ := filepath.Match(anywhere, part); return ok })
			}
			return name == p || strings.HasPrefix(name, p+"/")
		})
	}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		switch {
		case ignored(filepath.ToSlash(name)):
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, name), 0o700)
		case !d.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), text, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestTheImageWorks builds and runs the image by docker, if there is one. Otherwise it does the same by hand: it runs the
// command of the Dockerfile that builds the binary, copies what the last stage copies into an empty folder, and starts the
// server with this folder as its root, as the user of the image.
func TestTheImageWorks(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command once more")
	}
	if exec.Command("docker", "info").Run() == nil {
		checkDocker(t)
		return
	}
	dockerfile := stages(deployFile(t, "Dockerfile"))
	if len(dockerfile) != 2 || !strings.HasSuffix(dockerfile[0][0].rest, " AS build") {
		t.Fatalf("want two stages, the first one with the name build: %+v", dockerfile)
	}
	if goVersion := "golang:" + goLine(t); !strings.Contains(dockerfile[0][0].rest+" ", goVersion+" ") {
		t.Errorf("the first stage is FROM %s, want %s", dockerfile[0][0].rest, goVersion)
	}
	im, err := lastStage(dockerfile[1])
	if err != nil {
		t.Fatal(err)
	}
	uid, gid, ok := strings.Cut(im.user, ":")
	user, err := strconv.ParseUint(uid, 10, 32)
	if err != nil || !ok || user == 0 || uid != gid {
		t.Fatalf("USER %s: want the number of a user that is not root, and of its group", im.user)
	}
	if syscall.Geteuid() != 0 {
		t.Skip("there is no docker, and only root can make a folder the root of a process")
	}

	// A temporary folder of the test cannot be read by the user of the image.
	root, err := os.MkdirTemp("", "foliot-image")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	build := t.TempDir()
	buildContext(t, filepath.Join(build, "src"))
	line, err := buildCommand(dockerfile[0])
	if err != nil {
		t.Fatal(err)
	}
	sh := exec.Command("sh", "-euc", strings.ReplaceAll(line, " /out/", " "+build+"/out/"))
	sh.Dir = filepath.Join(build, "src")
	sh.Env = append(os.Environ(), "TARGETOS=linux", "TARGETARCH="+goarch(t), "GOWORK=", "GOFLAGS=")
	if out, err := sh.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	if err := os.Mkdir(filepath.Join(build, "out", "data"), 0o755); err != nil {
		t.Fatal(err)
	}

	// The receiver of a webhook, whose authority is the only one in the file with certificates.
	arrived := make(chan string, 10)
	hook := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		arrived <- string(body)
	}))
	defer hook.Close()
	authorities := filepath.Join(build, "etc/ssl/certs/ca-certificates.crt")
	if err := os.MkdirAll(filepath.Dir(authorities), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(authorities, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw}), 0o644); err != nil {
		t.Fatal(err)
	}
	for pair := range slices.Chunk(im.copies, 2) {
		copyInto(t, filepath.Join(build, pair[0]), filepath.Join(root, pair[1]), im.owners[pair[1]])
	}
	const secret = "image-token"
	token := ""
	for _, e := range im.env {
		if file, ok := strings.CutPrefix(e, "FOLIOT_TOKEN_FILE="); ok {
			token = file
		}
	}
	if err := os.MkdirAll(filepath.Join(root, filepath.Dir(token)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, token), []byte(secret+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}

	cmd := exec.Command(im.command[0], im.command[1:]...)
	cmd.Dir = im.folder
	cmd.Env = append(im.env, "FOLIOT_LISTEN=127.0.0.1:0") // the port of the image may be taken
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: uint32(user), Gid: uint32(user)}}
	p, err := startProcess(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer p.kill()
	c := clientOf(t, p.url, secret)
	checkZones(t, c)
	if err := putAll(t.Context(), c, client.Timer{ID: "hook", After: 1, Payload: json.RawMessage(`"hello"`), Webhook: &client.Webhook{URL: hook.URL}}); err != nil {
		t.Fatal(err)
	}
	select {
	case body := <-arrived:
		if body != `"hello"` {
			t.Errorf("the webhook has the body %s", body)
		}
	case <-time.After(30 * time.Second):
		t.Error("the webhook does not arrive: the server does not find the certificates")
	}
	if err := p.stop(); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
}

// checkZones checks that a server knows time zones, and keeps timers.
func checkZones(t *testing.T, c *client.Client) {
	t.Helper()
	put, err := c.Put(t.Context(), client.Timer{ID: "zone", Cron: "0 3 1 7 *", TZ: "Europe/Vienna", Kind: "k"})
	if err != nil || put.At.UTC().Hour() != 1 {
		t.Errorf("3 o'clock in Vienna in July is %v, %v; want 1 o'clock UTC", put.At.UTC(), err)
	}
}

// copyInto copies a file or makes a folder, as COPY does.
func copyInto(t *testing.T, from, to, owner string) {
	t.Helper()
	info, err := os.Stat(from)
	if err != nil {
		t.Fatalf("the first stage does not have what the last one copies: %v", err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if info.IsDir() {
		err = os.Mkdir(to, 0o755)
	} else {
		var text []byte
		if text, err = os.ReadFile(from); err == nil {
			err = os.WriteFile(to, text, info.Mode())
		}
	}
	if err == nil && owner != "" {
		var uid, gid int
		if _, err = fmt.Sscanf(owner, "%d:%d", &uid, &gid); err == nil {
			err = os.Chown(to, uid, gid)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// goLine returns the release of Go that the modules need, such as 1.26.
func goLine(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "go.work"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if version, ok := strings.CutPrefix(line, "go "); ok {
			return strings.Join(strings.SplitN(strings.TrimSpace(version), ".", 3)[:2], ".")
		}
	}
	t.Fatal("go.work has no go line")
	return ""
}

func goarch(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOARCH").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// checkDocker builds and runs the image.
func checkDocker(t *testing.T) {
	docker := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("docker", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("docker %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return strings.TrimSpace(string(out))
	}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("image-token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(token, 0o644); err != nil {
		t.Fatal(err)
	}
	docker("build", "-q", "-f", "../../deploy/Dockerfile", "-t", "foliot-test", "../..")
	id := docker("run", "-d", "-p", "127.0.0.1::7357", "-v", token+":/run/secrets/foliot_token:ro", "foliot-test")
	t.Cleanup(func() { exec.Command("docker", "rm", "-f", "-v", id).Run() })
	address, _, _ := strings.Cut(docker("port", id, "7357/tcp"), "\n")
	c := clientOf(t, "http://"+address, "image-token")
	for begin := time.Now(); c.Ready(t.Context()) != nil; time.Sleep(50 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatalf("the server does not start:\n%s", docker("logs", id))
		}
	}
	checkZones(t, c)
	docker("stop", "--timeout", "60", id)
	if status := docker("inspect", "--format", "{{.State.ExitCode}}", id); status != "0" {
		t.Errorf("exit status %s after docker stop\n%s", status, docker("logs", id))
	}
}

func TestDockerfilesAreRead(t *testing.T) {
	got := stages("# comment\nFROM a AS build\nRUN x \\\n  # within\n  y\n\nFROM scratch\nCMD [\"z\"]\n")
	want := [][]instruction{{{"FROM", "a AS build"}, {"RUN", "x    y"}}, {{"FROM", "scratch"}, {"CMD", `["z"]`}}}
	if len(got) != 2 || !slices.Equal(got[0], want[0]) || !slices.Equal(got[1], want[1]) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, wrong := range []string{
		"FROM alpine\n", "FROM scratch\nRUN ls\n", "FROM scratch\nCMD foliot serve\n", "FROM scratch\nCOPY foliot /foliot\n",
		"FROM scratch\nHEALTHCHECK CMD curl\n",
	} {
		if im, err := lastStage(stages(wrong)[0]); err == nil {
			t.Errorf("%q: %+v, want an error", wrong, im)
		}
	}
}
