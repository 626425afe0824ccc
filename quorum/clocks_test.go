package quorum_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum"
)

const (
	tolerance = 250 * ms
	span      = 30 * time.Second
)

// watched is a clock, and a client that looks at it.
type watched struct {
	*quorum.Watch
	now   clock.Instant
	ahead time.Duration
	trip  time.Duration
}

func newWatched() *watched {
	return &watched{Watch: quorum.NewWatch(span, tolerance), now: clock.Instant(time.Hour), trip: ms}
}

func (w *watched) look() (quorum.Sight, time.Duration) {
	sent := w.now
	w.now = w.now.Add(w.trip)
	at := time.Duration(w.now) - w.trip/2 + w.ahead
	return w.Look(quorum.NewOffset(at, sent, w.now), w.now)
}

func (w *watched) sight() quorum.Sight {
	s, _ := w.look()
	return s
}

func (w *watched) pass(d time.Duration) { w.now = w.now.Add(d) }

func TestWatch(t *testing.T) {
	trusted := func() *watched {
		w := newWatched()
		w.look()
		w.Trust()
		return w
	}
	tests := []struct {
		name string
		do   func() quorum.Sight
		want quorum.Sight
	}{
		{"never seen", func() quorum.Sight { return newWatched().sight() }, quorum.Strange},
		{"seen, and not trusted", func() quorum.Sight {
			w := newWatched()
			w.look()
			return w.sight()
		}, quorum.Strange},
		{"trusted", func() quorum.Sight { return trusted().sight() }, quorum.Steady},
		{"watched for the whole span", func() quorum.Sight {
			w := newWatched()
			for range 40 {
				w.look()
				w.pass(time.Second)
			}
			return w.sight()
		}, quorum.Steady},
		{"not looked at for longer than the span", func() quorum.Sight {
			w := trusted()
			w.pass(span + time.Second)
			return w.sight()
		}, quorum.Strange},
		{"stepped forward", func() quorum.Sight {
			w := trusted()
			w.ahead += time.Hour
			return w.sight()
		}, quorum.Stepped},
		{"stepped back", func() quorum.Sight {
			w := trusted()
			w.ahead -= tolerance + 10*ms
			return w.sight()
		}, quorum.Stepped},
		{"moved by less than anybody can see", func() quorum.Sight {
			w := trusted()
			w.ahead += tolerance / 2
			return w.sight()
		}, quorum.Steady},
		{"crept away from the first look, never far at once", func() quorum.Sight {
			w := trusted()
			for range 10 {
				w.ahead += tolerance / 5
				w.pass(time.Second)
				w.look()
			}
			return w.sight()
		}, quorum.Stepped},
		{"crept as much, in more time than the span", func() quorum.Sight {
			w := trusted()
			for range 100 {
				w.ahead += tolerance / 50
				w.pass(time.Second)
				w.look()
			}
			return w.sight()
		}, quorum.Steady},
		{"a look that took long", func() quorum.Sight {
			w := trusted()
			w.trip = 3 * tolerance
			return w.sight()
		}, quorum.Blurred},
		{"after a look that took long", func() quorum.Sight {
			w := trusted()
			w.trip = 3 * tolerance
			w.look()
			w.trip = ms
			return w.sight()
		}, quorum.Steady},
		{"a step that even a look that took long shows", func() quorum.Sight {
			w := trusted()
			w.ahead, w.trip = time.Hour, 3*tolerance
			return w.sight()
		}, quorum.Stepped},
		{"stepped, longer ago than the span", func() quorum.Sight {
			w := trusted()
			w.ahead += time.Hour
			for range 40 {
				w.look()
				w.pass(time.Second)
			}
			return w.sight()
		}, quorum.Steady},
		{"forgotten", func() quorum.Sight {
			w := trusted()
			w.Forget()
			return w.sight()
		}, quorum.Strange},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, tt.do()) })
	}
}

// A step is held against the clock for no less than the span, whenever the last look before
// it was.
func TestStepIsRememberedForTheSpan(t *testing.T) {
	const every = 50 * ms
	for phase := time.Duration(0); phase < span/8; phase += every {
		w := newWatched()
		w.pass(phase)
		w.look()
		w.Trust()
		last := w.now // before the step
		w.ahead += time.Hour
		for w.now.Sub(last)+every+w.trip < span {
			w.pass(every)
			require.Equal(t, quorum.Stepped, w.sight(), "phase %v, %v after the last look before the step", phase, w.now.Sub(last))
		}
	}
}

func TestStepIsMeasured(t *testing.T) {
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		w := newWatched()
		w.look()
		w.ahead += by
		_, step := w.look()
		assert.InDelta(t, by, step, float64(2*ms))
	}
}

func TestTrustNeedsALook(t *testing.T) {
	w := newWatched()
	w.Trust()
	assert.Equal(t, quorum.Strange, w.sight())
	assert.Equal(t, quorum.Strange, w.sight())
}

func TestOffset(t *testing.T) {
	o := quorum.NewOffset(time.Second, clock.Instant(100*ms), clock.Instant(200*ms))
	assert.Equal(t, quorum.Offset{Low: 800 * ms, High: 900 * ms}, o)
	assert.Equal(t, 850*ms, o.Middle())
	assert.True(t, o.Near(o.Less(50*ms), 150*ms))
	assert.False(t, o.Near(o.Less(51*ms), 150*ms))
	assert.False(t, o.Less(51*ms).Near(o, 150*ms))
}
