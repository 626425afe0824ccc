package main

import (
	"io"
	"net"
	"sync"
	"time"
)

// delayed is a proxy that passes everything on a fixed time later. It delays, and does
// not throttle: what comes meanwhile is under way too. As the delay is the same for all,
// one queue for all connections is in order.
type delayed struct {
	listener net.Listener
	target   string
	by       time.Duration
	way      chan parcel

	mu    sync.Mutex // guards what follows
	conns []net.Conn
}

// parcel is what is under way. Without data it is the end of a connection.
type parcel struct {
	due  time.Time
	to   io.WriteCloser
	data []byte
}

func delay(target string, by time.Duration) (*delayed, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &delayed{listener: l, target: target, by: by, way: make(chan parcel, 1<<14)}
	go d.accept()
	go d.deliver()
	return d, nil
}

// deliver goes on until the program ends: there is one for each master.
func (d *delayed) deliver() {
	for p := range d.way {
		sleepUntil(p.due)
		if p.data == nil {
			_ = p.to.Close()
			continue
		}
		_, _ = p.to.Write(p.data) // who can't be reached has closed
	}
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

func (d *delayed) pass(to io.WriteCloser, from io.Reader) {
	for {
		buf := make([]byte, 1<<14)
		n, err := from.Read(buf)
		if n > 0 {
			d.way <- parcel{time.Now().Add(d.by), to, buf[:n]}
		}
		if err != nil {
			d.way <- parcel{time.Now().Add(d.by), to, nil}
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
