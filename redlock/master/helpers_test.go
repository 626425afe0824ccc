package master_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorumlock/redlock-go/clock"
)

// idler is a clock that says that more time has passed.
type idler struct {
	clock.Clock
	by atomic.Int64
}

func (i *idler) Now() clock.Instant { return i.Clock.Now().Add(time.Duration(i.by.Load())) }

// recorder is a go-redis logger that keeps what it is told.
type recorder struct {
	mu    sync.Mutex
	lines []string
}

func (r *recorder) Printf(_ context.Context, format string, v ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf(format, v...))
}

type discard struct{}

func (discard) Printf(context.Context, string, ...any) {}
