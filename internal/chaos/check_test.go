package chaos

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/clock"
)

// held is a hold with a fence: asked for, held, and at its end.
func held(id string, fence uint64, begin, from, until clock.Instant) []Event {
	return []Event{
		{At: begin, Kind: Begin, Client: id, ID: id, Name: "a"},
		{At: from, Kind: Held, Client: id, ID: id, Name: "a", Until: until, Fence: fence},
	}
}

func history(parts ...[]Event) (all []Event) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func TestChecks(t *testing.T) {
	const far = clock.Instant(1000)
	end := func(id string, at clock.Instant) []Event {
		return []Event{{At: at, Kind: End, Client: id, ID: id, Name: "a"}}
	}
	of := func(k Kind, client string, at clock.Instant) []Event {
		return []Event{{At: at, Kind: k, Client: client, Jump: 980}}
	}
	extended := func(id string, at, until clock.Instant) []Event {
		return []Event{{At: at, Kind: Extended, Client: id, ID: id, Name: "a", Until: until}}
	}
	for _, tt := range []struct {
		name    string
		history []Event
		want    []string
	}{
		{"one after the other", history(held("x", 1, 0, 10, far), end("x", 20), held("y", 2, 5, 21, far)), nil},
		{"at once", history(held("x", 1, 0, 10, far), held("y", 2, 5, 19, far), end("x", 20)), []string{"L1", "L3"}},
		{"one within the other", history(held("x", 1, 0, 10, far), held("y", 2, 5, 19, 25), end("y", 22), end("x", 30)), []string{"L1", "L3"}},
		{"the third, when the second has let go and the first has not", history(
			held("x", 1, 0, 10, far), held("y", 2, 5, 11, 12), held("z", 3, 5, 30, far)), []string{"L1", "L3"}},
		{"after the deadline", history(held("x", 1, 0, 10, 20), held("y", 2, 5, 21, far)), nil},
		{"after the deadline, which was moved", history(held("x", 1, 0, 10, 20), extended("x", 15, 40), held("y", 2, 5, 21, far)), []string{"L1", "L3"}},
		{"of one who is dead", history(held("x", 1, 0, 10, far), of(Killed, "x", 20), held("y", 2, 5, 21, far)), nil},
		{"of one whose clock jumped", history(held("x", 1, 0, 10, far), of(Suspended, "x", 12), held("y", 2, 5, 21, far)), nil},
		{"returned too late to be believed", history(held("x", 1, 0, 50, 20), held("y", 2, 5, 30, far)), nil},
		{"one fence twice", history(held("x", 7, 0, 10, 20), held("y", 7, 5, 21, far)), []string{"L3", "L4"}},
		{"a fence that falls", history(held("x", 7, 0, 10, 20), held("y", 6, 21, 22, far)), []string{"L3", "L4"}},
		{"fences of attempts that overlap", history(held("x", 7, 0, 10, 15), held("y", 6, 5, 21, far)), []string{"L3"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := holds(tt.history)
			var got []string
			for check, found := range map[string][]Violation{
				"L1": exclusion(all), "L3": linearizable(all, t.TempDir()), "L4": fences(all),
			} {
				if len(found) > 0 {
					got = append(got, check)
				}
			}
			assert.ElementsMatch(t, tt.want, got)
		})
	}
}

func TestValidity(t *testing.T) {
	seen := func(until ...clock.Instant) []Event {
		e := Event{At: 12, Kind: Seen, Client: "x", ID: "x", Name: "a", Until: 100}
		for i, u := range until {
			e.Sights = append(e.Sights, Sight{Master: i + 1, Until: u})
		}
		return []Event{e}
	}
	fault := func(k Kind, at clock.Instant) []Event { return []Event{{At: at, Kind: k, Master: 5}} }
	x := held("x", 1, 5, 10, 100)
	for _, tt := range []struct {
		name    string
		history []Event
		want    int
	}{
		{"three keep it", history(x, seen(100, 100, 101, 99)), 0},
		{"two do", history(x, seen(100, 100, 99, 99)), 1},
		{"none does, as it was stopped before it looked", history(x, []Event{{At: 150, Kind: Seen, Client: "x", ID: "x", Name: "a", Until: 100}}), 0},
		{"two do, and one was broken before", history(fault(Fault, 1), fault(Mended, 4), x, seen(100, 100)), 1},
		{"two do, and one is broken", history(fault(Fault, 1), x, seen(100, 100)), 0},
		{"two do, and one was broken meanwhile", history(fault(Fault, 1), fault(Mended, 6), x, seen(100, 100)), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Len(t, validity(tt.history, holds(tt.history), 5), tt.want)
		})
	}
}

func TestLost(t *testing.T) {
	assert.Empty(t, lost("a", []string{"0 7", "1 7", "2 9"}))
	assert.Len(t, lost("a", []string{"0 7", "1 7", "1 9"}), 1, "another's work")
	assert.Len(t, lost("a", []string{"0 7", "1 9", "2 8"}), 1, "out of order")
	assert.Len(t, lost("a", []string{"what"}), 1)
}

func TestVacuous(t *testing.T) {
	assert.NotEmpty(t, vacuous(nil, nil, Config{Acquisitions: 1}))
}

// A client that is killed leaves half a line behind.
func TestHistoryOfOneThatWasKilled(t *testing.T) {
	path := t.TempDir() + "/x.jsonl"
	r, err := newRecorder(path)
	require.NoError(t, err)
	before := clock.System.Now()
	r.write(Event{Kind: Begin, ID: "x", Jump: time.Second})
	_, err = r.file.WriteString(`{"at":1,"kind":"he`)
	require.NoError(t, err)
	require.NoError(t, r.close())
	all, err := load([]string{path})
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.False(t, all[0].At.Before(before))
	assert.Equal(t, Event{At: all[0].At, Kind: Begin, ID: "x", Jump: time.Second}, all[0])
}
