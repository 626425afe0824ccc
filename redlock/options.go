package redlock

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/redlock-go/clock"
)

// MinTTL is the shortest lease there is: below it, round trips and drift leave too little.
const MinTTL = 50 * time.Millisecond

// DefaultMaxTTL is Options.MaxTTL where none is given.
const DefaultMaxTTL = 30 * time.Second

// longestMaxTTL is far beyond sense: who works for long has a short lease extended.
const longestMaxTTL = 24 * time.Hour

// Options configure a [Client]. Only Masters is required.
type Options struct {
	// Masters are the independent Redis masters, one entry each: "host:port", or
	// redis:// or rediss:// URLs. Independent means that no two of them share a
	// process, a machine, or data: nodes of one cluster and replicas are not.
	// Use an odd number, three or five.
	Masters []string
	// MaxTTL is the longest lease that any client of these masters takes, in whole
	// milliseconds; 30s if zero.
	MaxTTL time.Duration
	// Fencing gives each lease a number that is greater than those of all leases of its
	// name before it, for resources that check it: see [Lease.Fence]. It takes a script
	// where a plain SET does otherwise. All clients of a name must agree on it.
	Fencing bool
	// Prefix goes before each name to make its key. All clients must agree on it.
	Prefix string
	// Drift is how far clocks may run apart during a lease; 1 % + 2 ms if zero.
	Drift clock.Drift
	// Clock is what the holder's time is measured with; clock.System if nil.
	Clock clock.Clock
	// Redis has the last word on each master's connection: TLS, ACL user, Dialer,
	// DialTimeout (1s), ReadTimeout and WriteTimeout (500ms). It is called once a
	// master. Retries stay off whatever it says: a repeated SET NX refuses itself.
	Redis func(*redis.Options)
	// Trace is told what happens; nil for nobody.
	Trace *Trace
	// Unguarded has every master vote, whether or not it can be sure to remember what
	// it granted: textbook Redlock. A master that restarts empty, is flushed or fails
	// over can then give a lock to two holders. It is for masters that hide who they
	// are (managed, proxied, or in memory), and needs no Init. Health says so.
	Unguarded bool
}

// withDefaults returns o with its zero values filled in, or what is wrong with it.
func (o Options) withDefaults() (Options, error) {
	if o.MaxTTL == 0 {
		o.MaxTTL = DefaultMaxTTL
	}
	if o.MaxTTL < MinTTL {
		return o, fmt.Errorf("MaxTTL is %v: it must be at least %v", o.MaxTTL, MinTTL)
	}
	if o.MaxTTL > longestMaxTTL || o.MaxTTL%time.Millisecond != 0 {
		return o, fmt.Errorf("MaxTTL is %v: it must be whole milliseconds, and at most %v", o.MaxTTL, longestMaxTTL)
	}
	if o.Drift == (clock.Drift{}) {
		o.Drift = clock.DefaultDrift
	}
	if err := o.Drift.Validate(); err != nil {
		return o, err
	}
	if o.Drift.Deadline(0, MinTTL) <= 0 {
		return o, fmt.Errorf("drift of %v leaves nothing of a ttl of %v", o.Drift.Of(MinTTL), MinTTL)
	}
	if o.Fencing && o.Unguarded {
		return o, errors.New("with Unguarded there are no fences: a master that forgets would give old numbers again")
	}
	if o.Clock == nil {
		o.Clock = clock.System
	}
	if o.Trace == nil {
		o.Trace = &Trace{}
	}
	return o, nil
}

// connections returns how to reach each master, or what is wrong with the list.
func (o Options) connections() ([]*redis.Options, error) {
	if len(o.Masters) == 0 {
		return nil, errors.New("no masters given: Options.Masters needs one address for each independent master")
	}
	var all []*redis.Options
	seen := map[string]int{}
	for i, m := range o.Masters {
		r, err := parseMaster(m)
		if err != nil {
			// The entry itself is not shown: it may hold a password.
			return nil, fmt.Errorf("master %d of %d: %w", i+1, len(o.Masters), err)
		}
		if first, ok := seen[r.Addr]; ok {
			return nil, fmt.Errorf("%w: masters %d and %d are both %s: one master must not vote twice", ErrUnsafe, first, i+1, r.Addr)
		}
		seen[r.Addr] = i + 1
		if o.Redis != nil {
			o.Redis(r)
		}
		all = append(all, r)
	}
	return all, nil
}

var errMaster = errors.New(`want "host:port", or a redis:// or rediss:// URL`)

// parseMaster reads one entry of Options.Masters. Its errors never repeat the entry,
// nor what net/url says of it: both may hold a password.
func parseMaster(s string) (*redis.Options, error) {
	if !strings.Contains(s, "://") {
		return parseAddr(s)
	}
	u, err := url.Parse(s)
	if err != nil || (u.Scheme != "redis" && u.Scheme != "rediss") || u.Hostname() == "" {
		return nil, errMaster
	}
	u.Host = net.JoinHostPort(strings.ToLower(u.Hostname()), orDefault(u.Port(), "6379"))
	r, err := redis.ParseURL(u.String())
	if err != nil {
		return nil, errors.New("the URL's path or options are not valid: want redis://[user:password@]host:port[/db]")
	}
	if _, err := parseAddr(r.Addr); err != nil {
		return nil, err
	}
	return r, nil
}

func parseAddr(s string) (*redis.Options, error) {
	host, port, err := net.SplitHostPort(s)
	if err != nil || host == "" || strings.ContainsAny(host, "@/ ") {
		return nil, errMaster
	}
	if n, err := net.LookupPort("tcp", port); err != nil || n == 0 {
		return nil, errMaster
	}
	return &redis.Options{Addr: net.JoinHostPort(strings.ToLower(host), port)}, nil
}

func orDefault(s, def string) string {
	if s == "" {
		return def
	}
	return s
}
