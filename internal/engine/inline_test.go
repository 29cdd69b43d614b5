package engine

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/foliot-go/foliot/internal/testkit"
)

// inlined are functions that every operation on a timer calls. As calls they would take a tenth of the
// time of arming or stopping one.
var inlined = []string{
	"(*Clock).Ceil", "(*Clock).Nanos", "(*Clock).Deadline",
	"nextMove", "state.pending", "state.waiting",
	"kind.isSlot", "kind.isCounted", "kind.isUser", "kind.repeats",
	"(*counts).noteArmed", "(*counts).noteDisarmed", "(*Shard).noteDead", "(*Shard).noteFreed", "(*quota).acquire", "(*quota).release",
	"(*Shard).lower", "(*Shard).postpone", "(*Shard).dueAt", "(*Shard).front",
}

func TestWhatEveryOperationCallsIsInlined(t *testing.T) {
	testkit.SkipIfShort(t)
	out, err := exec.Command("go", "build", "-gcflags=-m", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	text := string(out) + "\n"
	for _, name := range inlined {
		if !strings.Contains(text, "can inline "+name+"\n") {
			t.Errorf("the compiler does not inline %s: it has become too long", name)
		}
	}
}
