package failover_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/internal/chaos"
	"github.com/quorumlock/redlock-go/internal/locks"
)

// random is what a random run is like, unless a test says otherwise.
var random = chaos.Config{
	Kind: locks.OursFenced, Clients: 6, Workers: 2, Names: 3,
	MinTTL: 200 * time.Millisecond, MaxTTL: time.Second,
	Habits: chaos.Habits{Stay: 20, Overrun: 15, Suspend: 5}, Mortal: true,
}

// setting returns what an environment variable says, or what holds otherwise: see the
// Makefile.
func setting[T any](t *testing.T, name string, parse func(string) (T, error), otherwise T) T {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	value, err := parse(text)
	require.NoError(t, err, name)
	return value
}

func seed(t *testing.T) uint64 {
	return setting(t, "REDLOCK_CHAOS_SEED", func(s string) (uint64, error) { return strconv.ParseUint(s, 10, 64) }, rand.Uint64())
}

// Whatever happens to a minority of the masters and to the clients, at random, the lock
// excludes and its fences grow.
func TestChaos(t *testing.T) {
	duration := 15 * time.Second
	if os.Getenv("CI") == "true" {
		duration = 2 * time.Minute
	}
	c := random
	c.Seed = seed(t)
	c.Duration = setting(t, "REDLOCK_CHAOS_DURATION", time.ParseDuration, duration)
	c.Acquisitions, c.MinFaults = int(10*c.Duration.Seconds()), int(c.Duration.Seconds()/10)
	c.Keep = os.Getenv("REDLOCK_CHAOS_KEEP")
	r := chaos.Run(t, c)
	t.Log(r)
	assert.Empty(t, r.Violations, "repeat it with: make chaos SEED=%d DURATION=%v", c.Seed, c.Duration)
}

// Fences are unique and grow, whatever masters forget meanwhile.
func TestChaos_FencesOfForgetfulMasters(t *testing.T) {
	c := random
	c.Habits, c.Mortal, c.Names, c.Clients, c.Workers = chaos.Habits{}, false, 1, 8, 1
	c.Only = []string{"killed", "killed, and its disk is lost", "flushed"}
	c.Seed, c.MinFaults = seed(t), 5
	c.Acquisitions = setting(t, "REDLOCK_CHAOS_FENCES", strconv.Atoi, 1500)
	r := chaos.Run(t, c)
	t.Log(r)
	assert.Empty(t, r.Violations, "repeat it with: make chaos SEED=%d FENCES=%d", c.Seed, c.Acquisitions)
}

// The check of the checks: what is wrong with a lock is found, and by the checks that are
// there for it.
func TestChaos_FindsWhatIsWrong(t *testing.T) {
	calm := random
	calm.Mortal, calm.Habits, calm.Only = false, chaos.Habits{}, []string{}
	for _, tt := range []struct {
		lock   string
		checks []string // that must find it
		change func(c *chaos.Config)
	}{
		{locks.None, []string{"L1", "L3", "L5"}, func(*chaos.Config) {}},
		{locks.SETNX, []string{"L6"}, func(c *chaos.Config) { c.Mortal = true }},
		{locks.PlainDEL, []string{"L1", "L3", "L5"}, func(c *chaos.Config) { c.Habits.Overrun = 50 }},
		{locks.Half, []string{"L1", "L2", "L3", "L5"}, func(*chaos.Config) {}},
		{locks.NoDrift, []string{"L2"}, func(c *chaos.Config) { c.Only = []string{chaos.FastClocks} }},
		{locks.Unguarded, []string{"L1", "L3"}, func(c *chaos.Config) { c.Only = []string{chaos.ForgetAll}; c.Habits.Stay = 100 }},
		{locks.Textbook, []string{"L5"}, func(c *chaos.Config) { c.Habits.Overrun = 50 }},
	} {
		t.Run(tt.lock, func(t *testing.T) {
			c := calm
			c.Seed, c.Kind, c.Duration, c.Unfenced, c.NoGroup = 1, tt.lock, 3*time.Second, true, true
			tt.change(&c)
			c.Keep = t.TempDir() // that it fails is no news
			r := chaos.Run(t, c)
			t.Log(r)
			for _, check := range tt.checks {
				assert.True(t, r.Broken(check), "%s finds nothing", check)
			}
		})
	}
}
