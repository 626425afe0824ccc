package tenure_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/quorum/tenure"
)

// A client drives a Machine: it reports what the masters say, and sends what the machine
// answers.
func ExampleMachine() {
	w := newWorld("a", "b", "c")
	l := list("a", "b", "c")
	w.settle(l, tenure.NewInit(l))
	fmt.Println("founded:", w.votes(l), "of 3 vote")

	w.forget("c")
	m := tenure.NewMachine(l)
	w.settle(l, m)
	fmt.Println("c restarted empty:", w.votes(l), "of 3 vote; c waits", m.Standing(2).Left.Round(time.Second))

	w.now += m.Standing(2).Left
	w.settle(l, m)
	fmt.Println("after the wait:", w.votes(l), "of 3 vote")
	// Output:
	// founded: 3 of 3 vote
	// c restarted empty: 2 of 3 vote; c waits 11s
	// after the wait: 3 of 3 vote
}

func TestMastersThatWereNeverInitialisedDoNotVote(t *testing.T) {
	w, l := newWorld("a", "b", "c"), list("a", "b", "c")
	m := tenure.NewMachine(l)
	w.settle(l, m)
	w.now += past
	w.settle(l, m)
	assert.Zero(t, w.votes(l))
	assert.Equal(t, tenure.Empty, m.Standing(0).State)
}

func TestInitNeedsAllMasters(t *testing.T) {
	w, l := newWorld("a", "b", "c"), list("a", "b", "c")
	w.masters["c"].down = true
	init := tenure.NewInit(l)
	w.settle(l, init)
	assert.Zero(t, w.votes(l))
	assert.Equal(t, tenure.Alone, init.Standing(0).State)
	w.masters["c"].down = false
	w.settle(l, init)
	assert.Equal(t, 3, w.votes(l))
}

// Two operators at once, and one that dies half-way: whoever comes last finishes.
func TestInitsMayCollide(t *testing.T) {
	for steps := range 12 {
		w, l := newWorld("a", "b", "c"), list("a", "b", "c")
		other := list("c", "b", "a")
		one, two := tenure.NewInit(l), tenure.NewInit(other)
		for range steps {
			w.turn(l, one)
			w.turn(other, two)
		}
		w.settle(l, one)
		require.Equal(t, 3, w.votes(l), "after %d steps together", steps)
		require.Equal(t, 3, w.votes(other))
	}
}

func TestShortLivedClientsAreEnough(t *testing.T) {
	w, l := founded("a", "b", "c", "d", "e")
	w.forget("e")
	for range 30 {
		m := tenure.NewMachine(l)
		w.turn(l, m)
		w.now += time.Second
	}
	assert.Equal(t, 5, w.votes(l))
}

func TestManyClientsAtOnce(t *testing.T) {
	w, l := founded("a", "b", "c", "d", "e")
	w.forget("b")
	w.restart("e")
	lists := []tenure.List{list("e", "d", "c", "b", "a"), list("c", "a", "e", "b", "d"), l}
	for range 30 {
		for _, l := range lists {
			w.turn(l, tenure.NewMachine(l))
		}
		w.now += time.Second
	}
	assert.Equal(t, 5, w.votes(l))
}

func TestNothingVotesBeforeTheWaitIsOver(t *testing.T) {
	w, l := founded("a", "b", "c")
	w.restart("c")
	began := w.now
	for w.votes(l) < 3 {
		w.turn(l, tenure.NewMachine(l))
		w.now += 50 * time.Millisecond
		require.Less(t, w.now-began, past)
	}
	assert.GreaterOrEqual(t, w.now-began, maxTTL+maxTTL/10+2*tolerance)
}

