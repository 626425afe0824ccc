// Package proxy stands between a client and a master in tests, and is the network
// between them: it can hold back what was sent, and let it go later.
package proxy

import (
	"io"
	"net"
	"sync"
	"testing"
)

// Proxy forwards connections to a target. Its methods are safe for concurrent use.
type Proxy struct {
	listener net.Listener
	all      sync.WaitGroup

	mu    sync.Mutex // guards what follows
	gate  chan struct{}
	to    string // where new connections lead
	conns []net.Conn
	ended bool
}

// Start runs a proxy on loopback, in front of target, until the test ends.
func Start(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("start a proxy: %v", err)
	}
	p := &Proxy{listener: l, to: target, gate: open()}
	p.all.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func open() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// Addr returns where to connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Hold keeps back what clients send on the connections that they have, from now on.
// Nobody is told: to the client it looks like a master that hangs. New connections
// are not held.
func (p *Proxy) Hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gate = make(chan struct{})
}

// Resume lets go what was held back, even if the client has gone away meanwhile.
func (p *Proxy) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.gate:
	default:
		close(p.gate)
	}
}

// Lead has new connections lead to another target, as when a replica takes the place of a
// master. Those that there are stay as they are.
func (p *Proxy) Lead(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to = target
}

func (p *Proxy) target() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.to
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target())
		if err != nil || !p.adopt(client, server) {
			_ = client.Close()
			continue
		}
		p.all.Go(func() { p.forward(server, client) })
		p.all.Go(func() {
			_, _ = io.Copy(client, server)
			_ = client.Close()
		})
	}
}

func (p *Proxy) adopt(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		for _, c := range conns {
			_ = c.Close()
		}
		return false
	}
	p.conns = append(p.conns, conns...)
	return true
}

// forward copies what the client sends. Connections opened while the proxy holds are
// not held: whoever reconnects finds a network that works again.
func (p *Proxy) forward(server, client net.Conn) {
	defer func() { _ = server.Close() }()
	p.mu.Lock()
	born := p.gate
	p.mu.Unlock()
	buf := make([]byte, 1<<16)
	for {
		n, err := client.Read(buf)
		if n > 0 {
			p.mu.Lock()
			gate := p.gate
			p.mu.Unlock()
			if gate != born {
				<-gate
			}
			if _, err := server.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *Proxy) close() {
	_ = p.listener.Close()
	p.Resume()
	p.mu.Lock()
	p.ended = true
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.all.Wait()
}
