package lab

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The judge tells each verdict from the evidence alone, and takes the worst.
func TestJudge(t *testing.T) {
	got := Ask{Got: true}
	for _, tt := range []struct {
		name string
		e    Evidence
		want Verdict
	}{
		{"all went well", Evidence{Asks: []Ask{got, got}}, OK},
		{"two at once", Evidence{Asks: []Ask{got}, Lost: 1, Overlaps: []Span{{}}}, TwoHolders},
		{"a write was lost", Evidence{Asks: []Ask{{Why: held}}, Lost: 1}, LostUpdate},
		{"a key that never ends", Evidence{Asks: []Ask{got, {Why: held}}, Left: &Leftover{Ends: -1}}, Stuck},
		{"a key that ends", Evidence{Asks: []Ask{{Why: held}}, Left: &Leftover{Ends: 5}}, Blocked},
		{"late", Evidence{Asks: []Ask{got, {Got: true, late: true}}}, Blocked},
		{"refused", Evidence{Asks: []Ask{{Why: refused}, {Why: unreachable}}}, Refused},
		{"nobody answers", Evidence{Asks: []Ask{got, {Why: unreachable}}, Left: &Leftover{Ends: 5}}, Unavailable},
	} {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, judge(&tt.e)) })
	}
}

func TestOverlaps(t *testing.T) {
	span := func(lane string, from, to Millis) Span { return Span{lane, from, to, ""} }
	assert.Empty(t, overlaps([]Span{span("B", 10, 20), span("A", 0, 10), span("C", 20, 30)}))
	assert.Equal(t, []Span{span("A and B", 5, 10), span("B and C", 12, 15)},
		overlaps([]Span{span("C", 12, 20), span("A", 0, 10), span("B", 5, 15)}))
	assert.Len(t, overlaps([]Span{span("A", 0, 100), span("B", 1, 2), span("C", 3, 4)}), 2)
}

func TestLost(t *testing.T) {
	assert.Equal(t, 0, lost([]int{1, 2, 3}))
	assert.Equal(t, 1, lost([]int{1, 1}))
	assert.Equal(t, 2, lost([]int{1, 2, 2, 2}))
}

// Who waited is measured from when nobody else had the lock.
func TestAsk_Wait(t *testing.T) {
	a := Ask{From: 10, To: 50}
	assert.EqualValues(t, 40, a.wait(nil))
	assert.EqualValues(t, 10, a.wait([]Span{{"A", 0, 40, ""}, {"A", 0, 20, ""}, {"B", 50.5, 60, ""}}))
}

// Every fault is known for every lock.
func TestExpected(t *testing.T) {
	n := 0
	for _, f := range Faults() {
		for _, d := range Designs() {
			assert.NotEmpty(t, d.expected(f.ID), "%s/%s", f.ID, d.ID)
			n++
		}
	}
	assert.Len(t, expectations, n, "and nothing else is")
}

func TestPeer_IsExpectedToBeLikeAnother(t *testing.T) {
	d := Peer("theirs", "", true, "textbook", map[string]Verdict{"suspend": None})
	assert.Equal(t, TwoHolders, d.expected("restart-empty"))
	assert.Equal(t, None, d.expected("suspend"))
}