// A majority restarted, but with its data.
func TestMastersThatKnowEachOtherNeedNoOperator(t *testing.T) {
	w, l := founded("a", "b", "c")
	high := w.masters["a"].record.High
	w.restart("a")
	w.restart("b")
	w.masters["c"].down = true
	m := tenure.NewMachine(l)
	w.settle(l, m)
	w.now += past
	w.settle(l, m)
	assert.Zero(t, w.votes(l), "not all answer")
	assert.Equal(t, tenure.Alone, m.Standing(0).State)

	w.masters["c"].down = false
	w.settle(l, m)
	assert.Zero(t, w.votes(l), "it has not waited yet")
	w.now += past
	w.settle(l, m)
	assert.Equal(t, 3, w.votes(l))
	assert.Greater(t, w.masters["a"].record.High, high)
}

// The second restarts while the first still waits.
func TestRestartsInTooQuickSuccession(t *testing.T) {
	w, l := founded("a", "b", "c")
	w.restart("a")
	m := tenure.NewMachine(l)
	w.settle(l, m)
	require.Equal(t, tenure.Waiting, m.Standing(0).State)
	w.restart("b")
	m = tenure.NewMachine(l)
	w.settle(l, m)
	w.now += past
	w.settle(l, m)
	assert.Equal(t, 3, w.votes(l))
}

func TestMastersThatDoNotAgreeNeedAnOperator(t *testing.T) {
	w, l := founded("a", "b", "c")
	for _, a := range l.Addresses {
		w.restart(a)
	}
	w.masters["c"].record.Terms = slices.Clone(w.masters["c"].record.Terms)
	w.masters["c"].record.Terms[1] = tenure.Term{No: 7, Address: "elsewhere"}
	m := tenure.NewMachine(l)
	w.settle(l, m)
	w.now += past
	w.settle(l, m)
	assert.Zero(t, w.votes(l))
	assert.Equal(t, tenure.Empty, m.Standing(0).State)
}

func TestOneMasterHalfFoundedIsFinished(t *testing.T) {
	w, l := founded("a", "b", "c")
	for _, a := range l.Addresses {
		w.restart(a)
	}
	m := tenure.NewMachine(l)
	w.settle(l, m)
	w.now += past
	sends, _ := l.Next(w.view(l), "nonce")
	w.do(l, sends[:1])
	w.masters["b"].down = true
	w.settle(l, tenure.NewMachine(l))
	assert.Equal(t, 2, w.votes(l), "a was armed, so c may be")
}

func TestReplace(t *testing.T) {
	w, old := founded("a", "b", "c")
	w.masters["d"] = &master{process: "fresh"}
	l := list("a", "b", "d")
	m := tenure.NewMachine(l)
	w.settle(l, m)
	assert.Equal(t, tenure.Homeless, m.Standing(2).State, "nobody said whose seat it gets")

	operator := l
	operator.Move = tenure.Move{From: "c", To: "d"}
	w.settle(operator, tenure.NewMachine(operator))
	assert.Equal(t, 2, w.votes(old), "c is out at once")
	w.now += past
	w.settle(l, m)
	assert.Equal(t, 3, w.votes(l))

	w.forget("c")
	m = tenure.NewMachine(old)
	w.settle(old, m)
	w.now += past
	w.settle(old, m)
	assert.Equal(t, 3, w.votes(l), "c has no seat to take")
	assert.Equal(t, tenure.Homeless, m.Standing(2).State)
}

// The second operator of two at once is told nothing, and changes nothing.
func TestReplaceTwice(t *testing.T) {
	w, _ := founded("a", "b", "c")
	w.masters["d"], w.masters["e"] = &master{process: "d"}, &master{process: "e"}
	first, second := list("a", "b", "d"), list("a", "b", "e")
	first.Move, second.Move = tenure.Move{From: "c", To: "d"}, tenure.Move{From: "c", To: "e"}
	w.settle(first, tenure.NewMachine(first))
	m := tenure.NewMachine(second)
	w.settle(second, m)
	assert.Equal(t, tenure.Homeless, m.Standing(2).State)
	w.now += past
	w.settle(first, tenure.NewMachine(first))
	assert.Equal(t, 3, w.votes(first))
}

