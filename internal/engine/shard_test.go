package engine

import (
	"go/ast"
	"go/printer"
	"go/token"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/foliot-go/foliot/internal/testkit"
)

// Whatever unlocks a shard does what was noted while it was locked: it calls unlock, or finds that nothing
// was noted. Shards are always named s.
func TestAShardIsUnlockedByUnlock(t *testing.T) {
	var written []string
	parseEngine(t, func(file string, fn *ast.FuncDecl) {
		checked := map[ast.Node]bool{}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			if stmt, ok := n.(*ast.IfStmt); ok && source(stmt.Cond) == "s.after == 0" {
				checked[stmt.Body.List[0].(*ast.ExprStmt).X] = true
			}
			call, ok := n.(*ast.CallExpr)
			if !ok || source(call) != "s.mu.Unlock()" {
				return true
			}
			written = append(written, fn.Name.Name)
			if fn.Name.Name != "unlock" && !checked[call] {
				t.Errorf("%s: %s unlocks a shard and does not look at what was noted; call unlock", file, fn.Name.Name)
			}
			return true
		})
	})
	slices.Sort(written)
	if want := []string{"newTimer", "reset", "stop", "unlock"}; !slices.Equal(written, want) {
		t.Errorf("these functions unlock a shard: %v, want %v", written, want)
	}
}

// source returns the source code of a node.
func source(n ast.Node) string {
	var b strings.Builder
	if err := printer.Fprint(&b, token.NewFileSet(), n); err != nil {
		panic(err)
	}
	return b.String()
}

// shardMethods maps the methods of a Shard, and of the structs in it, to the methods that they call.
// noting has those that note something for unlock.
func shardMethods(t *testing.T) (calls map[string][]string, noting map[string]bool) {
	calls, noting = map[string][]string{}, map[string]bool{}
	parseEngine(t, func(_ string, fn *ast.FuncDecl) {
		if fn.Recv == nil {
			return
		}
		ptr, ok := fn.Recv.List[0].Type.(*ast.StarExpr)
		if !ok || !slices.Contains([]string{"Shard", "counts", "scrub"}, ptr.X.(*ast.Ident).Name) {
			return
		}
		name := fn.Name.Name
		calls[name] = nil
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if method, ok := n.Fun.(*ast.SelectorExpr); ok {
					calls[name] = append(calls[name], method.Sel.Name)
				}
			case *ast.AssignStmt:
				if field, ok := n.Lhs[0].(*ast.SelectorExpr); ok && field.Sel.Name == "after" && name != "unlock" {
					noting[name] = true
				}
			}
			return true
		})
	})
	return calls, noting
}

// tell locks timekeeper.mu, so what is called with that lock or roster.mu held must note nothing.
func TestNothingIsNotedWithTheLocksHeldThatTellTakes(t *testing.T) {
	calls, noting := shardMethods(t)
	if len(noting) < 5 {
		t.Fatalf("only %d methods note something: the test looks for the wrong thing", len(noting))
	}
	var visit func(way []string)
	seen := map[string]bool{}
	visit = func(way []string) {
		name := way[len(way)-1]
		if noting[name] {
			t.Errorf("%v notes something for unlock", way)
		}
		for _, next := range calls[name] {
			if _, ok := calls[next]; ok && !seen[next] && next != "unlock" {
				seen[next] = true
				visit(append(slices.Clone(way), next))
			}
		}
	}
	for _, root := range []string{"updateNextIfEmpty", "close", "pending", "addTo"} {
		if _, ok := calls[root]; !ok {
			t.Errorf("there is no method %s of a Shard", root)
		}
		clear(seen)
		visit([]string{root})
	}
}

func TestAShardStaysSmall(t *testing.T) {
	if n := reflect.TypeFor[Shard]().NumField(); n > 18 {
		t.Errorf("Shard has %d fields, want at most 18: is the new one part of another struct?", n)
	}
}

// An event that cannot happen changes nothing, and is counted. In tests of the engine it panics.
func TestAnIllegalMoveChangesNothingAndIsCounted(t *testing.T) {
	h := newHarness(false)
	s := h.shards[0]
	e := entry{role: role{stateIdle, kindFunc}}
	if testkit.PanicValue(func() { s.move(&e, eventDone) }) == nil {
		t.Error("an illegal move does not panic in a test")
	}
	panicIfIllegal = false
	defer func() { panicIfIllegal = true }()
	s.mu.Lock()
	defer s.unlock()
	for range 2 {
		if m := s.move(&e, eventDone); m.ok || m.do != effectNone || e.state != stateIdle {
			t.Errorf("an illegal move has the result %t and the effect %d, and leads to %s", m.ok, m.do, stateNames[e.state])
		}
		if s.arm(0, &e, 0, 0, eventRepeat) || e.state != stateIdle || s.armed != 0 {
			t.Error("an illegal repeat has armed the timer")
		}
	}
	if n := h.eng.illegalMoves.Load(); n != 4 || s.after != afterIllegal {
		t.Errorf("%d illegal moves are counted, want 4, or they are not logged", n)
	}
	s.after = 0
}
