// Package proxy stands between clients and a master, in tests and in the lab, and is the
// network between them: it delays, holds back, loses and cuts what is sent, as a whole or
// one command.
package proxy

import (
	"bufio"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// T is what a proxy needs of a test: a [testing.TB] has it.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
	Cleanup(f func())
}

// Proxy forwards connections to a master. Its methods are safe for concurrent use.
type Proxy struct {
	listener net.Listener
	all      sync.WaitGroup
	held     atomic.Int64 // commands that were held back
	lost     atomic.Int64 // bytes of replies that were lost

	mu    sync.Mutex // guards what follows
	gate  chan struct{}
	to    string // where new connections lead
	conns map[net.Conn]struct{}
	judge func(command []string) Verdict
	watch func(command []string)
	delay time.Duration
	slow  time.Duration // replies only
	mute  bool
	ended bool
}

// Verdict is what becomes of a command.
type Verdict int

// Pass sends it on, HoldBack keeps it and what comes after it on its connection until
// Resume, Cut ends the connection instead, and LoseReply sends it on, and nothing comes back
// any more.
const (
	Pass Verdict = iota
	HoldBack
	Cut
	LoseReply
)

// Start runs a proxy on loopback, in front of target, until the test ends.
func Start(t T, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("start a proxy: %v", err)
	}
	p := &Proxy{listener: l, to: target, gate: open(), conns: map[net.Conn]struct{}{}}
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
	p.set(func() { p.gate = make(chan struct{}) })
}

// Resume lets go what was held back, even if the client has gone away meanwhile. It ends
// what Judge, Delay, DelayReplies and LoseReplies have begun, too.
func (p *Proxy) Resume() {
	p.set(func() {
		select {
		case <-p.gate:
		default:
			close(p.gate)
		}
		p.judge, p.delay, p.slow, p.mute = nil, 0, 0, false
	})
}

// Lead has new connections lead to another target, as when a replica takes the place of a
// master. Those that there are stay as they are.
func (p *Proxy) Lead(target string) { p.set(func() { p.to = target }) }

// Judge has f decide what becomes of each command that clients send from now on. It is
// called from several goroutines.
func (p *Proxy) Judge(f func(command []string) Verdict) {
	p.set(func() {
		p.judge = f
		select {
		case <-p.gate:
			p.gate = make(chan struct{}) // for what is held back
		default:
		}
	})
}

// Watch has f see each command that clients send from now on, when it is passed on. It is
// called from several goroutines, and stays over Resume.
func (p *Proxy) Watch(f func(command []string)) { p.set(func() { p.watch = f }) }

// Delay has everything, in both directions, take so much longer.
func (p *Proxy) Delay(d time.Duration) { p.set(func() { p.delay = d }) }

// DelayReplies has what the master says take so much longer.
func (p *Proxy) DelayReplies(d time.Duration) { p.set(func() { p.slow = d }) }

// LoseReplies has commands reach the master, and nothing come back.
func (p *Proxy) LoseReplies() { p.set(func() { p.mute = true }) }

// Cut ends all connections.
func (p *Proxy) Cut() {
	p.set(func() {
		for c := range p.conns {
			_ = c.Close()
		}
	})
}

// Held returns how many times something was held back, and Lost how many bytes of replies
// were lost: a fault that nobody noticed was none.
func (p *Proxy) Held() int64 { return p.held.Load() }

// Lost is told by Held.
func (p *Proxy) Lost() int64 { return p.lost.Load() }

func (p *Proxy) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		var to string
		p.set(func() { to = p.to })
		server, err := net.Dial("tcp", to)
		if err != nil {
			_ = client.Close()
			continue
		}
		if !p.adopt(client, server) {
			return
		}
		l := &link{p: p, client: client, server: server}
		p.set(func() { l.born = p.gate })
		p.all.Go(l.forward)
		p.all.Go(l.reply)
	}
}

func (p *Proxy) adopt(conns ...net.Conn) (ok bool) {
	p.set(func() {
		ok = !p.ended
		for _, c := range conns {
			if ok {
				p.conns[c] = struct{}{}
			} else {
				_ = c.Close()
			}
		}
	})
	return ok
}

func (p *Proxy) drop(c net.Conn) {
	_ = c.Close()
	p.set(func() { delete(p.conns, c) })
}

func (p *Proxy) close() {
	_ = p.listener.Close()
	p.set(func() { p.ended = true })
	p.Resume()
	p.Cut()
	p.all.Wait()
}

// link is one client's connection.
type link struct {
	p              *Proxy
	client, server net.Conn
	born           chan struct{} // the gate when it was made: whoever reconnects is not held by that
	mute           atomic.Bool
}

// forward passes on what the client sends, command by command.
func (l *link) forward() {
	defer l.p.drop(l.server)
	in := bufio.NewReaderSize(l.client, 1<<16)
	for {
		first := in.Buffered() == 0 // of a pipeline, which is delayed as a whole
		raw, words, err := readCommand(in)
		if err != nil {
			return
		}
		if !l.pass(words, first) {
			return
		}
		var watch func([]string)
		if l.p.set(func() { watch = l.p.watch }); watch != nil {
			watch(words)
		}
		if _, err := l.server.Write(raw); err != nil {
			return
		}
	}
}

// pass does to a command what is to be done to it, and reports whether it goes on.
func (l *link) pass(words []string, first bool) bool {
	var gate chan struct{}
	var judge func([]string) Verdict
	var delay time.Duration
	l.p.set(func() { gate, judge, delay = l.p.gate, l.p.judge, l.p.delay })
	if first {
		time.Sleep(delay)
	}
	if judge == nil {
		if gate != l.born {
			l.wait(gate)
		}
		return true
	}
	switch judge(words) {
	case HoldBack:
		l.wait(gate)
	case Cut:
		return false
	case LoseReply:
		l.mute.Store(true)
	case Pass:
	}
	return true
}

func (l *link) wait(gate chan struct{}) {
	select {
	case <-gate:
	default:
		l.p.held.Add(1)
		<-gate
	}
}

// reply passes on what the master says.
func (l *link) reply() {
	defer l.p.drop(l.client)
	buf := make([]byte, 1<<16)
	for {
		n, err := l.server.Read(buf)
		var delay time.Duration
		mute := l.mute.Load()
		l.p.set(func() { delay, mute = l.p.delay+l.p.slow, mute || l.p.mute })
		if mute {
			l.mute.Store(true) // for good: what comes after a gap would be taken for another's reply
			l.p.lost.Add(int64(n))
			n = 0
		}
		time.Sleep(delay)
		if _, failed := l.client.Write(buf[:n]); err != nil || failed != nil {
			return
		}
	}
}

// readCommand reads one command as clients send it, an array of strings, and returns its
// bytes and its words.
func readCommand(in *bufio.Reader) (raw []byte, words []string, err error) {
	line := func(first byte) (n int) {
		var text []byte
		if err == nil {
			text, err = in.ReadBytes('\n')
			raw = append(raw, text...)
		}
		if err != nil || len(text) < 3 || text[0] != first {
			if err == nil {
				err = io.ErrUnexpectedEOF
			}
			return 0
		}
		for _, digit := range text[1 : len(text)-2] {
			n = n*10 + int(digit-'0')
		}
		return n
	}
	for n := line('*'); n > 0 && err == nil; n-- {
		text := make([]byte, line('$')+2)
		if err == nil {
			_, err = io.ReadFull(in, text)
			raw = append(raw, text...)
			words = append(words, string(text[:len(text)-2]))
		}
	}
	return raw, words, err
}