func TestAnAccusedMasterLosesTenure(t *testing.T) {
	w, l := founded("a", "b", "c")
	view := w.view(l)
	view[1].Accused = true
	assert.Equal(t, 2, l.Count(view, func(int) bool { return true }))
	sends, _ := l.Next(view, "nonce")
	w.do(l, sends)
	assert.Equal(t, 2, w.votes(l))
	assert.False(t, w.masters["b"].record.Tenured(w.masters["b"].process))
}

// A connection from before a failover leads to the old master, which has tenure by its
// own lights. It is left alone until the address has been dialled anew.
func TestAnOutrankedMasterIsDialledAnewFirst(t *testing.T) {
	w, l := founded("a", "b", "c")
	for _, a := range []string{"a", "b"} {
		r := &w.masters[a].record
		r.Terms = slices.Clone(r.Terms)
		r.Terms[2].No = 2
	}
	view := w.view(l)
	view[2].Dialled = false
	sends, _ := l.Next(view, "nonce")
	assert.Equal(t, []tenure.Send{{Slot: 2}}, sends)
	view[2].Dialled = true
	sends, _ = l.Next(view, "nonce")
	assert.IsType(t, tenure.Prepare{}, sends[0].Do)
}

// Five masters; the last has forgotten. The term reached a third one just now, and its
// clock leaps: the first two have waited for nothing, as no majority had the term.
func TestOneClockCantEndTheWait(t *testing.T) {
	w, l := founded("a", "b", "c", "d", "e")
	w.forget("e")
	w.masters["c"].down, w.masters["d"].down = true, true
	two := w.view(l)
	w.masters["c"].down, w.masters["d"].down = false, false
	sends, _ := l.Next(w.view(l), "nonce") // Prepare
	w.do(l, sends)
	sends, _ = l.Next(w.view(l), "nonce") // Raise, on the first two only
	w.do(l, slices.DeleteFunc(sends, func(s tenure.Send) bool { return !two[s.Slot].Heard }))
	w.settleFor(l, []int{2, 3})
	w.now += past
	w.settleFor(l, []int{3})
	w.masters["c"].clock = time.Hour
	w.settleFor(l, []int{3})
	assert.Equal(t, 4, w.votes(l))
	w.now += past
	w.settleFor(l, nil)
	assert.Equal(t, 5, w.votes(l))
}

// settleFor has short-lived clients look at all masters but some, which no transition
// reaches either: their replies are there, only not to be changed.
func (w *world) settleFor(l tenure.List, but []int) {
	for range 6 {
		sends, _ := l.Next(w.view(l), w.fresh("nonce"))
		w.do(l, slices.DeleteFunc(sends, func(s tenure.Send) bool { return slices.Contains(but, s.Slot) }))
	}
}

// A reply that is older than the window may be from before its master forgot.
func TestOldRepliesAreNotActedOn(t *testing.T) {
	w, l := founded("a", "b", "c")
	w.forget("c")
	m := tenure.NewMachine(l)
	m.Heard(0, w.reply("a"), w.instant(), w.instant(), "nonce")
	w.now += maxTTL / 2
	m.Heard(1, w.reply("b"), w.instant(), w.instant(), "nonce")
	assert.Empty(t, m.Heard(2, w.reply("c"), w.instant(), w.instant(), "nonce"))
	assert.Equal(t, []int{0}, m.Due(w.instant()))
}

func TestRepliesFromBeforeASendAreOfNoUse(t *testing.T) {
	w, l := founded("a", "b", "c")
	w.forget("c")
	m := tenure.NewMachine(l)
	asked := w.instant()
	w.now += time.Millisecond
	for slot, a := range l.Addresses {
		m.Heard(slot, w.reply(a), asked, w.instant(), "nonce")
	}
	assert.Empty(t, m.Heard(2, w.reply("c"), asked, w.instant(), "nonce2"))
	assert.Len(t, m.Heard(2, w.reply("c"), w.instant(), w.instant(), "nonce2"), 1)
}

