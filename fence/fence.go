// Package fence is the resource's side of a fence: it turns away whoever comes with a lock
// that has been overtaken.
//
// A lock can't stop a holder that was paused from acting too late. The resource can: every
// lease carries a number that is greater than those of all leases of the same name before
// it, the holder hands it over with each request, and the resource remembers the greatest
// number it was shown and refuses smaller ones.
//
//  1. The number must come with every request of a holder, the first read too. Else an
//     old holder may write between the new holder's read and its write.
//  2. Comparing, remembering and acting must be one atomic step of the resource.
//  3. The resource must not forget the number, for as long as an old holder may exist.
//
// [Guard] is that for a resource in this process. [SQL] and [Redis] are the statements for
// two kinds of resources that live elsewhere.
package fence

import (
	"errors"
	"fmt"
	"sync"
)

// ErrStale is why a request is refused: somebody has come with a later lock before.
var ErrStale = errors.New("fence is stale")

var errNone = fmt.Errorf("%w: the request carries none: is the client's Fencing on?", ErrStale)

// Guard remembers the greatest fence that one resource was shown. The zero Guard has seen
// none. It is safe for concurrent use.
type Guard struct {
	mu      sync.Mutex // guards what follows
	highest uint64
}

// Admit returns nil if nobody came with a greater fence before, and remembers this one.
// Otherwise it returns an error that is [ErrStale]. A fence of 0 is none, and is refused.
//
// What is done after Admit returns may be overtaken. To have it belong to the check, use
// [Guard.Do].
func (g *Guard) Admit(fence uint64) error { return g.Do(fence, func() error { return nil }) }

// Do is Admit, and calls f if the fence is admitted, before anybody else is.
func (g *Guard) Do(fence uint64, f func() error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if fence == 0 {
		return errNone
	}
	if fence < g.highest {
		return fmt.Errorf("%w: %d, when %d came before", ErrStale, fence, g.highest)
	}
	g.highest = fence
	return f()
}
