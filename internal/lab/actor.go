package lab

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/internal/proxy"
	"github.com/quorumlock/redlock-go/internal/redistest"
)

// client is a process that wants the lock, and the network between it and the masters.
type client struct {
	s       *stage
	lane    string
	masters []*master      // as its list has them
	fronts  []*proxy.Proxy // in front of each
	closed  []*proxy.Proxy // of these, those that let nothing through
	desk    *proxy.Proxy   // in front of the resource
	process *redistest.Process
	stdin   io.WriteCloser
	answers chan answer
	asked   atomic.Pointer[order] // the order that is not answered yet, nil if there is none
	late    atomic.Bool           // what was kept back arrives
	hold    *hold                 // nil if it never had the lock
}

// client starts one that has the given masters in its list, and reaches some of them: all if
// none are given.
func (s *stage) client(lane string, list []*master, reach ...int) *client {
	c := &client{s: s, lane: lane, masters: list, answers: make(chan answer, 16)}
	var addrs []string
	for i, m := range list {
		f := proxy.Start(s, m.addr)
		if !s.quiet {
			f.Watch(func(command []string) { c.sees(m, command) })
		}
		if len(reach) > 0 && len(list) > 1 && !slices.Contains(reach, i+1) {
			f.Judge(func([]string) proxy.Verdict { return proxy.Cut })
			c.closed = append(c.closed, f)
		}
		c.fronts = append(c.fronts, f)
		addrs = append(addrs, f.Addr())
	}
	c.desk = proxy.Start(s, s.vault)
	kind := s.design.kind
	if s.inside && s.design.ours {
		kind = insideKind
	}
	text, err := json.Marshal(setup{
		Kind: kind, Masters: addrs, MaxTTL: maxTTL, Shifted: !s.design.ours,
		Resource: c.desk.Addr(), Fenced: s.design.fenced,
	})
	if err == nil {
		err = c.spawn(string(text))
	}
	if err != nil {
		s.Fatalf("start client %s: %v", lane, err)
	}
	s.clients = append(s.clients, c)
	s.rec.lane(lane)
	return c
}

// reachAll lets the client reach the masters that it was kept from.
func (c *client) reachAll() {
	for _, f := range c.closed {
		f.Resume()
	}
}

func (c *client) spawn(setup string) error {
	cmd := exec.Command(os.Args[0])
	if self, err := os.Executable(); err == nil {
		cmd.Path = self
	}
	cmd.Env = append(os.Environ(), clientEnv+"="+setup)
	var err error
	if c.stdin, err = cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if c.process, err = redistest.Spawn(cmd); err != nil {
		return err
	}
	c.s.Cleanup(c.process.Kill)
	go func() {
		defer close(c.answers)
		for d := json.NewDecoder(out); ; {
			var a answer
			if d.Decode(&a) != nil {
				return
			}
			c.answers <- a
		}
	}()
	return nil
}

// sees records a command about the lock that reaches a master.
func (c *client) sees(m *master, command []string) {
	if slices.ContainsFunc(command, func(w string) bool { return strings.Contains(w, name) }) {
		o := c.asked.Load()
		c.s.rec.command(c.lane, m.lane, command, c.late.Load(), o != nil && o.Do == acquire)
	}
}

// front returns the network between the client and a master, nil if it does not know it.
func (c *client) front(m *master) *proxy.Proxy {
	if i := slices.Index(c.masters, m); i >= 0 {
		return c.fronts[i]
	}
	return nil
}

// order has the client begin something.
func (c *client) order(o order) {
	o.Name = cmp.Or(o.Name, name)
	c.asked.Store(&o)
	if err := json.NewEncoder(c.stdin).Encode(o); err != nil {
		c.s.Fatalf("client %s: %v", c.lane, err)
	}
}

// answer waits for what came of the order.
func (c *client) answer() answer {
	o := *c.asked.Load()
	select {
	case a, ok := <-c.answers:
		if !ok {
			c.s.Fatalf("client %s has died", c.lane)
		}
		c.asked.Store(nil)
		c.s.account(c, o, a)
		return a
	case <-time.After(o.Timeout + redistest.Patience):
		c.s.Fatalf("client %s does not answer when told to %s", c.lane, o.Do)
	}
	return answer{}
}

func (c *client) do(o order) answer {
	c.order(o)
	return c.answer()
}

// account writes down what a client says.
func (s *stage) account(c *client, o order, a answer) {
	s.rec.flush(c.lane)
	note := func(format string, args ...any) { s.rec.note(c.lane, Deed, a.At, fmt.Sprintf(format, args...)) }
	switch {
	case a.Why != "":
		note("can't %s: %s", o.Do, a.Err)
	case o.Name != name:
	case o.Do == acquire:
		c.hold = s.rec.held(c.lane, a.At, a.Until)
		note("has the lock%s", s.end(a.Until))
	case o.Do == extend:
		note("has extended it%s", s.end(a.Until))
	case o.Do == check && a.Until <= a.At:
		note("knows that it has lost the lock")
	case o.Do == check:
		note("believes that it has the lock%s", s.end(a.Until))
	case o.Do == read:
		note("reads %d", a.Value)
	case o.Do == write:
		note("writes %d", a.Value)
		s.rec.note("resource", Written, a.At, fmt.Sprintf("%s writes %d", c.lane, a.Value))
	case o.Do == release:
		note("has let go")
	}
	if c.hold == nil || o.Name != name {
		return
	}
	switch o.Do {
	case extend, check:
		if a.At.Before(a.Until) { // else it knows that it is over
			s.rec.believe(c.hold, a.Until)
		}
	case release:
		s.rec.believe(c.hold, min(c.hold.until, a.From, a.Until))
	default:
	}
}

func (s *stage) end(until clock.Instant) string {
	if until == clock.Never {
		return ", and knows no end"
	}
	return fmt.Sprintf(", until %s", pretty(s.rec.since(until)))
}

// kill ends the client's process.
func (c *client) kill() {
	c.process.Kill()
	now := clock.System.Now()
	c.s.rec.note(c.lane, Struck, now, "is killed")
	if c.hold != nil {
		c.s.rec.believe(c.hold, min(c.hold.until, now))
	}
}

func (c *client) stop() {
	c.s.rec.note(c.lane, Struck, clock.System.Now(), "stands still")
	if err := c.process.Stop(); err != nil {
		c.s.Fatalf("client %s: %v", c.lane, err)
	}
}

func (c *client) goOn() {
	c.s.rec.note(c.lane, Struck, clock.System.Now(), "goes on")
	if err := c.process.Cont(); err != nil {
		c.s.Fatalf("client %s: %v", c.lane, err)
	}
}