func TestAClockThatWasSetBackWaitsAnew(t *testing.T) {
	w, l := founded("a", "b", "c")
	w.forget("c")
	w.settle(l, tenure.NewMachine(l))
	w.masters["a"].clock = -time.Minute
	w.settle(l, tenure.NewMachine(l))
	w.now += past
	w.settle(l, tenure.NewMachine(l))
	assert.Equal(t, 3, w.votes(l))
}

func TestCount(t *testing.T) {
	all := func(int) bool { return true }
	tests := []struct {
		name   string
		change func(w *world, l *tenure.List, view []tenure.Reply) []tenure.Reply
		want   int
	}{
		{"all", func(_ *world, _ *tenure.List, v []tenure.Reply) []tenure.Reply { return v }, 3},
		{"one silent", func(_ *world, _ *tenure.List, v []tenure.Reply) []tenure.Reply {
			v[1] = tenure.Reply{}
			return v
		}, 2},
		{"one restarted", func(w *world, l *tenure.List, _ []tenure.Reply) []tenure.Reply {
			w.restart("b")
			return w.view(*l)
		}, 2},
		{"two addresses of one master", func(_ *world, _ *tenure.List, v []tenure.Reply) []tenure.Reply {
			v[1] = v[0]
			return v
		}, 2},
		{"one of another group", func(_ *world, _ *tenure.List, v []tenure.Reply) []tenure.Reply {
			v[2].Record.Group = "other"
			return v
		}, 2},
		{"another MaxTTL", func(_ *world, l *tenure.List, v []tenure.Reply) []tenure.Reply {
			l.MaxTTL++
			return v
		}, 0},
		{"a list of another length", func(w *world, l *tenure.List, _ []tenure.Reply) []tenure.Reply {
			l.Addresses = append(l.Addresses, "a", "b")
			return w.view(*l)
		}, 0},
		{"one outranked", func(_ *world, _ *tenure.List, v []tenure.Reply) []tenure.Reply {
			v[0].Record.Terms = slices.Clone(v[0].Record.Terms)
			v[0].Record.Terms[2].No++
			return v
		}, 2},
		{"nothing but garbage", func(_ *world, _ *tenure.List, v []tenure.Reply) []tenure.Reply {
			for i := range v {
				v[i].Record = tenure.Record{Identity: v[i].Process, Seat: 9}
			}
			return v
		}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, l := founded("a", "b", "c")
			view := tt.change(w, &l, w.view(l))
			assert.Equal(t, tt.want, l.Count(view, all))
		})
	}
}

func TestOneMasterAlone(t *testing.T) {
	w, l := founded("a")
	assert.Equal(t, 1, w.votes(l))
	w.restart("a")
	m := tenure.NewMachine(l)
	w.settle(l, m)
	assert.Zero(t, w.votes(l))
	w.now += past
	w.settle(l, m)
	assert.Equal(t, 1, w.votes(l))
}

func TestArmRaisesFences(t *testing.T) {
	w, l := founded("a", "b", "c")
	w.masters["b"].record.High = 1 << 52
	w.forget("c")
	w.settle(l, tenure.NewMachine(l))
	w.now += past
	w.settle(l, tenure.NewMachine(l))
	c := w.masters["c"].record
	assert.Greater(t, c.High, uint64(1<<52))
	assert.Equal(t, c.High, c.Floor)
}

func TestParse(t *testing.T) {
	w, l := founded("a", "b", "c")
	w.forget("c")
	w.settle(l, tenure.NewMachine(l))
	for _, a := range l.Addresses {
		r := w.masters[a].record
		assert.Equal(t, r, tenure.Parse(r.Values()))
	}
	assert.Equal(t, tenure.Record{}, tenure.Parse(make([]string, len(tenure.Fields))))
	bad := w.masters["a"].record.Values()
	bad[13] = "1 2"
	assert.Equal(t, tenure.Record{}, tenure.Parse(bad), "what nobody of ours wrote was not remembered")
	assert.Equal(t, tenure.Record{}, tenure.Parse(nil))
}
