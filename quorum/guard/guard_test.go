package guard_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum"
	"github.com/quorumlock/redlock-go/quorum/guard"
	"github.com/quorumlock/redlock-go/quorum/tenure"
)

const (
	maxTTL = 10 * time.Second
	start  = clock.Instant(time.Hour)
)

var addresses = []string{"a:1", "b:1", "c:1", "d:1", "e:1"}

func list() tenure.List {
	return tenure.List{Addresses: addresses, MaxTTL: maxTTL, Tolerance: clock.Tolerance}
}

// member returns the record of the master with tenure at a slot.
func member(slot int) *tenure.Record {
	r := &tenure.Record{
		Charter:  tenure.Charter{Group: "g", N: len(addresses), MaxTTL: maxTTL, Tolerance: clock.Tolerance},
		Seat:     slot + 1,
		Identity: process(slot),
	}
	for _, a := range addresses {
		r.Terms = append(r.Terms, tenure.Term{No: 1, Address: a})
	}
	return r
}

func process(slot int) string { return fmt.Sprintf("run%d+history", slot) }

// fleet is a client's view of five masters, from look to look.
type fleet struct {
	watches []*guard.Watch
	records []*tenure.Record
	offsets []time.Duration // of their clocks
	now     clock.Instant
}

func newFleet() *fleet {
	f := &fleet{now: start, offsets: make([]time.Duration, len(addresses))}
	for slot := range addresses {
		f.watches = append(f.watches, guard.NewWatch(guard.Span(maxTTL)))
		f.records = append(f.records, member(slot))
	}
	return f
}

// look asks the masters at some slots, each of which takes a millisecond to answer.
func (f *fleet) look(slots ...int) []*guard.Tail {
	tails := make([]*guard.Tail, len(addresses))
	for _, slot := range slots {
		t := &guard.Tail{Process: process(slot), Record: f.records[slot], Asked: f.now, Dialled: true}
		t.Time = tenure.Time((time.Duration(f.now) + f.offsets[slot] + time.Millisecond/2).Microseconds())
		f.watches[slot].See(t, f.now.Add(time.Millisecond))
		tails[slot] = t
	}
	f.now = f.now.Add(time.Second)
	return tails
}

func (f *fleet) all() []*guard.Tail { return f.look(0, 1, 2, 3, 4) }

// trust has the client trust the clocks, as after a round that was won.
func (f *fleet) trust() {
	tails := f.all()
	for slot, t := range tails {
		if guard.Vouched(tails, slot) {
			f.watches[slot].Trust(t)
		}
	}
}

func granted(tails []*guard.Tail) func(int) bool {
	return func(slot int) bool { return tails[slot] != nil }
}

func counted(g *guard.Guard, tails []*guard.Tail) int {
	n, _ := g.Count(tails, granted(tails))
	return n
}

func TestVotesOfMastersThatRemember(t *testing.T) {
	g, f := guard.New(list()), newFleet()
	assert.Zero(t, counted(g, f.look(0, 1)), "two can't vouch for a clock that nobody knows")
	tails := f.look(0, 1, 2)
	n, all := g.Count(tails, granted(tails))
	assert.Equal(t, 3, n)
	assert.True(t, all)
	f.trust()
	assert.Equal(t, 2, counted(g, f.look(0, 1)), "their clocks are known by now")
	assert.Equal(t, 5, counted(g, f.all()))
}

func TestAVoteThatCantCount(t *testing.T) {
	foreign := func(change func(*tenure.Record)) func(*fleet) {
		return func(f *fleet) { change(f.records[2]) }
	}
	for _, tt := range []struct {
		name string
		what func(f *fleet)
		want string
	}{
		{"no tenure", foreign(func(r *tenure.Record) { r.Identity = "" }), "may have forgotten"},
		{"tenure of another process", foreign(func(r *tenure.Record) { r.Identity = "run2+other" }), "may have forgotten"},
		{"another MaxTTL", foreign(func(r *tenure.Record) { r.MaxTTL = time.Second }), "MaxTTL is 1s"},
		{"another number of masters", foreign(func(r *tenure.Record) { r.N = 3; r.Terms = r.Terms[:3] }), "one of 3 masters"},
		{"another tolerance", foreign(func(r *tenure.Record) { r.Tolerance = time.Second }), "tolerance"},
		{"a clock that was set forward", func(f *fleet) { f.offsets[2] = time.Hour }, "stepped by 59m59"},
		{"a clock that was set back", func(f *fleet) { f.offsets[2] = -time.Hour }, "stepped by -59m59"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, f := guard.New(list()), newFleet()
			f.trust()
			record := *f.records[2]
			f.records[2] = &record
			tt.what(f)
			tails := f.all()
			require.ErrorContains(t, g.Admit(2, tails[2]), tt.want)
			require.ErrorContains(t, g.Objection(tails, 2), tt.want)
			assert.NoError(t, g.Admit(1, tails[1]))
		})
	}
}

