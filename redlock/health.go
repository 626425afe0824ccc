package redlock

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/quorumlock/redlock-go/quorum/guard"
	"github.com/quorumlock/redlock-go/redlock/master"
)

// Health is what one master is like, and whether its vote counts.
type Health struct {
	Master string // its address
	// Err is why the master could not be asked: it is away, or no master at all
	// (a replica, a node of a cluster, …), which is ErrUnsafe.
	Err error

	Votes     bool          // its vote counts
	Unguarded bool          // its vote counts without tenure: see Options.Unguarded
	Why       string        // why its vote does not count, and what to do about it; "" if it does
	Refused   bool          // that is a matter of configuration, which time does not mend
	Until     time.Duration // how long it still has to wait for tenure; 0 if it need not, or nobody can say
	Seat      int           // its place in the group, from 1; 0 if it has none
	Term      uint64        // of the seat
	Group     string        // which masters it belongs to; "" if it was never told

	Version   string        // of Redis
	Role      string        // "master", if it is one
	Identity  string        // of this process and its history: run_id+replid
	Same      string        // the address in the list before it that leads to the same master; "" for none
	Offset    time.Duration // of its clock, less the median of all the masters
	RoundTrip time.Duration // of the question
	Replicas  int           // attached to it
	// How it remembers, and whether it may forget by itself. Where a setting can't be
	// read (CONFIG is often refused), it is "".
	AppendOnly, AppendFsync, Save string
	MaxMemory, Eviction           string
	Warnings                      []string // what is allowed, but weaker than it looks
}

// Health asks each master what it is like, in the order of Options.Masters. It changes
// nothing but what is to be done anyway: masters that may have forgotten begin to wait.
func (c *Client) Health(ctx context.Context) []Health {
	all := make([]Health, len(c.masters))
	for i, m := range c.masters {
		all[i] = Health{Master: m.Addr(), Unguarded: c.guard == nil, Err: errNoAnswer}
	}
	if err := c.alive(ctx); err != nil {
		for i := range all {
			all[i].Err = err
		}
		return all
	}
	c.describe(ctx, all)
	for i, m := range c.masters {
		all[i].Warnings = m.Warnings()
	}
	if c.guard != nil {
		c.assess(ctx, all)
	}
	for i := range all {
		h := &all[i]
		h.Votes = h.Err == nil && h.Why == "" && h.Same == ""
	}
	return all
}

// describe has the masters describe themselves.
func (c *Client) describe(ctx context.Context, all []Health) {
	replies := make(chan master.Reply, len(all))
	asked := c.clock.Now()
	for i, m := range c.masters {
		r := master.NewDescribe()
		r.Voter, r.To = i, replies
		m.Send(r)
	}
	runs := make([]string, len(all))
	for range all {
		select {
		case r := <-replies:
			h := &all[r.Voter]
			h.RoundTrip = c.clock.Now().Sub(asked)
			runs[r.Voter] = r.Run
			if h.Err = r.Err; r.Err == nil {
				h.read(master.Info(r.Info), r.Config)
			}
		case <-ctx.Done():
			return
		}
	}
	for i := range all {
		if first := slices.Index(runs, runs[i]); runs[i] != "" && first < i {
			all[i].Same = all[first].Master
		}
	}
}

// read fills in what a master says of itself.
func (h *Health) read(info master.Info, config map[string]string) {
	h.Version, h.Role = info.Field("redis_version"), info.Field("role")
	if run := info.Field("run_id"); run != "" {
		h.Identity = run + "+" + info.Field("master_replid")
	}
	h.Replicas, _ = strconv.Atoi(info.Field("connected_slaves"))
	h.MaxMemory, h.Eviction = info.Field("maxmemory"), info.Field("maxmemory_policy")
	h.AppendOnly, h.AppendFsync, h.Save = config["appendonly"], config["appendfsync"], config["save"]
	if on, ok := map[string]string{"0": "no", "1": "yes"}[info.Field("aof_enabled")]; ok {
		h.AppendOnly = on
	}
}

// assess says whose votes count, and why others' do not.
func (c *Client) assess(ctx context.Context, all []Health) {
	standings, tails := c.keeper.settled(ctx), c.keeper.tails()
	for i, t := range tails {
		h := &all[i]
		if h.Err != nil {
			continue
		}
		if t == nil {
			h.Err = errNoAnswer
			continue
		}
		if r := t.Record; c.guard.List().Fits(*r) {
			h.Seat, h.Term, h.Group = r.Seat, r.Term(), r.Group
		}
		if h.Seat == 0 {
			h.Seat = standings[i].Seat // that it is to have
		}
		h.Offset = (t.Offset.Middle() - guard.Median(tails)).Round(time.Microsecond)
		err := c.guard.Objection(tails, i)
		if errors.Is(err, guard.ErrNoTenure) {
			err = advice(standings[i], tails)
			h.Until = standings[i].Left
		}
		if err != nil {
			h.Why, h.Refused = err.Error(), errors.Is(err, ErrUnsafe)
		}
	}
}
