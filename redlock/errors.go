package redlock

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/quorumlock/redlock-go/quorum"
	"github.com/quorumlock/redlock-go/quorum/guard"
	"github.com/quorumlock/redlock-go/redlock/master"
)

// The reasons for which a call fails. Test for them with errors.Is: what is
// returned is an [*Error] around one of them, which names the masters too.
var (
	// ErrHeld: so many masters refused that no majority was left. Somebody holds
	// the lock, or several are contending for it. Trying again later makes sense.
	ErrHeld = errors.New("held by another")
	// ErrNoQuorum: too few masters answered. Nobody can get the lock until more do.
	ErrNoQuorum = errors.New("no quorum")
	// ErrExpired: the lease's deadline passed, or it had passed when the last vote came in.
	ErrExpired = errors.New("expired")
	// ErrNotHeld: the lease was released, or its keys are another's by now.
	ErrNotHeld = errors.New("not held")
	// ErrUnsafe: the masters, as they are, can't make the promise; see the message.
	ErrUnsafe = guard.ErrUnsafe
	// ErrClosed: the Client was closed.
	ErrClosed = master.ErrClosed
)

// Vote is one master's answer to one question.
type Vote struct {
	Master string // its address
	Answer quorum.Answer
	Left   time.Duration // of a refusal: how much longer the other's key lives, if known
	// Missing: of a refused extension or release, that there is no key at all.
	Missing bool
	Err     error // of an unknown answer: why

	unsent bool // nothing was sent, so that no key of ours can be there
}

func (v Vote) String() string {
	switch {
	case v.Answer == quorum.Granted:
		return v.Master + ": granted"
	case v.Answer == quorum.Unknown && v.Err != nil:
		// A dial error names the address itself, and once is enough.
		return v.Master + ": " + strings.Replace(v.Err.Error(), " "+v.Master+":", ":", 1)
	case v.Answer == quorum.Unknown:
		return v.Master + ": no answer yet"
	case v.Missing:
		return v.Master + ": has no such key"
	case v.Left > 0:
		return fmt.Sprintf("%s: held by another, %s left", v.Master, roundUp(v.Left))
	default:
		return v.Master + ": held by another"
	}
}

// roundUp makes a remaining time fit for reading: tenths of a second, and never
// less than there is.
func roundUp(d time.Duration) time.Duration {
	const step = 100 * time.Millisecond
	return (d + step - 1).Truncate(step)
}

// Error is what a call on a lock returns when it fails. Its message says which
// masters did not grant, and why.
type Error struct {
	Op    string // "lock", "extend", "release", …
	Name  string // what was to be locked; "" if it is about the masters
	Err   error  // the reason; errors.Is looks through it
	Votes []Vote // each master's answer, in the order of Options.Masters; nil if none was asked
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("redlock: " + e.Op)
	if e.Name != "" {
		fmt.Fprintf(&b, " %q", e.Name)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	if len(e.Votes) == 0 {
		return b.String()
	}
	granted := 0
	var others []string
	for _, v := range e.Votes {
		if v.Answer == quorum.Granted {
			granted++
		} else {
			others = append(others, v.String())
		}
	}
	fmt.Fprintf(&b, ": %d of %d granted", granted, len(e.Votes))
	if len(others) > 0 {
		fmt.Fprintf(&b, " (%s)", strings.Join(others, "; "))
	}
	return b.String()
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }
