package embedded

import (
	"crypto/rand"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/alicebob/miniredis/v2/server"
)

// identity is what one master says about itself and about its connections, in the
// commands that miniredis does not know. It stands before miniredis as a hook and
// not as commands of its own: INFO and CLIENT are taken there, for other sections
// and subcommands.
type identity struct {
	info map[string]string // sections by name, as INFO prints them

	mu     sync.Mutex // guards what follows
	lastID int64
	ids    map[*server.Peer]int64 // of the connections that asked for theirs
	killed map[*server.Peer]bool
}

func newIdentity(port string) *identity {
	return &identity{
		info: map[string]string{
			"server": "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n" +
				"run_id:" + randomID() + "\r\ntcp_port:" + port + "\r\n",
			"replication": "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n" +
				"master_replid:" + randomID() + "\r\n",
			"memory":      "# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n",
			"persistence": "# Persistence\r\nloading:0\r\naof_enabled:0\r\n",
			"cluster":     "# Cluster\r\ncluster_enabled:0\r\n",
		},
		ids:    map[*server.Peer]int64{},
		killed: map[*server.Peer]bool{},
	}
}

// randomID returns 40 hexadecimal digits, as Redis makes its run and replication ids.
func randomID() string {
	b := make([]byte, 20)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

// answer is miniredis's hook: it reports whether it has dealt with the command.
func (i *identity) answer(c *server.Peer, cmd string, args ...string) bool {
	switch {
	case i.isKilled(c):
		c.Close() // the command is not executed
	case cmd == "INFO":
		c.WriteBulk(i.sections(args))
	case cmd == "ROLE":
		writeRole(c)
	case cmd == "CLIENT" && is(args, "ID"):
		c.WriteInt(int(i.id(c)))
	case cmd == "CLIENT" && is(args, "KILL", "ID"):
		i.kill(c, args[2:])
	case cmd == "CLIENT" && is(args, "SETINFO"):
		c.WriteOK()
	default:
		return false
	}
	return true
}

// is reports whether args begin with these words.
func is(args []string, words ...string) bool {
	return len(args) >= len(words) && slices.EqualFunc(args[:len(words)], words, strings.EqualFold)
}

// sections returns the sections of INFO that are asked for. Unknown ones are empty, as in Redis.
func (i *identity) sections(names []string) string {
	if len(names) == 0 {
		names = []string{"all"}
	}
	var asked []string
	for _, name := range names {
		switch name = strings.ToLower(name); name {
		case "all", "default", "everything":
			asked = slices.Sorted(maps.Keys(i.info))
		default:
			asked = append(asked, name)
		}
	}
	var text []string
	for _, name := range asked {
		if s, ok := i.info[name]; ok {
			text = append(text, s)
		}
	}
	return strings.Join(text, "\r\n")
}

// writeRole answers ROLE as a master without replicas does.
func writeRole(c *server.Peer) {
	c.Block(func(w *server.Writer) {
		w.WriteLen(3)
		w.WriteBulk("master")
		w.WriteInt(0)
		w.WriteLen(0)
	})
}

// id returns the connection's number, which no other connection ever has.
func (i *identity) id(c *server.Peer) int64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.ids[c] == 0 {
		i.lastID++
		i.ids[c] = i.lastID
		c.OnDisconnect(func() { i.forget(c) })
	}
	return i.ids[c]
}

func (i *identity) forget(c *server.Peer) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.ids, c)
	delete(i.killed, c)
}

// kill makes sure that nothing of another connection is executed any more. Its socket
// closes with the next command that comes over it: miniredis offers no earlier way.
func (i *identity) kill(c *server.Peer, id []string) {
	if len(id) != 1 {
		c.WriteError("ERR syntax error")
		return
	}
	n, err := strconv.ParseInt(id[0], 10, 64)
	if err != nil || n <= 0 {
		c.WriteError("ERR client-id should be greater than 0")
		return
	}
	c.WriteInt(i.mark(c, n))
}

// mark returns how many connections other than c have this number: 0 or 1.
func (i *identity) mark(c *server.Peer, id int64) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	for other, n := range i.ids {
		if n == id && other != c && !i.killed[other] {
			i.killed[other] = true
			return 1
		}
	}
	return 0
}

func (i *identity) isKilled(c *server.Peer) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.killed[c]
}
