package main

import (
	"io"
	"net"
	"sync"
	"time"
)

// delayed is a proxy that passes everything on a fixed time later. It delays, and does
// not throttle: what comes meanwhile is under way too.
type delayed struct {
	listener net.Listener
	target   string
	by       time.Duration

	mu    sync.Mutex // guards what follows
	conns []net.Conn
	ended bool
}

func delay(target string, by time.Duration) (*delayed, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &delayed{listener: l, target: target, by: by}
	go d.accept()
	return d, nil
}

func (d *delayed) accept() {
	for {
		client, err := d.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", d.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		d.mu.Lock()
		d.conns = append(d.conns, client, server)
		d.mu.Unlock()
		go d.pass(server, client)
		go d.pass(client, server)
	}
}

type parcel struct {
	due  time.Time
	data []byte
}

func (d *delayed) pass(to io.WriteCloser, from io.Reader) {
	way := make(chan parcel, 4096)
	go func() {
		defer func() { _ = to.Close() }()
		for p := range way {
			sleepUntil(p.due)
			if _, err := to.Write(p.data); err != nil {
				for range way { // who sends must not block
				}
				return
			}
		}
	}()
	defer close(way)
	for {
		buf := make([]byte, 1<<14)
		n, err := from.Read(buf)
		if n > 0 {
			way <- parcel{time.Now().Add(d.by), buf[:n]}
		}
		if err != nil {
			return
		}
	}
}

func (d *delayed) close() {
	_ = d.listener.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.conns {
		_ = c.Close()
	}
}
