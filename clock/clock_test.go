package clock_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/clock/clocktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDrift(t *testing.T) {
	for _, tt := range []struct {
		name  string
		drift clock.Drift
		ttl   time.Duration
		want  time.Duration // of validity at the start
	}{
		{"the paper's", clock.DefaultDrift, 10 * time.Second, 9898 * time.Millisecond},
		{"the shortest", clock.DefaultDrift, 50 * time.Millisecond, 47500 * time.Microsecond},
		{"masters count whole milliseconds", clock.Drift{}, 1999999 * time.Nanosecond, time.Millisecond},
		{"none", clock.Drift{}, time.Second, time.Second},
		{"a floor alone", clock.Drift{Floor: time.Second}, time.Second, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const start = clock.Instant(12345)
			assert.Equal(t, tt.want, tt.drift.Deadline(start, tt.ttl).Sub(start))
		})
	}
}

func TestDriftThatNoClockHas(t *testing.T) {
	for _, d := range []clock.Drift{{Rate: -0.1}, {Rate: 1}, {Rate: math.NaN()}, {Rate: math.Inf(1)}, {Floor: -1}} {
		assert.Error(t, d.Validate(), "%+v", d)
	}
	assert.NoError(t, clock.DefaultDrift.Validate())
	assert.NoError(t, clock.Drift{}.Validate())
}

func TestInstant(t *testing.T) {
	a := clock.Instant(1000)
	assert.Equal(t, time.Second, a.Add(time.Second).Sub(a))
	assert.True(t, a.Before(a.Add(1)))
	assert.False(t, a.Before(a))
	assert.True(t, a.Before(clock.Never))
}

func TestSystemGoesOn(t *testing.T) {
	last := clock.System.Now()
	for range 1000 {
		now := clock.System.Now()
		require.False(t, now.Before(last))
		last = now
	}
}

func TestSleep(t *testing.T) {
	t.Run("until the instant", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := clocktest.New()
			until := c.Now().Add(90 * time.Minute)
			require.NoError(t, clock.Sleep(t.Context(), c, until))
			assert.Equal(t, until, c.Now())
		})
	})
	t.Run("a suspended machine has slept already", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := clocktest.New()
			began := time.Now()
			time.AfterFunc(10*time.Second, func() { c.Suspend(time.Hour) })
			require.NoError(t, clock.Sleep(t.Context(), c, c.Now().Add(time.Hour)))
			assert.LessOrEqual(t, time.Since(began), 11*time.Second, "noticed within a second")
		})
	})
	t.Run("a clock that stands still does not spin", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := clocktest.New()
			c.Freeze()
			time.AfterFunc(time.Minute, c.Thaw)
			began := time.Now()
			require.NoError(t, clock.Sleep(t.Context(), c, c.Now().Add(time.Nanosecond)))
			assert.GreaterOrEqual(t, time.Since(began), time.Minute)
		})
	})
	t.Run("ctx ends it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			boom := errors.New("boom")
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(boom) })
			c := clocktest.New()
			require.ErrorIs(t, clock.Sleep(ctx, c, clock.Never), boom)
		})
	})
}

func TestAlarm(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(a *clock.Alarm, c *clocktest.Clock, start clock.Instant)
		want time.Duration // after which it rings; 0 for never
	}{
		{"rings", func(*clock.Alarm, *clocktest.Clock, clock.Instant) {}, 10 * time.Second},
		{"later", func(a *clock.Alarm, _ *clocktest.Clock, s clock.Instant) { a.Move(s.Add(time.Minute)) }, time.Minute},
		{"sooner", func(a *clock.Alarm, _ *clocktest.Clock, s clock.Instant) { a.Move(s.Add(2 * time.Second)) }, 2 * time.Second},
		{"at once", func(a *clock.Alarm, _ *clocktest.Clock, s clock.Instant) { a.Move(s) }, time.Millisecond},
		{"never", func(a *clock.Alarm, _ *clocktest.Clock, _ clock.Instant) { a.Stop() }, 0},
		{"not after it was stopped", func(a *clock.Alarm, _ *clocktest.Clock, s clock.Instant) { a.Stop(); a.Move(s) }, 0},
		{"soon after a suspend", func(_ *clock.Alarm, c *clocktest.Clock, _ clock.Instant) { c.Suspend(time.Hour) }, time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := clocktest.New()
				start, began := c.Now(), time.Now()
				var rang []time.Duration
				a := clock.NewAlarm(c, start.Add(10*time.Second), func() { rang = append(rang, time.Since(began)) })
				tt.do(a, c, start)
				time.Sleep(time.Hour)
				synctest.Wait()
				a.Stop()
				if tt.want == 0 {
					assert.Empty(t, rang)
				} else {
					assert.Equal(t, []time.Duration{tt.want}, rang, "once")
				}
			})
		})
	}
}

func TestTestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clocktest.New()
		start := c.Now()
		time.Sleep(time.Second)
		assert.Equal(t, time.Second, c.Now().Sub(start))
		c.Suspend(time.Minute)
		assert.Equal(t, 61*time.Second, c.Now().Sub(start))
		c.Freeze()
		c.Freeze()
		time.Sleep(time.Hour)
		assert.Equal(t, 61*time.Second, c.Now().Sub(start))
		c.Thaw()
		c.Thaw()
		time.Sleep(time.Second)
		assert.Equal(t, 62*time.Second, c.Now().Sub(start))
	})
}
