package testkit

import (
	"strings"
	"testing"
)

// The machine of these tests is a lamp. It is off, lit or broken.
const (
	lampOff = iota
	lampLit
	lampBroken
)

const (
	lampPress = iota
	lampBreak
)

type lampTable [3][2]Move[uint8, uint8]

var lampMoves = lampTable{
	lampOff: {
		lampPress: {Legal: true, OK: true, To: lampLit, Do: 1},
		lampBreak: {Legal: true, To: lampBroken},
	},
	lampLit: {
		lampPress: {Legal: true, OK: true, To: lampOff},
		lampBreak: {Legal: true, To: lampBroken},
	},
	lampBroken: {
		lampPress: {Legal: true, To: lampBroken},
	},
}

type lampFacts struct{ lit, broken bool }

func lamp(table *lampTable) *Machine[uint8, uint8, uint8, lampFacts] {
	return &Machine[uint8, uint8, uint8, lampFacts]{
		States:     []string{"off", "lit", "broken"},
		Events:     []string{"press", "break"},
		Move:       func(s, e uint8) Move[uint8, uint8] { return table[s][e] },
		Impossible: map[uint8]map[uint8]string{lampBroken: {lampBreak: "it is broken"}},
		Facts:      []lampFacts{{}, {lit: true}, {broken: true}},
		Outcome: func(f lampFacts, e uint8) (to lampFacts, ok, starts bool) {
			switch {
			case f.broken:
				return f, false, false
			case e == lampBreak:
				return lampFacts{broken: true}, false, false
			}
			return lampFacts{lit: !f.lit}, true, !f.lit
		},
		Effect: func(_, _ lampFacts, _ uint8, starts bool) uint8 {
			if starts {
				return 1
			}
			return 0
		},
		First: []uint8{lampOff},
		Last:  lampBroken,
	}
}

func TestAMachineFindsWrongMoves(t *testing.T) {
	type machine = Machine[uint8, uint8, uint8, lampFacts]
	legal, moves, reachable := (*machine).CheckLegal, (*machine).CheckMoves, (*machine).CheckReachable
	for _, test := range []struct {
		check func(*machine) error
		s, e  int
		move  Move[uint8, uint8]
		want  string
	}{
		{
			legal, lampBroken, lampBreak,
			Move[uint8, uint8]{Legal: true, To: lampBroken},
			"break in state broken is legal, but it is broken",
		},
		{
			legal, lampOff, lampPress,
			Move[uint8, uint8]{},
			"press in state off is not legal, and no reason is given",
		},
		{
			legal, lampBroken, lampBreak,
			Move[uint8, uint8]{To: lampLit},
			"break in state broken is not legal, but its move is not zero",
		},
		{
			moves, lampOff, lampPress,
			Move[uint8, uint8]{Legal: true, OK: true, To: lampOff, Do: 1},
			"press in state off leads to off",
		},
		{
			moves, lampOff, lampPress,
			Move[uint8, uint8]{Legal: true, To: lampLit, Do: 1},
			"press in state off is {Legal:true OK:false",
		},
		{
			moves, lampOff, lampPress,
			Move[uint8, uint8]{Legal: true, OK: true, To: lampLit},
			"press in state off is {Legal:true OK:true To:1 Do:0}, want",
		},
		{
			reachable, lampOff, lampPress,
			Move[uint8, uint8]{Legal: true, To: lampOff},
			"state lit is never reached",
		},
		{
			reachable, lampBroken, lampPress,
			Move[uint8, uint8]{Legal: true, To: lampLit},
			"broken leads to state lit",
		},
	} {
		table := lampMoves
		if err := test.check(lamp(&table)); err != nil {
			t.Errorf("the right table: %v", err)
		}
		table[test.s][test.e] = test.move
		err := test.check(lamp(&table))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %q", err, test.want)
		}
	}
}

func TestAMachineFindsAStateThatNeverEnds(t *testing.T) {
	table := lampMoves
	for s := range table {
		table[s][lampBreak] = Move[uint8, uint8]{}
	}
	err := lamp(&table).CheckReachable()
	if err == nil || !strings.Contains(err.Error(), "state lit does not lead to broken") {
		t.Errorf("got %v, want an error about state lit", err)
	}
}
