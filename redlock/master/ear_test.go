package master_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/internal/redistest"
	"github.com/quorumlock/redlock-go/redlock/master"
)

// Whoever begins to listen does not wait for a master that hangs.
func TestListenDoesNotWaitForAHungMaster(t *testing.T) {
	hung, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts for it, and nobody answers
	require.NoError(t, err)
	t.Cleanup(func() { _ = hung.Close() })
	dialled := make(chan struct{}, 8)
	m := master.New(&redis.Options{Addr: hung.Addr().String(), ReadTimeout: time.Hour,
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			dialled <- struct{}{}
			return net.Dial("tcp", hung.Addr().String())
		}}, clock.System, 0)
	m.Listen("a", func() {})
	<-dialled
	time.Sleep(10 * time.Millisecond) // the handshake is under way
	done := make(chan struct{})
	go func() { defer close(done); m.Listen("b", func() {}); m.Close() }()
	select {
	case <-done:
	case <-time.After(redistest.Patience):
		t.Fatal("it waits for an answer")
	}
}
