package quorum_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum"
)

func TestTwoMajoritiesShareAMaster(t *testing.T) {
	for n := 1; n < 100; n++ {
		assert.Greater(t, 2*quorum.Majority(n), n, "%d masters", n)
		assert.LessOrEqual(t, quorum.Majority(n), n)
	}
}

const (
	deadline = clock.Instant(100)
	intime   = deadline - 1
)

// votes: g granted, r refused, u unknown, by voters in order.
func round(n int, votes string) *quorum.Round {
	r := quorum.NewRound(n, deadline)
	for voter, v := range votes {
		r.Count(ballot(voter, byte(v)))
	}
	return r
}

func ballot(voter int, v byte) quorum.Ballot {
	answers := map[byte]quorum.Answer{'g': quorum.Granted, 'r': quorum.Refused, 'u': quorum.Unknown}
	return quorum.Ballot{Voter: voter, Answer: answers[v]}
}

func TestRound(t *testing.T) {
	for _, tt := range []struct {
		name  string
		n     int
		votes string
		now   clock.Instant
		want  quorum.Decision
		held  bool // by refusals alone
	}{
		{"nobody was heard", 5, "", intime, quorum.Open, false},
		{"two of five", 5, "gg", intime, quorum.Open, false},
		{"three of five", 5, "ggg", intime, quorum.Won, false},
		{"three of five at the deadline", 5, "ggg", deadline, quorum.Expired, false},
		{"it can still be won, late", 5, "gg", deadline, quorum.Open, false},
		{"two refused, three may come", 5, "rr", intime, quorum.Open, false},
		{"three refused", 5, "rrr", intime, quorum.Lost, true},
		{"three unknown", 5, "uuu", intime, quorum.Lost, false},
		{"unknown is no refusal", 5, "rru", intime, quorum.Lost, false},
		{"lost at the deadline", 5, "rrr", deadline, quorum.Lost, true},
		{"one of one", 1, "g", intime, quorum.Won, false},
		{"two of four are no majority", 4, "ggrr", intime, quorum.Lost, true},
		{"three of four", 4, "ggg", intime, quorum.Won, false},
		{"a split", 5, "ggrru", intime, quorum.Lost, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := round(tt.n, tt.votes)
			assert.Equal(t, tt.want, r.Decide(tt.now))
			assert.Equal(t, tt.want != quorum.Open, r.Ripe())
			assert.Equal(t, tt.held, r.RefusedByMajority())
			assert.Equal(t, tt.n-len(tt.votes), r.Missing())
		})
	}
}

func TestDecisionStays(t *testing.T) {
	lost := round(3, "ru")
	require.Equal(t, quorum.Lost, lost.Decide(intime))
	lost.Count(ballot(2, 'g'))
	assert.Equal(t, quorum.Lost, lost.Decide(intime))
	assert.Equal(t, quorum.Tally{Granted: 1, Refused: 1, Unknown: 1}, lost.Tally(), "late votes are told")

	won := round(3, "gg")
	require.Equal(t, quorum.Won, won.Decide(intime))
	assert.Equal(t, quorum.Won, won.Decide(deadline))
}

func TestVoterVotesOnce(t *testing.T) {
	r := round(3, "g")
	r.Count(ballot(0, 'r'))
	r.Count(ballot(0, 'g'))
	assert.Equal(t, quorum.Tally{Granted: 1}, r.Tally())
	assert.Equal(t, 2, r.Missing())
}

func TestMasterVotesOnceUnderWhateverAddress(t *testing.T) {
	r := quorum.NewRound(3, deadline)
	r.Count(quorum.Ballot{Voter: 2, Master: "m", Answer: quorum.Granted})
	r.Count(quorum.Ballot{Voter: 0, Master: "m", Answer: quorum.Granted})
	assert.Equal(t, quorum.Open, r.Decide(intime))
	r.Count(quorum.Ballot{Voter: 1, Master: "other", Answer: quorum.Granted})
	assert.Equal(t, quorum.Won, r.Decide(intime))

	twice := quorum.NewRound(3, deadline)
	for voter := range 2 {
		twice.Count(quorum.Ballot{Voter: voter, Master: "m", Answer: quorum.Granted})
	}
	twice.Count(quorum.Ballot{Voter: 2, Answer: quorum.Unknown})
	assert.Equal(t, quorum.Lost, twice.Decide(intime))
}

// FuzzRound holds the round against the plainest counting there is.
func FuzzRound(f *testing.F) {
	f.Add(uint8(5), []byte("ggrug"), uint8(1))
	f.Add(uint8(3), []byte("rrgggg"), uint8(0))
	f.Add(uint8(4), []byte{7, 130, 9}, uint8(2))
	f.Fuzz(func(t *testing.T, size uint8, votes []byte, late uint8) {
		n := 1 + int(size)%7
		r := quorum.NewRound(n, deadline)
		granted, refused, heard := map[string]bool{}, 0, map[int]bool{}
		var decided quorum.Decision
		for i, v := range votes {
			b := quorum.Ballot{Voter: i * 3 % n, Master: string('a' + v>>5), Answer: quorum.Answer(v % 3)}
			r.Count(b)
			if !heard[b.Voter] {
				heard[b.Voter] = true
				switch b.Answer {
				case quorum.Granted:
					granted[b.Master] = true
				case quorum.Refused:
					refused++
				default:
				}
			}
			now := intime
			if i >= int(late) {
				now = deadline
			}
			d := r.Decide(now)
			if decided != quorum.Open {
				require.Equal(t, decided, d, "a decision stays")
				continue
			}
			decided = d
			most := len(granted) + n - len(heard)
			switch d {
			case quorum.Won:
				require.Greater(t, 2*len(granted), n)
				require.Less(t, now, deadline)
			case quorum.Expired:
				require.Greater(t, 2*len(granted), n)
				require.Equal(t, deadline, now)
			case quorum.Lost:
				require.LessOrEqual(t, 2*most, n)
			case quorum.Open:
				require.LessOrEqual(t, 2*len(granted), n)
				require.Greater(t, 2*most, n)
			}
			require.Equal(t, 2*(n-refused) <= n, r.RefusedByMajority())
		}
	})
}
