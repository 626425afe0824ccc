package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// Memory are masters that are reached without a network, so that a client and its
// masters fit into a testing/synctest bubble. Its methods are safe for concurrent use.
type Memory struct {
	servers []*miniredis.Miniredis

	mu   sync.Mutex // guards what follows
	away map[string]bool
}

// InMemory returns n masters. They are reached through Dial only.
func InMemory(n int) *Memory {
	m := &Memory{away: map[string]bool{}}
	for i := range n {
		s := miniredis.NewMiniRedis()
		s.ClockTTL(true)
		addr := memoryAddr(i)
		id := newIdentity("0")
		m.servers = append(m.servers, s)
		if c, err := s.Dial(); err == nil { // makes the server
			_ = c.Close()
		}
		s.Server().SetPreHook(func(c *server.Peer, cmd string, args ...string) bool {
			if m.isAway(addr) {
				c.Close()
				return true
			}
			return id.answer(c, cmd, args...)
		})
	}
	return m
}

func memoryAddr(i int) string { return fmt.Sprintf("master-%d:1", i+1) }

// Addrs returns what Dial knows the masters by.
func (m *Memory) Addrs() []string {
	addrs := make([]string, len(m.servers))
	for i := range m.servers {
		addrs[i] = memoryAddr(i)
	}
	return addrs
}

// Dial connects to a master.
func (m *Memory) Dial(_ context.Context, _, addr string) (net.Conn, error) {
	if m.isAway(addr) {
		return nil, errors.New("connection refused")
	}
	for i, s := range m.servers {
		if addr == memoryAddr(i) {
			return dialRoomy(s)
		}
	}
	return nil, fmt.Errorf("there is no master %s", addr)
}

// roomy is a connection that takes what is written without waiting for the other end to
// read it, as the kernel's do. Without that, a pipeline that the other end begins to
// answer before it is all there would wait for itself.
type roomy struct {
	net.Conn
	written chan []byte
	closing sync.Once
	closed  chan struct{}
}

func dialRoomy(s *miniredis.Miniredis) (net.Conn, error) {
	wire, err := s.Dial()
	if err != nil {
		return nil, err
	}
	c := &roomy{Conn: wire, written: make(chan []byte, 64), closed: make(chan struct{})}
	go c.pump()
	return c, nil
}

func (c *roomy) Write(p []byte) (int, error) {
	select {
	case c.written <- slices.Clone(p):
		return len(p), nil
	case <-c.closed:
		return 0, net.ErrClosed
	}
}

// pump ends with the connection.
func (c *roomy) pump() {
	for {
		select {
		case p := <-c.written:
			if _, err := c.Conn.Write(p); err != nil {
				_ = c.Close()
				return
			}
		case <-c.closed:
			return
		}
	}
}

func (c *roomy) Close() error {
	c.closing.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// SetAway makes the i-th master refuse connections, and break those that are used; or
// brings it back, with its memory.
func (m *Memory) SetAway(i int, away bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.away[memoryAddr(i)] = away
}

func (m *Memory) isAway(addr string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.away[addr]
}

// Forget empties the i-th master.
func (m *Memory) Forget(i int) { m.servers[i].FlushAll() }

// Keys returns how many keys the i-th master has.
func (m *Memory) Keys(i int) int { return len(m.servers[i].Keys()) }

// Close ends the masters.
func (m *Memory) Close() {
	for _, s := range m.servers {
		s.Close()
	}
}
