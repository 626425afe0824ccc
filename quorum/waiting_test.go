package quorum_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum"
)

const ms = time.Millisecond

func TestContenderIsDue(t *testing.T) {
	const since, now = clock.Instant(1e9), clock.Instant(2e9)
	granted := quorum.Standing{Answer: quorum.Granted}
	unknown := quorum.Standing{}
	held := func(left time.Duration) quorum.Standing { return quorum.Standing{Answer: quorum.Refused, Left: left} }
	for _, tt := range []struct {
		name      string
		standings []quorum.Standing
		freed     []int
		want      time.Duration // after now
	}{
		{"the second key of three ends", []quorum.Standing{held(300 * ms), held(100 * ms), held(200 * ms)}, nil, 200 * ms},
		{"one is free already", []quorum.Standing{granted, held(100 * ms), held(200 * ms)}, nil, 100 * ms},
		{"a majority has freed it", []quorum.Standing{held(time.Second), held(time.Second), held(time.Second)}, []int{0, 2}, 0},
		{"a minority has", []quorum.Standing{held(time.Second), held(time.Second), held(time.Second)}, []int{1}, time.Second},
		{"nobody knows for how long", []quorum.Standing{held(0), held(0), held(-1)}, nil, 2 * time.Second},
		{"for longer than anybody should believe", []quorum.Standing{held(time.Hour), held(time.Hour), held(time.Hour)}, nil, 2 * time.Second},
		{"one does not answer", []quorum.Standing{unknown, held(100 * ms), held(300 * ms)}, nil, 300 * ms},
		{"two do not answer", []quorum.Standing{unknown, unknown, held(100 * ms)}, nil, 25 * ms},
		{"its own release, on a master that may not vote", []quorum.Standing{unknown, unknown, granted}, []int{0, 2}, 25 * ms},
		{"nobody answers", []quorum.Standing{unknown, unknown, unknown}, nil, 25 * ms},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := quorum.NewContender(since)
			assert.Equal(t, since, c.Due(), "at first, at once")
			c.Failed(tt.standings, now)
			for _, master := range tt.freed {
				c.Freed(master, now)
			}
			assert.Equal(t, tt.want, c.Due().Sub(now))
		})
	}
}

func TestContenderAsksSilentMastersEverLessOften(t *testing.T) {
	c := quorum.NewContender(0)
	var last time.Duration
	for range 20 {
		c.Failed(make([]quorum.Standing, 3), 0)
		assert.GreaterOrEqual(t, c.Due().Sub(0), last)
		last = c.Due().Sub(0)
	}
	assert.Equal(t, time.Second, last)
}

func TestJitter(t *testing.T) {
	const trip = ms
	split := []quorum.Standing{{Answer: quorum.Granted}, {Answer: quorum.Refused}, {Answer: quorum.Refused}}
	c := quorum.NewContender(0)
	young, old := c.Jitter(0.5, trip, 0), c.Jitter(0.5, trip, clock.Instant(time.Second))
	assert.Equal(t, trip, young)
	assert.Less(t, 10*old, young, "older waiters hold back less")
	assert.Zero(t, c.Jitter(0, trip, 0))

	c.Failed(split, 0)
	c.Failed(split, 0)
	assert.Equal(t, 4*young, c.Jitter(0.5, trip, 0), "splits spread them")
	for range 100 {
		c.Failed(split, 0)
	}
	assert.LessOrEqual(t, c.Jitter(1, trip, 0), 128*trip)
	c.Failed([]quorum.Standing{{}, {Answer: quorum.Refused}, {Answer: quorum.Refused}}, 0)
	assert.Equal(t, young, c.Jitter(0.5, trip, 0), "whoever holds it now ended the splits")
}
