package quorum_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum"
)

func TestHold(t *testing.T) {
	drift := clock.Drift{Rate: 0.01, Floor: 2 * time.Millisecond}
	const ttl = time.Second
	start := clock.Instant(time.Hour)
	h := quorum.NewHold(3, ttl, drift, start)
	const validity = 988 * time.Millisecond
	assert.Equal(t, start.Add(validity), h.Deadline())
	assert.Equal(t, validity, h.Left(start))
	assert.Zero(t, h.Left(start.Add(time.Minute)))
	assert.Equal(t, start.Add(ttl/3), h.Renewal())
	assert.Equal(t, start.Add(ttl+12*time.Millisecond+clock.Grace), h.Gone())

	later := start.Add(300 * time.Millisecond)
	h.Asked(later)
	assert.Equal(t, start.Add(validity), h.Deadline(), "nobody has granted that")
	assert.Equal(t, quorum.Gone(later, ttl, drift), h.Gone(), "but the keys may live longer")
	h.Extended(later)
	assert.Equal(t, later.Add(validity), h.Deadline())
	h.Extended(start)
	assert.Equal(t, later.Add(validity), h.Deadline(), "an extension never shortens")
}

// A key that somebody took away is not put back.
func TestWhereAKeyMayBeLost(t *testing.T) {
	h := quorum.NewHold(2, time.Second, clock.DefaultDrift, 0)
	assert.True(t, h.MayHaveLost(0, "tenure"), "it never granted")
	h.Granted(0, "tenure")
	assert.False(t, h.MayHaveLost(0, "tenure"))
	assert.True(t, h.MayHaveLost(0, "another"))
	assert.True(t, h.MayHaveLost(0, ""))
	assert.True(t, h.MayHaveLost(1, "tenure"))
}
