package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/quorumlock/redlock-go/redlock"
)

// story prints lines from a goroutine of its own: whoever keeps a lock, or ends a
// command in time, must not wait for a reader of standard error that is slow.
// It is safe for concurrent use.
type story struct {
	lines chan string
	done  chan struct{}
}

func newStory(w io.Writer) *story {
	s := &story{lines: make(chan string, 256), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		for line := range s.lines {
			_, _ = fmt.Fprintln(w, line)
		}
	}()
	return s
}

// tell prints one line, unless too many wait to be printed.
func (s *story) tell(text string) {
	select {
	case s.lines <- oneLine(text):
	default:
	}
}

// end returns when all that was told is printed. Nothing may be told after it.
func (s *story) end() {
	close(s.lines)
	<-s.done
}

// oneLine makes text a line of this program's, whatever is in it.
func oneLine(text string) string {
	return "redlock: " + strings.Join(strings.Fields(strings.TrimPrefix(text, "redlock: ")), " ")
}

// ledger remembers what each master said last, since the lock was last known to be
// held by a majority: it is why a lock was lost. It is safe for concurrent use.
type ledger struct {
	mu    sync.Mutex // guards what follows
	votes []redlock.Vote
}

// trace returns the hooks that keep the ledger and tell the story.
func (l *ledger) trace(a *app) *redlock.Trace {
	return &redlock.Trace{
		Attempt: func(name string) { a.detail("lock %q: trying", name) },
		Vote: func(name string, v redlock.Vote) {
			l.write(v)
			a.detail("lock %q: %v", name, v)
		},
		Held: func(lease *redlock.Lease) {
			l.clear()
			a.detail("lock %q: held for %v, token %s", lease.Name(), short(lease.Remaining()), lease.Token())
		},
		Extended: func(lease *redlock.Lease) {
			l.clear()
			a.detail("lock %q: extended, %v left", lease.Name(), short(lease.Remaining()))
		},
		Lost: func(lease *redlock.Lease, cause error) {
			a.detail("lock %q: lost: %v", lease.Name(), cause)
		},
		Released: func(lease *redlock.Lease) { a.detail("lock %q: released", lease.Name()) },
	}
}

func (l *ledger) write(v redlock.Vote) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.votes, func(old redlock.Vote) bool { return old.Master == v.Master })
	if i < 0 {
		l.votes = append(l.votes, v)
		return
	}
	l.votes[i] = v
}

func (l *ledger) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.votes = nil
}

// read returns the votes in the order of names; nil if there are none.
func (l *ledger) read(names []string) []redlock.Vote {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.votes) == 0 {
		return nil
	}
	all := make([]redlock.Vote, len(names))
	for i, name := range names {
		all[i] = redlock.Vote{Master: name}
		for _, v := range l.votes {
			if v.Master == name {
				all[i] = v
			}
		}
	}
	return all
}
