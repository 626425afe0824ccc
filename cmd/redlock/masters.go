package main

import (
	"errors"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/pflag"

	"github.com/quorumlock/redlock-go/internal/embedded"
	"github.com/quorumlock/redlock-go/redlock"
)

const (
	mastersVar       = "REDLOCK_MASTERS"
	unguardedVar     = "REDLOCK_UNGUARDED"
	embeddedMasters  = 5
	defaultRedisPort = "6379"
)

// masters are the flags that say which masters a lock is taken on.
type masters struct {
	list      string
	file      string
	embedded  bool
	maxTTL    time.Duration
	prefix    string
	unguarded bool
	fence     bool // leases are to have a fence; a flag of run only
}

func (m *masters) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&m.list, "masters", "", "independent Redis masters, separated by commas; else "+mastersVar+" from the environment")
	flags.StringVar(&m.file, "masters-file", "", "read the masters from `FILE`, one a line")
	flags.BoolVar(&m.embedded, "embedded", false, "use five masters inside this process: for a demo, as they exclude nobody outside of it")
	flags.DurationVar(&m.maxTTL, "max-ttl", redlock.DefaultMaxTTL, "the longest ttl that any client of these masters takes")
	flags.BoolVar(&m.unguarded, "unguarded", false, "have every master vote, also one that may have forgotten what it granted; else "+unguardedVar+"=1 in the environment")
	flags.StringVar(&m.prefix, "prefix", "", "goes before each NAME to make its key; all clients must agree on it")
}

// addresses returns the masters, from where they were given.
func (m *masters) addresses() ([]string, error) {
	var given []string
	switch {
	case m.list != "":
		given = fields(m.list)
		if hasPassword(given) {
			return nil, usage("a password in --masters can be read by everybody on this machine: use %s, or --masters-file", mastersVar)
		}
	case m.file != "":
		text, err := os.ReadFile(m.file)
		if err != nil {
			return nil, usage("--masters-file: %w", err)
		}
		given = lines(string(text))
	default:
		given = fields(os.Getenv(mastersVar))
	}
	if len(given) == 0 {
		return nil, usage("no masters given: set --masters, %s or --masters-file, or use --embedded to try it out without any", mastersVar)
	}
	return given, nil
}

// fields splits a list at commas and white space.
func fields(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}

// lines returns the lines that say something.
func lines(text string) []string {
	var said []string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, " #")
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			said = append(said, line)
		}
	}
	return said
}

func hasPassword(list []string) bool {
	for _, m := range list {
		u, err := url.Parse(m)
		if err != nil {
			continue // package redlock refuses it, without showing it
		}
		if _, ok := u.User.Password(); ok {
			return true
		}
	}
	return false
}

// shown returns a master as package redlock names it: its address, and nothing else.
func shown(master string) string {
	if !strings.Contains(master, "://") {
		return strings.ToLower(master)
	}
	u, err := url.Parse(master)
	if err != nil {
		return "?"
	}
	port := u.Port()
	if port == "" {
		port = defaultRedisPort
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// cluster is a client, and what must be closed with it.
type cluster struct {
	*redlock.Client
	names    []string // of the masters, as votes call them
	embedded *embedded.Masters
}

// open returns a client of the masters that were asked for, and says what is weak about
// them. Close it.
func (a *app) open(trace *redlock.Trace) (*cluster, error) {
	c, err := a.connect(trace)
	if err != nil {
		return nil, err
	}
	for _, w := range c.Warnings() {
		a.note("%s", w)
	}
	return c, nil
}

// connect returns a client of the masters that were asked for. Close it.
func (a *app) connect(trace *redlock.Trace) (*cluster, error) {
	if a.masters.embedded {
		e, err := embedded.Start(embeddedMasters)
		if err != nil {
			return nil, failure(err)
		}
		return a.connectTo(&cluster{embedded: e}, e.Addrs(), trace)
	}
	addresses, err := a.masters.addresses()
	if err != nil {
		return nil, err
	}
	return a.connectTo(&cluster{}, addresses, trace)
}

// connectTo makes c a client of the masters at addresses.
func (a *app) connectTo(c *cluster, addresses []string, trace *redlock.Trace) (*cluster, error) {
	for _, m := range addresses {
		c.names = append(c.names, shown(m))
	}
	unguarded, err := a.unguarded()
	if err == nil && unguarded && a.masters.fence {
		err = usage("--fence needs the guard, without which a master that forgets would give old numbers again: not with --embedded, --unguarded or %s", unguardedVar)
	}
	if err == nil {
		c.Client, err = redlock.New(redlock.Options{
			Masters:   addresses,
			MaxTTL:    a.masters.maxTTL,
			Prefix:    a.masters.prefix,
			Trace:     trace,
			Unguarded: unguarded,
			Fencing:   a.masters.fence,
		})
	}
	if err == nil {
		return c, nil
	}
	c.close()
	if errors.Is(err, redlock.ErrUnsafe) {
		return nil, failure(err)
	}
	return nil, usage("%w", err)
}

// unguarded reports whether the masters are to vote without the guard, and says so.
func (a *app) unguarded() (bool, error) {
	yes := a.masters.unguarded
	if v := os.Getenv(unguardedVar); v != "" {
		set, err := strconv.ParseBool(v)
		if err != nil {
			return false, usage("%s is %q: want 1 or 0", unguardedVar, v)
		}
		yes = yes || set
	}
	switch {
	case a.masters.embedded:
		a.detail("masters in memory go without the guard: every one votes, whether or not it remembers")
		return true, nil
	case yes:
		a.detail("the guard is off (--unguarded or %s): every master votes, also one that may have forgotten", unguardedVar)
	}
	return yes, nil
}

func (c *cluster) close() {
	if c.Client != nil {
		_ = c.Close() // its error is always nil
	}
	if c.embedded != nil {
		c.embedded.Close()
	}
}