func TestOthersKnowThatItMayHaveForgotten(t *testing.T) {
	g, f := guard.New(list()), newFleet()
	f.trust()
	raised := *f.records[0]
	raised.Terms = append([]tenure.Term(nil), raised.Terms...)
	raised.Terms[2] = tenure.Term{No: 2, Address: "c:1"}
	f.records[0] = &raised
	tails := f.look(0, 1, 2)
	n, all := g.Count(tails, granted(tails))
	assert.Equal(t, 2, n)
	assert.False(t, all)
	require.ErrorContains(t, g.Objection(tails, 2), "others know")
	assert.Equal(t, 2, counted(g, f.look(1, 2)), "none of these knows")

	raised.Terms[2].Address = "new:1"
	tails = f.look(0, 1, 2)
	require.ErrorIs(t, g.Objection(tails, 2), guard.ErrUnsafe)
	assert.ErrorContains(t, g.Objection(tails, 2), "its place was given to new:1")
}

func TestMastersOfTwoGroups(t *testing.T) {
	g, f := guard.New(list()), newFleet()
	f.trust()
	stranger := *f.records[4]
	stranger.Group = "other"
	f.records[4] = &stranger
	tails := f.all()
	assert.Equal(t, 4, counted(g, tails))
	require.ErrorIs(t, g.Objection(tails, 4), guard.ErrUnsafe)
	assert.ErrorContains(t, g.Objection(tails, 4), "another group")
	assert.NoError(t, g.Objection(tails, 0))
}

// Clocks may differ; what was written down of that counts.
func TestAClockThatIsSeenForTheFirstTime(t *testing.T) {
	g, f := guard.New(list()), newFleet()
	f.offsets[1] = time.Hour
	tails := f.all()
	assert.Equal(t, 4, counted(g, tails))
	assert.ErrorContains(t, g.Objection(tails, 1), "not that of most others")
	assert.False(t, guard.Vouched(tails, 1))
	assert.True(t, guard.Vouched(tails, 0))

	f = newFleet()
	f.offsets[1] = time.Hour
	known := *f.records[1]
	known.Skew = time.Hour
	f.records[1] = &known
	assert.Equal(t, 5, counted(guard.New(list()), f.all()))
	tails = f.look(0, 1)
	assert.ErrorContains(t, g.Objection(tails, 0), "too few other masters answer")
}

func TestTrustIsOfOneWatch(t *testing.T) {
	w := guard.NewWatch(guard.Span(maxTTL))
	see := func(process string, at clock.Instant) *guard.Tail {
		tail := &guard.Tail{Process: process, Asked: at, Time: tenure.Time(time.Duration(at).Microseconds())}
		w.See(tail, at)
		return tail
	}
	first := see("p", start)
	assert.Equal(t, quorum.Strange, first.Sight)
	w.Trust(first)
	assert.Equal(t, quorum.Steady, see("p", start+1).Sight)
	assert.Equal(t, quorum.Strange, see("q", start+2).Sight, "it is another process")
	w.Trust(first)
	assert.Equal(t, quorum.Strange, see("q", start+3).Sight, "that was of the one before")
	w.Trust(see("q", start+4))
	w.Forget()
	assert.Equal(t, quorum.Strange, see("q", start+5).Sight)
}

func TestWhoseClockStepped(t *testing.T) {
	f := newFleet()
	f.trust()
	m := tenure.NewMachine(list())
	tend := func(tails []*guard.Tail) []tenure.Send {
		return guard.Tend(m, tails, f.now, func() string { return "nonce" })
	}
	assert.Empty(t, tend(f.all()), "all is well")

	f.offsets[3] = time.Minute
	tails := f.all()
	assert.False(t, guard.StoodStill(tails))
	assert.Empty(t, tend(tails), "one look does not prove it: our own may have stood still amid that")
	sends := tend(f.all())
	require.Len(t, sends, 1)
	assert.Equal(t, 3, sends[0].Slot)
	assert.IsType(t, tenure.Prepare{}, sends[0].Do, "it loses its tenure")

	assert.Empty(t, tend(f.look(3)), "one alone can't tell")

	f = newFleet()
	f.trust()
	for slot := range 3 {
		f.offsets[slot] = time.Minute
	}
	assert.True(t, guard.StoodStill(f.all()), "a majority moved together: it was our own")
	f.offsets[0], f.offsets[1] = 0, -time.Minute
	assert.False(t, guard.StoodStill(f.all()), "they did not move together")
}

