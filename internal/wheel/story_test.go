package wheel

import (
	"flag"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the outcome of each step in testdata/stories")

// A story is a file of steps with blank lines between them. A step is prose after #, commands, a
// line of dashes, and the outcome, which ends with a drawing of the wheel. The commands are
//
//	new [TICK]                            an empty wheel
//	schedule NAME TICK
//	schedule NAME* COUNT TICK [STEP]      NAME1, NAME2, …, each STEP ticks after the one before
//	reschedule NAME TICK
//	cancel NAME
//	cancel NAME* FROM TO [STEP]           NAME<FROM>, NAME<FROM+STEP>, … up to NAME<TO>
//	reserve NAME
//	park NAME
//	advance TICK [max=N] [: COMMAND]      breaks after N entries; COMMAND is the body for the first
//	pop TICK [max=N] [: COMMAND]          N times, or until nothing is due; COMMAND follows the first
//	next
//	drain
//	trim
//	compact CHUNKS
//	unsettled                             from here on, the wheel is not settled after each command
//	draw                                  does nothing: every step ends with a drawing
//
// A TICK may be max, the last tick.
type story struct {
	w       *Wheel[string]
	handles map[string]Handle
	lazy    bool // do not settle the wheel after each command
	out     strings.Builder
}

const dashes = "----\n"

func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/stories/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			steps := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")), "\n\n")
			s := story{w: New[string](0, 0), handles: map[string]Handle{}}
			for i, step := range steps {
				commands, want, found := strings.Cut(step+"\n", dashes)
				got := s.runStep(t, commands)
				if got != want && !*update {
					t.Errorf("step %d:\n%s%s%swant:\n%s", i+1, commands, dashes, got, want)
				}
				if found || got != "" {
					steps[i] = commands + dashes + strings.TrimSuffix(got, "\n")
				}
			}
			if *update {
				if err := os.WriteFile(file, []byte(strings.Join(steps, "\n\n")+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// runStep runs the commands of a step and returns the outcome. It is empty if the step is only
// prose.
func (s *story) runStep(t *testing.T, commands string) string {
	s.out.Reset()
	ran := false
	for line := range strings.Lines(commands) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		ran = true
		if err := s.run(line); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if !s.lazy {
			s.w.settle()
		}
		if err := check(s.w); err != nil {
			t.Fatalf("after %s: %v", line, err)
		}
	}
	if ran {
		s.draw()
	}
	return s.out.String()
}

// run runs one command.
func (s *story) run(line string) error {
	line, body, _ := strings.Cut(line, " : ")
	verb, rest, _ := strings.Cut(line, " ")
	var name string
	switch verb {
	case "schedule", "reschedule", "cancel", "reserve", "park":
		name, rest, _ = strings.Cut(rest, " ")
	}
	name, many := strings.CutSuffix(name, "*")
	limit := math.MaxInt
	var args [3]Tick
	for i, arg := range strings.Fields(rest) {
		n, isMax := strings.CutPrefix(arg, "max=")
		v, err := strconv.ParseUint(n, 0, 64)
		switch {
		case arg == "max":
			args[i] = math.MaxUint64
		case err != nil || i >= len(args):
			return fmt.Errorf("cannot read %q", arg)
		case isMax:
			limit = int(v)
		default:
			args[i] = Tick(v)
		}
	}
	reportFalse := func(ok bool) {
		if !ok {
			fmt.Fprintf(&s.out, "%s %s: false\n", verb, name)
		}
	}
	switch verb {
	case "new":
		s.w = New[string](args[0], 0)
	case "schedule":
		if !many {
			s.handles[name] = s.w.Schedule(args[0], name)
		}
		for i := Tick(0); many && i < args[0]; i++ {
			each := fmt.Sprint(name, i+1)
			s.handles[each] = s.w.Schedule(args[1]+i*args[2], each)
		}
	case "reschedule":
		reportFalse(s.w.Reschedule(s.handles[name], args[0]))
	case "cancel":
		if !many {
			_, ok := s.w.Cancel(s.handles[name])
			reportFalse(ok)
		}
		for i := args[0]; many && i <= args[1]; i += max(1, args[2]) {
			s.w.Cancel(s.handles[fmt.Sprint(name, i)])
		}
	case "reserve":
		s.handles[name] = s.w.Reserve(name)
	case "park":
		reportFalse(s.w.Park(s.handles[name]))
	case "advance", "drain", "pop":
		pass := s.w.Advance(args[0])
		if verb == "drain" {
			pass = s.w.Drain()
		}
		if verb == "pop" {
			pass = s.popAll(args[0])
		}
		var yielded []string
		for at, v := range pass {
			if yielded = append(yielded, fmt.Sprintf("%s@%d", v, at)); len(yielded) == 1 && body != "" {
				if err := s.run(body); err != nil {
					return err
				}
			}
			if len(yielded) == limit {
				break
			}
		}
		fmt.Fprintln(&s.out, "yields", abbreviate(yielded))
	case "next":
		next, ok := s.w.Next()
		fmt.Fprintln(&s.out, "next is", next, ok)
	case "trim":
		fmt.Fprintln(&s.out, "slabs released:", s.w.Trim(math.MaxInt))
	case "compact":
		fmt.Fprintln(&s.out, "dead refs removed:", s.w.Compact(int(args[0])))
	case "unsettled":
		s.lazy = true
	case "draw":
	default:
		return fmt.Errorf("unknown command")
	}
	return nil
}

// popAll ranges over what Pop returns until nothing is due.
func (s *story) popAll(now Tick) iter.Seq2[Tick, string] {
	return func(yield func(Tick, string) bool) {
		for h, at, ok := s.w.Pop(now); ok && yield(at, *s.w.Value(h)); h, at, ok = s.w.Pop(now) {
		}
	}
}

// draw shows the state of the wheel: its ticks, the parked entries, and the buckets from level 0
// upwards.
func (s *story) draw() {
	fmt.Fprintf(&s.out, "now %d, cursor %d, len %d", s.w.now, s.w.cursor, s.w.count)
	if !s.lazy {
		next := "none"
		if at, ok := s.w.Next(); ok {
			next = fmt.Sprint(at)
		}
		fmt.Fprintf(&s.out, ", next %s", next)
	}
	fmt.Fprintln(&s.out)
	s.drawUnsettled()
	var parked []string
	for h, name := range s.w.All() {
		if s.w.lookup(h).pos == posParked {
			parked = append(parked, name)
		}
	}
	if slices.Sort(parked); len(parked) > 0 {
		fmt.Fprintln(&s.out, "parked:", abbreviate(parked))
	}
	for level, n := range s.w.path[:levelCount] {
		if n != nil {
			shift := level * digitBits
			s.drawNode(n, level, s.w.cursor>>shift>>digitBits<<digitBits<<shift, "")
		}
	}
}

// drawUnsettled shows the work that settle has to do.
func (s *story) drawUnsettled() {
	var recent []string
	for _, i := range s.w.recent[chunkFirstRef:][:s.w.recentCount] {
		if i == 0 {
			recent = append(recent, "-")
			continue
		}
		e := s.w.slots.get(i)
		recent = append(recent, fmt.Sprintf("%s@%d", e.value, e.at))
	}
	if len(recent) > 0 {
		fmt.Fprintln(&s.out, "recent:", abbreviate(recent))
	}
	if s.w.removalCount > 0 {
		fmt.Fprintln(&s.out, "removals to be finished:", s.w.removalCount)
	}
}

// drawNode shows the branches of a node whose range begins at the tick start. The indent is as
// deep as the node is below the path. If there are many branches, it leaves out most of them.
func (s *story) drawNode(n *node, level int, start Tick, indent string) {
	total := bits.OnesCount64(n.occupied)
	for k, left := 0, n.occupied; left != 0; k, left = k+1, left&(left-1) {
		if total > 5 && k >= 2 && k < total-1 {
			if k == 2 {
				fmt.Fprintf(&s.out, "%s… %d more branches\n", indent, total-3)
			}
			continue
		}
		d := uint(bits.TrailingZeros64(left))
		first := start | Tick(d)<<(level*digitBits)
		fmt.Fprintf(&s.out, "%slevel %d, %d", indent, level, first)
		if level > 0 {
			fmt.Fprintf(&s.out, "–%d", first|(1<<(level*digitBits)-1))
		}
		if n.isSplit(d) {
			fmt.Fprintln(&s.out, ": split")
			s.drawNode(s.w.nodes[n.branch[d].head], level-1, first, indent+"  ")
			continue
		}
		fmt.Fprintf(&s.out, ": %s\n", s.describe(&n.branch[d]))
	}
}

// describe lists the entries of a bucket in the order of its chain, and says how many of its
// refs are dead.
func (s *story) describe(b *bucket) string {
	var entries []string
	dead := 0
	for i, live := range refsOf(s.w, b) {
		if !live {
			dead++
			continue
		}
		if e := s.w.slots.get(i); e.pos < posBucket {
			entries = append(entries, "-")
		} else {
			entries = append(entries, fmt.Sprintf("%s@%d", e.value, e.at))
		}
	}
	text := abbreviate(entries)
	if dead > 0 {
		text += fmt.Sprintf(" +%d dead", dead)
	}
	if b.chunkCount > 1 {
		text += fmt.Sprintf(" (%d chunks)", b.chunkCount)
	}
	if s.w.fillPos(b) != 0 {
		text += " partly compacted"
	}
	return text
}

// abbreviate joins a list, and leaves out most of a long one.
func abbreviate(list []string) string {
	if n := len(list) - 4; n > 4 {
		list = []string{list[0], list[1], list[2], fmt.Sprintf("… %d more …", n), list[len(list)-1]}
	}
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, " ")
}