// A skew is rewritten by who watched all clocks for a whole span.
func TestDriftIsWrittenDown(t *testing.T) {
	f := newFleet()
	m := tenure.NewMachine(list())
	var sends []tenure.Send
	for range 30 {
		f.offsets[2] += 5 * time.Millisecond
		f.trust()
		sends = append(sends, guard.Tend(m, f.all(), f.now, func() string { return "nonce" })...)
	}
	require.NotEmpty(t, sends)
	for _, s := range sends {
		require.Equal(t, 2, s.Slot)
		require.IsType(t, tenure.Settle{}, s.Do)
	}
	assert.Greater(t, sends[0].Do.(tenure.Settle).Skew, clock.Tolerance/5)
}

// A look of before the watch forgot by itself vouches for nothing since.
func TestTrustOfALookThatIsForgotten(t *testing.T) {
	const span = time.Second
	w := guard.NewWatch(span)
	look := func(now clock.Instant, ahead time.Duration) *guard.Tail {
		tail := &guard.Tail{Process: "p", Record: &tenure.Record{}, Asked: now, Time: tenure.Time((time.Duration(now) + ahead).Microseconds())}
		w.See(tail, now)
		return tail
	}
	start := clock.Instant(time.Hour)
	first := look(start, 0)
	look(start.Add(span+time.Millisecond), time.Hour) // nobody looked for a span: it was stepped
	w.Trust(first)
	assert.Equal(t, quorum.Strange, look(start.Add(span+2*time.Millisecond), time.Hour).Sight)
}

// A clock that answers under two addresses vouches for itself once.
func TestAClockUnderTwoAddresses(t *testing.T) {
	at := func(process string, ahead time.Duration) *guard.Tail {
		return &guard.Tail{Process: process, Record: &tenure.Record{}, Offset: quorum.Offset{Low: ahead, High: ahead}, Sight: quorum.Strange}
	}
	stepped := at("s", time.Hour)
	other := at("o", 0)
	other.Sight = quorum.Steady
	assert.False(t, guard.Vouched([]*guard.Tail{stepped, stepped, other}, 0))
	assert.True(t, guard.Vouched([]*guard.Tail{stepped, at("t", time.Hour), other}, 0))
}

// A clock was stepped while its master waited for tenure. What it granted before is over by
// the time that it votes again, so it must not lose the new tenure for that.
func TestAStepBeforeTheTenureIsForgotten(t *testing.T) {
	w := guard.NewWatch(time.Minute)
	record := func(term uint64) *tenure.Record {
		return &tenure.Record{Charter: tenure.Charter{Group: "g", N: 1, MaxTTL: maxTTL, Tolerance: clock.Tolerance}, Seat: 1, Identity: "p",
			Terms: []tenure.Term{{No: term, Address: "a:1"}}}
	}
	waiting := &tenure.Record{Prepared: tenure.Preparation{Process: "p", Nonce: "n"}}
	see := func(r *tenure.Record, now clock.Instant, ahead time.Duration) *guard.Tail {
		tail := &guard.Tail{Process: "p", Record: r, Asked: now, Time: tenure.Time((time.Duration(now) + ahead).Microseconds())}
		w.See(tail, now)
		return tail
	}
	old, renewed := record(1), record(2)
	w.Trust(see(old, start, 0))
	require.Equal(t, quorum.Steady, see(old, start+1e9, 0).Sight)
	require.Equal(t, quorum.Stepped, see(waiting, start+2e9, time.Hour).Sight)
	require.Equal(t, quorum.Stepped, see(old, start+3e9, time.Hour).Sight, "it is still the tenure in which it granted")
	require.Equal(t, quorum.Strange, see(renewed, start+4e9, time.Hour).Sight)
	w.Trust(see(renewed, start+5e9, time.Hour))
	assert.Equal(t, quorum.Steady, see(renewed, start+6e9, time.Hour).Sight)
	same := *renewed
	assert.Equal(t, quorum.Steady, see(&same, start+7e9, time.Hour).Sight, "it is the same tenure")
	assert.Equal(t, quorum.Stepped, see(&same, start+8e9, 0).Sight)
}
